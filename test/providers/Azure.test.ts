import { assert, describe, it } from "@effect/vitest"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { AnswerReader } from "../../src/providers/AnswerReader.ts"
import { endpointOf, type ProtocolName } from "../../src/providers/ModelServer.ts"
import { openAiChat } from "../../src/providers/OpenAiChat.ts"
import { frames, secretKey, serverAt, textOf } from "./ServerSetup.ts"

const deployment = "https://example.openai.azure.com/openai/deployments/house?api-version=2024-10-21"
const current = "https://example.openai.azure.com/openai/v1/"

describe("endpointOf, for Azure", () => {
  it.each<readonly [ProtocolName, string, string]>([
    ["openai-chat", deployment, "/openai/deployments/house/chat/completions?api-version=2024-10-21"],
    ["openai-chat", current, "/openai/v1/chat/completions"],
    ["openai-responses", current, "/openai/v1/responses"]
  ])("Azure gets the key in the header api-key (%s, %s)", (protocol, url, path) => {
    const server = serverAt(url, protocol)
    assert.deepStrictEqual(endpointOf(server, server.protocol.path), {
      origin: "https://example.openai.azure.com",
      path,
      headers: { "content-type": "application/json", "api-key": secretKey }
    })
    assert.notProperty(endpointOf({ ...server, key: null }, "/models").headers, "api-key")
  })

  it.each<readonly [ProtocolName, string]>([
    ["openai-chat", "https://openai.azure.com.example/v1"],
    ["openai-responses", "https://api.openai.com/v1"]
  ])("other hosts get the key as a token (%s, %s)", (protocol, url) => {
    const { headers } = endpointOf(serverAt(url, protocol), "/models")
    assert.deepStrictEqual(headers, {
      "content-type": "application/json",
      authorization: `Bearer ${secretKey}`
    })
  })
})

const safe = { hate: { filtered: false, severity: "safe" } }
const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_780_000_000, model: "gpt-5.5" }
const chunk = (delta: object, finish_reason: string | null = null) => ({
  ...head,
  choices: [{ index: 0, delta, finish_reason, logprobs: null, content_filter_results: safe }],
  usage: null
})

describe("openAiChat, the answer of Azure", () => {
  it("an answer of Azure is read around the results of its content filter", () => {
    const first = {
      choices: [],
      created: 0,
      id: "",
      model: "",
      object: "",
      prompt_filter_results: [{ prompt_index: 0, content_filter_results: safe }]
    }
    const late = {
      id: "",
      object: "",
      created: 0,
      model: "",
      choices: [
        {
          index: 0,
          finish_reason: null,
          content_filter_results: safe,
          content_filter_offsets: { check_offset: 44, start_offset: 44, end_offset: 198 }
        }
      ],
      usage: null
    }
    const called = { index: 0, id: "call_1", type: "function", function: { name: "calc", arguments: "{}" } }
    const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }
    const bytes = frames(
      first,
      chunk({ role: "assistant", content: "" }),
      chunk({ content: "Let me " }),
      late,
      chunk({ content: "see." }),
      late,
      chunk({ tool_calls: [called] }),
      chunk({}, "tool_calls"),
      late,
      { ...head, choices: [], usage }
    )
    const reader = new AnswerReader(openAiChat.makeDecode(), "a server")
    reader.write(Buffer.from(`${bytes}data: [DONE]\n\n`))
    reader.end()
    const parts: ReadonlyArray<ModelPart> = reader.take()
    assert.isNull(reader.fault)
    assert.strictEqual(textOf(parts), "Let me see.")
    assert.deepInclude(parts.at(-1), { type: "finish", reason: "tool_calls" })
    assert.deepStrictEqual(
      parts.flatMap((part) => (part.type === "tool_call" ? [part.call.name] : [])),
      ["calc"]
    )
  })

  it("a chunk of Azure's content filter is no progress", () => {
    const reader = new AnswerReader(openAiChat.makeDecode(), "a server")
    reader.write(Buffer.from(frames({ choices: [], id: "", prompt_filter_results: [] })))
    assert.deepStrictEqual([reader.progress, reader.fault], [0, null])
  })
})
