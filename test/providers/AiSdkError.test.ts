import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { readSdkError } from "../../src/providers/AiSdkError.ts"
import { until } from "../support/until.ts"
import { setUpModel } from "./SdkSetup.ts"
import { request, secretKey, untilFailure } from "./ServerSetup.ts"

const text = (delta: string) => ({ type: "text-delta", id: "0", delta })

const failing = (error: unknown) =>
  setUpModel(() => {
    throw error
  })

/** An error with the fields of a package, such as those of the AI SDK. */
const sdkError = (name: string, message: string, fields: object = {}) =>
  Object.assign(new Error(message), { name }, fields)

const circular: Record<string, unknown> = {}
circular["error"] = circular

const throwing = (): never => {
  throw new Error("a getter throws")
}

/** Values that JSON or a template can't have, or that throw when they are read. */
const unreadable: ReadonlyArray<readonly [string, () => unknown]> = [
  ["a value that is circular", () => sdkError("AI_TypeValidationError", "no", { value: circular })],
  ["a value with a BigInt", () => sdkError("AI_TypeValidationError", "no", { value: { error: 1n } })],
  ["an object without a prototype that is circular", () => Object.assign(Object.create(null), { circular })],
  [
    "a body without a prototype",
    () => sdkError("AI_APICallError", "no", { statusCode: 500, responseBody: Object.create(null) })
  ],
  ["a message that throws", () => Object.defineProperty(new Error("no"), "message", { get: throwing })],
  ["a code that throws", () => Object.defineProperty(new Error("no"), "code", { get: throwing })],
  ["a proxy that throws", () => new Proxy({}, { has: throwing, get: throwing, getPrototypeOf: throwing })]
]

describe("an error of a package that can't be read", () => {
  it.effect.each(unreadable)("an unreadable error fails the answer, and nothing else: %s", ([, make]) =>
    Effect.gen(function* () {
      const { call } = yield* failing(make())
      const { failure } = yield* untilFailure(call(request("hi")))
      assert.strictEqual(failure.reason, "in_stream")
      assert.match(failure.logSentence ?? "", /^(no|an error that can't be read)$/)
    })
  )

  it.effect.each(unreadable)("an unreadable error in a stream fails the answer, too: %s", ([, make]) =>
    Effect.gen(function* () {
      const { call } = yield* setUpModel(() => [text("Hi"), { type: "error", error: make() }])
      const { failure, parts } = yield* untilFailure(call(request("hi")))
      assert.strictEqual(failure.reason, "in_stream")
      assert.deepStrictEqual(parts, [{ type: "text", text: "Hi" }])
    })
  )

  it.each([undefined, null, 1n, Symbol("no"), () => "no", Object.create(null)])("%s is read", (error) => {
    assert.strictEqual(readSdkError(error).type, "event")
  })
})

describe("an error of a package that quotes the answer", () => {
  const answer = "the patient has a rare disease"

  it.effect.each([
    sdkError("AI_JSONParseError", `JSON parsing failed: Text: ${answer}`, { text: answer }),
    sdkError("AI_TypeValidationError", `Type validation failed: Value: "${answer}"`, {
      value: { a: answer }
    }),
    sdkError("AI_InvalidResponseDataError", `Invalid response data: ${answer}`, { data: [answer] }),
    sdkError("AI_APICallError", "Invalid JSON response", { statusCode: 200, responseBody: answer })
  ])("an error of a package that quotes the answer has nothing of it in the log: %s", (error) =>
    Effect.gen(function* () {
      const { call } = yield* setUpModel(() => [text("Hi"), { type: "error", error }])
      for (const one of [call, (yield* failing(error)).call]) {
        const { failure } = yield* untilFailure(one(request("hi")))
        assert.strictEqual(failure.reason, "in_stream")
        assert.include(failure.detail, error.name)
        assert.isNotEmpty(failure.logSentence)
        assert.notInclude(JSON.stringify(failure), "patient")
      }
    })
  )

  it.effect("an error of a package that quotes the answer keeps the server's own words", () =>
    Effect.gen(function* () {
      const value = { error: { type: "overloaded_error", message: "Overloaded" } }
      const { call } = yield* failing(sdkError("AI_TypeValidationError", "Value: {}", { value }))
      const { failure } = yield* untilFailure(call(request("hi")))
      assert.strictEqual(failure.logSentence, "Overloaded")
    })
  )
})

describe("an error of the connection of a package", () => {
  it.effect.each(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT", "CERT_HAS_EXPIRED"])(
    "an error of the connection has a known code, and its words are a server's: %s",
    (code) =>
      Effect.gen(function* () {
        const cause = Object.assign(new Error(`no way with ${secretKey} for: What is the way?`), { code })
        const { call } = yield* failing(new TypeError("fetch failed", { cause }))
        const { failure } = yield* untilFailure(call(request("What is the way?")))
        assert.strictEqual(failure.reason, "refused")
        assert.strictEqual(failure.detail, code)
        assert.notInclude(JSON.stringify(failure), secretKey)
        assert.include(failure.logSentence, "withheld")
      })
  )

  it.effect.each(["ENOENT", "EACCES", "ERROR", "invalid_request", "ERR_INVALID_ARG_TYPE", ""])(
    "an error with another code is none of the connection: %j",
    (code) =>
      Effect.gen(function* () {
        const { asked, call } = yield* failing(
          Object.assign(new Error(`not with ${secretKey} for: What is the way?`), { code })
        )
        const { failure } = yield* untilFailure(call(request("What is the way?")))
        assert.strictEqual(failure.reason, "in_stream")
        assert.lengthOf(asked, 1)
        assert.notInclude(failure.detail, "way")
      })
  )
})

describe("a stream that always has another part at once", () => {
  it.live("an endless stream leaves the event loop its turns, and ends when nobody reads it", () =>
    Effect.gen(function* () {
      let pulled = 0
      const endless = function* () {
        while (pulled++ < 2_000_000) {
          yield { type: "raw", rawValue: 1 }
        }
      }
      const { call } = yield* setUpModel(endless)
      const fiber = yield* Effect.forkChild(Stream.runDrain(call(request("hi"))))
      yield* until(Effect.sync(() => pulled > 1_000))
      yield* Fiber.interrupt(fiber)
      const seen = pulled
      yield* Effect.promise(() => new Promise(setImmediate))
      assert.isBelow(pulled, seen + 1_000)
    })
  )
})
