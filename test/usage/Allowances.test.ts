import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { AppConfig } from "../../src/AppConfig.ts"
import { ResponseId } from "../../src/domain/Ids.ts"
import { type Ask, makeTokenCounters } from "../../src/usage/TokenCounters.ts"
import { type Spending, Usage } from "../../src/usage/Usage.ts"
import { termsLayer } from "../auth/AccountsFixture.ts"
import { plansFile } from "../auth/terms.ts"
import { testConfig } from "../support/TestConfig.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { makeCaller } from "./callers.ts"
import { randomUUID } from "node:crypto"

type Caller = Spending["caller"]

const config = Layer.succeed(AppConfig, testConfig())
const usageLayer = Layer.fresh(Usage.layer).pipe(Layer.provide([config, termsLayer()]))

/** Usage as one more process on the same database has it. */
const anotherProcess = Layer.build(
  usageLayer.pipe(Layer.provide(TestDatabase.client({ connectionsMax: 3 })))
).pipe(Effect.map((context) => Context.get(context, Usage)))

const asking = (caller: Caller, most: number, more: Partial<Ask> = {}): Ask => ({
  responseId: ResponseId.make(randomUUID()),
  part: 0,
  userId: caller.userId,
  most,
  usual: most,
  least: 1,
  ...more
})

const spending = (caller: Caller, responseId: ResponseId, tokens: number): Spending => ({
  responseId,
  caller,
  model: "a-model",
  usage: {
    inputTokens: tokens,
    outputTokens: 0,
    cachedInputTokens: 0,
    reasoningTokens: 0,
    source: "provider"
  },
  toolCalls: 0,
  latencyMillis: 1,
  outcome: "completed"
})

const limited = Effect.fnUntraced(function* (limits: { readonly daily?: number; readonly monthly?: number }) {
  const usage = yield* Usage
  const caller = yield* makeCaller
  yield* usage.setLimits(caller.userId, limits)
  return { usage, caller }
})

const reservationsOf = Effect.fnUntraced(function* (caller: Caller) {
  const sql = yield* SqlClient.SqlClient
  return (yield* sql`SELECT 1 FROM token_reservations WHERE user_id = ${caller.userId}::uuid`).length
})

