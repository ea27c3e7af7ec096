import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { readMessages } from "../../src/anthropic/MessagesReading.ts"
import { inMessagesWords } from "../../src/anthropic/MessagesWording.ts"
import { MessagesBody } from "../../src/api/anthropic/MessagesBody.ts"
import type { UserSealing } from "../../src/openai/Sealing.ts"

const opaque = { origin: "o", data: "d" }

/** Opens what it sealed, and nothing else. */
const sealing: UserSealing = {
  seal: () => "sealed",
  open: (text) => (text === "sealed" ? { thought: { text: "hm", opaque } } : null)
}

const decode = Schema.decodeUnknownEffect(MessagesBody)

const read = (body: object) =>
  Effect.flatMap(decode({ messages: [{ role: "user", content: "Hi" }], ...body }), (decoded) =>
    readMessages(decoded, sealing)
  )

const inputOf = (...messages: ReadonlyArray<object>) =>
  Effect.map(read({ messages }), ({ request }): unknown => request.input)

const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "eA==" } }
const imagePart = { type: "input_image", url: "data:image/png;base64,eA==", fileId: null, detail: "auto" }
const use = { type: "tool_use", id: "toolu_1", name: "look", input: { at: "it" } }
const call = { type: "function_call", call_id: "toolu_1", name: "look", arguments: `{"at":"it"}` }
const result = (content: unknown, more = {}) => ({
  role: "user",
  content: [{ type: "tool_result", tool_use_id: "toolu_1", content, ...more }]
})

