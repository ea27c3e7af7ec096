import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Conversations } from "../../src/conversations/Conversations.ts"
import { ItemId } from "../../src/domain/Ids.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import {
  addTurn,
  content,
  conversationOf,
  conversationsWith,
  someResponse,
  someUser,
  storedTurns,
  unknownConversation
} from "./fixtures.ts"

layer(Layer.provideMerge(conversationsWith(), TestDatabase.layer))("Conversations", (it) => {
  it.effect("Conversations keeps turns and their system message in order", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const user = yield* someUser
      const turns = ["one", "two", "three"].map((text) => content(text, 10))
      const id = yield* conversationOf(user, turns, "Be brief.")
      yield* Effect.scoped(
        Effect.gen(function* () {
          const turn = yield* conversations.open(user, id)
          assert.strictEqual(turn.turnCount, 3)
          assert.strictEqual(turn.systemMessage, "Be brief.")
          assert.deepStrictEqual(
            yield* conversations.history(turn, 1000),
            turns.map(({ input, output, promptTokens, responseId }, position) => ({
              position,
              responseId,
              promptTokens,
              input,
              output
            }))
          )
        })
      )
    })
  )

  it.effect("Conversations keeps the system message of the first turn only", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const user = yield* someUser
      const id = yield* conversationOf(user, [content("one")], "First.")
      yield* addTurn(user, id, { ...content("two"), systemMessage: "Second." })
      const turn = yield* Effect.scoped(conversations.open(user, id))
      assert.strictEqual(turn.systemMessage, "First.")
    })
  )

  it.effect("Conversations takes the system message of the first stored turn, however late it comes", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const user = yield* someUser
      const id = yield* conversationOf(user, [])
      yield* addTurn(user, id, { ...content("one"), systemMessage: "Now." })
      const turn = yield* Effect.scoped(conversations.open(user, id))
      assert.strictEqual(turn.systemMessage, "Now.")
    })
  )

  it.effect("Conversations shows a conversation to its user only", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const [owner, other] = [yield* someUser, yield* someUser]
      const first = content("mine")
      const id = yield* conversationOf(owner, [first])
      for (const attempt of [
        conversations.open(other, id),
        conversations.open(owner, unknownConversation())
      ]) {
        const error = yield* Effect.flip(Effect.scoped(attempt))
        assert.strictEqual(error._tag, "ConversationNotFound")
        assert.strictEqual(error._tag === "ConversationNotFound" && error.param, "conversation_id")
      }
      assert.strictEqual(yield* conversations.ofResponse(owner, first.responseId), id)
      for (const attempt of [
        conversations.ofResponse(other, first.responseId),
        conversations.ofResponse(owner, someResponse())
      ]) {
        const error = yield* Effect.flip(attempt)
        assert.strictEqual(error._tag === "ConversationNotFound" && error.param, "previous_response_id")
      }
    })
  )

  it.effect("Conversations finds items by id for their user only", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const [owner, other] = [yield* someUser, yield* someUser]
      const turn = content("mine")
      yield* conversationOf(owner, [turn])
      const all = [...turn.input, ...turn.output]
      const ids = all.map(({ id }) => id)
      const unknown = ItemId.make(crypto.randomUUID())
      const found = yield* conversations.items(owner, [...ids, unknown])
      assert.deepStrictEqual(found, new Map(all.map((item) => [item.id, item])))
      assert.strictEqual((yield* conversations.items(other, ids)).size, 0)
      assert.strictEqual((yield* conversations.items(owner, [])).size, 0)
    })
  )

  it.effect("Conversations refuses references to more than a request could hold, before reading it", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const { bodyBytesMax } = testConfig().http
      const owner = yield* someUser
      const turns = [content("a".repeat(bodyBytesMax / 2)), content("b".repeat(bodyBytesMax / 2))]
      yield* conversationOf(owner, turns)
      const ids = turns.map(({ input }) => input[0]!.id)
      const error = yield* Effect.flip(conversations.items(owner, ids))
      assert.deepInclude(error, { _tag: "InvalidRequest", param: "input" })
      assert.strictEqual((yield* conversations.items(owner, ids.slice(1))).size, 1)
    })
  )

  it.effect("Conversations takes an item again, by the same user or another", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const [owner, other] = [yield* someUser, yield* someUser]
      const turn = content("mine")
      const id = yield* conversationOf(owner, [turn])
      const replayed = { ...content("again"), input: [...turn.input, ...turn.input] }
      yield* addTurn(owner, id, replayed)
      yield* conversationOf(
        other,
        [replayed].map((same) => ({ ...same, responseId: someResponse() }))
      )
      assert.deepStrictEqual(
        (yield* storedTurns(id)).map(({ items, position }) => [position, items]),
        [
          [0, 2],
          [1, 3]
        ]
      )
      const [first] = turn.input
      assert.isDefined(first)
      assert.strictEqual((yield* conversations.items(other, [first.id])).size, 1)
    })
  )

  it.effect("Conversations stores text unchanged", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const user = yield* someUser
      const text = "\u2028 'quote' \"double\" \\ {} $1 emoji 🦜 \u00a0 नमस्ते \t\r\n"
      const turn = content(text)
      const id = yield* conversationOf(user, [turn], text)
      const open = yield* Effect.scoped(conversations.open(user, id))
      assert.strictEqual(open.systemMessage, text)
      const [stored] = yield* conversations.history(open, 10)
      assert.deepStrictEqual(stored?.input, turn.input)
    })
  )

  it.effect("Conversations creates hidden conversations for unstored responses", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const id = yield* conversationOf(yield* someUser, [content("one")])
      const rows = yield* sql`SELECT hidden FROM conversations WHERE id = ${id}::uuid`
      assert.deepStrictEqual(rows, [{ hidden: true }])
    })
  )
})
