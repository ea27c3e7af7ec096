import { assert } from "@effect/vitest"
import { Option, Schema } from "effect"
import { type ContentBlock, type Message, MessageEvent } from "../../src/api/anthropic/Message.ts"

const decodeInput = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)
/** A call that an answer was cut in, or that the model wrote wrongly, is shown as far as it goes. */
const parse = (json: string) => Option.getOrElse(decodeInput(json), () => ({ INVALID_JSON: json }))

/** A block while its deltas come. */
interface Open {
  readonly block: ContentBlock
  json: string
  isSigned: boolean
}

const withDelta = (
  open: Open,
  delta: Extract<MessageEvent, { type: "content_block_delta" }>["delta"]
): Open => {
  const { block, isSigned, json } = open
  assert.isFalse(isSigned, "nothing follows a signature")
  if (delta.type === "text_delta" && block.type === "text") {
    assert.notStrictEqual(delta.text, "")
    return { ...open, block: { ...block, text: block.text + delta.text } }
  }
  if (delta.type === "thinking_delta" && block.type === "thinking")
    return { ...open, block: { ...block, thinking: block.thinking + delta.thinking } }
  if (delta.type === "signature_delta" && block.type === "thinking")
    return { block: { ...block, signature: delta.signature }, json, isSigned: true }
  if (delta.type === "input_json_delta" && block.type === "tool_use")
    return { ...open, json: json + delta.partial_json }
  return assert.fail(`a ${delta.type} in a ${block.type} block`)
}

/** The message that the events of a whole stream add up to. Checks their grammar. */
export const foldMessage = (
  events: ReadonlyArray<MessageEvent>
): { readonly message: Message; readonly isWhole: boolean } => {
  const [first, ...rest] = events
  if (first?.type !== "message_start") return assert.fail("a stream begins with message_start")
  assert.deepStrictEqual(first.message.content, [])
  assert.isNull(first.message.stop_reason)
  const content: Array<ContentBlock> = []
  let end: Pick<Message, "stop_reason" | "stop_sequence" | "usage"> = first.message
  let open: Open | null = null
  let ended: "none" | "delta" | "stop" = "none"
  for (const event of rest) {
    if (event.type === "ping") continue
    assert.notStrictEqual(ended, "stop", "nothing follows message_stop")
    if ("index" in event) {
      assert.strictEqual(ended, "none", "no block follows message_delta")
      assert.strictEqual(event.index, content.length)
    }
    switch (event.type) {
      case "content_block_start":
        assert.isNull(open, "one block is open at a time")
        open = { block: event.content_block, json: "", isSigned: false }
        break
      case "content_block_delta":
        if (open === null) return assert.fail("a delta outside of a block")
        open = withDelta(open, event.delta)
        break
      case "content_block_stop": {
        if (open === null) return assert.fail("a stop outside of a block")
        const { block, json } = open
        const whole = block.type === "tool_use" ? { ...block, input: parse(json) } : block
        content.push(whole)
        open = null
        break
      }
      case "message_delta":
        assert.isNull(open)
        end = { ...event.delta, usage: event.usage }
        ended = "delta"
        break
      case "message_stop":
        assert.strictEqual(ended, "delta")
        ended = "stop"
        break
      default:
        return assert.fail(`an event ${event.type}`)
    }
  }
  const { stop_reason, stop_sequence, usage } = end
  return {
    message: { ...first.message, content, stop_reason, stop_sequence, usage },
    isWhole: ended === "stop"
  }
}

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(MessageEvent))

/** The events of a whole stream, each of which has the name that its frame says. */
export const messageEventsIn = (text: string): ReadonlyArray<MessageEvent> =>
  text
    .split("\n\n")
    .filter((frame) => frame !== "" && !frame.startsWith(":"))
    .map((frame) => {
      const [name = "", data = ""] = frame.split("\n")
      const event = decode(data.slice("data: ".length))
      assert.strictEqual(name, `event: ${event.type}`)
      return event
    })
