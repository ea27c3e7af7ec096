import { assert } from "@effect/vitest"
import type { ResponseEvent } from "../../src/api/ResponseEvent.ts"
import type { ShownResponse } from "../../src/api/ResponseObject.ts"
import type { ShownOutputItem } from "../../src/api/ShownItem.ts"

type OutputItem = typeof ShownOutputItem.Type

/**
 * The grammar of a stream, as a client may rely on it: asserts every rule of the wire contract, section 2, on
 * the events of one whole stream, and returns what they fold to.
 */
export const assertGrammar = (events: ReadonlyArray<ResponseEvent>) => {
  assert.isAbove(events.length, 0, "a stream has events")
  assert.deepStrictEqual(
    events.map((event) => event.sequence_number),
    events.map((_, index) => index),
    "numbers run 0, 1, 2, … without a gap"
  )
  assert.strictEqual(events[0]?.type, "response.created")
  const last = events.at(-1)!
  assert.include(["response.completed", "error"], last.type, "the last event is terminal")
  const terminals = events.filter((event) => event.type === "response.completed" || event.type === "error")
  assert.strictEqual(terminals.length, 1, "exactly one terminal event")

  const added = new Map<number, OutputItem>()
  const done = new Map<number, OutputItem>()
  const parts = new Set<string>()
  const textDone = new Set<string>()
  const texts = new Map<string, string>()
  let created: ShownResponse | null = null
  let outputText = ""
  let deltas = 0
  for (const event of events) {
    switch (event.type) {
      case "response.created":
        assert.isNull(created, "created once")
        created = event.response
        assert.strictEqual(created.status, "in_progress")
        assert.deepStrictEqual(created.output, [])
        assert.strictEqual(created.output_text, "")
        break
      case "response.output_item.added":
        assert.strictEqual(event.output_index, added.size, "items are numbered in their order")
        for (const [index, { type }] of added) {
          const isBeside = type === "mcp_call" && event.item.type === "mcp_call"
          assert.isTrue(done.has(index) || isBeside, "only tool calls run beside each other")
        }
        if (event.item.type === "message") assert.deepStrictEqual(event.item.content, [])
        if (event.item.type === "function_call") {
          assert.strictEqual(event.item.arguments, "", "the arguments come with done")
          assert.strictEqual(event.item.status, "in_progress")
        }
        added.set(event.output_index, event.item)
        break
      case "response.content_part.added":
        assert.strictEqual(added.get(event.output_index)?.id, event.item_id)
        assert.strictEqual(event.content_index, 0)
        assert.strictEqual(event.part.text, "")
        assert.isFalse(parts.has(event.item_id), "a part is added once")
        parts.add(event.item_id)
        texts.set(event.item_id, "")
        break
      case "response.output_text.delta":
        assert.isTrue(parts.has(event.item_id), "a delta comes after its part")
        assert.isFalse(textDone.has(event.item_id), "no delta after done")
        assert.strictEqual(added.get(event.output_index)?.id, event.item_id)
        texts.set(event.item_id, texts.get(event.item_id)! + event.delta)
        outputText += event.delta
        deltas++
        break
      case "response.output_text.done":
        assert.strictEqual(event.text, texts.get(event.item_id), "the text equals its deltas")
        assert.isFalse(textDone.has(event.item_id))
        textDone.add(event.item_id)
        break
      case "response.output_item.done": {
        const item = event.item
        assert.strictEqual(item.id, added.get(event.output_index)?.id, "the id is the same in added and done")
        assert.isFalse(done.has(event.output_index), "an item is done once")
        assert.notStrictEqual(item.status, "in_progress")
        if (item.type === "message") {
          assert.isTrue(textDone.has(item.id), "the text is done before its item")
          assert.strictEqual(item.content[0]?.text, texts.get(item.id))
          assert.strictEqual(item.status, "completed")
        }
        if (item.type === "function_call") {
          const before = added.get(event.output_index)
          assert.deepStrictEqual({ ...item, arguments: "", status: "in_progress" }, before)
          assert.include(["completed", "failed"], item.status)
        }
        done.set(event.output_index, item)
        break
      }
      case "response.completed":
        assert.strictEqual(done.size, added.size, "every item is done")
        if (event.response.output.at(-1)?.type !== "function_call")
          assert.isAbove(deltas, 0, "at least one delta")
        assert.strictEqual(event.response.id, created?.id)
        assert.strictEqual(event.response.status, "completed")
        assert.deepStrictEqual(
          event.response.output,
          [...added.keys()].map((index) => done.get(index)!)
        )
        assert.strictEqual(event.response.output_text, outputText)
        break
      case "error":
        assert.strictEqual(event.code, event.error.code)
        assert.strictEqual(event.message, event.error.message)
        break
    }
  }
  const callIds = [...done.values()].flatMap((item) => (item.type === "function_call" ? [item.call_id] : []))
  assert.strictEqual(new Set(callIds).size, callIds.length, "call ids are unique")
  const ids = [...added.values()].map((item) => item.id)
  assert.strictEqual(new Set(ids).size, ids.length, "item ids are unique")
  return {
    created: created!,
    last,
    outputText,
    items: [...added.keys()].flatMap((index) => done.get(index) ?? [])
  }
}
