import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { ModelMessage } from "../../src/domain/ModelCall.ts"
import { makeAiSdk } from "../../src/providers/AiSdk.ts"
import type { Dialect } from "../../src/providers/Dialect.ts"
import {
  firstDialect,
  type ModelServer,
  type ProtocolName,
  protocols
} from "../../src/providers/ModelServer.ts"
import { parseJson } from "../../src/providers/Protocol.ts"
import { fullDialect, model, request, serverAt, setUpFor } from "./ServerSetup.ts"

const system: ModelMessage = { role: "system", text: "Tell a story." }
const question: ModelMessage = { role: "user", text: "Begin." }
const begun: ModelMessage = { role: "assistant", text: "Once upon ", toolCalls: [] }

const prefilled = [system, question, begun]

type Body = Readonly<Record<string, unknown>> & { readonly messages: ReadonlyArray<object> }

/** The first request to a server of the address. */
const sentTo = (
  messages: ReadonlyArray<ModelMessage>,
  url: string,
  protocol: ProtocolName = "openai-chat",
  more: Partial<ModelServer> & { readonly name?: string; readonly changes?: Partial<Dialect> } = {}
) => {
  const { changes, name = model.id, ...rest } = more
  const dialect = { ...firstDialect(serverAt(url, protocol, rest), model), ...changes }
  return parseJson(protocols[protocol].encode(name, request("", { messages }), dialect)) as Body
}

const refusalOf = (message: string) => JSON.stringify({ error: { message, type: "invalid_request_error" } })

const house = "http://127.0.0.1:8000/v1"

describe("A request that ends with a text of the model", () => {
  it.each([
    ["https://api.mistral.ai/v1", { role: "assistant", content: "Once upon ", prefix: true }],
    [
      "https://api.deepseek.com/beta",
      { role: "assistant", content: "Once upon ", reasoning_content: "", prefix: true }
    ],
    // Only the address of the beta continues it.
    ["https://api.deepseek.com", { role: "assistant", content: "Once upon ", reasoning_content: "" }],
    // llama.cpp continues it without being asked.
    [house, { role: "assistant", content: "Once upon " }],
    ["https://generativelanguage.googleapis.com/v1beta/openai", { role: "user", content: "Continue." }]
  ] as const)("a last text of the model is sent to Chat Completions at %s", (url, last) => {
    const { messages } = sentTo(prefilled, url)
    assert.deepStrictEqual(messages.at(-1), last)
    assert.deepInclude(messages.at(2), { role: "assistant", content: "Once upon " })
  })

  it("a last text of the model is continued by the fields of vLLM in its dialect", () => {
    const body = sentTo(prefilled, house, "openai-chat", { family: "vllm" })
    assert.deepStrictEqual(body.messages.at(-1), { role: "assistant", content: "Once upon " })
    assert.deepStrictEqual([body["continue_final_message"], body["add_generation_prompt"]], [true, false])
    const plain = sentTo([question], house, "openai-chat", { family: "vllm" })
    assert.notProperty(plain, "continue_final_message")
    assert.notProperty(plain, "add_generation_prompt")
  })

  it.each([
    ["claude-sonnet-4-5", [{ role: "assistant", content: [{ type: "text", text: "Once upon" }] }]],
    ["a-gateways-name", [{ role: "assistant", content: [{ type: "text", text: "Once upon" }] }]],
    ["claude-opus-4-6", [{ role: "user", content: [{ type: "text", text: "Continue." }] }]],
    ["claude-opus-5-5-20260901", [{ role: "user", content: [{ type: "text", text: "Continue." }] }]]
  ] as const)("a last text of the model is sent to Anthropic's %s", (name, last) => {
    const { messages } = sentTo(prefilled, "https://api.anthropic.com/v1", "anthropic", {
      name,
      changes: { cacheControl: false }
    })
    assert.deepStrictEqual(messages.slice(-1), last as never)
  })

  it("a last text of the model goes to Responses and to a package of the AI SDK as it is", () => {
    const input = sentTo(prefilled, "https://api.openai.com/v1", "openai-responses")["input"]
    assert.deepInclude(Array.isArray(input) ? input.at(-1) : null, {
      role: "assistant",
      content: "Once upon "
    })
    const sdk = makeAiSdk({ version: "v4", providerOptions: {}, efforts: {} })
    const promptIn = (dialect: Dialect) => {
      const body = parseJson(sdk.encode("m", request("", { messages: prefilled }), dialect)) as {
        readonly prompt: ReadonlyArray<{ readonly role: string }>
      }
      return body.prompt.map(({ role }) => role)
    }
    assert.deepStrictEqual(promptIn(fullDialect), ["system", "user", "assistant"])
    assert.deepStrictEqual(promptIn({ ...fullDialect, lastMessage: "followed" }), [
      "system",
      "user",
      "assistant",
      "user"
    ])
  })

  it.effect.each(["openai-chat", "openai-responses", "anthropic"] as const)(
    "%s: the request ends with the user if the server refuses another end, for that request alone",
    (protocol) =>
      Effect.gen(function* () {
        const { call, server } = yield* setUpFor(protocol)
        const message = "Cannot continue: the last message must be of the user."
        yield* server.script({ status: 400, errorBody: refusalOf(message) })
        yield* Stream.runDrain(call(request("", { messages: prefilled })))
        const [refused, sent] = server.requests.map(({ body }) => JSON.stringify(body))
        assert.notInclude(refused, "Continue.")
        assert.include(sent, "Continue.")
        yield* Stream.runDrain(call(request("", { messages: prefilled })))
        assert.notInclude(JSON.stringify(server.requests.at(-1)?.body), "Continue.")
      })
  )

  it.effect("a last text of the model is not repeated where the refusal names a client's option", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUpFor("openai-chat")
      yield* server.script({ status: 400, errorBody: refusalOf("Unsupported value: 'temperature'") })
      const asked = request("", { messages: prefilled, options: { temperature: 0.2 } })
      yield* Effect.flip(Stream.runDrain(call(asked)))
      assert.strictEqual(server.requests.length, 1)
    })
  )
})

describe("A request without a message of the user", () => {
  it("a request without a user message has its instructions alone, or one for strict servers", () => {
    const goOn = { role: "user", content: "Continue." }
    assert.deepStrictEqual(sentTo([system], house).messages, [{ role: "system", content: "Tell a story." }])
    assert.deepStrictEqual(sentTo([system], "https://api.mistral.ai/v1").messages.at(-1), goOn)
    const google = "https://generativelanguage.googleapis.com/v1beta/openai"
    assert.deepStrictEqual(sentTo([system], google).messages.at(-1), goOn)
    assert.deepStrictEqual(sentTo([system], house, "anthropic").messages, [
      { role: "user", content: [{ type: "text", text: "Continue." }] }
    ])
  })

  it("a request without a user message has an input for Responses, which must have some", () => {
    const body = sentTo([system], "https://api.openai.com/v1", "openai-responses")
    assert.deepStrictEqual(body["input"], [{ role: "system", content: "Tell a story." }])
    assert.notProperty(body, "instructions")
  })
})
