import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Fiber, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { inRealTime } from "../../src/runtime/Monotonic.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { makeReservations, makeReservationTable } from "../../src/usage/Reservations.ts"
import { makeTokenCounters } from "../../src/usage/TokenCounters.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { termsLayer } from "../auth/AccountsFixture.ts"
import { plansFile } from "../plans/terms.ts"
import { testConfig } from "../support/TestConfig.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import { asking, at, type Caller, expire, limited, newResponse, spending, usageLayer } from "./asking.ts"
import { makeCaller } from "./callers.ts"

/**
 * Usage as one more process on the same database has it. Without `fresh` it would be the same Usage again.
 */
const anotherProcess = Layer.build(
  Layer.fresh(usageLayer.pipe(Layer.provide(TestDatabase.client({ connectionsMax: 3 }))))
).pipe(Effect.map((context) => Context.get(context, Usage)))

const reservationsOf = Effect.fnUntraced(function* (caller: Caller) {
  const sql = yield* SqlClient.SqlClient
  return (yield* sql`SELECT 1 FROM token_reservations WHERE user_id = ${caller.userId}::uuid`).length
})

layer(usageLayer.pipe(Layer.provideMerge(TestDatabase.layerFailing)))("Allowances", (it) => {
  it.effect("two processes together grant no more than is left, and all of it comes back", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* limited({ daily: 100 })
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
      const { daily, monthly } = yield* usage.allowanceOf(caller.userId)
      assert.deepInclude(daily, { used: 60, reserved: 0, limit: 100, source: "user" })
      assert.deepInclude(monthly, { used: 60, reserved: 0, limit: null, source: "settings" })
      assert.strictEqual(yield* reservationsOf(caller), 0)
    })
  )

  it.effect("processes that settle for the same users at once don't hinder each other", () =>
    Effect.gen(function* () {
      const other = yield* anotherProcess
      const all = yield* Effect.forEach(Array.from({ length: 8 }), () => limited({ daily: 10_000 }))
      const work = (from: Usage["Service"]) =>
        Effect.forEach(
          Array.from({ length: 80 }, (_, position) => all[(position * 5) % all.length]!.caller),
          (caller) => {
            const ask = asking(caller, 10)
            return Effect.andThen(from.reserve(ask), from.record(spending(caller, ask.responseId, 7)))
          },
          { concurrency: 20, discard: true }
        )
      yield* Effect.all([work(yield* Usage), work(other)], { concurrency: "unbounded" })
      for (const { caller, usage } of all) {
        assert.deepInclude((yield* usage.allowanceOf(caller.userId)).daily, { used: 140, reserved: 0 })
      }
    })
  )

  it.effect("the reservations of a crashed process expire when tokens are needed", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* limited({ daily: 50 })
      const lost = asking(caller, 50)
      yield* (yield* anotherProcess).reserve(lost)
      const refused = yield* Effect.flip(usage.reserve(asking(caller, 10)))
      assert.strictEqual(refused._tag, "UsageLimitExceeded")
      yield* expire(lost.responseId)
      assert.strictEqual((yield* usage.reserve(asking(caller, 10))).tokens, 10)
      // It was alive after all: what it spent counts, and what it held is not given back twice.
      yield* usage.record(spending(caller, lost.responseId, 5))
      assert.deepInclude((yield* usage.allowanceOf(caller.userId)).daily, { used: 5, reserved: 10 })
    })
  )

  it.effect("a reservation that expired while its process was slow is restored, and released once", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* limited({ daily: 50 })
      const counters = yield* makeTokenCounters
      const { add, forget, renewAll } = yield* makeReservations
      const table = yield* makeReservationTable
      const ask = asking(caller, 30)
      assert.strictEqual((yield* usage.reserve(ask)).tokens, 30)
      const { day, month } = (yield* counters.read(caller.userId))!
      const { limitedKey, part, responseId, userId } = ask
      add({ responseId, part, userId, limitedKey, day, month, tokens: 30 })
      yield* expire(responseId)
      // Renewed in time, because no one expired it.
      yield* renewAll
      assert.strictEqual((yield* usage.allowanceOf(caller.userId)).daily.reserved, 30)
      yield* expire(responseId)
      yield* table.expire(caller.userId, [])
      assert.strictEqual((yield* usage.reserve(asking(caller, 45))).tokens, 45)
      yield* renewAll
      // More than the limit: one was granted it while the other slept, and nobody else is.
      assert.strictEqual((yield* usage.allowanceOf(caller.userId)).daily.reserved, 75)
      assert.deepInclude(yield* Effect.flip(usage.reserve(asking(caller, 1))), { used: 0, held: 75 })
      forget(responseId)
      yield* usage.record(spending(caller, responseId, 20))
      yield* renewAll
      // It ended at the moment when it was found to have expired.
      yield* table.restore([{ responseId, part, userId, limitedKey, day, month, tokens: 30 }])
      assert.deepInclude((yield* usage.allowanceOf(caller.userId)).daily, { used: 20, reserved: 45 })
    })
  )

  it.effect(
    "Allowances distinguish spent from reserved tokens, and ask for an early retry for reserved ones",
    () =>
      Effect.gen(function* () {
        const { caller, usage } = yield* limited({ daily: 100, monthly: 150 })
        yield* at("2024-05-30T23:59:00Z")
        const spent = asking(caller, 60)
        yield* usage.reserve(spent)
        yield* usage.record(spending(caller, spent.responseId, 60))
        const running = asking(caller, 40)
        yield* usage.reserve(running)
        const refusal = Effect.flip(usage.reserve(asking(caller, 1)))
        assert.deepInclude(yield* refusal, {
          window: "daily",
          used: 60,
          held: 40,
          limit: 100,
          retryAfterSeconds: 2
        })
        yield* at("2024-05-30T23:59:58Z")
        assert.deepInclude(yield* refusal, { window: "daily", retryAfterSeconds: 2 })
        // On the next day the month is in the way, of which as much is held as before.
        yield* at("2024-05-31T00:00:00Z")
        yield* usage.reserve(asking(caller, 50))
        assert.deepInclude(yield* refusal, {
          window: "monthly",
          used: 60,
          held: 90,
          limit: 150,
          retryAfterSeconds: 2
        })
        // If one window is used up and another one reserved, the client has to wait for the one that is
        // used up.
        yield* usage.setLimits(caller.userId, { daily: 0 })
        assert.deepInclude(yield* refusal, {
          window: "daily",
          used: 0,
          held: 50,
          limit: 0,
          retryAfterSeconds: 86_400
        })
      })
  )

  it.effect("a clock that is years ahead closes no window for longer than a day", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* limited({ daily: 10 })
      const sql = yield* SqlClient.SqlClient
      yield* at("2999-12-31T12:00:00Z")
      const ask = asking(caller, 10)
      yield* usage.reserve(ask)
      yield* usage.record(spending(caller, ask.responseId, 10))
      yield* usage.record(spending(caller, newResponse(), 10))
      const [row] = yield* sql`
        SELECT (day <= clock_timestamp()::date + 1) AS day, (month <= clock_timestamp()::date + 1) AS month,
          (SELECT bool_and(created_at <= clock_timestamp() + interval '1 day') FROM usage_records
            WHERE user_id = ${caller.userId}::uuid) AS records
        FROM token_counters WHERE owner_id = ${caller.userId}::uuid`
      assert.deepStrictEqual({ ...row }, { day: true, month: true, records: true })
      yield* at("2024-01-01T00:00:00Z")
    })
  )

  it.effect("a first limit counts a record that is being written at that moment", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const other = yield* anotherProcess
      const { caller, usage } = yield* limited({ daily: 100 })
      const watcher = Context.get(
        yield* Layer.build(Layer.fresh(TestDatabase.client({ connectionsMax: 1 }))),
        SqlClient.SqlClient
      )
      const waiting = (queries: number) =>
        until(
          Effect.map(
            watcher`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
            (rows) => rows.length >= queries
          )
        )
      // The record is held up after its statement has seen that there is no counter, and before it is
      // visible: by another one of the same response, which goes away again.
      const response = newResponse()
      const [written, reserved] = yield* Effect.gen(function* () {
        yield* sql`
          INSERT INTO usage_records (response_id, organization_id, model, input_tokens, output_tokens, source, outcome)
          VALUES (${response}::uuid, ${caller.organizationId}::uuid, 'm', 0, 0, 'provider', 'completed')`
        const written = yield* Effect.forkDetach(other.record(spending(caller, response, 70)))
        yield* waiting(1)
        const reserved = yield* Effect.forkDetach(other.reserve(asking(caller, 50)))
        yield* waiting(2)
        yield* sql`DELETE FROM usage_records WHERE response_id = ${response}::uuid`
        return [written, reserved] as const
      }).pipe(sql.withTransaction, inRealTime)
      yield* Fiber.join(written)
      assert.strictEqual((yield* Fiber.join(reserved)).tokens, 30)
      assert.deepInclude((yield* usage.allowanceOf(caller.userId)).daily, { used: 70, reserved: 30 })
    })
  )

  it.effect("what is held without anybody's knowing comes back when somebody needs it", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* limited({ daily: 50 })
      const faults = yield* SqlFaults
      yield* usage.reserve(asking(caller, 10))
      yield* faults.failStatement(1, "after")
      const error = yield* Effect.flip(usage.reserve(asking(caller, 40)))
      assert.strictEqual(error._tag, "DatabaseUnavailable")
      yield* faults.off
      assert.strictEqual((yield* usage.allowanceOf(caller.userId)).daily.reserved, 50)
      assert.strictEqual((yield* usage.reserve(asking(caller, 40))).tokens, 40)
    })
  )

  it.effect("a response counts once, however often it is recorded", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* limited({ daily: 50 })
      const faults = yield* SqlFaults
      const ask = asking(caller, 20)
      yield* usage.reserve(ask)
      yield* faults.failStatement(1, "after")
      yield* Effect.flip(usage.record(spending(caller, ask.responseId, 12)))
      yield* faults.off
      yield* usage.record(spending(caller, ask.responseId, 12))
      assert.deepInclude((yield* usage.allowanceOf(caller.userId)).daily, { used: 12, reserved: 0 })
    })
  )

  it.effect("windows end at midnight and at the end of the month, UTC, and never begin again", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* limited({ daily: 10, monthly: 15 })
      const spend = Effect.fnUntraced(function* (tokens: number) {
        const ask = asking(caller, tokens)
        yield* usage.reserve(ask)
        yield* usage.record(spending(caller, ask.responseId, tokens))
      })
      const refusal = Effect.flip(usage.reserve(asking(caller, 1)))

      yield* at("2024-02-28T23:59:50Z")
      yield* spend(10)
      assert.deepInclude(yield* refusal, { window: "daily", used: 10, limit: 10, retryAfterSeconds: 10 })
      yield* at("2024-02-29T00:00:00Z")
      yield* spend(5)
      const day = 86_400
      assert.deepInclude(yield* refusal, { window: "monthly", used: 15, limit: 15, retryAfterSeconds: day })
      // A clock that steps back finds the window that is spent, and the client is told how long that takes.
      yield* at("2024-02-28T12:00:00Z")
      assert.deepInclude(yield* refusal, { window: "monthly", used: 15, retryAfterSeconds: 1.5 * day })
      yield* at("2024-03-01T00:00:00Z")
      yield* spend(10)
      yield* at("2024-02-29T23:59:59Z")
      assert.deepInclude(yield* refusal, { window: "daily", used: 10, retryAfterSeconds: day + 1 })
      const { daily, monthly } = yield* usage.allowanceOf(caller.userId)
      assert.strictEqual(DateTime.formatIso(daily.resetsAt), "2024-03-02T00:00:00.000Z")
      assert.strictEqual(DateTime.formatIso(monthly.resetsAt), "2024-04-01T00:00:00.000Z")
    })
  )

  it.effect("a request counts for the day on which it began", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* limited({ daily: 10 })
      const ask = asking(caller, 4)
      yield* at("2024-06-01T23:59:59Z")
      yield* usage.reserve(ask)
      yield* at("2024-06-02T00:00:01Z")
      yield* usage.reserve(asking(caller, 1))
      yield* usage.record(spending(caller, ask.responseId, 4))
      const { daily, monthly } = yield* usage.allowanceOf(caller.userId)
      assert.deepInclude(daily, { used: 0, reserved: 1 })
      assert.deepInclude(monthly, { used: 4, reserved: 1 })
    })
  )

  it.effect("responses of two days count each for its own, also when they end in one moment", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* limited({ daily: 100 })
      yield* at("2024-06-03T23:59:59Z")
      const first = asking(caller, 20)
      const long = asking(caller, 20)
      yield* usage.reserve(first)
      yield* usage.reserve(long)
      yield* at("2024-06-04T00:00:01Z")
      const second = asking(caller, 30)
      yield* usage.reserve(second)
      yield* usage.reserve({ ...long, part: 1, most: 5 })
      assert.strictEqual((yield* usage.allowanceOf(caller.userId)).daily.reserved, 35)
      // The first is written at once, and the others together.
      const other = spending(yield* makeCaller, newResponse(), 1)
      yield* Effect.forEach(
        [other, spending(caller, first.responseId, 9), spending(caller, second.responseId, 25)],
        usage.record,
        { concurrency: "unbounded" }
      )
      assert.deepInclude((yield* usage.allowanceOf(caller.userId)).daily, { used: 25, reserved: 5 })
      yield* usage.record(spending(caller, long.responseId, 24))
      const { daily, monthly } = yield* usage.allowanceOf(caller.userId)
      assert.deepInclude(daily, { used: 25, reserved: 0 })
      assert.deepInclude(monthly, { used: 58, reserved: 0 })
    })
  )

  it.effect("a limit that is new counts what was spent before it", () =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const caller = yield* makeCaller
      yield* at("2024-07-02T10:00:00Z")
      assert.strictEqual((yield* usage.reserve(asking(caller, 1))).tokens, Number.POSITIVE_INFINITY)
      yield* usage.record(spending(caller, newResponse(), 30))
      yield* usage.setLimits(caller.userId, { daily: 30 })
      assert.deepInclude(yield* Effect.flip(usage.reserve(asking(caller, 1))), { used: 30 })
      // Without a limit usage goes on being counted, for the day on which there is one again.
      yield* usage.setLimits(caller.userId, { daily: null })
      yield* usage.record(spending(caller, newResponse(), 5))
      yield* usage.setLimits(caller.userId, { daily: 40 })
      assert.strictEqual((yield* usage.reserve(asking(caller, 20))).tokens, 5)
      yield* usage.setLimits(caller.userId, { daily: "default" })
      assert.deepInclude((yield* usage.allowanceOf(caller.userId)).daily, { limit: null, source: "settings" })
    })
  )

  it.effect("one request leaves room for others, and is told how much that is", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* limited({ daily: 1_000, monthly: 1_500 })
      const ask = (usual: number, least = 1) => usage.reserve(asking(caller, 5_000, { usual, least }))
      assert.deepStrictEqual(yield* ask(100), { tokens: 100, left: 900 })
      assert.deepStrictEqual(yield* ask(700), { tokens: 700, left: 200 })
      assert.deepStrictEqual(yield* ask(700), { tokens: 200, left: 0 })
      assert.strictEqual((yield* Effect.flip(ask(1)))._tag, "UsageLimitExceeded")
      yield* usage.setLimits(caller.userId, { daily: 1_010 })
      assert.deepStrictEqual(yield* ask(700, 60), { tokens: 60, left: 0 })
    })
  )

  it.effect("known limits cost no statement, and a limit costs one", () =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const faults = yield* SqlFaults
      const caller = yield* makeCaller
      yield* usage.reserve(asking(caller, 1))
      yield* faults.off
      yield* usage.reserve(asking(caller, 1))
      assert.strictEqual((yield* faults.seen).statements, 0)
      yield* usage.setLimits(caller.userId, { daily: 30 })
      yield* usage.reserve(asking(caller, 1))
      yield* faults.off
      yield* usage.reserve(asking(caller, 1))
      assert.strictEqual((yield* faults.seen).statements, 1)
    })
  )
})

layer(
  Usage.layer.pipe(
    Layer.provide([
      Layer.succeed(AppConfig, testConfig({ usage: { dailyTokens: 7, monthlyTokens: 20 } })),
      termsLayer()
    ]),
    Layer.provideMerge(TestDatabase.layer)
  )
)("Allowances by the settings", (it) => {
  it.effect("the settings' allowances hold for users without their own", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* limited({})
      assert.strictEqual((yield* usage.reserve(asking(caller, 50))).tokens, 7)
      yield* usage.setLimits(caller.userId, { daily: null })
      assert.strictEqual((yield* usage.reserve(asking(caller, 50))).tokens, 13)
      assert.deepInclude(yield* usage.allowanceOf(caller.userId).pipe(Effect.map(({ monthly }) => monthly)), {
        limit: 20,
        source: "settings",
        reserved: 20
      })
    })
  )
})

const planned = Layer.unwrap(
  Effect.map(
    plansFile({ free: { tokens: { daily: 5 } }, pro: { tokens: { daily: null, monthly: 30 } } }),
    (file) => {
      const settings = testConfig({
        usage: { dailyTokens: 7, monthlyTokens: 20 },
        policy: { plansFile: file }
      })
      return Usage.layer.pipe(
        Layer.provide([Layer.succeed(AppConfig, settings), termsLayer(settings)]),
        Layer.provideMerge(TestDatabase.layer)
      )
    }
  )
)

layer(planned)("Allowances by plans", (it) => {
  it.effect("a plan's allowances hold for users without their own, before those of the settings", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { caller, usage } = yield* limited({})
      const setPlan = (plan: string) =>
        sql`UPDATE organizations SET plan = ${plan} WHERE id = ${caller.organizationId}::uuid`
      const limits = Effect.map(usage.allowanceOf(caller.userId), ({ daily, monthly }) => [
        [daily.limit, daily.source],
        [monthly.limit, monthly.source]
      ])
      assert.deepStrictEqual(yield* limits, [
        [7, "settings"],
        [20, "settings"]
      ])
      yield* setPlan("free")
      assert.deepStrictEqual(yield* limits, [
        [5, "plan"],
        [20, "settings"]
      ])
      yield* setPlan("pro")
      assert.deepStrictEqual(yield* limits, [
        [null, "plan"],
        [30, "plan"]
      ])
      yield* usage.setLimits(caller.userId, { daily: 3 })
      assert.deepStrictEqual(yield* limits, [
        [3, "user"],
        [30, "plan"]
      ])
      yield* usage.setLimits(caller.userId, { monthly: null })
      assert.deepStrictEqual((yield* limits)[1], [null, "user"])
      // A plan that nobody defined bounds no tokens of its own; its users may do nothing anyway.
      yield* setPlan("gone")
      yield* usage.setLimits(caller.userId, { daily: "default" })
      assert.deepStrictEqual((yield* limits)[0], [7, "settings"])
    })
  )

  it.effect("the allowances of another plan take effect within five seconds", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { caller, usage } = yield* limited({})
      assert.strictEqual((yield* usage.reserve(asking(caller, 50))).tokens, 7)
      yield* sql`UPDATE organizations SET plan = 'pro' WHERE id = ${caller.organizationId}::uuid`
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* usage.reserve(asking(caller, 50))).tokens, 23)
    })
  )
})
