import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Caller } from "../../src/domain/Account.ts"
import type { KeyLimitChanges } from "../../src/domain/KeyLimits.ts"
import { makeReservationTable } from "../../src/usage/Reservations.ts"
import { makeTokenCounters } from "../../src/usage/TokenCounters.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { asking, at, expire, limited, newResponse, spending, usageLayer } from "./asking.ts"
import { anotherKey, makeCaller, withKeyLimits } from "./callers.ts"

/** Usage as one more process on the same database has it. */
const anotherProcess = Layer.build(
  Layer.fresh(usageLayer.pipe(Layer.provide(TestDatabase.client({ connectionsMax: 3 }))))
).pipe(Effect.map((context) => Context.get(context, Usage)))

/** A user without limits, whose key has these. */
const keyed = Effect.fnUntraced(function* (limits: KeyLimitChanges) {
  const usage = yield* Usage
  return { usage, caller: yield* withKeyLimits(yield* makeCaller, limits) }
})

const ofKey = Effect.fnUntraced(function* ({ keyId, keyLimits, userId }: Caller) {
  const usage = yield* Usage
  const key = { id: keyId, userId, limits: keyLimits }
  return (yield* usage.keyAllowances([key]))(key)
})

const spend = Effect.fnUntraced(function* (caller: Caller, tokens: number) {
  const usage = yield* Usage
  const ask = asking(caller, tokens)
  const { tokens: granted } = yield* usage.reserve(ask)
  yield* usage.record(spending(caller, ask.responseId, tokens))
  return granted
})

const refusalOf = (caller: Caller) =>
  Effect.flatMap(Usage, (usage) => Effect.flip(usage.reserve(asking(caller, 1))))

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

