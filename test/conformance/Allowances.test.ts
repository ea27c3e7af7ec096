import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { DateTime, Deferred, Effect, Fiber, Stream } from "effect"
import { SqlClient } from "effect/sql"
import OpenAI, { RateLimitError } from "openai"
import type { LimitChange } from "../../src/domain/Allowance.ts"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { estimateMessageTokens } from "../../src/domain/Tokens.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { failure, finish, says, ScriptedModel, scriptedUsage, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { until, untilValue } from "../support/until.ts"
import { call, errorOf, eventsOf, responseOf } from "../support/Wire.ts"

/** The tokens that an answer of the scripted models uses. */
const cost = scriptedUsage.inputTokens + scriptedUsage.outputTokens
/** The estimate for this is above what the scripted models say that it cost. */
const input = "How many tokens are there in this question, roughly speaking?"

const post = Effect.fnUntraced(function* (body: object = {}) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/v1/responses`, { key: alice.key, body: { input, stream: false, ...body } })
})

/** A user with these limits, of which so much is spent; `times` counts from here on. */
const limited = Effect.fnUntraced(function* (limits: {
  readonly daily?: LimitChange
  readonly monthly?: LimitChange
}) {
  const sql = yield* SqlClient.SqlClient
  const { alice } = yield* TestApp
  yield* sql`DELETE FROM token_reservations`
  yield* sql`DELETE FROM token_counters`
  yield* sql`DELETE FROM usage_records`
  yield* (yield* Usage).setLimits(alice.id, { daily: "default", monthly: "default", ...limits })
})

const allowance = Effect.gen(function* () {
  const { alice } = yield* TestApp
  return yield* (yield* Usage).allowanceOf(alice.id)
})

/** The tokens used, once all reservations are released and so many responses are recorded. */
const settled = (records: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const found = yield* sql`SELECT 1 FROM usage_records`
    const held = yield* sql`SELECT 1 FROM token_reservations`
    const { daily, monthly } = yield* allowance
    return {
      isOver: found.length >= records && held.length === 0,
      reserved: [daily.reserved, monthly.reserved],
      used: daily.used
    }
  }).pipe(
    (state) => untilValue(state, ({ isOver }) => isOver),
    Effect.map(({ reserved, used }) => {
      assert.deepStrictEqual(reserved, [0, 0])
      return used
    })
  )

const hanging = (...parts: ReadonlyArray<ModelPart>) =>
  Stream.concat(Stream.fromIterable(parts), Stream.never)

layer(TestApp.layer(), { excludeTestServices: true })("Allowances", (it) => {
  it.effect.each([
    { limits: { daily: cost }, window: "daily" },
    { limits: { monthly: cost }, window: "monthly" },
    { limits: { daily: cost, monthly: cost }, window: "monthly" }
  ])("429 with the numbers and the wait: $window", ({ limits, window }) =>
    Effect.gen(function* () {
      yield* limited(limits)
      yield* (yield* ScriptedModel).next(says("Hello"))
      responseOf(yield* post())
      yield* settled(1)
      for (const stream of [true, false]) {
        const reply = yield* post({ stream })
        const error = errorOf(reply, 429)
        assert.strictEqual(error.type, "rate_limit_error")
        assert.strictEqual(error.code, `${window}_token_limit_exceeded`)
        assert.strictEqual(error.param, "")
        assert.strictEqual(reply.headers.get("x-should-retry"), "false")
        assert.strictEqual(reply.headers.get("x-token-limit-window"), window)
        assert.strictEqual(reply.headers.get("x-token-limit-used"), String(cost))
        assert.strictEqual(reply.headers.get("x-token-limit-held"), "0")
        assert.include(error.message, `${cost} of ${cost} tokens`)
        assert.strictEqual(reply.headers.get("x-token-limit"), String(cost))
        const now = yield* DateTime.now
        const end = DateTime.endOf(now, window === "daily" ? "day" : "month")
        const resetsAt = DateTime.formatIso(DateTime.add(end, { milliseconds: 1 })).replace(".000Z", "Z")
        assert.include(error.message, `It resets at ${resetsAt}, in `)
        const seconds = (DateTime.toEpochMillis(end) - DateTime.toEpochMillis(now)) / 1000
        assert.closeTo(Number(reply.headers.get("retry-after")), seconds, 5)
      }
    })
  )

  it.effect("an exceeded allowance is reported after 400 and 404", () =>
    Effect.gen(function* () {
      yield* limited({ daily: 0 })
      errorOf(yield* post({ input: "" }), 400)
      errorOf(yield* post({ conversation_id: randomUUID() }), 404)
      errorOf(yield* post({ project_id: randomUUID() }), 404)
      errorOf(yield* post(), 429)
    })
  )

  it.effect("a user with a little left still gets an answer, no longer than that", () =>
    Effect.gen(function* () {
      yield* limited({ daily: 60 })
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"), says("Hello"))
      responseOf(yield* post({ input: "Hi" }))
      const { request } = (yield* model.asked).at(-1)!
      assert.strictEqual(request.maxOutputTokens, 60 - estimateMessageTokens("Hi"))
      assert.strictEqual(yield* settled(1), cost)
      responseOf(yield* post({ input: "Hi", max_output_tokens: 20 }))
      assert.strictEqual((yield* model.asked).at(-1)!.request.maxOutputTokens, 20)
      assert.strictEqual(yield* settled(2), 2 * cost)
    })
  )

  it.effect("everything comes back after an error, a disconnect and an interrupt", () =>
    Effect.gen(function* () {
      yield* limited({ daily: 10_000 })
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      const asked = { key: alice.key, body: { input } }

      // Both models refuse before the stream begins.
      yield* model.next(Stream.fail(failure("refused")), Stream.fail(failure("refused")))
      errorOf(yield* post(), 500)
      assert.strictEqual(yield* settled(1), 0)

      // Cut in the middle.
      yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("cut"))))
      assert.strictEqual(eventsOf((yield* post({ stream: true })).text).at(-1)?.type, "error")
      const cut = yield* settled(2)
      assert.isAbove(cut, 0)

      // The client goes away while the stream runs, and before it began.
      for (const [records, parts] of [
        [3, [text("Hello")]],
        [4, []]
      ] as const) {
        const before = (yield* model.asked).length
        yield* model.next(hanging(...parts))
        const client = yield* Effect.forkChild(call(`${url}/v1/responses`, asked))
        yield* untilValue(model.asked, ({ length }) => length > before)
        assert.isAbove((yield* allowance).daily.reserved, 0)
        yield* Fiber.interrupt(client)
        assert.isAbove(yield* settled(records), cut)
      }
    })
  )

  it.effect("the openai package sees it at once, without trying again", () =>
    Effect.gen(function* () {
      yield* limited({ monthly: 0 })
      const { alice, url } = yield* TestApp
      let requests = 0
      const openai = new OpenAI({
        apiKey: alice.key,
        baseURL: `${url}/v1`,
        maxRetries: 5,
        fetch: (...args) => {
          requests++
          return fetch(...args)
        }
      })
      const error = yield* Effect.promise(() =>
        openai.responses.create({ model: "auto", input: "Hi" }).then(
          () => assert.fail("expected an error"),
          (caught: unknown) => caught
        )
      )
      assert.instanceOf(error, RateLimitError)
      if (error instanceof RateLimitError) {
        assert.strictEqual(error.code, "monthly_token_limit_exceeded")
        assert.strictEqual(error.headers.get("x-token-limit-used"), "0")
      }
      assert.strictEqual(requests, 1)
    })
  )

  it.effect("an answer whose tools have used up the rest ends there, and is told as cut", () =>
    Effect.gen(function* () {
      yield* limited({ daily: 2 * cost })
      const model = yield* ScriptedModel
      yield* model.change({ tools: true })
      const asked = (yield* model.asked).length
      yield* model.next(
        Stream.make<[ModelPart, ModelPart]>(
          { type: "tool_call", call: { id: "a", name: "calculator", arguments: '{"expression":"2+2"}' } },
          { type: "finish", reason: "tool_calls", usage: scriptedUsage }
        )
      )
      const response = responseOf(yield* post())
      yield* model.change({ tools: false })
      assert.deepStrictEqual(
        response.output.map(({ type }) => type),
        ["mcp_call", "message"]
      )
      assert.deepStrictEqual(response.incomplete_details, { reason: "token_limit" })
      assert.strictEqual((yield* model.asked).length, asked + 1)
      assert.strictEqual(yield* settled(1), cost)
    })
  )

  it.effect("an answer has as much room without max_output_tokens as with the model's own maximum", () =>
    Effect.gen(function* () {
      yield* limited({ daily: 40_000 })
      const model = yield* ScriptedModel
      yield* model.change({ contextWindow: 200_000, maxOutputTokens: 32_768 })
      for (const body of [{}, { max_output_tokens: 32_768 }]) {
        yield* model.next(says("Hello"))
        responseOf(yield* post(body))
        assert.strictEqual((yield* model.asked).at(-1)!.request.maxOutputTokens, 32_768)
      }
      yield* settled(2)
      yield* model.change({ contextWindow: 4_000, maxOutputTokens: 500 })
    })
  )

  it.effect("an answer that the rest of the limit cuts says so, and costs no more than that", () =>
    Effect.gen(function* () {
      yield* limited({ daily: 200 })
      const model = yield* ScriptedModel
      const endless = Stream.forever(Stream.make(text("word ")))
      yield* model.next(endless)
      const response = responseOf(yield* post())
      assert.deepStrictEqual(response.incomplete_details, { reason: "token_limit" })
      assert.strictEqual(response.max_output_tokens, null)
      const used = yield* settled(1)
      assert.isAtMost(used, 200)
      assert.isAtLeast(used, 150)
      // The server may be the one that ends it, at the bound that it was told.
      yield* limited({ daily: 200 })
      yield* model.next(Stream.make(text("Hello"), finish("length")))
      const ended = responseOf(yield* post())
      assert.deepStrictEqual(ended.incomplete_details, { reason: "token_limit" })
      yield* settled(1)
      yield* limited({ daily: 20_000 })
      yield* model.next(Stream.make(text("Hello"), finish("length")))
      const short = responseOf(yield* post())
      assert.deepStrictEqual(short.incomplete_details, { reason: "max_output_tokens" })
      yield* settled(1)
    })
  )

  it.effect("an answer that is longer than usual holds more as it grows, and comes whole", () =>
    Effect.gen(function* () {
      yield* limited({ daily: 100_000 })
      const model = yield* ScriptedModel
      yield* model.change({ contextWindow: 200_000, maxOutputTokens: 32_768 })
      const words = Array.from({ length: 8_000 }, () => text(" word"))
      const usage = { ...scriptedUsage, outputTokens: words.length }
      yield* model.next(Stream.fromIterable<ModelPart>([...words, { type: "finish", reason: "stop", usage }]))
      const response = responseOf(yield* post())
      assert.strictEqual(response.output_text, " word".repeat(words.length))
      assert.isNull(response.incomplete_details)
      yield* settled(1)
      yield* model.change({ contextWindow: 4_000, maxOutputTokens: 500 })
    })
  )

  it.effect("twelve requests at once share a limit that is enough for what they really spend", () =>
    Effect.gen(function* () {
      const atOnce = 12
      yield* limited({ daily: 20_000 })
      const model = yield* ScriptedModel
      yield* model.change({ contextWindow: 200_000, maxOutputTokens: 32_768 })
      const before = (yield* model.asked).length
      const all = yield* Deferred.make<void>()
      const words = Array.from({ length: 700 }, () => text(" word"))
      const usage = { ...scriptedUsage, inputTokens: 40, outputTokens: 700 }
      const answer = Stream.unwrap(
        Effect.as(
          Deferred.await(all),
          Stream.fromIterable<ModelPart>([...words, { type: "finish", reason: "stop", usage }])
        )
      )
      yield* model.next(...Array.from({ length: atOnce }, () => answer))
      const replies = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: atOnce }, (_, n) => n % 2 === 0),
          (stream) => post({ stream }),
          {
            concurrency: "unbounded"
          }
        )
      )
      yield* until(Effect.map(model.asked, (asked) => asked.length === before + atOnce))
      yield* Deferred.succeed(all, undefined)
      for (const reply of yield* Fiber.join(replies)) {
        assert.strictEqual(reply.status, 200)
        assert.notInclude(reply.text, "token_limit")
      }
      assert.strictEqual(yield* settled(atOnce), atOnce * 740)
      yield* model.change({ contextWindow: 4_000, maxOutputTokens: 500 })
    })
  )

  it.effect("a request waits for tokens that a running one holds, and is answered when they come back", () =>
    Effect.gen(function* () {
      yield* limited({ daily: 45 })
      const model = yield* ScriptedModel
      const before = (yield* model.asked).length
      const go = yield* Deferred.make<void>()
      yield* model.next(Stream.unwrap(Effect.as(Deferred.await(go), says("Hello"))), says("Hello"))
      const first = yield* Effect.forkChild(post())
      yield* until(Effect.map(model.asked, (asked) => asked.length === before + 1))
      const sql = yield* SqlClient.SqlClient
      const version = Effect.map(sql`SELECT xmin::text FROM token_counters`, ([row]) => row?.["xmin"])
      const reserved = yield* version
      const second = yield* Effect.forkChild(post())
      // Nothing else writes the counters until the first ends, so the second was refused at least once.
      yield* until(Effect.map(version, (now) => now !== reserved))
      yield* Deferred.succeed(go, undefined)
      responseOf(yield* Fiber.join(first))
      responseOf(yield* Fiber.join(second))
      yield* settled(2)
    })
  )

  it.effect("a record says what it was for", () =>
    Effect.gen(function* () {
      yield* limited({})
      const sql = yield* SqlClient.SqlClient
      const model = yield* ScriptedModel
      yield* model.change({ tools: true })
      const callOf = (id: string): ModelPart => ({
        type: "tool_call",
        call: { id, name: "calculator", arguments: '{"expression":"2+2"}' }
      })
      yield* model.next(
        Stream.make(callOf("a"), callOf("b"), { type: "finish", reason: "tool_calls", usage: scriptedUsage }),
        says("Four")
      )
      responseOf(yield* post())
      yield* model.change({ tools: false })
      assert.strictEqual(yield* settled(1), 2 * cost)
      const [row] = yield* sql`SELECT outcome, tool_calls, latency_millis, model, source FROM usage_records`
      assert.deepInclude(row, { outcome: "completed", toolCalls: 2, model: "scripted-1", source: "provider" })
      assert.isAtLeast(Number(row?.["latencyMillis"]), 0)
    })
  )
})

layer(TestApp.layer({ usage: { waitSeconds: 0 } }), { excludeTestServices: true })(
  "Allowances without a wait",
  (it) => {
    it.effect("429 with a code of its own says what is held, and lets client libraries try again soon", () =>
      Effect.gen(function* () {
        yield* limited({ daily: 40 })
        const { alice, url } = yield* TestApp
        const model = yield* ScriptedModel
        const asked = (yield* model.asked).length
        yield* model.next(hanging())
        const running = yield* Effect.forkChild(
          call(`${url}/v1/responses`, { key: alice.key, body: { input } })
        )
        yield* until(Effect.map(model.asked, (all) => all.length > asked))
        const reply = yield* post()
        const error = errorOf(reply, 429)
        assert.strictEqual(error.code, "token_limit_held")
        assert.match(error.message, /still running: 0 of 40 tokens are used, and 40 are held/)
        assert.isNull(reply.headers.get("x-should-retry"))
        assert.strictEqual(reply.headers.get("x-token-limit-used"), "0")
        assert.strictEqual(reply.headers.get("x-token-limit-held"), "40")
        assert.isAtMost(Number(reply.headers.get("retry-after")), 2)
        assert.isAtLeast(Number(reply.headers.get("retry-after")), 1)
        yield* Fiber.interrupt(running)
        yield* settled(1)
        yield* model.next(says("Hello"))
        responseOf(yield* post())
      })
    )
  }
)

layer(TestApp.layer({ usage: { waitSeconds: 0 } }), { excludeTestServices: true })(
  "Allowances under load",
  (it) => {
    it.effect("fifty requests at once overspend by no more than one of them may cost", () =>
      Effect.gen(function* () {
        const limit = 10 * cost
        const most = 40
        yield* limited({ daily: limit })
        const model = yield* ScriptedModel
        const atOnce = 50
        let answered = 0
        yield* model.next(...Array.from({ length: atOnce }, () => says("Hello")))
        const round = Effect.gen(function* () {
          const before = (yield* model.asked).length
          const replies = yield* Effect.forEach(
            Array.from({ length: atOnce }, (_, n) => n % 2 === 0),
            (stream) => post({ stream, max_output_tokens: 7 }),
            { concurrency: "unbounded" }
          )
          const refused = replies.filter(({ status }) => status === 429)
          for (const reply of refused) errorOf(reply, 429)
          const ok = replies.length - refused.length
          assert.strictEqual(replies.filter(({ status }) => status === 200).length, ok)
          assert.strictEqual((yield* model.asked).length - before, ok, "nobody else costs a model call")
          yield* model.next(...Array.from({ length: ok }, () => says("Hello")))
          answered += ok
          return { ok, used: yield* settled(answered) }
        })
        const first = yield* round
        assert.isAbove(first.ok, 0)
        // Tokens that were reserved and not used are available to later requests, until all are used.
        let last = first
        while (last.ok > 0) last = yield* round
        assert.isAtLeast(last.used, limit)
        assert.isBelow(last.used, limit + most)
      })
    )
  }
)
