import { assert, describe, it } from "@effect/vitest"
import type { FinishReason } from "../../src/domain/ModelCall.ts"
import { AnswerReader } from "../../src/providers/AnswerReader.ts"
import { makeDecodeAnthropic } from "../../src/providers/AnthropicAnswer.ts"
import { frames } from "./ServerSetup.ts"

/** The origin of opaque values. */
const origin = "a server"

const read = (...events: ReadonlyArray<Readonly<Record<string, unknown>>>) => {
  const reader = new AnswerReader(makeDecodeAnthropic(), origin)
  reader.write(Buffer.from(frames(...events)))
  reader.end()
  return { parts: reader.take(), fault: reader.fault, state: reader.state }
}

const start = (usage: unknown) => ({ type: "message_start", message: { usage } })
const end = (stop_reason: unknown, usage: unknown = null) => ({
  type: "message_delta",
  delta: { stop_reason },
  usage
})
const stop = { type: "message_stop" }

describe("AnthropicMessages, the answer", () => {
  it.each<readonly [string, FinishReason]>([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["pause_turn", "stop"],
    ["something_new", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "content_filter"]
  ])("the stop reason %s is read as %s", (reason, expected) => {
    const { parts } = read(start({ input_tokens: 1 }), end(reason, { output_tokens: 1 }), stop)
    assert.strictEqual(parts[0]?.type === "finish" && parts[0].reason, expected)
  })

  const refused = (explanation: unknown) => ({
    type: "message_delta",
    delta: { stop_reason: "refusal", stop_details: { type: "refusal", category: "cyber", explanation } },
    usage: { output_tokens: 1 }
  })
  const delta = (text: string) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text }
  })

  it("a refusal shows the server's explanation where the model wrote nothing", () => {
    const begun = start({ input_tokens: 1 })
    const said = (...events: ReadonlyArray<Readonly<Record<string, unknown>>>) => {
      const { parts } = read(begun, ...events, stop)
      const last = parts.at(-1)
      assert.strictEqual(last?.type === "finish" && last.reason, "content_filter")
      return [
        ...parts.flatMap((part) => (part.type === "text" ? [part.text] : [])),
        last?.type === "finish" && last.isRefusal === true
      ]
    }
    assert.deepStrictEqual(said(refused("It could do harm.")), ["It could do harm.", true])
    assert.deepStrictEqual(said(delta("First,"), refused("It could do harm.")), ["First,", false])
    for (const explanation of [null, "", 7, undefined])
      assert.deepStrictEqual(said(refused(explanation)), [false])
    const document = {
      type: "message",
      content: [],
      ...refused("It could do harm.").delta,
      usage: { input_tokens: 1, output_tokens: 1 }
    }
    assert.deepStrictEqual(said(document), ["It could do harm.", true])
  })

  it("an answer of Anthropic has no usage where the counts of the beginning are missing", () => {
    assert.strictEqual(read(start(null), end("end_turn", { output_tokens: 2 }), stop).state, "uncounted")
  })

  it("an answer of Anthropic has no usage where the output's count ends with its beginning", () => {
    assert.strictEqual(
      read(start({ input_tokens: 9, output_tokens: 1 }), end("end_turn"), stop).state,
      "uncounted"
    )
  })

  it("an answer of Anthropic leaves the calls of the server's own tools to the server", () => {
    const { parts } = read(
      start({ input_tokens: 1 }),
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "server_tool_use", id: "s", name: "x" }
      },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "{}" } },
      end("end_turn", { output_tokens: 1 }),
      stop
    )
    assert.deepStrictEqual(
      parts.map((part) => part.type),
      ["finish"]
    )
  })

  it.each([
    [{ type: "content_block_delta", index: 0 }],
    [{ type: "content_block_delta", index: 0, delta: { type: "text_delta" } }],
    [{ type: "content_block_start", index: 0, content_block: { type: "tool_use" } }],
    [{ type: "message_start" }],
    [end(7)]
  ])("the event %j is malformed", (event) => {
    assert.strictEqual(read(event).fault?._tag, "AnswerMalformed")
  })
})