layer(usageLayer.pipe(Layer.provideMerge(TestDatabase.layerFailing)))("Allowances of keys", (it) => {
  it.effect("two processes together grant no more than the key has left, and all of it comes back", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* keyed({ dailyTokens: 100 })
      const other = yield* anotherProcess
      const asks = Array.from({ length: 60 }, () => asking(caller, 10, { least: 3 }))
      const grants = yield* Effect.forEach(
        asks,
        (ask, position) => Effect.option((position % 2 === 0 ? usage : other).reserve(ask)),
        { concurrency: "unbounded" }
      )
      const granted = grants.flatMap((grant) => (Option.isSome(grant) ? [grant.value.tokens] : []))
      assert.strictEqual(
        granted.reduce((sum, tokens) => sum + tokens, 0),
        100
      )
      yield* Effect.forEach(
        asks,
        (ask, position) => (position % 2 === 0 ? other : usage).record(spending(caller, ask.responseId, 1)),
        { concurrency: "unbounded" }
      )
      const { daily, monthly } = yield* ofKey(caller)
      assert.deepInclude(daily, { used: 60, reserved: 0, limit: 100 })
      assert.isNull(monthly)
      assert.deepInclude((yield* usage.allowanceOf(caller.userId)).daily, { used: 60, reserved: 0 })
    })
  )

  it.effect.prop(
    "keys and their user never have more reserved than their limits, in any order of requests at two processes",
    [
      Schema.Array(
        Schema.Struct({
          key: between(0, 2),
          process: between(0, 1),
          most: between(1, 40),
          /** More or less than was reserved, or nothing recorded: the process was killed. */
          end: Schema.Literals(["all", "less", "killed"])
        })
      ).check(Schema.isMinLength(4), Schema.isMaxLength(24)),
      between(1, 120),
      between(1, 60),
      between(1, 60)
    ],
    ([requests, ofUser, first, second]) =>
      Effect.gen(function* () {
        const { caller, usage } = yield* limited({ daily: ofUser })
        const processes = [usage, yield* anotherProcess]
        const unlimited = anotherKey(caller)
        const keys = [
          yield* withKeyLimits(caller, { dailyTokens: first }),
          yield* withKeyLimits(anotherKey(caller), { monthlyTokens: second }),
          unlimited
        ]
        const run = Effect.fnUntraced(function* ({ end, key, most, process }: (typeof requests)[number]) {
          const ask = asking(keys[key]!, most)
          const reserved = yield* Effect.option(processes[process]!.reserve(ask))
          if (Option.isNone(reserved)) return
          const { tokens } = reserved.value
          if (end === "killed") return yield* expire(ask.responseId)
          const used = end === "all" ? tokens : Math.floor(tokens / 2)
          yield* processes[1 - process]!.record(spending(keys[key]!, ask.responseId, used))
        })
        const sql = yield* SqlClient.SqlClient
        yield* Effect.forEach(requests, run, { concurrency: "unbounded" })
        yield* (yield* makeReservationTable).expire(caller.userId, [])
        const counters = yield* makeTokenCounters
        const limits = [ofUser, first, second, Number.POSITIVE_INFINITY]
        for (const [index, owner] of [caller.userId, ...keys.map(({ keyId }) => keyId)].entries()) {
          const [row] = yield* sql`
            SELECT coalesce(sum(input_tokens), 0)::int AS used FROM usage_records
            WHERE ${owner}::uuid IN (user_id, key_id)`
          const used = Number(row?.["used"])
          assert.isAtMost(used, limits[index]!)
          const counted = yield* counters.read(owner)
          if (counted === undefined) continue
          // The counters of each key and of the user equal the recorded usage.
          assert.deepInclude(counted, { dayUsed: used, monthUsed: used, dayReserved: 0, monthReserved: 0 })
        }
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 25 } }
  )

  it.effect("the tighter one of the limits of user and key decides, and is named", () =>
    Effect.gen(function* () {
      yield* at("2024-05-10T12:00:00Z")
      const { caller } = yield* limited({ daily: 50, monthly: 100 })
      const tight = yield* withKeyLimits(caller, { dailyTokens: 30 })
      const wide = yield* withKeyLimits(anotherKey(caller), { dailyTokens: 1_000, monthlyTokens: 2_000 })
      assert.strictEqual(yield* spend(tight, 40), 30)
      assert.deepInclude(yield* refusalOf(tight), { owner: "key", window: "daily", used: 40, limit: 30 })
      // The user has ten left, which another key may use.
      assert.strictEqual(yield* spend(wide, 20), 10)
      assert.deepInclude(yield* refusalOf(wide), { owner: "user", window: "daily", used: 60, limit: 50 })
      // Both are spent, and the key is further beyond its limit than the user.
      assert.deepInclude(yield* refusalOf(yield* withKeyLimits(tight, { dailyTokens: 1 })), {
        owner: "key",
        limit: 1
      })
      // If a day and a month are used up, the client has to wait for the month.
      const monthly = yield* withKeyLimits(tight, { dailyTokens: 1, monthlyTokens: 40 })
      assert.deepInclude(yield* refusalOf(monthly), { owner: "key", window: "monthly", limit: 40 })
    })
  )

  it.effect("what is spent is named before what running requests only hold", () =>
    Effect.gen(function* () {
      yield* at("2024-05-11T12:00:00Z")
      const { caller, usage } = yield* limited({ daily: 50 })
      const key = yield* withKeyLimits(caller, { dailyTokens: 20 })
      const running = asking(key, 20)
      yield* usage.reserve(running)
      assert.deepInclude(yield* refusalOf(key), { owner: "key", used: 0, held: 20, retryAfterSeconds: 2 })
      yield* spend(anotherKey(caller), 50)
      assert.deepInclude(yield* refusalOf(key), { owner: "user", used: 50, held: 20, limit: 50 })
    })
  )

  it.effect("a request leaves as much as the tighter limit leaves", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* limited({ daily: 100 })
      const key = yield* withKeyLimits(caller, { monthlyTokens: 70 })
      assert.deepStrictEqual(yield* usage.reserve(asking(key, 60)), { tokens: 60, left: 10 })
      assert.deepStrictEqual(yield* usage.reserve(asking(anotherKey(caller), 30)), { tokens: 30, left: 10 })
      assert.deepStrictEqual(yield* usage.reserve(asking(key, 30)), { tokens: 10, left: 0 })
    })
  )

  it.effect("windows end at midnight and at the end of the month, UTC, and never begin again", () =>
    Effect.gen(function* () {
      const { caller } = yield* keyed({ dailyTokens: 10, monthlyTokens: 15 })
      yield* at("2024-02-28T23:59:50Z")
      yield* spend(caller, 10)
      assert.deepInclude(yield* refusalOf(caller), { window: "daily", used: 10, retryAfterSeconds: 10 })
      yield* at("2024-02-29T00:00:00Z")
      yield* spend(caller, 5)
      const day = 86_400
      assert.deepInclude(yield* refusalOf(caller), { window: "monthly", used: 15, retryAfterSeconds: day })
      yield* at("2024-02-28T12:00:00Z")
      assert.deepInclude(yield* refusalOf(caller), { window: "monthly", retryAfterSeconds: 1.5 * day })
      yield* at("2024-03-01T00:00:00Z")
      yield* spend(caller, 10)
      const { daily, monthly } = yield* ofKey(caller)
      assert.strictEqual(DateTime.formatIso(daily!.resetsAt), "2024-03-02T00:00:00.000Z")
      assert.strictEqual(DateTime.formatIso(monthly!.resetsAt), "2024-04-01T00:00:00.000Z")
      yield* at("2024-03-02T00:00:00Z")
      assert.deepInclude((yield* ofKey(caller)).daily, { used: 0, reserved: 0, limit: 10 })
    })
  )

  it.effect("a key counts in the window of its user, which another key may have opened", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* keyed({ dailyTokens: 10 })
      yield* at("2024-05-01T23:00:00Z")
      yield* spend(caller, 10)
      // At a process whose clock is ahead.
      yield* at("2024-05-02T01:00:00Z")
      yield* spend(yield* withKeyLimits(anotherKey(caller), { dailyTokens: 10 }), 1)
      yield* at("2024-05-01T23:30:00Z")
      assert.strictEqual(yield* spend(caller, 4), 4)
      assert.deepInclude((yield* ofKey(caller)).daily, { used: 4, reserved: 0 })
      assert.deepInclude((yield* usage.allowanceOf(caller.userId)).daily, { used: 5, reserved: 0 })
    })
  )

  it.effect("a lower limit holds at once, also below what is used, and a higher one opens the window", () =>
    Effect.gen(function* () {
      yield* at("2024-05-12T12:00:00Z")
      const { caller, usage } = yield* keyed({ dailyTokens: 100 })
      const running = asking(caller, 30)
      yield* usage.reserve(running)
      yield* spend(caller, 40)
      yield* withKeyLimits(caller, { dailyTokens: 20 })
      // This process found the old limit when it looked up the key.
      assert.deepInclude(yield* refusalOf(caller), { owner: "key", used: 40, held: 30, limit: 20 })
      yield* usage.record(spending(caller, running.responseId, 30))
      assert.deepInclude((yield* ofKey(caller)).daily, { used: 70, reserved: 0 })
      yield* withKeyLimits(caller, { dailyTokens: 80 })
      assert.deepStrictEqual(yield* usage.reserve(asking(caller, 50)), { tokens: 10, left: 0 })
      yield* withKeyLimits(caller, {})
      assert.strictEqual((yield* usage.reserve(asking(caller, 50))).tokens, 50)
    })
  )

  it.effect("a limit that is new counts what was spent before it, and requests that still run", () =>
    Effect.gen(function* () {
      yield* at("2024-07-02T10:00:00Z")
      const caller = yield* makeCaller
      const usage = yield* Usage
      const running = asking(caller, 20)
      assert.strictEqual((yield* usage.reserve(running)).tokens, Number.POSITIVE_INFINITY)
      yield* usage.record(spending(caller, newResponse(), 30))
      yield* usage.record(spending(anotherKey(caller), newResponse(), 500))
      const key = yield* withKeyLimits(caller, { dailyTokens: 50 })
      // Nothing is counted for it yet, so the records are asked.
      assert.deepInclude((yield* ofKey(key)).daily, { used: 30, reserved: 0, limit: 50 })
      assert.deepStrictEqual(yield* usage.reserve(asking(key, 5)), { tokens: 5, left: 15 })
      yield* usage.record(spending(caller, running.responseId, 15))
      assert.deepInclude((yield* ofKey(key)).daily, { used: 45, reserved: 5 })
      assert.deepInclude(yield* refusalOf(key), { used: 45, held: 5 })
    })
  )

  it.effect("the reservations of a crashed process come back to the key when it needs them", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* keyed({ dailyTokens: 50 })
      const lost = asking(caller, 50)
      yield* (yield* anotherProcess).reserve(lost)
      assert.strictEqual((yield* refusalOf(caller))._tag, "UsageLimitExceeded")
      yield* expire(lost.responseId)
      assert.strictEqual((yield* usage.reserve(asking(caller, 10))).tokens, 10)
      // It was alive after all: what it spent counts, and what it held is not given back twice.
      yield* usage.record(spending(caller, lost.responseId, 5))
      assert.deepInclude((yield* ofKey(caller)).daily, { used: 5, reserved: 10 })
      assert.deepInclude((yield* usage.allowanceOf(caller.userId)).daily, { used: 5, reserved: 10 })
    })
  )

  it.effect("a key that is revoked while it has reservations is settled like any other", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { caller, usage } = yield* keyed({ dailyTokens: 50 })
      const running = asking(caller, 20)
      yield* usage.reserve(running)
      yield* sql`UPDATE api_keys SET revoked_at = now() WHERE id = ${caller.keyId}::uuid`
      // Another part of the answer.
      yield* usage.reserve({ ...running, part: 1 })
      assert.deepInclude((yield* ofKey(caller)).daily, { used: 0, reserved: 40 })
      yield* usage.record(spending(caller, running.responseId, 33))
      assert.deepInclude((yield* ofKey(caller)).daily, { used: 33, reserved: 0 })
    })
  )

  it.effect("processes that settle for the same users and keys at once don't hinder each other", () =>
    Effect.gen(function* () {
      const other = yield* anotherProcess
      const all = yield* Effect.forEach(Array.from({ length: 4 }), () =>
        Effect.gen(function* () {
          const { caller } = yield* limited({ daily: 10_000 })
          return yield* Effect.forEach([caller, anotherKey(caller)], (one) =>
            withKeyLimits(one, { dailyTokens: 10_000 })
          )
        })
      ).pipe(Effect.map((keys) => keys.flat()))
      const work = (from: Usage["Service"]) =>
        Effect.forEach(
          Array.from({ length: 80 }, (_, position) => all[(position * 5) % all.length]!),
          (caller) => {
            const ask = asking(caller, 10)
            return Effect.andThen(from.reserve(ask), from.record(spending(caller, ask.responseId, 7)))
          },
          { concurrency: 20, discard: true }
        )
      yield* Effect.all([work(yield* Usage), work(other)], { concurrency: "unbounded" })
      for (const caller of all) {
        assert.deepInclude((yield* ofKey(caller)).daily, { used: 140, reserved: 0 })
      }
    })
  )

  it.effect("an answer of the database that is lost leaves no more reserved than a request", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* keyed({ dailyTokens: 50 })
      const faults = yield* SqlFaults
      yield* usage.reserve(asking(caller, 10))
      yield* faults.failStatement(1, "after")
      assert.strictEqual((yield* refusalOf(caller))._tag, "DatabaseUnavailable")
      yield* faults.off
      assert.strictEqual((yield* ofKey(caller)).daily?.reserved, 11)
      // Uncertain tokens are released when they are needed.
      assert.strictEqual((yield* usage.reserve(asking(caller, 39, { least: 39 }))).tokens, 39)
    })
  )

  it.effect("a key without token limits costs no statement, and one with limits costs one", () =>
    Effect.gen(function* () {
      const faults = yield* SqlFaults
      const { caller, usage } = yield* keyed({ requestsPerMinute: 5 })
      const key = yield* withKeyLimits(anotherKey(caller), { monthlyTokens: 1_000 })
      yield* spend(caller, 1)
      yield* spend(key, 1)
      yield* faults.off
      assert.strictEqual((yield* usage.reserve(asking(caller, 1))).tokens, Number.POSITIVE_INFINITY)
      assert.deepStrictEqual(yield* ofKey(caller), { daily: null, monthly: null, requestsPerMinute: 5 })
      assert.strictEqual((yield* faults.seen).statements, 0)
      yield* usage.reserve(asking(key, 1))
      assert.strictEqual((yield* faults.seen).statements, 1)
    })
  )
})
