import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import {
  type AnswerOptions,
  type ModelMessage,
  type ModelRequest,
  reasoningEfforts,
  type ToolSpec
} from "../../src/domain/ModelCall.ts"
import { refusedParameter } from "../../src/providers/Dialect.ts"
import { learnedSeconds } from "../../src/providers/LearnedParts.ts"
import { firstDialect, originOf } from "../../src/providers/ModelServer.ts"
import { isReasoningModel } from "../../src/providers/OpenAiModels.ts"
import { encodeResponsesRequest } from "../../src/providers/OpenAiResponses.ts"
import { makeServerCall } from "../../src/providers/ServerCall.ts"
import { makeUpstream } from "../../src/providers/Upstream.ts"
import { makeMockModelServer } from "../support/MockModelServer.ts"
import { gate, model, request, serverAt, textOf, timeouts } from "./ServerSetup.ts"

const openAi = "https://api.openai.com/v1"
const azure = "https://example.openai.azure.com/openai/v1"
const local = "http://127.0.0.1:8000/v1"

const Body = Schema.Struct({
  include: Schema.optionalKey(Schema.Unknown),
  reasoning: Schema.optionalKey(Schema.Unknown)
})
const parse = Schema.decodeUnknownSync(Schema.fromJsonString(Body))

const include = ["reasoning.encrypted_content"]

/** The part of a request that is about reasoning. */
const askedOf = (
  url: string,
  id: string,
  options: AnswerOptions = {},
  encryptedReasoning: boolean | null = null
) => {
  const dialect = firstDialect(serverAt(url, "openai-responses", { encryptedReasoning }), { ...model, id })
  return parse(encodeResponsesRequest(id, request("hi", { options }), dialect))
}

describe("isReasoningModel", () => {
  it.each([
    ...["o1", "o3-2025-04-16", "o4-mini", "gpt-5", "gpt-5-mini", "gpt-5.6-terra", "gpt-6-sol"].map(
      (id) => [id, true] as const
    ),
    ["openai/gpt-5.5", true],
    ["ft:o4-mini-2025-04-16:acme::id", true],
    ...["gpt-4o", "gpt-4.1-mini", "gpt-35-turbo", "chatgpt-4o-latest", "gpt-5-chat-latest"].map(
      (id) => [id, false] as const
    ),
    ["gpt-oss-20b", null],
    ["my-deployment", null]
  ] as const)("isReasoningModel returns for %s: %s", (id, expected) => {
    assert.strictEqual(isReasoningModel(id), expected)
  })
})

describe("A request of Responses", () => {
  it.each([
    [openAi, "gpt-5.5", null, { include, reasoning: { summary: "auto" } }],
    ["https://eu.api.openai.com/v1", "o3", null, { include, reasoning: { summary: "auto" } }],
    [openAi, "gpt-4.1", null, {}],
    [azure, "gpt-6-sol", null, { include, reasoning: { summary: "auto" } }],
    [azure, "my-deployment", null, { include }],
    [local, "gpt-5.5", null, {}],
    [local, "gpt-oss-20b", true, { include }],
    ["https://gateway.example/v1", "openai/gpt-5.5", true, { include, reasoning: { summary: "auto" } }],
    [openAi, "gpt-5.5", false, {}]
  ] as const)("a request to %s asks %s for its reasoning (catalog: %s)", (url, id, catalog, expected) => {
    assert.deepStrictEqual(askedOf(url, id, {}, catalog), expected)
  })

  it("a request of Responses has every effort as it is, with a summary where one is possible", () => {
    for (const effort of reasoningEfforts) {
      const options = { reasoningEffort: effort }
      const summary = effort === "none" ? {} : { summary: "auto" }
      assert.deepStrictEqual(askedOf(openAi, "gpt-6-sol", options).reasoning, { effort, ...summary })
      assert.deepStrictEqual(askedOf(azure, "my-deployment", options).reasoning, { effort, ...summary })
      assert.deepStrictEqual(askedOf(local, "gpt-oss-20b", options), { reasoning: { effort } })
    }
  })
})

const id = "gpt-5.5"

const setUp = Effect.gen(function* () {
  const mock = yield* makeMockModelServer
  const upstream = yield* makeUpstream(timeouts)
  const through = yield* gate()
  const server = serverAt(mock.url, "openai-responses", { encryptedReasoning: true })
  const call = makeServerCall(upstream, server, { gate: through, retrySeconds: 0 })({ ...model, id })
  return {
    call,
    mock,
    learned: Effect.map(through.modelHealth, (healthOf) => healthOf(id).learned),
    origin: originOf(server, id)
  }
})

const refusal = (message: string, param: string | null, code: string | null) => ({
  status: 400,
  errorBody: JSON.stringify({ error: { message, type: "invalid_request_error", param, code } })
})

const notEncrypted = refusal("Encrypted content is not supported with this model.", "include", null)
const notSummed = refusal(
  "Your organization must be verified to generate reasoning summaries. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.",
  "reasoning.summary",
  "unsupported_value"
)
const noReasoning = refusal(
  "Unsupported parameter: 'reasoning' is not supported with this model.",
  "reasoning",
  "unsupported_parameter"
)

