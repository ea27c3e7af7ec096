import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Conversations } from "../../src/conversations/Conversations.ts"
import { StoredResponses } from "../../src/conversations/StoredResponses.ts"
import type { TurnDetails } from "../../src/domain/Conversation.ts"
import { ItemId } from "../../src/domain/Ids.ts"
import { inRealTime } from "../../src/runtime/Monotonic.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import {
  addTurn,
  content,
  conversationOf,
  conversationsWith,
  question,
  someResponse,
  someUser,
  unknownConversation
} from "./fixtures.ts"

const details: TurnDetails = {
  createdAt: 1_790_000_000_000,
  completedAt: 1_790_000_001_000,
  usage: { inputTokens: 5, cachedInputTokens: 0, outputTokens: 7, reasoningTokens: 0 },
  incompleteReason: "max_output_tokens",
  instructions: "Be brief.",
  maxOutputTokens: 7,
  previousResponseId: null,
  echo: { metadata: { a: "b" } }
}

const tag = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ _tag }) => _tag)

const conversationCount = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  return (yield* sql`SELECT 1 FROM conversations WHERE id = ${id}::uuid`).length
})

layer(Layer.provideMerge(Layer.merge(conversationsWith(), StoredResponses.layer), TestDatabase.layer))(
  "StoredResponses",
  (it) => {
    it.effect("StoredResponses shows a response as it was, to its user only", () =>
      Effect.gen(function* () {
        const stored = yield* StoredResponses
        const [owner, other] = [yield* someUser, yield* someUser]
        const turn = { ...content("one"), details }
        const id = yield* conversationOf(owner, [turn])
        const { storedAt, ...found } = yield* stored.find(owner, turn.responseId)
        assert.isAbove(storedAt.epochMilliseconds, 0)
        assert.deepStrictEqual(found, {
          responseId: turn.responseId,
          conversationId: id,
          model: "test-model",
          details,
          output: turn.output
        })
        assert.strictEqual(yield* tag(stored.find(other, turn.responseId)), "ResponseNotFound")
        assert.strictEqual(yield* tag(stored.find(owner, someResponse())), "ResponseNotFound")
      })
    )

    it.effect("StoredResponses lists the input of a response in pages and in both orders", () =>
      Effect.gen(function* () {
        const stored = yield* StoredResponses
        const user = yield* someUser
        const input = ["a", "b", "c", "d", "e"].map(question)
        const turn = { ...content("one"), input }
        yield* conversationOf(user, [turn])
        for (const order of ["asc", "desc"] as const) {
          const expected = order === "asc" ? input : input.toReversed()
          const listed: Array<unknown> = []
          let after: ItemId | undefined
          while (true) {
            const page = yield* stored.inputItems(user, turn.responseId, {
              limit: 2,
              order,
              ...(after === undefined ? {} : { after })
            })
            listed.push(...page.items)
            assert.strictEqual(page.hasMore, listed.length < input.length)
            after = page.items.at(-1)?.id
            if (!page.hasMore) break
          }
          assert.deepStrictEqual(listed, expected)
        }
        const unknown = { limit: 2, order: "asc", after: ItemId.make(randomUUID()) } as const
        assert.strictEqual(yield* tag(stored.inputItems(user, turn.responseId, unknown)), "CursorNotFound")
      })
    )

    it.effect(
      "a deleted response can be neither found nor continued, and later turns keep it as context",
      () =>
        Effect.gen(function* () {
          const stored = yield* StoredResponses
          const conversations = yield* Conversations
          const [user, other] = [yield* someUser, yield* someUser]
          const [first, second] = [content("one"), content("two")]
          const id = yield* conversationOf(user, [first, second])
          assert.strictEqual(yield* tag(stored.delete(other, first.responseId)), "ResponseNotFound")
          yield* stored.delete(user, first.responseId)
          assert.strictEqual(yield* tag(stored.find(user, first.responseId)), "ResponseNotFound")
          assert.strictEqual(yield* tag(stored.delete(user, first.responseId)), "ResponseNotFound")
          assert.strictEqual(yield* tag(conversations.upTo(user, first.responseId)), "ConversationNotFound")
          assert.strictEqual(
            yield* tag(conversations.ofResponse(user, first.responseId)),
            "ConversationNotFound"
          )
          const { state } = yield* conversations.upTo(user, second.responseId)
          assert.lengthOf(yield* conversations.history(state, 1_000), 2)
          yield* stored.delete(user, second.responseId)
          assert.strictEqual(yield* conversationCount(id), 0)
        })
    )

    it.effect("a response that another one is being added after keeps its conversation", () =>
      Effect.gen(function* () {
        const stored = yield* StoredResponses
        const conversations = yield* Conversations
        const user = yield* someUser
        const first = content("one")
        const id = yield* conversationOf(user, [first])
        const second = content("two")
        yield* Effect.scoped(
          Effect.gen(function* () {
            const turn = yield* conversations.open(user, id)
            yield* stored.delete(user, first.responseId)
            yield* conversations.commit(turn, second)
          })
        )
        assert.strictEqual((yield* stored.find(user, second.responseId)).conversationId, id)
      })
    )

    it.effect("one of two concurrent requests that continue a response appends, and one gets a branch", () =>
      Effect.gen(function* () {
        const conversations = yield* Conversations
        const user = yield* someUser
        const [first, second] = [content("one"), content("two")]
        yield* conversationOf(user, [first, second], "Be brief.")
        const { isLast, state } = yield* conversations.upTo(user, second.responseId)
        assert.isTrue(isLast)
        yield* Effect.scoped(
          Effect.gen(function* () {
            const one = yield* conversations.openAt(user, state)
            assert.isNotNull(one)
            assert.isNull(yield* Effect.scoped(conversations.openAt(user, state)))
          })
        )
        yield* addTurn(user, state.conversationId, content("three"))
        assert.isNull(yield* Effect.scoped(conversations.openAt(user, state)))
        assert.isFalse((yield* conversations.upTo(user, second.responseId)).isLast)
        // The lease was given back, so nothing waits for it.
        yield* addTurn(user, state.conversationId, content("four"))
      }).pipe(inRealTime)
    )

    it.effect(
      "a branch has the turns up to its beginning, and the conversation that it left stays as it was",
      () =>
        Effect.gen(function* () {
          const conversations = yield* Conversations
          const stored = yield* StoredResponses
          const user = yield* someUser
          const [first, second, third] = [content("one"), content("two"), content("three")]
          const id = yield* conversationOf(user, [first, second, third], "Be brief.")
          const { state } = yield* conversations.upTo(user, second.responseId)
          const conversationId = unknownConversation()
          const branch = { userId: user, source: state, conversationId }
          const turn = { ...content("elsewhere"), details }
          yield* conversations.commitBranch(branch, turn)
          // A second commit follows when the answer to the first one was lost.
          yield* conversations.commitBranch(branch, turn)

          const after = yield* conversations.upTo(user, turn.responseId)
          assert.deepStrictEqual(after, {
            state: { conversationId, turnCount: 3, systemMessage: "Be brief." },
            isLast: true
          })
          const history = yield* conversations.history(after.state, 1_000)
          assert.deepStrictEqual(
            history.map(({ input, output, position }) => ({ position, input, output })),
            [first, second, turn].map(({ input, output }, position) => ({ position, input, output }))
          )
          assert.notStrictEqual(history[0]?.responseId, first.responseId)
          assert.deepStrictEqual((yield* stored.find(user, turn.responseId)).details, details)
          // A copy is no response.
          const copy = history[0]?.responseId ?? someResponse()
          assert.strictEqual(yield* tag(stored.find(user, copy)), "ResponseNotFound")
          assert.strictEqual((yield* conversations.upTo(user, third.responseId)).state.conversationId, id)
        })
    )

    it.effect(
      "nothing is stored of a branch whose beginning was deleted meanwhile, or isn't the user's",
      () =>
        Effect.gen(function* () {
          const conversations = yield* Conversations
          const [user, other] = [yield* someUser, yield* someUser]
          const first = content("one")
          const id = yield* conversationOf(user, [first])
          const { state } = yield* conversations.upTo(user, first.responseId)
          const sql = yield* SqlClient.SqlClient
          const branchOf = (userId: typeof user) => ({
            userId,
            source: state,
            conversationId: unknownConversation()
          })
          assert.strictEqual(
            yield* tag(conversations.commitBranch(branchOf(other), content("two"))),
            "TurnLeaseLost"
          )
          yield* sql`DELETE FROM conversations WHERE id = ${id}::uuid`
          assert.strictEqual(
            yield* tag(conversations.commitBranch(branchOf(user), content("two"))),
            "TurnLeaseLost"
          )
        })
    )
  }
)
