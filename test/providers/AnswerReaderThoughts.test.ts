import { assert, describe, it } from "@effect/vitest"
import type { ModelPart, Reasoning } from "../../src/domain/ModelCall.ts"
import { AnswerReader } from "../../src/providers/AnswerReader.ts"
import {
  type AnswerChunk,
  callDelta,
  decodeTextDelta,
  thinking,
  thoughtBlock,
  thoughtDelta
} from "../../src/providers/Protocol.ts"
import { wholeParts } from "./wholeParts.ts"

const origin = "a server"

/** The parts of an answer whose events are these chunks. */
const read = (...chunks: ReadonlyArray<AnswerChunk>): ReadonlyArray<ModelPart> => {
  const usage = {
    inputTokens: 1,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    outputTokens: 1,
    reasoningTokens: 0,
    source: "provider"
  } as const
  const rest: Array<AnswerChunk> = [...chunks, { ...thinking, finish: "stop", usage }]
  const reader = new AnswerReader(() => rest.shift() ?? { type: "done" }, origin)
  reader.write(Buffer.from("data: next\n\n".repeat(rest.length)))
  reader.end()
  assert.isNull(reader.fault)
  return reader.take()
}

const thought = (text: string): ReadonlyArray<AnswerChunk> => [
  thoughtDelta(text),
  thoughtBlock({ text: null, data: `"${text}"` })
]
const text = (said: string): AnswerChunk => decodeTextDelta(said)
const call = (index: number): AnswerChunk =>
  callDelta({ index, id: `c${index}`, name: "calc", arguments: "{}" })

const reasoning = (said: string): Reasoning => ({ text: said, opaque: { origin, data: `"${said}"` } })

/** The parts as short texts, with what was thought before a call in brackets. */
const shown = (parts: ReadonlyArray<ModelPart>) =>
  wholeParts(parts).map((part) => {
    switch (part.type) {
      case "text":
        return `text ${part.text}`
      case "reasoning_text":
        return `thinks ${part.text}`
      case "reasoning":
        assert.deepStrictEqual(part.reasoning, reasoning(part.reasoning.text))
        return `thought ${part.reasoning.text}`
      case "call_text":
        return "a piece"
      case "tool_call":
        return `call ${part.call.id} [${(part.call.reasoning ?? []).map((one) => one.text).join(" ")}]`
      case "finish":
        return part.reason
    }
  })

describe("AnswerReader, what a model thinks", () => {
  it("reasoning before the text and before the first call has parts of its own", () => {
    assert.deepStrictEqual(shown(read(...thought("a"), text("T"), call(0))), [
      "thinks a",
      "thought a",
      "text T",
      "call c0 []",
      "tool_calls"
    ])
    assert.deepStrictEqual(shown(read(...thought("a"), ...thought("b"), call(0))), [
      "thinks a",
      "thought a",
      "thinks b",
      "thought b",
      "call c0 []",
      "tool_calls"
    ])
  })

  it("reasoning behind the text or behind a call belongs to the next call", () => {
    const parts = read(text("T"), ...thought("a"), ...thought("b"), call(0), ...thought("c"), call(1))
    assert.deepStrictEqual(shown(parts), ["text T", "call c0 [a b]", "call c1 [c]", "tool_calls"])
  })

  it("reasoning that only text or the end follows has a part of its own", () => {
    assert.deepStrictEqual(shown(read(text("T"), ...thought("a"), text("U"))), [
      "text T",
      "thought a",
      "text U",
      "stop"
    ])
    assert.deepStrictEqual(shown(read(text("T"), ...thought("a"))), ["text T", "thought a", "stop"])
  })
})
