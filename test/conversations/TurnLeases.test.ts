import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Conversations } from "../../src/conversations/Conversations.ts"
import type { ConversationId } from "../../src/domain/Ids.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import {
  anotherProcess,
  content,
  conversationOf,
  conversationsWith,
  expireLease,
  someUser,
  storedTurns,
  until
} from "./fixtures.ts"

/** Short enough to see several renewals, long enough for a slow machine to manage them. */
const leaseSeconds = 1.5
const shared = Layer.provideMerge(conversationsWith({ leaseSeconds }), TestDatabase.layerFailing)

const leaseEnd = Effect.fnUntraced(function* (id: ConversationId) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{
    leaseUntil: Date | null
  }>`SELECT lease_until FROM conversations WHERE id = ${id}::uuid`
  return rows[0]?.leaseUntil?.getTime() ?? 0
})

layer(shared, { excludeTestServices: true })("A held turn", (it) => {
  it.effect("a held turn stays held for longer than one lease", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const process = yield* anotherProcess({ leaseSeconds, turnWaitSeconds: 0 })
      const user = yield* someUser
      const id = yield* conversationOf(user, [])
      yield* Effect.scoped(
        Effect.gen(function* () {
          const turn = yield* conversations.open(user, id)
          const end = yield* leaseEnd(id)
          yield* until(Effect.map(leaseEnd(id), (renewed) => renewed > end + leaseSeconds * 1000))
          assert.strictEqual(
            (yield* Effect.flip(Effect.scoped(process.open(user, id))))._tag,
            "ConversationBusy"
          )
          yield* conversations.commit(turn, content("kept"))
        })
      )
      assert.strictEqual((yield* storedTurns(id)).length, 1)
    })
  )

  it.effect("a new turn is renewed, too", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const user = yield* someUser
      const { stored, turn } = yield* conversations.create(user)
      yield* stored
      const end = yield* leaseEnd(turn.conversationId)
      yield* until(
        Effect.map(leaseEnd(turn.conversationId), (renewed) => renewed > end + leaseSeconds * 1000)
      )
    })
  )

  it.effect("a held turn is lost when another holder takes it over", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const process = yield* anotherProcess({ leaseSeconds: 60 })
      const user = yield* someUser
      const id = yield* conversationOf(user, [])
      const turn = yield* conversations.open(user, id)
      const lost = yield* Effect.exit(conversations.lost(turn)).pipe(Effect.forkChild)
      // The renewals go on, so the other process needs several attempts at an instant at which the lease is
      // over.
      yield* Effect.retry(
        Effect.andThen(expireLease(id), Effect.timeout(process.open(user, id), "1 second")),
        { times: 20 }
      )
      assert.isTrue(Exit.isFailure(yield* Fiber.join(lost)))
    })
  )

  it.effect("a held turn is lost when it can't be renewed in time, and not before", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const faults = yield* SqlFaults
      const user = yield* someUser
      const id = yield* conversationOf(user, [])
      const turn = yield* conversations.open(user, id)
      const before = yield* Effect.clockWith((clock) => clock.monotonicTimeNanos)
      yield* faults.outage
      const lost = yield* Effect.flip(conversations.lost(turn)).pipe(Effect.ensuring(faults.off))
      const after = yield* Effect.clockWith((clock) => clock.monotonicTimeNanos)
      assert.strictEqual(lost._tag, "TurnLeaseLost")
      assert.isAbove(Number(after - before) / 1e9, leaseSeconds / 2)
      // Nobody has taken it meanwhile, so what was said needn't be thrown away.
      yield* conversations.commit(turn, content("still here"))
    })
  )

  it.effect("a held turn survives an outage that is shorter than the lease", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const faults = yield* SqlFaults
      const user = yield* someUser
      const id = yield* conversationOf(user, [])
      const turn = yield* conversations.open(user, id)
      const lost = yield* conversations.lost(turn).pipe(Effect.forkChild)
      const end = yield* leaseEnd(id)
      yield* faults.failStatement(1, "before")
      yield* until(Effect.map(faults.seen, ({ failed }) => failed))
      yield* until(Effect.map(leaseEnd(id), (renewed) => renewed > end + leaseSeconds * 1000))
      assert.isUndefined(lost.pollUnsafe())
    })
  )

  it.effect("a held turn is not lost by being stored", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const user = yield* someUser
      const id = yield* conversationOf(user, [])
      const turn = yield* conversations.open(user, id)
      const lost = yield* conversations.lost(turn).pipe(Effect.forkChild)
      yield* conversations.commit(turn, content("stored"))
      const other = yield* conversations.create(user)
      yield* other.stored
      const end = yield* leaseEnd(other.turn.conversationId)
      // Another turn's renewals show that this one has been looked at too.
      yield* until(Effect.map(leaseEnd(other.turn.conversationId), (renewed) => renewed > end + 1000))
      assert.isUndefined(lost.pollUnsafe())
    })
  )
})
