import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ModelRequest, ToolSpec } from "../../src/domain/ModelCall.ts"
import { learnedSeconds } from "../../src/providers/LearnedParts.ts"
import { type ProtocolName, protocolNames } from "../../src/providers/ModelServer.ts"
import { makeServerCall } from "../../src/providers/ServerCall.ts"
import { makeUpstream } from "../../src/providers/Upstream.ts"
import { makeMockModelServer } from "../support/MockModelServer.ts"
import { gate, model, request, secretKey, serverAt, textOf, timeouts } from "./ServerSetup.ts"

const calculator: ToolSpec = { name: "calculator", description: "", parameters: { type: "object" } }
const tools = [calculator]
const oneOf: ToolSpec = {
  name: "pick",
  description: "",
  parameters: { oneOf: [{ type: "object" }] },
  param: "tools[0].parameters"
}
const format = {
  type: "json_schema",
  name: "person",
  description: null,
  schema: { type: "object", properties: { name: { type: "string" } } },
  strict: true
} as const

const setUp = (protocol: ProtocolName) =>
  Effect.gen(function* () {
    const server = yield* makeMockModelServer
    const upstream = yield* makeUpstream(timeouts)
    const through = yield* gate()
    const called = serverAt(server.url, protocol, { family: "openai", tokenParameter: "max_tokens" })
    const call = makeServerCall(upstream, called, { gate: through, retrySeconds: 0 })({
      ...model,
      structuredOutput: true
    })
    const learned = Effect.map(through.modelHealth, (healthOf) => healthOf(model.id).learned)
    return { server, call, learned }
  })

const Line = Schema.Struct({
  message: Schema.Unknown,
  annotations: Schema.Record(Schema.String, Schema.Unknown)
})
const decodeLine = Schema.decodeUnknownSync(Schema.fromJsonString(Line))

/** The result, and what was logged meanwhile. */
const logged = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const written: Array<string> = []
    const log = Logger.layer([Logger.map(Logger.formatJson, (line) => void written.push(line))])
    return Effect.map(Effect.provide(effect, log), (result) => ({
      result,
      lines: written.map((line) => decodeLine(line))
    }))
  })

const errorBody = (message: string) => JSON.stringify({ error: { message, type: "invalid_request_error" } })

interface Refusal {
  readonly kind: string
  readonly asked: Partial<ModelRequest>
  readonly says: string
  readonly parameter: string
}

/** The words of servers of each protocol. */
const refusals: Readonly<Record<ProtocolName, ReadonlyArray<Refusal>>> = {
  "openai-chat": [
    {
      kind: "a function",
      asked: { tools: [calculator, oneOf] },
      says: "Invalid schema for function 'pick': schema must have type 'object' and not have 'oneOf' at the top level; it is not supported in tools.",
      parameter: "tools[0].parameters"
    },
    {
      kind: "an effort",
      asked: { tools, options: { reasoningEffort: "minimal" } },
      says: "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'none', 'low'.",
      parameter: "reasoning.effort"
    },
    {
      kind: "a schema",
      asked: { tools, options: { format } },
      says: "Invalid schema for response_format 'person': In context=(), 'additionalProperties' is required to be supplied and to be false.",
      parameter: "text.format.schema"
    },
    {
      kind: "a forced choice",
      asked: { tools: [calculator, oneOf], options: { toolChoice: { name: "pick" } } },
      says: "tool_choice specified is incompatible with thinking enabled",
      parameter: "tool_choice"
    }
  ],
  "openai-responses": [
    {
      kind: "a function",
      asked: { tools: [calculator, oneOf] },
      says: "Invalid schema for function 'pick': 'oneOf' is not supported at the top level.",
      parameter: "tools[0].parameters"
    },
    {
      kind: "an effort",
      asked: { tools, options: { reasoningEffort: "minimal" } },
      says: "Unsupported value: 'minimal' is not supported with this model. Supported values are: 'low', 'high'. (reasoning.effort)",
      parameter: "reasoning.effort"
    },
    {
      kind: "a schema",
      asked: { tools, options: { format } },
      says: "Invalid schema for response_format 'person': In context=(), 'additionalProperties' is required to be supplied and to be false.",
      parameter: "text.format.schema"
    }
  ],
  anthropic: [
    {
      kind: "a function",
      asked: { tools: [calculator, oneOf] },
      says: "tools.1.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
      parameter: "tools[0].parameters"
    },
    {
      kind: "an effort",
      asked: { tools, options: { reasoningEffort: "minimal" } },
      says: "output_config.effort: this model does not support the effort parameter",
      parameter: "reasoning.effort"
    },
    {
      kind: "a schema",
      asked: { tools, options: { format } },
      says: "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
      parameter: "text.format.schema"
    },
    {
      kind: "a forced choice",
      asked: { tools: [calculator, oneOf], options: { toolChoice: "required" } },
      says: "Forced tool use is not supported on this model.",
      parameter: "tool_choice"
    }
  ]
}

