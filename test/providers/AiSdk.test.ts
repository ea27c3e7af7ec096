import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { AnswerOptions, ModelRequest, ToolSpec } from "../../src/domain/ModelCall.ts"
import { makeAiSdk, sdkVersions } from "../../src/providers/AiSdk.ts"
import { until } from "../support/until.ts"
import { goingBack, setUpModel } from "./SdkSetup.ts"
import { request, untilFailure } from "./ServerSetup.ts"

const tool: ToolSpec = {
  name: "weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  param: "tools[0]"
}

const usage = {
  v2: { inputTokens: 11, outputTokens: 7, totalTokens: 18, reasoningTokens: 2, cachedInputTokens: 3 },
  v3: {
    inputTokens: { total: 11, noCache: 8, cacheRead: 3, cacheWrite: undefined },
    outputTokens: { total: 7, text: 5, reasoning: 2 }
  }
}

const finish = { type: "finish", finishReason: { unified: "stop", raw: "STOP" }, usage: usage.v3 }

const start = (...warnings: ReadonlyArray<object>) => ({ type: "stream-start", warnings })

const text = (delta: string) => ({ type: "text-delta", id: "0", delta })

const hello = [start(), { type: "text-start", id: "0" }, text("Hello"), { type: "text-end", id: "0" }, finish]

/** The call of the package for a request. */
const askedFor = (more: Partial<ModelRequest>, traits: Parameters<typeof setUpModel>[1] = {}) =>
  Effect.gen(function* () {
    const { asked, call } = yield* setUpModel(() => hello, traits)
    yield* Stream.runDrain(call(request("hi", more)))
    const { abortSignal, ...options } = asked[0]!
    assert.instanceOf(abortSignal, AbortSignal)
    return options
  })

describe("a request to a package of the AI SDK", () => {
  it.effect("a request to an SDK package has only the prompt and the bound, without more options", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* askedFor({}), {
        prompt: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
        maxOutputTokens: 50,
        providerOptions: {},
        headers: {}
      })
    })
  )

  it.effect("a request to an SDK package has every option of a client, except a penalty of 0", () =>
    Effect.gen(function* () {
      const options: AnswerOptions = {
        temperature: 0.5,
        topP: 0.9,
        stop: ["END"],
        seed: 7,
        presencePenalty: 1,
        frequencyPenalty: 0,
        reasoningEffort: "high",
        toolChoice: { name: "weather" },
        format: {
          type: "json_schema",
          name: "person",
          description: null,
          schema: { type: "object" },
          strict: true
        }
      }
      const asked = yield* askedFor({ options, tools: [tool] })
      assert.deepInclude(asked, {
        temperature: 0.5,
        topP: 0.9,
        stopSequences: ["END"],
        seed: 7,
        presencePenalty: 1,
        reasoning: "high",
        toolChoice: { type: "tool", toolName: "weather" },
        responseFormat: { type: "json", schema: { type: "object" }, name: "person" }
      })
      assert.notProperty(asked, "frequencyPenalty")
      const { description, name, parameters } = tool
      assert.deepStrictEqual(asked["tools"], [
        { type: "function", name, description, inputSchema: parameters }
      ])
    })
  )

  it.effect.each(["auto", "none", "required"] as const)(
    "a request to an SDK package has the choice of a tool in its interface's form: %s",
    (choice) =>
      Effect.gen(function* () {
        const asked = yield* askedFor({
          options: { toolChoice: choice, format: { type: "json_object" } },
          tools: [tool]
        })
        assert.deepStrictEqual(asked["toolChoice"], { type: choice })
        assert.deepStrictEqual(asked["responseFormat"], { type: "json" })
      })
  )

  it.effect.each([
    ["v2", "iVBORw0KGgo="],
    ["v3", "iVBORw0KGgo="],
    ["v4", { type: "data", data: "iVBORw0KGgo=" }]
  ] as const)("a request to an SDK package has images in the form of the interface %s", ([version, data]) =>
    Effect.gen(function* () {
      const image = { mediaType: "image/png", data: "iVBORw0KGgo=", detail: "auto" as const }
      const { prompt } = yield* askedFor(
        { messages: [{ role: "user", text: "What?", images: [image] }] },
        { version }
      )
      assert.deepStrictEqual(prompt, [
        {
          role: "user",
          content: [
            { type: "text", text: "What?" },
            { type: "file", mediaType: "image/png", data }
          ]
        }
      ])
    })
  )

  it.effect(
    "a request to an SDK package begins with instructions and a user message, and has all results in one message",
    () =>
      Effect.gen(function* () {
        const call = (id: string) => ({ id, name: "weather", arguments: `{"city":"${id}"}` })
        const { prompt } = yield* askedFor({
          tools: [tool],
          messages: [
            { role: "system", text: "Be short." },
            { role: "assistant", text: " ", toolCalls: [call("a"), { ...call("b"), arguments: "[" }] },
            { role: "tool", callId: "a", name: "weather", text: "sunny" },
            { role: "tool", callId: "b", name: "weather", text: "no object" }
          ]
        })
        const result = (toolCallId: string, value: string) => ({
          type: "tool-result",
          toolCallId,
          toolName: "weather",
          output: { type: "text", value }
        })
        assert.deepStrictEqual(prompt, [
          { role: "system", content: "Be short." },
          {
            role: "user",
            content: [{ type: "text", text: "[The beginning of the conversation is left out.]" }]
          },
          {
            role: "assistant",
            content: [
              { type: "tool-call", toolCallId: "a", toolName: "weather", input: { city: "a" } },
              { type: "tool-call", toolCallId: "b", toolName: "weather", input: {} }
            ]
          },
          { role: "tool", content: [result("a", "sunny"), result("b", "no object")] }
        ])
      })
  )

  it.effect("a request to an SDK package has the effort of the catalog, and the options of all", () =>
    Effect.gen(function* () {
      const asked = yield* askedFor(
        { options: { reasoningEffort: "low" } },
        {
          version: "v2",
          providerOptions: { google: { safety: "off" }, other: { a: 1 } },
          efforts: { low: { google: { thinkingConfig: { thinkingLevel: "low" } } } }
        }
      )
      assert.deepStrictEqual(asked["providerOptions"], {
        google: { safety: "off", thinkingConfig: { thinkingLevel: "low" } },
        other: { a: 1 }
      })
      assert.notProperty(asked, "reasoning")
    })
  )

  it("an SDK package lacks an effort without an option for it, and one call at a time", () => {
    const { lacks } = makeAiSdk({ version: "v3", providerOptions: {}, efforts: { low: {} } })
    assert.strictEqual(lacks({ reasoningEffort: "high" }), "reasoning.effort")
    assert.isNull(lacks({ reasoningEffort: "low" }))
    assert.isNull(lacks({ reasoningEffort: "high", effortIsHint: true }))
    assert.strictEqual(lacks({ parallelToolCalls: false }), "parallel_tool_calls")
    assert.isNull(lacks({ parallelToolCalls: true, seed: 1, stop: ["a"] }))
    assert.isNull(
      makeAiSdk({ version: "v4", providerOptions: {}, efforts: {} }).lacks({ reasoningEffort: "high" })
    )
  })
})

