import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Exit, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { ApiKeyId } from "../../src/domain/Ids.ts"
import { KeyRates } from "../../src/usage/KeyRates.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { makeCaller, withKeyLimits } from "./callers.ts"

/** The rates as one more process on the same database has them. */
const anotherProcess = Layer.build(
  Layer.fresh(KeyRates.layer.pipe(Layer.provide(TestDatabase.client({ connectionsMax: 3 }))))
).pipe(Effect.map((context) => Context.get(context, KeyRates)))

const makeKey = Effect.map(
  Effect.flatMap(makeCaller, (caller) => withKeyLimits(caller, { requestsPerMinute: 1 })),
  ({ keyId }) => keyId
)

/** The number of admitted requests among so many concurrent ones, sent to these processes in turn. */
const admitted = Effect.fnUntraced(function* (
  processes: ReadonlyArray<KeyRates["Service"]>,
  key: ApiKeyId,
  limit: number,
  requests: number
) {
  const exits = yield* Effect.forEach(
    Array.from({ length: requests }, (_, index) => processes[index % processes.length]!),
    (rates) => Effect.exit(rates.admit(key, limit)),
    { concurrency: "unbounded" }
  )
  return exits.filter(Exit.isSuccess).length
})

/** Moves the beginning of the key's minute. */
const shift = Effect.fnUntraced(function* (key: ApiKeyId, seconds: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE key_minutes SET began = began + make_interval(secs => ${seconds}) WHERE key_id = ${key}::uuid`
})

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

layer(KeyRates.layer.pipe(Layer.provideMerge(TestDatabase.layerFailing)))("KeyRates", (it) => {
  it.effect.prop(
    "two processes together admit as many requests of a minute as the key may send",
    [between(1, 40), Schema.Array(between(1, 30)).check(Schema.isMinLength(1), Schema.isMaxLength(4))],
    ([limit, bursts]) =>
      Effect.gen(function* () {
        const key = yield* makeKey
        const processes = [yield* KeyRates, yield* anotherProcess]
        let left = limit
        for (const requests of bursts) {
          const expected = Math.min(left, requests)
          assert.strictEqual(yield* admitted(processes, key, limit, requests), expected)
          left -= expected
        }
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 30 } }
  )

  it.effect("a refusal says when the minute ends, and the next minute admits as many again", () =>
    Effect.gen(function* () {
      const rates = yield* KeyRates
      const key = yield* makeKey
      assert.strictEqual(yield* admitted([rates], key, 3, 5), 3)
      yield* shift(key, -20)
      const refused = yield* Effect.flip((yield* anotherProcess).admit(key, 3))
      assert.strictEqual(refused._tag, "KeyRateExceeded")
      if (refused._tag !== "KeyRateExceeded") return
      assert.strictEqual(refused.limit, 3)
      // Test time stands still, and the database's goes on.
      assert.isAtMost(refused.retryAfterSeconds, 40)
      assert.isAtLeast(refused.retryAfterSeconds, 10)
      const end = DateTime.add(yield* DateTime.now, { seconds: refused.retryAfterSeconds })
      assert.isTrue(DateTime.Equivalence(refused.resetsAt, end))
      yield* shift(key, -60)
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual(yield* admitted([rates], key, 3, 5), 3)
    })
  )

  it.effect("requests of a minute that is used up cost no statement, until the limit changes", () =>
    Effect.gen(function* () {
      const rates = yield* KeyRates
      const faults = yield* SqlFaults
      const key = yield* makeKey
      assert.strictEqual(yield* admitted([rates], key, 2, 3), 2)
      yield* faults.off
      assert.strictEqual(yield* admitted([rates], key, 2, 50), 0)
      assert.strictEqual((yield* faults.seen).statements, 0)
      assert.strictEqual(yield* admitted([rates], key, 4, 50), 2)
      assert.strictEqual(yield* admitted([rates], key, 1, 5), 0)
    })
  )

  it.effect("concurrent requests of many keys share statements", () =>
    Effect.gen(function* () {
      const rates = yield* KeyRates
      const faults = yield* SqlFaults
      const keys = yield* Effect.forEach(Array.from({ length: 10 }), () => makeKey)
      const all = Effect.forEach(keys, (key) => admitted([rates], key, 100, 5), { concurrency: "unbounded" })
      yield* all
      yield* faults.off
      assert.deepStrictEqual(yield* all, Array(10).fill(5))
      // One for the request that came first, and one for all that came meanwhile.
      assert.isAtMost((yield* faults.seen).statements, 2)
    })
  )

  it.effect("a minute that begins in the future, because the clock was set back, is over", () =>
    Effect.gen(function* () {
      const key = yield* makeKey
      assert.strictEqual(yield* admitted([yield* KeyRates], key, 2, 3), 2)
      yield* shift(key, 3_600)
      assert.strictEqual(yield* admitted([yield* anotherProcess], key, 2, 3), 2)
    })
  )

  it.effect("KeyRates admits no request without the database, and later ones again", () =>
    Effect.gen(function* () {
      const rates = yield* KeyRates
      const faults = yield* SqlFaults
      const key = yield* makeKey
      yield* faults.outage
      const error = yield* Effect.flip(rates.admit(key, 2))
      assert.strictEqual(error._tag, "DatabaseUnavailable")
      yield* faults.off
      assert.strictEqual(yield* admitted([rates], key, 2, 3), 2)
    })
  )
})