const cases = protocolNames.flatMap((protocol) =>
  refusals[protocol].map((refusal) => [protocol, refusal.kind, refusal] as const)
)

/** All that another user may send, so that a change of any part is seen. */
const bobs: ReadonlyArray<ModelRequest> = [
  request("hi", { tools }),
  request("hi", { tools: [calculator, { ...oneOf, parameters: { type: "object" } }] }),
  request("hi", { tools, options: { reasoningEffort: "high", verbosity: "low" } }),
  request("hi", { tools, options: { format } })
]

describe("a refused request of one user", () => {
  it.effect.each(cases)(
    "a refused request over %s with %s changes no request of another user, and names the cause",
    ([protocol, , refusal]) =>
      Effect.gen(function* () {
        const { call, learned, server } = yield* setUp(protocol)
        const sent = Effect.gen(function* () {
          const before = server.requests.length
          for (const bob of bobs) yield* Stream.runDrain(call(bob))
          return server.requests.slice(before).map(({ body }) => body)
        })
        const before = yield* sent
        yield* server.usually(() => ({ status: 400, errorBody: errorBody(refusal.says) }))
        const failure = yield* Effect.flip(Stream.runDrain(call(request("hi", refusal.asked))))
        assert.strictEqual(failure.reason, "bad_request")
        assert.strictEqual(failure.parameter, refusal.parameter)
        assert.strictEqual(failure.sentence, refusal.says)
        yield* server.usually(() => ({}))
        assert.deepStrictEqual(yield* sent, before)
        assert.deepStrictEqual(yield* learned, [])
      })
  )

  it.effect.each(protocolNames)(
    "a format over %s is sent in words for one request where its field is unknown",
    (protocol) =>
      Effect.gen(function* () {
        const { call, learned, server } = yield* setUp(protocol)
        const unknown = "response_format output_config.format text.format: this field is not supported"
        const asked = request("hi", { tools, options: { format, verbosity: "low" } })
        yield* server.script({ status: 400, errorBody: errorBody(unknown) })
        yield* Stream.runDrain(call(asked))
        yield* Stream.runDrain(call(asked))
        const bodies = server.requests.map(({ body }) => JSON.stringify(body))
        assert.strictEqual(bodies.length, 3)
        assert.include(bodies[1], "JSON Schema")
        assert.strictEqual(bodies[2], bodies[0])
        assert.deepStrictEqual(yield* learned, [])
      })
  )

  it.effect.each(protocolNames)(
    "a request over %s loses the service's tools where the server has none, not its functions",
    (protocol) =>
      Effect.gen(function* () {
        const { call, learned, server } = yield* setUp(protocol)
        const says = "tools are not supported by this model"
        yield* server.usually(() => ({ refusesField: "tools", errorBody: errorBody(says) }))
        const failure = yield* Effect.flip(
          Stream.runDrain(call(request("hi", { tools: [calculator, oneOf] })))
        )
        assert.strictEqual(failure.parameter, "tools")
        assert.deepStrictEqual(yield* learned, [])
        assert.strictEqual(server.requests.length, 2)
        assert.lengthOf(server.requests[1]?.body["tools"] as ReadonlyArray<unknown>, 1)
      })
  )

  it.effect("a refused request with earlier calls or an image teaches nothing", () =>
    Effect.gen(function* () {
      const { call, learned, server } = yield* setUp("openai-chat")
      const says = "An assistant message with tool_calls requires a signature"
      const histories: ReadonlyArray<ModelRequest["messages"]> = [
        [
          { role: "user", text: "1+1?" },
          { role: "assistant", text: "", toolCalls: [{ id: "c1", name: "calculator", arguments: "{}" }] },
          { role: "tool", callId: "c1", name: "calculator", text: "2" }
        ],
        [{ role: "user", text: "?", images: [{ mediaType: "image/png", data: "aGk=", detail: "auto" }] }]
      ]
      for (const messages of histories) {
        yield* server.script({ status: 400, errorBody: errorBody(says) })
        yield* Stream.runDrain(call(request("", { messages, tools })))
      }
      assert.deepStrictEqual(yield* learned, [])
    })
  )
})

