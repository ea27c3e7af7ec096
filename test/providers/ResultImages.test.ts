import { assert, describe, it } from "@effect/vitest"
import type { ModelMessage } from "../../src/domain/ModelCall.ts"
import { anthropicMessages } from "../../src/providers/AnthropicMessages.ts"
import { openAiChat } from "../../src/providers/OpenAiChat.ts"
import { openAiResponses } from "../../src/providers/OpenAiResponses.ts"
import type { Protocol } from "../../src/providers/Protocol.ts"
import { fullDialect } from "./ServerSetup.ts"

const image = { mediaType: "image/png", data: "AAAA", detail: "low" } as const
const made = (id: string) => ({ id, name: "look", arguments: "{}" })
const result = (callId: string, images = [image]): ModelMessage => ({
  role: "tool",
  callId,
  name: "look",
  text: `result ${callId}`,
  images
})
const tools = [{ name: "look", description: "", parameters: { type: "object" } }]
const messages: ReadonlyArray<ModelMessage> = [
  { role: "user", text: "Look" },
  { role: "assistant", text: "", toolCalls: [made("a"), made("b")] },
  result("a"),
  result("b", [])
]

const sent = ({ encode }: Protocol, dialect = fullDialect, all = messages) => {
  const body = JSON.parse(encode("m", { messages: all, maxOutputTokens: 50, tools }, dialect))
  return (body.messages ?? body.input) as ReadonlyArray<Record<string, unknown>>
}

const lastContent = (all: ReturnType<typeof sent>) =>
  (all.at(-1)?.["content"] ?? []) as ReadonlyArray<{ readonly type: string; readonly text: string }>

describe("images of results", () => {
  it("images of results are parts of the results where the protocol has that", () => {
    assert.deepStrictEqual(sent(anthropicMessages).at(-1)?.["content"], [
      {
        type: "tool_result",
        tool_use_id: "a",
        content: [
          { type: "text", text: "result a" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }
        ]
      },
      { type: "tool_result", tool_use_id: "b", content: "result b" }
    ])
    assert.deepStrictEqual(
      sent(openAiResponses)
        .slice(-2)
        .map(({ output }) => output),
      [
        [
          { type: "input_text", text: "result a" },
          { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "low" }
        ],
        "result b"
      ]
    )
  })

  it("images stand behind all results of the round in Chat Completions", () => {
    const all = sent(openAiChat)
    assert.deepStrictEqual(
      all.map(({ role }) => role),
      ["user", "assistant", "tool", "tool", "user"]
    )
    const [, shown] = lastContent(all)
    assert.deepStrictEqual<unknown>(shown, {
      type: "image_url",
      image_url: { url: "data:image/png;base64,AAAA", detail: "low" }
    })
  })

  it("images come with the round as text if nothing may follow results, or if a question does", () => {
    const strict = sent(openAiChat, { ...fullDialect, imagesBehindResults: false })
    const asked = sent(openAiChat, fullDialect, [...messages, { role: "user", text: "So?" }])
    for (const all of [strict, asked]) {
      assert.deepStrictEqual(
        all.map(({ role }) => role),
        ["user", "assistant", "user"]
      )
      const [text, shown] = lastContent(all)
      assert.include(text?.text, "[result of look]\nresult a")
      assert.strictEqual(shown?.type, "image_url")
    }
  })
})