describe("an answer of a package of the AI SDK", () => {
  it.effect.each(sdkVersions)("%s: an answer of an SDK package has text, and its usage", (version) =>
    Effect.gen(function* () {
      const end = version === "v2" ? { ...finish, finishReason: "stop", usage: usage.v2 } : finish
      const { call } = yield* setUpModel(() => [start(), text("Hel"), text("lo"), end], { version })
      const parts = yield* Stream.runCollect(call(request("hi")))
      assert.deepStrictEqual(parts, [
        { type: "text", text: "Hel" },
        { type: "text", text: "lo" },
        {
          type: "finish",
          reason: "stop",
          usage: {
            inputTokens: 11,
            cachedInputTokens: 3,
            cacheWriteInputTokens: 0,
            outputTokens: 7,
            reasoningTokens: 2,
            source: "provider"
          }
        }
      ])
    })
  )

  it.effect("an answer of an SDK package is counted by the service where the package doesn't count", () =>
    Effect.gen(function* () {
      const counts = { inputTokens: { total: undefined }, outputTokens: { total: undefined } }
      const { call } = yield* setUpModel(() => [text("Hi"), { ...finish, usage: counts }])
      const last = (yield* Stream.runCollect(call(request("hi")))).at(-1)
      assert.nestedPropertyVal(last, "usage.source", "tokenizer")
    })
  )

  it.effect.each([
    ["stop", "stop"],
    ["length", "length"],
    ["content-filter", "content_filter"],
    [{ unified: "other", raw: "LANGUAGE" }, "stop"]
  ] as const)("an answer of an SDK package ends with %j as %s", ([finishReason, reason]) =>
    Effect.gen(function* () {
      const { call } = yield* setUpModel(() => [text("Hi"), { ...finish, finishReason }])
      assert.deepInclude((yield* Stream.runCollect(call(request("hi")))).at(-1), { type: "finish", reason })
    })
  )

  it.effect.each([
    "unknown",
    { unified: "other", raw: undefined },
    { unified: "interrupted", raw: undefined }
  ])("an answer of an SDK package is cut where its finish reason says so: %j", (finishReason) =>
    Effect.gen(function* () {
      const { call } = yield* setUpModel(() => [text("Hi"), { ...finish, finishReason }])
      const { failure } = yield* untilFailure(call(request("hi")))
      assert.strictEqual(failure.reason, "no_finish")
    })
  )

  it.effect.each([
    [{ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "in_stream", undefined],
    [{ type: "error", error: { message: "busy", statusCode: 503, type: "UNAVAILABLE" } }, "in_stream", 503],
    [{ type: "error", error: { message: "boom", statusCode: 424 } }, "in_stream", 424],
    [{ type: "error", error: "no" }, "in_stream", undefined],
    [{ ...finish, finishReason: "error" }, "in_stream", undefined],
    [
      { ...finish, finishReason: { unified: "error", raw: "MALFORMED_FUNCTION_CALL" } },
      "malformed",
      undefined
    ],
    [{ type: "text-delta", id: "0" }, "malformed", undefined],
    [{ type: "tool-call", toolCallId: "a", toolName: "b", input: {} }, "malformed", undefined]
  ] as const)("an answer of an SDK package fails with %j", ([part, reason, status]) =>
    Effect.gen(function* () {
      const { call } = yield* setUpModel(() => [text("Hi"), part])
      const { failure, parts } = yield* untilFailure(call(request("hi")))
      assert.strictEqual(failure.reason, reason)
      assert.strictEqual(failure.status, status)
      assert.deepStrictEqual(parts, [{ type: "text", text: "Hi" }])
    })
  )

  it.effect(
    "an answer of an SDK package goes back with reasoning and calls, to the same package and model alone",
    () =>
      Effect.gen(function* () {
        const thought = { type: "reasoning-delta", id: "t" }
        const spoken = [
          start(),
          { type: "reasoning-start", id: "t", providerMetadata: { p: { itemId: "rs" } } },
          { ...thought, delta: "Hm" },
          { ...thought, delta: "." },
          { type: "reasoning-end", id: "t", providerMetadata: { p: { itemId: "rs", encrypted: "E" } } },
          text("Wait."),
          { type: "tool-input-start", id: "c", toolName: "weather" },
          { type: "tool-input-delta", id: "c", delta: "{}" },
          {
            type: "tool-call",
            toolCallId: "c",
            toolName: "weather",
            input: "{}",
            providerMetadata: { p: { sig: "S" } }
          },
          { type: "reasoning-start", id: "u" },
          { type: "reasoning-delta", id: "u", delta: "More." },
          { type: "reasoning-end", id: "u" },
          { type: "tool-call", toolCallId: "d", toolName: "weather", input: '{"city":"Rome"}' },
          { type: "tool-call", toolCallId: "e", toolName: "web", input: "{}", providerExecuted: true },
          { ...finish, finishReason: "tool-calls" }
        ]
        const { asked, call } = yield* setUpModel(() => spoken)
        const first = yield* Stream.runCollect(call(request("hi", { tools: [tool] })))
        assert.deepInclude(first.at(-1), { reason: "tool_calls" })
        const messages = [{ role: "user" as const, text: "hi" }, ...goingBack(first)]
        yield* Stream.runDrain(call(request("hi", { tools: [tool], messages })))
        const said = (prompt: unknown) =>
          (prompt as ReadonlyArray<{ role: string; content: unknown }>).find(
            ({ role }) => role === "assistant"
          )?.content
        const called = (id: string, input: object) => ({
          type: "tool-call",
          toolCallId: id,
          toolName: "weather",
          input
        })
        assert.deepStrictEqual(said(asked[1]!["prompt"]), [
          { type: "reasoning", text: "Hm.", providerOptions: { p: { itemId: "rs", encrypted: "E" } } },
          { type: "text", text: "Wait." },
          { ...called("c", {}), providerOptions: { p: { sig: "S" } } },
          { type: "reasoning", text: "More.", providerOptions: {} },
          called("d", { city: "Rome" })
        ])
        const foreign = messages.map((message) =>
          JSON.parse(JSON.stringify(message).replaceAll("a-package", "another"))
        )
        yield* Stream.runDrain(call(request("hi", { tools: [tool], messages: foreign })))
        assert.deepStrictEqual(said(asked[2]!["prompt"]), [
          { type: "text", text: "Wait." },
          called("c", {}),
          called("d", { city: "Rome" })
        ])
      })
  )

  it.effect("an answer of an SDK package has the arguments of calls as they are written, or at once", () =>
    Effect.gen(function* () {
      const input = { type: "tool-input-delta", id: "c" }
      const { call } = yield* setUpModel(() => [
        start(),
        { type: "tool-input-start", id: "c", toolName: "weather" },
        { ...input, delta: '{"city":' },
        { ...input, delta: '"Rome"}' },
        { type: "tool-call", toolCallId: "c", toolName: "weather", input: '{ "city": "Rome" }' },
        { type: "tool-input-start", id: "d", toolName: "weather" },
        { type: "tool-call", toolCallId: "d", toolName: "weather", input: "{}" },
        { type: "tool-input-start", id: "e", toolName: "web", providerExecuted: true },
        { type: "tool-input-delta", id: "e", delta: "{}" },
        { type: "reasoning-start", id: "t" },
        { type: "tool-input-start", id: "f", toolName: "weather" },
        { type: "tool-input-delta", id: "f", delta: "{" },
        { type: "reasoning-end", id: "t", providerMetadata: { p: {} } },
        { type: "tool-call", toolCallId: "f", toolName: "weather", input: '{"city":"Bonn"}' },
        { ...finish, finishReason: "tool-calls" }
      ])
      const parts = yield* Stream.runCollect(call(request("hi", { tools: [tool] })))
      assert.deepStrictEqual(
        parts.map((part) => {
          if (part.type === "call_text") return `${part.position} ${part.text}`
          return part.type === "tool_call" ? part.call.arguments : part.type
        }),
        [
          '0 {"city":',
          '0 "Rome"}',
          '{"city":"Rome"}',
          "1 {}",
          "{}",
          '2 {"city":"Bonn"}',
          '{"city":"Bonn"}',
          "finish"
        ]
      )
    })
  )

  it.effect("an answer of an SDK package passes over unknown parts, however long they are", () =>
    Effect.gen(function* () {
      const file = { type: "file", mediaType: "image/png", data: new Uint8Array(2 * 1024 * 1024) }
      const { call } = yield* setUpModel(() => [
        { type: "ping" },
        file,
        { type: "raw", rawValue: 1n },
        text("Hi"),
        finish
      ])
      assert.lengthOf(yield* Stream.runCollect(call(request("hi"))), 2)
    })
  )

  it.effect("an answer of an SDK package has thoughts to its end where the package leaves them open", () =>
    Effect.gen(function* () {
      const { call } = yield* setUpModel(() => [
        { type: "reasoning-start", id: "t", providerMetadata: { p: { sig: "S" } } },
        { type: "reasoning-delta", id: "t", delta: "Hm." },
        text("Hi"),
        finish
      ])
      const parts = yield* Stream.runCollect(call(request("hi")))
      const thoughts = parts.flatMap((part) => (part.type === "reasoning" ? [part.reasoning] : []))
      assert.deepStrictEqual(
        thoughts.map((thought) => [thought.text, thought.opaque?.data]),
        [["Hm.", '{"p":{"sig":"S"}}']]
      )
    })
  )

  it.effect("an answer of an SDK package is malformed beyond a bound of open thoughts", () =>
    Effect.gen(function* () {
      const thoughts = Array.from({ length: 65 }, (_, id) => ({ type: "reasoning-start", id: `${id}` }))
      const answer = (open: number) => [...thoughts.slice(0, open), text("Hi"), finish]
      const { failure } = yield* Effect.flatMap(
        setUpModel(() => answer(65)),
        ({ call }) => untilFailure(call(request("hi")))
      )
      assert.strictEqual(failure.reason, "malformed")
      assert.include(failure.detail, "64 thoughts")
      const { call } = yield* setUpModel(() => answer(64))
      assert.lengthOf(yield* Stream.runCollect(call(request("hi"))), 2)
    })
  )

  it.effect("an answer of an SDK package ends with its finish where the stream is never closed", () =>
    Effect.gen(function* () {
      const open = async function* () {
        yield text("Hi")
        yield finish
        await new Promise(() => undefined)
      }
      const { call } = yield* setUpModel(open)
      assert.lengthOf(yield* Stream.runCollect(call(request("hi"))), 2)
    })
  )

  it.live("an answer of an SDK package is read ahead within a bound, and to its end afterwards", () =>
    Effect.gen(function* () {
      const partsMax = 2_000
      let pulled = 0
      const endless = function* () {
        while (pulled++ < partsMax) yield text("x".repeat(1_000))
        yield finish
      }
      const { call } = yield* setUpModel(endless)
      const gate = yield* Deferred.make<void>()
      let taken = 0
      const reading = Stream.runForEach(call(request("hi")), () =>
        Effect.andThen(
          Deferred.await(gate),
          Effect.sync(() => taken++)
        )
      )
      const fiber = yield* Effect.forkChild(reading)
      yield* until(Effect.sync(() => pulled > 60))
      for (let turn = 0; turn < 200; turn++) yield* Effect.promise(() => new Promise(setImmediate))
      assert.isBelow(pulled, 300)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(fiber)
      assert.strictEqual(taken, partsMax + 1)
    })
  )

  it.effect("a silent SDK package is not waited for, also where it ignores that it is aborted", () =>
    Effect.gen(function* () {
      const { asked, call } = yield* setUpModel(() => new Promise<never>(() => undefined))
      const fiber = yield* Effect.forkChild(Effect.flip(Stream.runDrain(call(request("hi")))))
      yield* until(Effect.sync(() => asked.length === 1))
      yield* TestClock.adjust("21 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).reason, "first_token_timeout")
      assert.nestedPropertyVal(asked[0], "abortSignal.aborted", true)
    })
  )

  it.effect("an answer of an SDK package is malformed where one part is longer than an event may be", () =>
    Effect.gen(function* () {
      const { call } = yield* setUpModel(() => [text("x".repeat(1024 * 1024)), finish])
      const { failure } = yield* untilFailure(call(request("hi")))
      assert.strictEqual(failure.reason, "malformed")
      assert.include(failure.detail, "too long")
    })
  )
})

describe("a setting that a package would leave out", () => {
  it.effect.each<readonly [object, AnswerOptions, string]>([
    [
      { type: "unsupported", feature: "temperature", details: "no sampling" },
      { temperature: 1 },
      "temperature"
    ],
    [{ type: "unsupported-setting", setting: "topP" }, { topP: 0.5 }, "top_p"],
    [{ type: "unsupported-setting", setting: "seed" }, { seed: 1 }, "seed"],
    [{ type: "unsupported", feature: "stopSequences" }, { stop: ["a"] }, "stop"],
    [{ type: "unsupported", feature: "presencePenalty" }, { presencePenalty: 1 }, "presence_penalty"],
    [{ type: "unsupported", feature: "frequencyPenalty" }, { frequencyPenalty: 1 }, "frequency_penalty"],
    [{ type: "unsupported", feature: "toolChoice" }, { toolChoice: "required" }, "tool_choice"],
    [{ type: "unsupported", feature: "reasoning" }, { reasoningEffort: "low" }, "reasoning.effort"],
    [{ type: "unsupported", feature: "reasoningEffort" }, { reasoningEffort: "low" }, "reasoning.effort"],
    [{ type: "unsupported-tool", tool: { name: "weather" } }, {}, "tools"]
  ])("an option that an SDK package leaves out is refused, and named: %j", ([warning, options, parameter]) =>
    Effect.gen(function* () {
      const { call } = yield* setUpModel(() => [start(warning), text("Hi"), finish])
      const { failure, parts } = yield* untilFailure(call(request("hi", { options, tools: [tool] })))
      assert.deepStrictEqual(parts, [])
      assert.strictEqual(failure.reason, "bad_request")
      assert.strictEqual(failure.parameter, parameter)
    })
  )

  it.effect("an option that no client sent, or that the package only changes, may be left out", () =>
    Effect.gen(function* () {
      const warnings = [
        { type: "unsupported", feature: "topK" },
        { type: "unsupported", feature: "maxOutputTokens" },
        { type: "compatibility", feature: "reasoning", details: "max is high" },
        { type: "other", message: "temperature" }
      ]
      const { call } = yield* setUpModel(() => [start(...warnings), text("Hi"), finish])
      assert.lengthOf(yield* Stream.runCollect(call(request("hi", { options: { temperature: 1 } }))), 2)
    })
  )

  it.effect("the form of an answer is asked for in words where the package leaves it out", () =>
    Effect.gen(function* () {
      const { asked, call } = yield* setUpModel(({ responseFormat }) =>
        responseFormat === undefined
          ? hello
          : [start({ type: "unsupported", feature: "responseFormat" }), finish]
      )
      yield* Stream.runDrain(call(request("hi", { options: { format: { type: "json_object" } } })))
      assert.lengthOf(asked, 2)
      assert.include(JSON.stringify(asked[1]!["prompt"]), "one JSON object")
    })
  )
})
