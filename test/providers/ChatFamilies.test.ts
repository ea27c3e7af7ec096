import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { firstDialect, type ModelServer } from "../../src/providers/ModelServer.ts"
import { encodeChatRequest } from "../../src/providers/OpenAiChat.ts"
import { model, request, serverAt } from "./ServerSetup.ts"

const Sent = Schema.Struct({
  max_tokens: Schema.optionalKey(Schema.Int),
  max_completion_tokens: Schema.optionalKey(Schema.Int),
  stream_options: Schema.optionalKey(Schema.Unknown)
})
const decodeSent = Schema.decodeUnknownSync(Schema.fromJsonString(Sent))

/** The first request to a server of the address. */
const sentTo = (url: string, more: Partial<ModelServer> = {}) => {
  const dialect = firstDialect(serverAt(url, "openai-chat", more), model)
  return decodeSent(encodeChatRequest(model.id, request("?", { maxOutputTokens: 9 }), dialect))
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

  it("the family of a server is overruled by the catalog's name of the bound", () => {
    const sent = sentTo("https://api.openai.com/v1", { tokenParameter: "max_tokens" })
    assert.strictEqual(sent.max_tokens, 9)
  })

  it("Mistral is not asked for the usage, which it sends anyway", () => {
    assert.notProperty(sentTo("https://api.mistral.ai/v1"), "stream_options")
    assert.property(sentTo("https://api.x.ai/v1"), "stream_options")
  })
})
