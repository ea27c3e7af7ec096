import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Conversations } from "../../src/conversations/Conversations.ts"
import type { CommitTurn } from "../../src/conversations/Conversations.ts"
import type { ConversationId, UserId } from "../../src/domain/Ids.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import {
  addTurn,
  content,
  conversationOf,
  conversationsWith,
  expireLease,
  someUser,
  storedTurns
} from "./fixtures.ts"

/** More than any of the scenarios runs, so that each of its statements fails in some attempt. */
const statementsMax = 12

const shared = Layer.provideMerge(
  conversationsWith({ leaseSeconds: 600, turnWaitSeconds: 0 }),
  TestDatabase.layerFailing
)

/** After anything went wrong: the turns are whole and without a gap, and the next one can be added. */
const checkConversation = Effect.fnUntraced(function* (
  user: UserId,
  id: ConversationId,
  told: ReadonlyArray<string>
) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ turnCount: number }>`SELECT turn_count FROM conversations WHERE id = ${id}::uuid`
  const turns = yield* storedTurns(id)
  assert.deepStrictEqual(
    turns.map(({ items, position }) => [position, items]),
    turns.map((_, n) => [n, 2])
  )
  assert.includeMembers(
    turns.map(({ responseId }) => responseId),
    [...told],
    "what was reported as stored must be there"
  )
  if (rows.length === 0) return assert.deepStrictEqual(turns, [])
  assert.deepStrictEqual(rows, [{ turnCount: turns.length }])
  // A lease whose holder could not give it back ends by itself.
  yield* expireLease(id)
  yield* addTurn(user, id, content("afterwards"))
  assert.strictEqual((yield* storedTurns(id)).length, turns.length + 1)
})

layer(shared, { excludeTestServices: true })("When the connection breaks at any statement", (it) => {
  for (const when of ["before", "after"] as const) {
    it.effect(`an existing conversation stays whole (${when})`, () =>
      Effect.gen(function* () {
        const conversations = yield* Conversations
        const faults = yield* SqlFaults
        const failures: Array<boolean> = []
        for (let n = 1; n <= statementsMax; n++) {
          const user = yield* someUser
          const id = yield* conversationOf(user, [content("before")])
          const turn = content("with fault")
          yield* faults.failStatement(n, when)
          const exit = yield* Effect.gen(function* () {
            const open = yield* conversations.open(user, id)
            yield* conversations.history(open, 100)
            yield* conversations.commit(open, turn)
          }).pipe(Effect.scoped, Effect.exit)
          const { failed } = yield* faults.seen
          yield* faults.off
          if (!failed) break
          if (Exit.isFailure(exit)) assert.include(String(exit.cause), "DatabaseUnavailable")
          failures.push(Exit.isFailure(exit))
          yield* checkConversation(user, id, Exit.isSuccess(exit) ? [turn.responseId] : [])
        }
        // Opening and reading fail; a commit asks again and succeeds, whether it was done before or not.
        assert.deepStrictEqual(failures, [true, true, false])
      })
    )

    it.effect(`a new conversation is there with its turn, or not at all (${when})`, () =>
      Effect.gen(function* () {
        const conversations = yield* Conversations
        const faults = yield* SqlFaults
        const failures: Array<boolean> = []
        for (let n = 1; n <= statementsMax; n++) {
          const user = yield* someUser
          const turn: CommitTurn = content("with fault")
          let id: ConversationId | undefined
          yield* faults.failStatement(n, when)
          const exit = yield* Effect.gen(function* () {
            const created = yield* conversations.create(user)
            id = created.turn.conversationId
            yield* conversations.commit(created.turn, turn)
            yield* created.stored
          }).pipe(Effect.scoped, Effect.exit)
          const { failed } = yield* faults.seen
          yield* faults.off
          if (!failed) break
          if (Exit.isFailure(exit)) assert.include(String(exit.cause), "DatabaseUnavailable")
          failures.push(Exit.isFailure(exit))
          assert.isDefined(id)
          yield* checkConversation(user, id, Exit.isSuccess(exit) ? [turn.responseId] : [])
        }
        assert.deepStrictEqual(failures, [true, false])
      })
    )

    it.effect(
      `a turn that is given back unused doesn't block the next for longer than its lease (${when})`,
      () =>
        Effect.gen(function* () {
          const conversations = yield* Conversations
          const faults = yield* SqlFaults
          const user = yield* someUser
          const id = yield* conversationOf(user, [content("before")])
          yield* Effect.scoped(
            Effect.gen(function* () {
              yield* conversations.open(user, id)
              yield* faults.failStatement(1, when)
            })
          )
          assert.isTrue((yield* faults.seen).failed)
          yield* faults.off
          yield* checkConversation(user, id, [])
        })
    )

    it.effect(`the look-ups say so (${when})`, () =>
      Effect.gen(function* () {
        const conversations = yield* Conversations
        const faults = yield* SqlFaults
        const user = yield* someUser
        const turn = content("before")
        yield* conversationOf(user, [turn])
        const ids = turn.input.map(({ id }) => id)
        const lookUps: ReadonlyArray<Effect.Effect<void, { readonly _tag: string }>> = [
          Effect.asVoid(conversations.ofResponse(user, turn.responseId)),
          Effect.asVoid(conversations.items(user, ids))
        ]
        for (const lookUp of lookUps) {
          yield* faults.failStatement(1, when)
          assert.strictEqual((yield* Effect.flip(lookUp))._tag, "DatabaseUnavailable")
          yield* faults.off
          yield* lookUp
        }
      })
    )
  }

  it.effect("a turn can't be stored where the row of its new conversation can't be written", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const faults = yield* SqlFaults
      const user = yield* someUser
      yield* faults.outage
      const { stored, turn } = yield* conversations.create(user)
      assert.strictEqual((yield* Effect.flip(stored))._tag, "DatabaseUnavailable")
      yield* faults.off
      assert.strictEqual(
        (yield* Effect.flip(conversations.commit(turn, content("none"))))._tag,
        "DatabaseUnavailable"
      )
    })
  )
})

layer(shared)("When the database stays away", (it) => {
  it.effect("a commit asks again for a while, then ends with DatabaseUnavailable", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const faults = yield* SqlFaults
      const user = yield* someUser
      const id = yield* conversationOf(user, [])
      const turn = yield* conversations.open(user, id)
      yield* faults.outage
      const error = yield* Effect.flip(conversations.commit(turn, content("lost")))
      assert.strictEqual(error._tag, "DatabaseUnavailable")
      assert.isAbove((yield* faults.seen).statements, 10)
      yield* faults.off
      assert.strictEqual((yield* storedTurns(id)).length, 0)
      yield* conversations.commit(turn, content("found"))
    })
  )
})
