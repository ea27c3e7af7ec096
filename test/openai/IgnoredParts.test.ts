import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { CreateBody } from "../../src/api/openai/CreateBody.ts"
import { ignoredParts } from "../../src/openai/IgnoredParts.ts"

describe("What a body has and nothing is made of", () => {
  it("an ignored part is named by its path", () => {
    const read = { a: { b: 1 }, list: [{ c: 1 }], schema: {}, input: [{}] }
    assert.deepStrictEqual(
      ignoredParts(
        {
          a: { b: 1, x: 1, nothing: null, "<b>": 1 },
          list: [{ c: 1, y: { z: 1 } }, { c: 2 }],
          schema: { own: 1 },
          input: [{ status: "completed" }],
          wishes: { d: 1 }
        },
        read
      ),
      ["a.x", "a.?", "list[0].y"]
    )
  })

  it("an ignored part is named inside items, too, unless answers have it, which clients replay", () => {
    const given = {
      input: [
        {
          id: "msg_1",
          type: "message",
          role: "assistant",
          status: "completed",
          phase: null,
          content: [{ type: "output_text", text: "Hi", annotations: [{ type: "x" }], logprobs: [] }]
        },
        { role: "user", content: [{ type: "input_text", text: "Hi", cache_control: { a: 1 } }], foo: 1 },
        {
          type: "reasoning",
          id: "rs_1",
          summary: [{ type: "summary_text", text: "a" }],
          encrypted_content: "x"
        },
        { type: "function_call", id: "fc_1", status: "completed", call_id: "c", name: "f", arguments: "{}" }
      ]
    }
    assert.deepStrictEqual(ignoredParts(given, Schema.decodeUnknownSync(CreateBody)(given)), [
      "input[1].content[0].cache_control",
      "input[1].foo"
    ])
  })

  it("ignored parts are none where a body has only what the interface knows", () => {
    const given = {
      model: "auto",
      input: [{ role: "user", content: [{ type: "input_text", text: "Hi" }] }],
      stream_options: { include_obfuscation: false },
      conversation: { id: "conv_019aa1b2-0000-7000-8000-000000000000" },
      tools: [
        { type: "function", name: "f", parameters: { a: { b: 1 } }, strict: null, description: null },
        { type: "web_search", search_context_size: "low" }
      ],
      tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f" }] },
      text: { format: { type: "json_schema", name: "x", schema: { a: { b: 1 } }, strict: true } },
      reasoning: { effort: "low", summary: null },
      include: [],
      metadata: { own: "x" }
    }
    assert.deepStrictEqual(ignoredParts(given, Schema.decodeUnknownSync(CreateBody)(given)), [])
  })
})
