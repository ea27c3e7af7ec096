import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { argumentsOf } from "../../src/domain/CustomInput.ts"
import type { ModelRequest } from "../../src/domain/ModelCall.ts"
import { AnswerReader } from "../../src/providers/AnswerReader.ts"
import { openAiResponses } from "../../src/providers/OpenAiResponses.ts"
import { fullDialect } from "./ServerSetup.ts"
import { wholeParts } from "./wholeParts.ts"

const grammar = { syntax: "lark", definition: 'start: "x"' } as const
const request: ModelRequest = {
  maxOutputTokens: 50,
  messages: [
    { role: "user", text: "Go" },
    {
      role: "assistant",
      text: "",
      toolCalls: [
        { id: "a", name: "patch", arguments: argumentsOf("*** x\n") },
        { id: "b", name: "look", arguments: "{}" }
      ]
    },
    { role: "tool", callId: "a", name: "patch", text: "done" },
    { role: "tool", callId: "b", name: "look", text: "seen" }
  ],
  options: { toolChoice: { name: "patch" } },
  tools: [
    {
      name: "patch",
      description: "in words",
      parameters: { type: "object" },
      param: "tools[0]",
      text: { description: "Changes files.", grammar }
    },
    { name: "look", description: "", parameters: { type: "object" }, param: "tools[1].parameters" }
  ]
}

const encoded = (customTools: boolean) =>
  JSON.parse(openAiResponses.encode("m", request, { ...fullDialect, customTools }))

const event = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`
const item = (fields: object) => ({ type: "custom_tool_call", call_id: "c", name: "patch", ...fields })
const end = event({
  type: "response.completed",
  response: { output: [], usage: { input_tokens: 3, output_tokens: 4 } }
})

const read = (body: string) => {
  const reader = new AnswerReader(openAiResponses.makeDecode(), "origin")
  reader.write(Buffer.from(body))
  reader.end()
  assert.isNull(reader.fault)
  return reader.take()
}

describe("tools whose input is a text, in the Responses protocol", () => {
  it("custom tools are sent as such where the server knows them, with calls and results", () => {
    const { input, tool_choice, tools } = encoded(true)
    assert.deepStrictEqual(tools[0], {
      type: "custom",
      name: "patch",
      description: "Changes files.",
      format: { type: "grammar", ...grammar }
    })
    assert.strictEqual(tools[1].type, "function")
    assert.deepStrictEqual(tool_choice, { type: "custom", name: "patch" })
    assert.deepStrictEqual(input.slice(1), [
      { type: "custom_tool_call", call_id: "a", name: "patch", input: "*** x\n" },
      { type: "function_call", call_id: "b", name: "look", arguments: "{}" },
      { type: "custom_tool_call_output", call_id: "a", output: "done" },
      { type: "function_call_output", call_id: "b", output: "seen" }
    ])
  })

  it("custom tools are functions for other servers, and for one that refuses them", () => {
    const { input, tool_choice, tools } = encoded(false)
    assert.deepInclude(tools[0], { type: "function", name: "patch", description: "in words" })
    assert.deepStrictEqual(tool_choice, { type: "function", name: "patch" })
    assert.strictEqual(input[1].type, "function_call")
    const dialect = { ...fullDialect, customTools: true }
    for (const complaint of [
      "Custom tools are not supported with this model.",
      "Invalid grammar: tools[0].format"
    ])
      assert.isFalse(openAiResponses.adapt(dialect, complaint, request)?.customTools)
  })

  it.prop(
    "custom tools are called with the same text, in pieces and at once",
    [Schema.String, Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))],
    ([text, size]) => {
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
        event({
          type: "response.custom_tool_call_input.delta",
          output_index: 0,
          delta: text.slice(at * size, at * size + size)
        })
      )
      const added = event({ type: "response.output_item.added", output_index: 0, item: item({ input: "" }) })
      const done = event({ type: "response.output_item.done", output_index: 0, item: item({ input: text }) })
      const document = JSON.stringify({
        object: "response",
        status: "completed",
        output: [item({ input: text })],
        usage: { input_tokens: 3, output_tokens: 4 }
      })
      const bodies = [added + pieces.join("") + done + end, done + end, document]
      for (const body of pieces.length === 0 ? bodies : [...bodies, pieces.join("") + done + end]) {
        for (const part of read(body)) {
          if (part.type === "call_text") assert.isTrue(part.isText)
          if (part.type === "tool_call") assert.isTrue(part.call.isText)
        }
        const calls = wholeParts(read(body)).flatMap((part) => (part.type === "tool_call" ? [part.call] : []))
        assert.deepStrictEqual(
          calls.map(({ arguments: args, name }) => [name, JSON.parse(args)]),
          [["patch", { input: text }]]
        )
      }
    }
  )
})
