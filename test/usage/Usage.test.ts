import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import type { Caller } from "../../src/domain/Account.ts"
import { ResponseId } from "../../src/domain/Ids.ts"
import type { ModelUsage } from "../../src/domain/ModelCall.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { type Spending, Usage } from "../../src/usage/Usage.ts"
import { termsLayer } from "../auth/AccountsFixture.ts"
import { testConfig } from "../support/TestConfig.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { makeCaller } from "./callers.ts"

const usageOf = (inputTokens: number, outputTokens: number): ModelUsage => ({
  inputTokens,
  outputTokens,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  reasoningTokens: 0,
  source: "provider"
})

const spending = (caller: Caller, usage: ModelUsage): Spending => ({
  responseId: ResponseId.make(randomUUID()),
  caller,
  model: "a-model",
  usage,
  toolCalls: 0,
  latencyMillis: 1,
  outcome: "completed"
})

const none = { inputTokens: 0, outputTokens: 0 }

/** Whatever a provider may claim; the plain numbers include NaN and the infinite ones. */
const Claim = Schema.Union([Schema.Number, Schema.Int, Schema.Literals([-1, 2 ** 31 - 1, 2 ** 31, 1e300])])

const settings = Layer.succeed(AppConfig, testConfig())

layer(
  Usage.layer.pipe(Layer.provide([settings, termsLayer()]), Layer.provideMerge(TestDatabase.layerFailing))
)("Usage", (it) => {
  it.effect("Usage adds up what a user spent, and only that user", () =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const caller = yield* makeCaller
      const other = yield* makeCaller
      yield* usage.record(spending(caller, usageOf(10, 1)))
      yield* usage.record({ ...spending(caller, usageOf(5, 2)), outcome: "abandoned" })
      yield* usage.record({ ...spending(other, usageOf(1000, 1000)), outcome: "failed" })
      const sum = { inputTokens: 15, outputTokens: 3 }
      assert.deepStrictEqual(yield* usage.ofUser(caller.userId), { today: sum, month: sum })
    })
  )

  it.effect("Usage counts a response once, however often it is recorded, at once or in turn", () =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const caller = yield* makeCaller
      const once = spending(caller, usageOf(10, 1))
      yield* Effect.all([once, once, once].map(usage.record), { concurrency: "unbounded" })
      yield* usage.record({ ...once, usage: usageOf(99, 99), outcome: "failed" })
      const sum = { inputTokens: 10, outputTokens: 1 }
      assert.deepStrictEqual(yield* usage.ofUser(caller.userId), { today: sum, month: sum })
    })
  )

  it.effect("Usage begins a day and a month at midnight UTC", () =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const caller = yield* makeCaller
      const at = (time: string) => TestClock.setTime(Date.parse(time))
      yield* at("1970-01-31T23:59:59.999Z")
      yield* usage.record(spending(caller, usageOf(1, 0)))
      yield* at("1970-02-01T00:00:00.000Z")
      yield* usage.record(spending(caller, usageOf(20, 0)))
      assert.deepStrictEqual(yield* usage.ofUser(caller.userId), {
        today: { inputTokens: 20, outputTokens: 0 },
        month: { inputTokens: 20, outputTokens: 0 }
      })
      yield* at("1970-02-01T23:59:59.999Z")
      yield* usage.record(spending(caller, usageOf(300, 0)))
      yield* at("1970-02-02T00:00:00.000Z")
      assert.deepStrictEqual(yield* usage.ofUser(caller.userId), {
        today: none,
        month: { inputTokens: 320, outputTokens: 0 }
      })
      yield* at("1970-03-01T00:00:00.000Z")
      assert.deepStrictEqual(yield* usage.ofUser(caller.userId), { today: none, month: none })
    })
  )

  it.effect.prop(
    "Usage stores whatever a provider claims, as a count that the database takes",
    [Claim, Claim],
    ([input, output]) =>
      Effect.gen(function* () {
        const usage = yield* Usage
        const caller = yield* makeCaller
        yield* usage.record(spending(caller, usageOf(input, output)))
        const { today } = yield* usage.ofUser(caller.userId)
        for (const tokens of [today.inputTokens, today.outputTokens]) {
          assert.isTrue(Number.isInteger(tokens) && tokens >= 0 && tokens <= 2 ** 31 - 1)
        }
        if (Number.isInteger(input) && input >= 0 && input < 2 ** 31)
          assert.strictEqual(today.inputTokens, input)
      }),
    { arbitrary: { runs: 50 } }
  )

  it.effect("Usage stores parts of the tokens that are no more than the whole", () =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const caller = yield* makeCaller
      const counts = { ...usageOf(100, 50), cachedInputTokens: 60, cacheWriteInputTokens: 30 }
      yield* usage.record(spending(caller, { ...counts, reasoningTokens: 20 }))
      yield* usage.record(
        spending(caller, { ...counts, cacheWriteInputTokens: 1e9, reasoningTokens: Number.NaN })
      )
      const { data } = yield* usage.recordsOf(caller.userId)
      assert.sameDeepMembers(
        data.map((one) => [one.cachedInputTokens, one.cacheWriteInputTokens, one.reasoningTokens]),
        [
          [60, 30, 20],
          [60, 40, 0]
        ]
      )
    })
  )

  it.effect("Usage fails while the database is away, and the record can be made again", () =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const faults = yield* SqlFaults
      const caller = yield* makeCaller
      const once = spending(caller, usageOf(10, 1))
      for (const when of ["before", "after"] as const) {
        yield* faults.failStatement(1, when)
        assert.strictEqual((yield* Effect.flip(usage.record(once)))._tag, "DatabaseUnavailable")
      }
      yield* faults.failStatement(1, "before")
      assert.strictEqual((yield* Effect.flip(usage.ofUser(caller.userId)))._tag, "DatabaseUnavailable")
      yield* faults.off
      yield* usage.record(once)
      assert.deepStrictEqual((yield* usage.ofUser(caller.userId)).today, {
        inputTokens: 10,
        outputTokens: 1
      })
    })
  )
})
