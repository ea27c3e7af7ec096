import { assert, layer } from "@effect/vitest"
import { DateTime, Deferred, Effect, Fiber, Redacted, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import type { KeyLimitChanges } from "../../src/domain/KeyLimits.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { says, ScriptedModel, scriptedUsage } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { until } from "../support/until.ts"
import { call, errorOf, responseOf } from "../support/Wire.ts"

/** The tokens that an answer of the scripted models uses, and a question whose estimate is higher. */
const cost = scriptedUsage.inputTokens + scriptedUsage.outputTokens
const input = "How many tokens are there in this question, roughly speaking?"

/** A key of Alice with these limits. */
const newKey = Effect.fnUntraced(function* (limits: KeyLimitChanges) {
  const { alice } = yield* TestApp
  const created = yield* (yield* ApiKeys).create({
    userId: alice.id,
    name: "limited",
    expiresAt: null,
    limits
  })
  return { ...created, text: Redacted.value(created.key) }
})

const post = Effect.fnUntraced(function* (key: string, body: object = {}) {
  const { url } = yield* TestApp
  return yield* call(`${url}/v1/responses`, { key, body: { input, stream: false, ...body } })
})

/** Waits until nothing is reserved. */
const settled = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  until(Effect.map(sql`SELECT 1 FROM token_reservations`, ({ length }) => length === 0))
)

const askedTimes = Effect.flatMap(ScriptedModel, (model) => Effect.map(model.asked, ({ length }) => length))

layer(TestApp.layer({ usage: { waitSeconds: 0 } }), { excludeTestServices: true })(
  "A key's own limit",
  (it) => {
    it.effect.each([
      { limits: { dailyTokens: cost }, window: "daily" },
      { limits: { monthlyTokens: cost }, window: "monthly" }
    ] as const)("a key's limit of tokens is refused before a model is asked: $window", ({ limits, window }) =>
      Effect.gen(function* () {
        const { alice } = yield* TestApp
        const key = yield* newKey(limits)
        yield* (yield* ScriptedModel).next(says("Hello"), says("Hello"))
        responseOf(yield* post(key.text))
        yield* settled
        const before = yield* askedTimes
        for (const stream of [true, false]) {
          const reply = yield* post(key.text, { stream })
          const error = errorOf(reply, 429)
          const now = yield* DateTime.now
          const end = DateTime.add(DateTime.endOf(now, window === "daily" ? "day" : "month"), {
            milliseconds: 1
          })
          const resetsAt = DateTime.formatIso(end).replace(".000Z", "Z")
          assert.deepInclude(error, { type: "rate_limit_error", code: `${window}_quota_exceeded`, param: "" })
          assert.include(
            error.message,
            `The ${window} token limit of this API key is used up: ${cost} of ${cost} tokens. It resets at ${resetsAt}, in `
          )
          assert.strictEqual(reply.headers.get("x-should-retry"), "false")
          assert.strictEqual(reply.headers.get("x-token-limit-window"), window)
          assert.strictEqual(reply.headers.get("x-token-limit"), String(cost))
          assert.strictEqual(reply.headers.get("x-token-limit-used"), String(cost))
          assert.strictEqual(reply.headers.get("x-token-limit-held"), "0")
          const seconds = (DateTime.toEpochMillis(end) - DateTime.toEpochMillis(now)) / 1000
          assert.closeTo(Number(reply.headers.get("retry-after")), seconds, 5)
        }
        assert.strictEqual(yield* askedTimes, before)
        // The user's other keys go on.
        responseOf(yield* post(alice.key))
        yield* settled
      })
    )

    it.effect("a key's limit of tokens that a running request holds asks for a retry soon", () =>
      Effect.gen(function* () {
        const key = yield* newKey({ dailyTokens: 45 })
        const model = yield* ScriptedModel
        const before = yield* askedTimes
        const go = yield* Deferred.make<void>()
        yield* model.next(Stream.unwrap(Effect.as(Deferred.await(go), says("Hello"))))
        const running = yield* Effect.forkChild(post(key.text))
        yield* until(Effect.map(askedTimes, (times) => times === before + 1))
        const reply = yield* post(key.text)
        const error = errorOf(reply, 429)
        assert.strictEqual(error.code, "token_limit_held")
        assert.include(error.message, "What is left of the daily token limit of this API key is held")
        assert.isNull(reply.headers.get("x-should-retry"))
        yield* Deferred.succeed(go, undefined)
        responseOf(yield* Fiber.join(running))
        yield* settled
      })
    )

    it.effect("a key's limit of tokens bounds an answer, and so does the user's if it is tighter", () =>
      Effect.gen(function* () {
        const { alice } = yield* TestApp
        const usage = yield* Usage
        const model = yield* ScriptedModel
        yield* model.next(says("Hello"), says("Hello"))
        const key = yield* newKey({ dailyTokens: 60 })
        responseOf(yield* post(key.text, { input: "Hi" }))
        const outputMax = Effect.map(model.asked, (asked) => asked.at(-1)!.request.maxOutputTokens)
        const byKey = yield* outputMax
        assert.isBelow(byKey, 60)
        yield* settled
        const { daily } = yield* usage.allowanceOf(alice.id)
        yield* usage.setLimits(alice.id, { daily: daily.used + 30 })
        responseOf(yield* post(key.text, { input: "Hi" }))
        assert.isBelow(yield* outputMax, 30)
        yield* settled
        yield* usage.setLimits(alice.id, { daily: 1 })
        assert.strictEqual(errorOf(yield* post(key.text), 429).code, "daily_token_limit_exceeded")
        yield* usage.setLimits(alice.id, { daily: "default" })
      })
    )

    it.effect("a key's limit of requests a minute counts all requests of the key, and no others", () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const apiKeys = yield* ApiKeys
        const key = yield* newKey({ requestsPerMinute: 3 })
        const files = (text: string) => call(`${url}/v1/files`, { key: text })
        yield* (yield* ScriptedModel).next(says("Hello"))
        responseOf(yield* post(key.text))
        assert.strictEqual((yield* files(key.text)).status, 200)
        // A request with an invalid body counts, too.
        errorOf(yield* post(key.text, { input: "" }), 400)
        const before = yield* askedTimes
        for (const reply of [
          yield* post(key.text),
          yield* post(key.text, { stream: true }),
          yield* files(key.text)
        ]) {
          const error = errorOf(reply, 429)
          assert.deepInclude(error, { type: "rate_limit_error", code: "rate_limit_exceeded", param: "" })
          assert.match(
            error.message,
            /^This API key has sent as many requests as it may send in a minute: 3\. The minute ends at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, in \d+ seconds\.$/
          )
          const seconds = Number(reply.headers.get("retry-after"))
          assert.isAtLeast(seconds, 1)
          assert.isAtMost(seconds, 60)
          assert.isNull(reply.headers.get("x-should-retry"))
        }
        assert.strictEqual(yield* askedTimes, before)
        assert.strictEqual((yield* files(alice.key)).status, 200)
        yield* apiKeys.setLimits(key.id, { requestsPerMinute: 4 })
        assert.strictEqual((yield* files(key.text)).status, 200)
        assert.strictEqual((yield* files(key.text)).status, 429)
        yield* apiKeys.setLimits(key.id, { requestsPerMinute: null })
        assert.strictEqual((yield* files(key.text)).status, 200)
      })
    )
  }
)
