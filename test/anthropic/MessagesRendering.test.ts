import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  makeMessagesRenderer,
  type MessagesView,
  renderMessage
} from "../../src/anthropic/MessagesRendering.ts"
import { Message, MessageEvent } from "../../src/api/anthropic/Message.ts"
import type { ResponseObject } from "../../src/api/ResponseObject.ts"
import { ItemId } from "../../src/domain/Ids.ts"
import * as Events from "../../src/responses/generation/Events.ts"
import { isFinished } from "../../src/responses/generation/EventsState.ts"
import { itemEvents } from "../../src/responses/generation/ItemEvents.ts"
import { counter, play, saidOf, Script, start, usage } from "../responses/eventScripts.ts"
import { foldMessage } from "./messageEvents.ts"

const plain: MessagesView = { thinking: null, seal: null }
const unsealed: MessagesView = { thinking: "summarized", seal: null }
const sealing: MessagesView = {
  thinking: "summarized",
  seal: (id, recalled) => JSON.stringify([id, recalled])
}
const views = [plain, unsealed, sealing, { ...sealing, thinking: "omitted" as const }]

const eventsOf = (response: ResponseObject) => {
  const [created] = play([], "stop", 1)
  if (created?.type !== "response.created") throw new Error("a stream begins with response.created")
  return [created, ...response.output.flatMap(itemEvents), { type: "response.completed" as const, response }]
}

const id = ItemId.make("0197d5a0-0000-7000-8000-000000000001")

const calling = (args: string) => {
  const end = play(["Hi"], "stop", 1).at(-1)
  if (end?.type !== "response.completed") throw new Error("the script completes")
  const call = {
    id,
    type: "function_call" as const,
    status: "completed" as const,
    call_id: "call_1",
    name: "write",
    arguments: args
  }
  return { ...end.response, output: [call] }
}

describe("The rendering as Anthropic's Messages", () => {
  it.effect.prop(
    "a rendered message as one document equals its folded events, and both encode as their schemas say",
    [Script.said, Script.ending, Script.batch],
    ([script, ending, batch]) =>
      Effect.gen(function* () {
        const core = play(saidOf(script), ending, batch)
        const end = core.at(-1)!
        for (const view of views) {
          const events = core.flatMap(makeMessagesRenderer(view))
          for (const event of events) {
            assert.deepStrictEqual(yield* Schema.encodeUnknownEffect(MessageEvent)(event), event)
          }
          const { isWhole, message } = foldMessage(events)
          assert.strictEqual(isWhole, end.type === "response.completed")
          if (end.type !== "response.completed") continue
          const whole = renderMessage(end.response, view)
          assert.deepStrictEqual(yield* Schema.encodeUnknownEffect(Message)(whole), whole)
          assert.deepStrictEqual(message, whole)
        }
      })
  )

  it.prop(
    "a rendered message shows all texts, and thoughts only where they were asked for",
    [Script.said, Script.batch],
    ([script, batch]) => {
      const end = play(saidOf(script), "stop", batch).at(-1)!
      if (end.type !== "response.completed") return
      const { output } = end.response
      const texts = output.flatMap((item) =>
        item.type === "message" ? item.content.map(({ text }) => text) : []
      )
      const thoughts = output.flatMap((item) => (item.type === "reasoning" ? [item.text] : []))
      for (const view of views) {
        const { content } = renderMessage(end.response, view)
        assert.strictEqual(
          content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(""),
          texts.join("")
        )
        const shown = content.flatMap((block) => (block.type === "thinking" ? [block.thinking] : []))
        assert.strictEqual(shown.join(""), view.thinking === "summarized" ? thoughts.join("") : "")
        if (view === plain) assert.isFalse(content.some(({ type }) => type === "redacted_thinking"))
        assert.strictEqual(
          content.filter(({ type }) => type === "tool_use").length,
          output.filter(({ type }) => type === "function_call").length
        )
      }
    }
  )

  it("a rendered message keeps the blocks apart where the model writes on during a call", () => {
    const nextId = counter()
    const id = nextId()
    const called = { id, name: "f", round: "one" }
    const [state, events] = Events.steps(
      Events.begin(start)[0],
      [
        { type: "text", text: "Before." },
        { type: "function_text", ...called, text: '{"a"' },
        { type: "text", text: "Behind" },
        { type: "text", text: " it." },
        { type: "function_text", ...called, text: ":1}" },
        { type: "function_call", ...called, arguments: '{"a":1}' },
        { type: "finish", reason: "tool_calls", usage }
      ],
      nextId
    )
    assert(isFinished(state))
    const all = [...Events.begin(start)[1], ...events, Events.complete(state, 1)]
    const whole = renderMessage(Events.complete(state, 1).response, plain)
    assert.deepStrictEqual(foldMessage(all.flatMap(makeMessagesRenderer(plain))).message, whole)
    assert.deepStrictEqual(
      whole.content.map((block) => (block.type === "text" ? block.text : block.type)),
      ["Before.", "tool_use", "Behind it."]
    )
  })

  it("a rendered message makes an object of any arguments, streamed and whole", () => {
    for (const [args, input] of [
      [`{"path":"/a","text":"\\u00e9"}`, { path: "/a", text: "é" }],
      ["", {}],
      [" ", {}],
      ["[1]", { INVALID_JSON: "[1]" }],
      ["null", { INVALID_JSON: "null" }],
      [`{"path":"/a`, { INVALID_JSON: `{"path":"/a` }]
    ] as const) {
      const response = calling(args)
      const whole = renderMessage(response, plain)
      assert.deepStrictEqual(
        whole.content.map((block) => (block.type === "tool_use" ? block.input : null)),
        [input]
      )
      assert.strictEqual(whole.stop_reason, "tool_use")
      const { message } = foldMessage(eventsOf(response).flatMap(makeMessagesRenderer(plain)))
      assert.deepStrictEqual(message, { ...whole, id: message.id })
    }
  })

  it("a rendered message says why an answer ended", () => {
    const reasonOf = (changes: Partial<ResponseObject>) =>
      renderMessage({ ...calling("{}"), ...changes }, plain).stop_reason
    assert.strictEqual(reasonOf({ output: [] }), "end_turn")
    assert.strictEqual(reasonOf({ incomplete_details: { reason: "max_output_tokens" } }), "max_tokens")
    assert.strictEqual(reasonOf({ incomplete_details: { reason: "token_limit" } }), "max_tokens")
    assert.strictEqual(reasonOf({ incomplete_details: { reason: "content_filter" } }), "refusal")
    assert.strictEqual(reasonOf({ output: [], incomplete_details: { reason: "no_text" } }), "end_turn")
    const refused = play([{ refused: "I won't." }], "stop", 1).at(-1)
    assert(refused?.type === "response.completed")
    const { content, stop_reason } = renderMessage(refused.response, plain)
    assert.deepStrictEqual(
      [content, stop_reason],
      [[{ type: "text", text: "I won't.", citations: null }], "refusal"]
    )
  })

  it("a rendered message counts input without the tokens of the provider's cache", () => {
    const usage = {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 107
    }
    assert.deepStrictEqual(renderMessage({ ...calling("{}"), usage }, plain).usage, {
      input_tokens: 10,
      cache_creation_input_tokens: 30,
      cache_read_input_tokens: 60,
      output_tokens: 7,
      output_tokens_details: { thinking_tokens: 3 }
    })
  })
})