/** As if the process that made them had died a while ago. */
const expire = Effect.fnUntraced(function* (responseId: ResponseId) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE token_reservations SET expires_at = clock_timestamp() - interval '1 second'
    WHERE response_id = ${responseId}::uuid`
})

const at = (time: string) => TestClock.setTime(Date.parse(time))

const amount = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 1, maximum }))
const index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 7 }))
const Reserve = Schema.Struct({
  do: Schema.Literal("reserve"),
  most: amount(60),
  usual: amount(60),
  least: amount(8)
})
const Settle = Schema.Struct({ do: Schema.Literal("settle"), index, percent: amount(100) })
const Step = Schema.Union([
  Reserve,
  Settle,
  Schema.Struct({ do: Schema.Literal("crash"), index }),
  /** A request that began when there was no limit. */
  Schema.Struct({ do: Schema.Literal("spend"), tokens: amount(9) }),
  Schema.Struct({
    do: Schema.Literal("clock"),
    hours: Schema.Int.check(Schema.isBetween({ minimum: -60, maximum: 96 }))
  })
])
/** Several for each moment, so that reservations of different days are open side by side. */
const Steps = Schema.Array(Schema.Tuple([Reserve, Step, Reserve, Step, Step])).check(
  Schema.isMinLength(4),
  Schema.isMaxLength(10)
)
const daily = 100
const monthly = 250
const leastMax = 8

/** One window as it should be, told in the plainest way. */
class Reference {
  first = ""
  used = 0
  reserved = 0
  roll(first: string) {
    if (first <= this.first) return
    this.first = first
    this.used = 0
    this.reserved = 0
  }
  settle(first: string, used: number, reserved: number) {
    this.roll(first)
    if (first !== this.first) return
    this.used += used
    this.reserved -= reserved
  }
}

layer(usageLayer.pipe(Layer.provideMerge(TestDatabase.layerFailing)))("Allowances", (it) => {
  it.effect.prop(
    "any order of reserving, settling, crashing and changing the time does what the plain reference does",
    [Steps],
    ([steps]) =>
      Effect.gen(function* () {
        const { caller, usage } = yield* limited({ daily, monthly })
        const counters = yield* makeTokenCounters
        const day = new Reference()
        const month = new Reference()
        let now = Date.parse("2024-02-29T00:00:00Z")
        let unasked = 0
        let open: Array<{ id: ResponseId; tokens: number; day: string; month: string }> = []
        for (const step of steps.flat()) {
          yield* TestClock.setTime(now)
          const today = new Date(now).toISOString().slice(0, 10)
          const one = "index" in step ? open[step.index % open.length] : undefined
          if (step.do === "clock") now += step.hours * 3_600_000
          else if (step.do === "reserve") {
            day.roll(today)
            month.roll(`${today.slice(0, 7)}-01`)
            const left = Math.min(daily - day.used - day.reserved, monthly - month.used - month.reserved)
            const usual = Math.max(Math.floor(left / 4), step.usual)
            const expected = left <= 0 ? 0 : Math.min(step.most, Math.max(step.least, Math.min(left, usual)))
            const ask = asking(caller, step.most, { usual: step.usual, least: step.least })
            const granted = yield* usage
              .reserve(ask)
              .pipe(Effect.catchTag("UsageLimitExceeded", () => Effect.succeed(0)))
            assert.strictEqual(granted, expected)
            day.reserved += granted
            month.reserved += granted
            if (granted > 0) {
              open.push({ id: ask.responseId, tokens: granted, day: day.first, month: month.first })
            }
          } else if (step.do === "spend") {
            yield* usage.record(spending(caller, ResponseId.make(randomUUID()), step.tokens))
            unasked += step.tokens
            day.settle(today, step.tokens, 0)
            month.settle(`${today.slice(0, 7)}-01`, step.tokens, 0)
          } else if (one !== undefined) {
            const used = step.do === "settle" ? Math.floor((one.tokens * step.percent) / 100) : 0
            if (step.do === "settle") yield* usage.record(spending(caller, one.id, used))
            else {
              yield* expire(one.id)
              yield* counters.lapse(caller.userId, [])
            }
            day.settle(one.day, used, one.tokens)
            month.settle(one.month, used, one.tokens)
            open = open.filter((other) => other !== one)
          }
          const counted = yield* counters.read(caller.userId)
          if (Option.isNone(counted)) continue
          const { dayReserved, dayUsed, monthReserved, monthUsed } = counted.value
          assert.deepStrictEqual(
            { first: counted.value.day, used: dayUsed, reserved: dayReserved },
            { ...day }
          )
          assert.deepStrictEqual(
            { first: counted.value.month, used: monthUsed, reserved: monthReserved },
            { ...month }
          )
          if (step.do === "reserve") {
            assert.isBelow(dayUsed + dayReserved, daily + leastMax + unasked)
            assert.isBelow(monthUsed + monthReserved, monthly + leastMax + unasked)
          }
        }
      }),
    { arbitrary: { runs: 40 } }
  )

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
      const granted = grants.flatMap((grant) => (Option.isSome(grant) ? [grant.value] : []))
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

  it.effect("what a process that died holds lapses when somebody needs it", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* limited({ daily: 50 })
      const lost = asking(caller, 50)
      yield* (yield* anotherProcess).reserve(lost)
      const refused = yield* Effect.flip(usage.reserve(asking(caller, 10)))
      assert.strictEqual(refused._tag, "UsageLimitExceeded")
      yield* expire(lost.responseId)
      assert.strictEqual(yield* usage.reserve(asking(caller, 10)), 10)
      // It was alive after all: what it spent counts, and what it held is not given back twice.
      yield* usage.record(spending(caller, lost.responseId, 5))
      assert.deepInclude((yield* usage.allowanceOf(caller.userId)).daily, { used: 5, reserved: 10 })
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
      assert.strictEqual(yield* usage.reserve(asking(caller, 40)), 40)
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

  it.effect("a limit that is new counts what was spent before it", () =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const caller = yield* makeCaller
      yield* at("2024-07-02T10:00:00Z")
      assert.strictEqual(yield* usage.reserve(asking(caller, 1)), Number.POSITIVE_INFINITY)
      yield* usage.record(spending(caller, ResponseId.make(randomUUID()), 30))
      yield* usage.setLimits(caller.userId, { daily: 30 })
      assert.deepInclude(yield* Effect.flip(usage.reserve(asking(caller, 1))), { used: 30 })
      // Without a limit usage goes on being counted, for the day on which there is one again.
      yield* usage.setLimits(caller.userId, { daily: null })
      yield* usage.record(spending(caller, ResponseId.make(randomUUID()), 5))
      yield* usage.setLimits(caller.userId, { daily: 40 })
      assert.strictEqual(yield* usage.reserve(asking(caller, 20)), 5)
      yield* usage.setLimits(caller.userId, { daily: "default" })
      assert.deepInclude((yield* usage.allowanceOf(caller.userId)).daily, { limit: null, source: "settings" })
    })
  )

  it.effect("one request leaves room for others, unless it needs what is left", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* limited({ daily: 1_000 })
      assert.strictEqual(yield* usage.reserve(asking(caller, 5_000, { usual: 100 })), 250)
      assert.strictEqual(yield* usage.reserve(asking(caller, 5_000, { usual: 700 })), 700)
      assert.strictEqual(yield* usage.reserve(asking(caller, 5_000, { usual: 700, least: 60 })), 60)
      assert.strictEqual((yield* Effect.flip(usage.reserve(asking(caller, 1))))._tag, "UsageLimitExceeded")
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
  it.effect("hold for users who have none of their own", () =>
    Effect.gen(function* () {
      const { caller, usage } = yield* limited({})
      assert.strictEqual(yield* usage.reserve(asking(caller, 50)), 7)
      yield* usage.setLimits(caller.userId, { daily: null })
      assert.strictEqual(yield* usage.reserve(asking(caller, 50)), 13)
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
  it.effect("hold for users who have none of their own, before those of the settings", () =>
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

  it.effect("of another plan hold within five seconds", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { caller, usage } = yield* limited({})
      assert.strictEqual(yield* usage.reserve(asking(caller, 50)), 7)
      yield* sql`UPDATE organizations SET plan = 'pro' WHERE id = ${caller.organizationId}::uuid`
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* usage.reserve(asking(caller, 50)), 23)
    })
  )
})