describe("What a Responses server refuses", () => {
  it.effect.each([
    ["encrypted reasoning", notEncrypted, "encrypted_reasoning", { reasoning: { summary: "auto" } }],
    ["summaries", notSummed, "reasoning_summary", { include }],
    ["the field of the summary", noReasoning, "reasoning_summary", { include }]
  ] as const)("a refusal of %s is learned for later requests", ([, refused, part, left]) =>
    Effect.gen(function* () {
      const { call, learned, mock } = yield* setUp
      yield* mock.script(refused)
      assert.strictEqual(textOf(yield* Stream.runCollect(call(request("hi")))), "Hello, world.")
      yield* Stream.runDrain(call(request("hi")))
      assert.deepStrictEqual(
        mock.requests.map(({ body }) => parse(JSON.stringify(body))),
        [{ include, reasoning: { summary: "auto" } }, left, left]
      )
      assert.deepInclude((yield* learned)[0], { part, seconds: learnedSeconds })
    })
  )

  it.effect("refusals of two parts are learned one after the other, and a client's effort stays", () =>
    Effect.gen(function* () {
      const { call, mock } = yield* setUp
      yield* mock.script(notSummed, notEncrypted)
      yield* Stream.runDrain(call(request("hi", { options: { reasoningEffort: "high" } })))
      assert.deepStrictEqual(
        mock.requests.map(({ body }) => parse(JSON.stringify(body))),
        [
          { include, reasoning: { effort: "high", summary: "auto" } },
          { include, reasoning: { effort: "high" } },
          { reasoning: { effort: "high" } }
        ]
      )
    })
  )

  it.effect.each([
    "The encrypted content gAAA...DQ== could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
    "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    "Unknown parameter: 'input[1].phase'."
  ])("a refusal of earlier reasoning is heeded for that one request: %s", (says) =>
    Effect.gen(function* () {
      const { call, learned, mock, origin } = yield* setUp
      const data = JSON.stringify({ type: "reasoning", summary: [], encrypted_content: "gAAA" })
      const messages: ReadonlyArray<ModelMessage> = [
        { role: "user", text: "2+2?" },
        { role: "assistant", text: "4", reasoning: [{ text: "", opaque: { origin, data } }], toolCalls: [] },
        { role: "user", text: "And 3+3?" }
      ]
      yield* mock.script(refusal(says, null, "invalid_request"))
      yield* Stream.runDrain(call(request("", { messages })))
      yield* Stream.runDrain(call(request("", { messages })))
      const inputs = mock.requests.map(({ body }) => JSON.stringify(body["input"]).includes("gAAA"))
      assert.deepStrictEqual(inputs, [true, false, true])
      assert.deepStrictEqual(yield* learned, [])
      assert.deepStrictEqual(mock.requests[1]?.body["include"], include)
    })
  )

  it.effect("a refusal of reasoning isn't learned if the conversation has earlier reasoning", () =>
    Effect.gen(function* () {
      const { call, learned, mock, origin } = yield* setUp
      const reasoning = [{ text: "", opaque: { origin, data: "{}" } }]
      const messages: ReadonlyArray<ModelMessage> = [
        { role: "assistant", text: "4", reasoning, toolCalls: [] },
        { role: "user", text: "And 3+3?" }
      ]
      yield* mock.script(notEncrypted)
      yield* Stream.runDrain(call(request("", { messages })))
      assert.deepStrictEqual(yield* learned, [])
    })
  )
})

describe("refusedParameter", () => {
  const functions: ReadonlyArray<ToolSpec> = [
    { name: "x", description: "", parameters: {}, param: "tools[5].parameters" }
  ]
  const format = { type: "json_schema", name: "x", description: null, schema: {}, strict: true } as const
  const all: AnswerOptions = {
    temperature: 0.2,
    topP: 0.5,
    stop: ["END"],
    seed: 1,
    presencePenalty: 1,
    frequencyPenalty: 1,
    reasoningEffort: "minimal",
    verbosity: "low",
    parallelToolCalls: false,
    toolChoice: "required"
  }
  const unsupported = (name: string) => `Unsupported parameter: '${name}' is not supported with this model.`
  const noTools = (model: string) =>
    `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`

  it.each<readonly [string, string | null, Partial<ModelRequest>]>([
    ...["temperature", "top_p", "stop", "seed", "presence_penalty", "frequency_penalty"].map(
      (name) => [unsupported(name), name, { options: all }] as const
    ),
    [unsupported("parallel_tool_calls"), "parallel_tool_calls", { options: all }],
    [unsupported("reasoning.effort"), "reasoning.effort", { options: all }],
    [
      "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
      "temperature",
      { options: all }
    ],
    [
      "HTTP 400 unsupported_value invalid_request_error reasoning.effort Unsupported value: 'minimal' is not supported with the 'gpt-5.6' model. Supported values are: 'none', 'low', 'medium', 'high', 'xhigh', and 'max'.",
      "reasoning.effort",
      { options: { reasoningEffort: "minimal" } }
    ],
    [noTools("gpt-5.6-terra"), "reasoning.effort", { options: all, tools: functions }],
    [noTools("gpt-5.6-terra"), "tools", { tools: functions }],
    [
      "Invalid schema for function 'x': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
      "tools[5].parameters",
      { options: { ...all, format }, tools: functions }
    ],
    [
      "Invalid schema for response_format 'x': In context=(), 'additionalProperties' is required to be supplied and to be false.",
      "text.format.schema",
      { options: { ...all, format } }
    ],
    ["Encrypted content is not supported with this model.", null, { options: { temperature: 1 } }]
  ])("refusedParameter finds what OpenAI refuses: %s", (says, expected, asked) => {
    const dialect = firstDialect(serverAt(openAi, "openai-responses"), model)
    assert.strictEqual(refusedParameter(says, request("hi", asked), dialect), expected)
  })
})
