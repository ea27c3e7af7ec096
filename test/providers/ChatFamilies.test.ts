import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { ModelMessage, ModelRequest } from "../../src/domain/ModelCall.ts"
import type { ChatFamilyName } from "../../src/providers/ChatFamilies.ts"
import { firstDialect, type ModelServer } from "../../src/providers/ModelServer.ts"
import { encodeChatRequest } from "../../src/providers/OpenAiChat.ts"
import { model, serverAt } from "./ServerSetup.ts"

const Sent = Schema.Struct({
  messages: Schema.Array(
    Schema.Struct({
      tool_call_id: Schema.optionalKey(Schema.String),
      tool_calls: Schema.optionalKey(Schema.Array(Schema.Struct({ id: Schema.String })))
    })
  ),
  max_tokens: Schema.optionalKey(Schema.Int),
  max_completion_tokens: Schema.optionalKey(Schema.Int),
  stream_options: Schema.optionalKey(Schema.Unknown)
})
const decodeSent = Schema.decodeUnknownSync(Schema.fromJsonString(Sent))

/** The first request to a server of the address. */
const sentTo = (url: string, request: Partial<ModelRequest> = {}, more: Partial<ModelServer> = {}) => {
  const server = serverAt(url, "openai-chat", more)
  const whole = {
    messages: [{ role: "user", text: "?" }],
    maxOutputTokens: 9,
    tools: [],
    ...request
  } as const
  return decodeSent(encodeChatRequest(model.id, whole, firstDialect(server, model)))
}

describe("a family of servers of Chat Completions", () => {
  it.each([
    ["https://api.openai.com/v1", "max_completion_tokens"],
    ["https://house.openai.azure.com/openai/v1", "max_completion_tokens"],
    ["https://api.mistral.ai/v1", "max_tokens"],
    ["http://127.0.0.1:8000/v1", "max_tokens"]
  ] as const)("%s has the bound on the answer in %s", (url, name) => {
    const { max_completion_tokens, max_tokens } = sentTo(url)
    const expected = { max_completion_tokens: undefined, max_tokens: undefined, [name]: 9 }
    assert.deepStrictEqual({ max_completion_tokens, max_tokens }, expected)
  })

  it("is overruled by the catalog's name of the bound", () => {
    const sent = sentTo("https://api.openai.com/v1", {}, { tokenParameter: "max_tokens" })
    assert.strictEqual(sent.max_tokens, 9)
  })

  it("is not asked for the usage if it is Mistral's, which sends it anyway", () => {
    assert.notProperty(sentTo("https://api.mistral.ai/v1"), "stream_options")
    assert.property(sentTo("https://api.x.ai/v1"), "stream_options")
  })

  const round = (...ids: ReadonlyArray<string>): ReadonlyArray<ModelMessage> => [
    {
      role: "assistant",
      text: "",
      toolCalls: ids.map((id) => ({ id, name: "calc", arguments: "{}" }))
    },
    ...ids.map((id): ModelMessage => ({ role: "tool", callId: id, name: "calc", text: "5" }))
  ]
  const messages: ReadonlyArray<ModelMessage> = [
    { role: "user", text: "?" },
    ...round("call_of_another-model", "aB3dE6gH9"),
    ...round("call_of_a.client")
  ]
  const tools = [{ name: "calc", description: "d", parameters: { type: "object" } }]

  it.each<readonly [ChatFamilyName, ReadonlyArray<string>]>([
    ["mistral", ["call00000", "aB3dE6gH9", "call00001"]],
    ["generic", ["call_of_another-model", "aB3dE6gH9", "call_of_a.client"]]
  ])("%s gets the ids of calls as it takes them", (family, ids) => {
    const sent = sentTo("http://127.0.0.1:8000/v1", { messages, tools }, { family }).messages
    assert.deepStrictEqual(
      sent.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id)),
      ids
    )
    assert.deepStrictEqual(
      sent.flatMap(({ tool_call_id: id }) => id ?? []),
      ids
    )
  })
})
