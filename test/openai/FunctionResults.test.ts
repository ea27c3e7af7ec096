import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call } from "../support/Wire.ts"

/** The beginning of a PNG file that a tool read as text, and half of a character that it cut. */
const bytes = "\u{fffd}PNG\r\n\u001a\n\0\0\0\rIHDR \ud83d"
const storable = "\u{fffd}PNG\r\n\u001a\n\u{fffd}\u{fffd}\u{fffd}\rIHDR \u{fffd}"

const read = { name: "read", arguments: '{"path":"a.png"}' }

const chat = (content: unknown) => ({
  messages: [
    { role: "user", content: "Read it." },
    { role: "assistant", tool_calls: [{ id: "call_a", type: "function", function: read }] },
    { role: "tool", tool_call_id: "call_a", content }
  ]
})

const response = (output: unknown) => ({
  input: [
    { role: "user", content: "Read it." },
    { type: "function_call", call_id: "call_a", ...read },
    { type: "function_call_output", call_id: "call_a", output }
  ]
})

const cases = [
  ["a text in a chat", "chat/completions", chat(bytes)],
  ["parts in a chat", "chat/completions", chat([{ type: "text", text: bytes }])],
  ["a text in a response that is stored", "responses", response(bytes)],
  ["parts in a response that is stored", "responses", response([{ type: "input_text", text: bytes }])]
] as const

layer(TestApp.layer(), { excludeTestServices: true })("A function's result of the client", (it) => {
  for (const [form, path, body] of cases) {
    it.effect(`a function's result reaches the model as ${form}, with U+FFFD for invalid text`, () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const model = yield* ScriptedModel
        yield* model.change({ tools: true })
        yield* model.next(says("A picture."))
        const reply = yield* call(`${url}/openai/v1/${path}`, { key: alice.key, body })
        assert.strictEqual(reply.status, 200, reply.text)
        const { messages } = (yield* model.asked).at(-1)!.request
        assert.deepStrictEqual(
          messages.flatMap((message) => (message.role === "tool" ? [message.text] : [])),
          [storable]
        )
      })
    )
  }
})