describe("what a server refuses of the service's own part", () => {
  const own = protocolNames.map(
    (protocol) => [protocol, "tools", "tools are not supported by this model"] as const
  )
  const chat = [
    ["openai-chat", "stream_options", "Unknown parameter: 'stream_options'"],
    ["openai-chat", "max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model."]
  ] as const
  const cacheKeys = [
    ["openai-chat", "prompt_cache_key", "Unrecognized request argument supplied: prompt_cache_key"],
    ["openai-responses", "prompt_cache_key", "Unknown parameter: 'prompt_cache_key'."]
  ] as const

  it.effect.each([...own, ...chat, ...cacheKeys])(
    "a refused part of the service over %s (%s) is left out, logged, shown, and tried again",
    ([protocol, field, says]) =>
      Effect.gen(function* () {
        const { call, learned, server } = yield* setUp(protocol)
        yield* server.usually(() => ({
          refusesField: field,
          errorBody: errorBody(`${says} (key ${secretKey})`)
        }))
        const ask = Effect.gen(function* () {
          const before = server.requests.length
          assert.strictEqual(
            textOf(yield* Stream.runCollect(call(request("hi", { tools, cacheScope: "a conversation" })))),
            "Hello, world."
          )
          return server.requests.slice(before).map(({ body }) => field in body)
        })
        const { lines, result } = yield* logged(Effect.zipWith(ask, ask, (one, other) => [...one, ...other]))
        assert.deepStrictEqual(result, [true, false, false])
        const line = lines.find(({ message }) => String(message).includes("leaving it out"))
        const part = field === "max_tokens" ? "token_parameter" : field
        const sentence = `${says} (key [redacted])`
        assert.deepInclude(line?.annotations, { provider: "mock", model: model.id, part, sentence })
        assert.deepStrictEqual(yield* learned, [{ part, sentence, seconds: learnedSeconds }])

        yield* TestClock.adjust(`${learnedSeconds - 1} seconds`)
        assert.deepStrictEqual(yield* ask, [false])
        assert.lengthOf(yield* learned, 1)
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* learned, [])
        yield* server.usually(() => ({}))
        assert.deepStrictEqual(yield* ask, [true])
        assert.deepStrictEqual(yield* learned, [])
      })
  )

  it.effect("a refused part of the service is withheld where the sentence quotes the prompt", () =>
    Effect.gen(function* () {
      const { call, learned, server } = yield* setUp("openai-chat")
      const prompt = "the secret plan of the whole company for next year"
      const says = `tools are not supported for: ${prompt}`
      yield* server.script({ status: 400, errorBody: errorBody(says) })
      yield* Stream.runDrain(call(request(prompt, { tools })))
      assert.deepStrictEqual(
        (yield* learned).map(({ sentence }) => sentence),
        ["[withheld, because it quotes the prompt]"]
      )
    })
  )
})