describe("The messages of a request", () => {
  it.effect("results of tools become text if they are text, and parts if they have images", () =>
    Effect.gen(function* () {
      const asked = { role: "assistant", content: [use] }
      const outputs = [
        ["plain", {}, "plain"],
        [null, {}, ""],
        [
          [
            { type: "text", text: "a" },
            { type: "text", text: "b" }
          ],
          {},
          "a\nb"
        ],
        ["broken", { is_error: true }, "Error: broken"],
        [[{ type: "tool_reference", tool_name: "Web" }, { type: "browser_state" }], {}, "[Tool: Web]"],
        [[{ type: "text", text: "Seen." }, image], {}, [{ type: "input_text", text: "Seen." }, imagePart]],
        [[image], { is_error: true }, [{ type: "input_text", text: "Error:" }, imagePart]]
      ] as const
      for (const [content, more, output] of outputs) {
        assert.deepStrictEqual(yield* inputOf(asked, result(content, more)), [
          call,
          {
            type: "function_call_output",
            call_id: "toolu_1",
            ...(typeof output === "string" ? { output } : { parts: output })
          }
        ])
      }
    })
  )

  it.effect("the order of results and of the text between them stays", () =>
    Effect.gen(function* () {
      const results = result("done").content
      const input = yield* inputOf(
        { role: "assistant", content: [{ type: "text", text: "I look." }, use, { type: "text", text: "" }] },
        {
          role: "user",
          content: [{ type: "text", text: "Before." }, ...results, { type: "text", text: "Behind." }, image]
        }
      )
      assert.deepStrictEqual(input, [
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "I look." }] },
        call,
        { type: "message", role: "user", content: [{ type: "input_text", text: "Before." }] },
        { type: "function_call_output", call_id: "toolu_1", output: "done" },
        { type: "message", role: "user", content: [{ type: "input_text", text: "Behind." }, imagePart] }
      ])
    })
  )

  it.effect("thinking that was sealed here is given back, and all other is left out", () =>
    Effect.gen(function* () {
      const thinking = (signature?: string | null) => ({ type: "thinking", thinking: "hm", signature })
      const content = [
        thinking("sealed"),
        { type: "redacted_thinking", data: "sealed" },
        thinking("of another service"),
        thinking(null),
        thinking(),
        { type: "redacted_thinking", data: "" },
        { type: "server_tool_use", id: "s", name: "web_search", input: {} },
        { type: "text", text: "It is." }
      ]
      const recalled = { type: "reasoning", recalled: { thought: { text: "hm", opaque } } }
      assert.deepStrictEqual(yield* inputOf({ role: "assistant", content }), [
        recalled,
        recalled,
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "It is." }] }
      ])
    })
  )

  it.effect("files of the service are taken by their ids, with prefix and without", () =>
    Effect.gen(function* () {
      const id = "0197d5a0-0000-7000-8000-000000000001"
      for (const file_id of [id, `file-${id}`]) {
        const source = { type: "file", file_id }
        const content = [
          { type: "image", source },
          { type: "document", source }
        ]
        const parts = [
          { type: "input_image", url: null, fileId: id, detail: "auto" },
          { type: "input_file", file_id: id }
        ]
        assert.deepStrictEqual(yield* inputOf({ role: "user", content }), [
          { type: "message", role: "user", content: parts }
        ])
      }
    })
  )

  it.effect("a budget of thinking becomes an effort that is a hint", () =>
    Effect.gen(function* () {
      for (const [thinking, config, effort] of [
        [undefined, undefined, undefined],
        [{ type: "adaptive" }, undefined, undefined],
        [{ type: "adaptive" }, { effort: "xhigh" }, "xhigh"],
        [{ type: "enabled", budget_tokens: 4_096 }, undefined, "low"],
        [{ type: "enabled", budget_tokens: 4_097 }, undefined, "medium"],
        [{ type: "enabled", budget_tokens: 32_000 }, undefined, "high"],
        [{ type: "enabled", budget_tokens: 32_000 }, { effort: "low" }, "low"],
        [{ type: "disabled" }, { effort: "high" }, "none"]
      ] as const) {
        const { demands, view } = yield* read({ thinking, output_config: config })
        assert.deepStrictEqual(
          demands.answer,
          effort === undefined ? {} : { reasoningEffort: effort, effortIsHint: true }
        )
        assert.strictEqual(view.thinking !== null, thinking !== undefined && thinking.type !== "disabled")
      }
    })
  )

  it.effect("the service's web tools are bounded by the sum of their uses, and no others are offered", () =>
    Effect.gen(function* () {
      const search = { type: "web_search_20250305", name: "web_search", max_uses: 3 }
      const fetch = { type: "web_fetch_20250910", name: "web_fetch" }
      const boundOf = (...tools: ReadonlyArray<object>) =>
        Effect.map(read({ tools }), ({ demands: { maxToolCalls, ownTools } }) => [
          maxToolCalls,
          [...(ownTools ?? [])]
        ])
      assert.deepStrictEqual(yield* boundOf(), [undefined, []])
      assert.deepStrictEqual(yield* boundOf(search), [3, ["web_search"]])
      assert.deepStrictEqual(yield* boundOf(search, fetch), [undefined, ["web_search", "web_fetch"]])
      assert.deepStrictEqual(yield* boundOf(search, { ...fetch, max_uses: 2 }), [
        5,
        ["web_search", "web_fetch"]
      ])
    })
  )
})

describe("The words of an error", () => {
  it("an error names the place in the messages", () => {
    const places = [
      { path: "messages[0]", parts: ["messages[0].content[1]", "messages[0].content[1]"] },
      { path: "messages[1].content[0]", parts: ["messages[1].content[0].content[2]"] }
    ]
    for (const [param, named] of [
      ["input", "messages"],
      ["input[0].content[1].image_url", "messages[0].content[1].source"],
      ["input[0].content[0].file_id", "messages[0].content[1].source.file_id"],
      ["input[1].call_id", "messages[1].content[0].tool_use_id"],
      ["input[1].output[0].image_url", "messages[1].content[0].content[2].source"],
      ["input[1].output", "messages[1].content[0].content"],
      ["input[9]", "messages"],
      ["text.format.schema", "output_config.format.schema"],
      ["tools[1].input_schema", "tools[1].input_schema"]
    ] as const) {
      const error = {
        message: `\`${param}\` is wrong.`,
        type: "invalid_request_error",
        code: "invalid_request",
        param
      }
      assert.strictEqual(inMessagesWords(places)(error).message, `\`${named}\` is wrong.`)
    }
  })
})
