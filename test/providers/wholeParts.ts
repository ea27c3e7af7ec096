import { assert } from "@effect/vitest"
import type { ModelPart } from "../../src/domain/ModelCall.ts"

/**
 * The parts without the pieces of calls, each of which is checked to be what its call has next, with what was
 * thought before it.
 */
export const wholeParts = (parts: ReadonlyArray<ModelPart>): ReadonlyArray<ModelPart> => {
  const written = new Map<number, string>()
  const calls = parts.flatMap((part) => (part.type === "tool_call" ? [part.call] : []))
  for (const part of parts) {
    if (part.type !== "call_text") continue
    const call = calls[part.position]
    const before = written.get(part.position)
    assert.strictEqual(part.name, call?.name)
    assert.deepStrictEqual(part.reasoning, before === undefined ? (call?.reasoning ?? []) : [])
    assert.isTrue(part.text !== "" && part.text.isWellFormed())
    written.set(part.position, (before ?? "") + part.text)
  }
  for (const [position, text] of written) assert.strictEqual(text, calls[position]?.arguments)
  return parts.filter(({ type }) => type !== "call_text")
}
