import { assert } from "@effect/vitest"
import type { ProfileEvent } from "../../src/api/openai/ResponseEvents.ts"
import type { Item, ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import type { TokenLogprob } from "../../src/domain/ModelCall.ts"

const textOf = (part: Extract<Item, { type: "message" }>["content"][number] | undefined) =>
  part?.type === "refusal" ? part.refusal : part?.text

const terminals = ["response.completed", "response.incomplete", "response.failed", "error"]

/**
 * The grammar of a stream as clients of OpenAI rely on it: asserts every rule on the events of one whole
 * stream, and returns what they fold to.
 */
export const assertProfileGrammar = (events: ReadonlyArray<ProfileEvent>) => {
  assert.deepStrictEqual(
    events.map((event) => event.sequence_number),
    events.map((_, index) => index),
    "numbers run 0, 1, 2, … without a gap"
  )
  // One in the background is shown as it waits, and may end so.
  const isQueued = events[1]?.type === "response.queued"
  assert.deepStrictEqual(
    events.slice(0, 2).map(({ type }) => type),
    ["response.created", isQueued ? "response.queued" : "response.in_progress"]
  )
  const last = events.at(-1)!
  assert.include(terminals, last.type)
  const ends = events.filter(({ type }) => terminals.includes(type)).map(({ type }) => type)
  assert.include([1, 2], ends.length, "one end, or an error and the failed response")
  if (ends.length === 2) assert.deepStrictEqual(ends, ["error", "response.failed"])

  const added = new Map<number, Item>()
  const done = new Map<number, Item>()
  const texts = new Map<string, string>()
  const logprobs = new Map<string, Array<TokenLogprob>>()
  const closed = new Set<string>()
  const args = new Map<string, string>()
  const annotations = new Map<string, number>()
  let first: ResponseResource | null = null
  for (const event of events) {
    if ("item_id" in event) {
      assert.strictEqual(
        added.get(event.output_index)?.id,
        event.item_id,
        `${event.type} is about an added item`
      )
      assert.isFalse(done.has(event.output_index), `${event.type} comes before its item is done`)
    }
    switch (event.type) {
      case "response.created":
        first = event.response
        assert.deepStrictEqual([first.status, first.output.length], [isQueued ? "queued" : "in_progress", 0])
        break
      case "response.queued":
        assert.deepStrictEqual(event.response, first)
        break
      case "response.in_progress":
        if (isQueued) {
          const { conversation, model } = event.response
          assert.deepStrictEqual(event.response, { ...first!, status: "in_progress", conversation, model })
        } else assert.deepStrictEqual(event.response, first)
        break
      case "response.output_item.added":
        assert.strictEqual(event.output_index, added.size, "items are numbered in their order")
        added.set(event.output_index, event.item)
        break
      case "response.content_part.added":
        assert.isFalse(texts.has(event.item_id))
        texts.set(event.item_id, "")
        break
      case "response.refusal.delta":
      case "response.output_text.delta":
        assert.isFalse(closed.has(event.item_id))
        texts.set(event.item_id, texts.get(event.item_id)! + event.delta)
        if ("logprobs" in event)
          logprobs.set(event.item_id, [...(logprobs.get(event.item_id) ?? []), ...event.logprobs])
        break
      case "response.output_text.annotation.added":
        assert.strictEqual(event.annotation_index, annotations.get(event.item_id) ?? 0)
        annotations.set(event.item_id, event.annotation_index + 1)
        break
      case "response.output_text.done":
        assert.strictEqual(event.text, texts.get(event.item_id), "the text equals its deltas")
        assert.deepStrictEqual(event.logprobs, logprobs.get(event.item_id) ?? [], "and so do its logprobs")
        closed.add(event.item_id)
        break
      case "response.refusal.done":
        assert.strictEqual(event.refusal, texts.get(event.item_id), "the refusal equals its deltas")
        closed.add(event.item_id)
        break
      case "response.content_part.done":
        assert.isTrue(closed.has(event.item_id), "the text is done before its part")
        if (event.part.type === "output_text") {
          assert.strictEqual(event.part.annotations.length, annotations.get(event.item_id) ?? 0)
          assert.deepStrictEqual(event.part.logprobs, logprobs.get(event.item_id) ?? [])
        }
        break
      case "response.function_call_arguments.delta":
        args.set(event.item_id, (args.get(event.item_id) ?? "") + event.delta)
        break
      case "response.function_call_arguments.done":
        assert.strictEqual(event.arguments, args.get(event.item_id))
        break
      case "response.output_item.done": {
        const { item } = event
        assert.strictEqual(item.id, added.get(event.output_index)?.id)
        assert.strictEqual(item.type, added.get(event.output_index)?.type)
        assert.notStrictEqual(item.status, "in_progress")
        if (item.type === "message") {
          assert.strictEqual(textOf(item.content[0]), texts.get(item.id))
          const told = item.content.flatMap((part) => (part.type === "output_text" ? part.logprobs : []))
          assert.deepStrictEqual(told, logprobs.get(item.id) ?? [])
        }
        if (item.type === "function_call") assert.strictEqual(item.arguments, args.get(item.id))
        done.set(event.output_index, item)
        break
      }
      case "response.completed":
      case "response.incomplete":
        assert.strictEqual(done.size, added.size, "every item is done")
        assert.deepStrictEqual(
          event.response.output,
          [...done].toSorted(([a], [b]) => a - b).map(([, item]) => item)
        )
        assert.strictEqual(`response.${event.response.status}`, event.type)
        break
      case "response.failed":
        assert.deepStrictEqual(
          event.response.output.map(({ id }) => id),
          [...done].toSorted(([a], [b]) => a - b).map(([, { id }]) => id)
        )
        break
      default:
        break
    }
  }
  const whole = "response" in last ? last.response : null
  assert.strictEqual(whole?.id ?? first?.id, first?.id)
  return { last, whole, items: [...done.values()], text: [...texts.values()].join("") }
}
