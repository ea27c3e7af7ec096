import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import type { FinishReason, ModelPart } from "../../src/domain/ModelCall.ts"
import { AnswerReader } from "../../src/providers/AnswerReader.ts"
import { type ProtocolName, protocols } from "../../src/providers/ModelServer.ts"
import { wholeParts } from "./wholeParts.ts"

/** The origin of opaque values. */
const origin = "a server"

/** Whole answers in the form in which the providers' documentation shows them. */
const bytesOf = (name: string): Buffer => readFileSync(new URL(`wire/${name}.txt`, import.meta.url))

const read = (protocol: ProtocolName, bytes: Buffer, size: number) => {
  const reader = new AnswerReader(protocols[protocol].makeDecode(), origin)
  const parts: Array<ModelPart> = []
  for (let at = 0; at < bytes.length; at += size) {
    reader.write(bytes.subarray(at, at + size))
    parts.push(...reader.take())
  }
  reader.end()
  parts.push(...reader.take())
  return { parts, fault: reader.fault }
}

const finish = (
  reason: FinishReason,
  counts: readonly [number, number, number, number, number?]
): ModelPart => ({
  type: "finish",
  reason,
  usage: {
    inputTokens: counts[0],
    cachedInputTokens: counts[1],
    cacheWriteInputTokens: counts[4] ?? 0,
    outputTokens: counts[2],
    reasoningTokens: counts[3],
    source: "provider"
  }
})

const text = (...texts: ReadonlyArray<string>): ReadonlyArray<ModelPart> =>
  texts.map((one) => ({ type: "text", text: one }))

const call = (id: string, name: string, args: string): ModelPart => ({
  type: "tool_call",
  call: { id, name, arguments: args, opaque: { origin, data: "", callId: id } }
})

const tide = text("High tide", " is at 6 – see the board.")
const sum = `{"expression":"12 * 7"}`
const openAiCalls = [
  call("call_Gull1", "calculator", sum),
  call("call_Gull2", "current_datetime", "{}"),
  finish("tool_calls", [732, 300, 95, 11])
]

describe("answers as they are documented", () => {
  it.each<readonly [ProtocolName, string, ReadonlyArray<ModelPart>]>([
    ["openai-chat", "text", [...tide, finish("stop", [31, 0, 14, 0])]],
    ["openai-chat", "tools", [...text("Let me calculate."), ...openAiCalls]],
    ["openai-chat", "length", [...text("Once upon a"), finish("length", [31, 0, 4, 0])]],
    ["openai-responses", "text", [...tide, finish("stop", [31, 0, 14, 0])]],
    ["openai-responses", "tools", [...text("Let me calculate."), ...openAiCalls]],
    ["openai-responses", "length", [...text("Once upon a"), finish("length", [31, 0, 4, 0])]],
    ["openai-responses", "filter", [...text("I can't"), finish("content_filter", [31, 0, 3, 0])]],
    ["anthropic", "text", [...tide, finish("stop", [31, 0, 14, 0])]],
    [
      "anthropic",
      "tools",
      [
        { type: "reasoning_text", text: "Two sums are needed." },
        {
          type: "reasoning",
          reasoning: {
            text: "Two sums are needed.",
            opaque: {
              origin,
              data: `{"type":"thinking","thinking":"Two sums are needed.","signature":"RXhhbXBsZQ=="}`
            }
          }
        },
        ...text("Let me calculate."),
        call("toolu_01Gull", "calculator", `{"expression": "12 * 7"}`),
        call("toolu_02Gull", "current_datetime", "{}"),
        finish("tool_calls", [732, 300, 95, 11, 20])
      ]
    ],
    ["anthropic", "length", [...text("Once upon a"), finish("length", [31, 0, 4, 0])]],
    ["anthropic", "refusal", [finish("content_filter", [31, 0, 3, 0])]]
  ])("the documented answer of %s, %s, is read in pieces of any size", (protocol, name, expected) => {
    const bytes = bytesOf(`${protocol}-${name}`)
    for (const size of [1, 2, 7, 100, bytes.length]) {
      const { fault, parts } = read(protocol, bytes, size)
      assert.deepStrictEqual({ parts: wholeParts(parts), fault }, { parts: [...expected], fault: null })
    }
  })

  it.each<readonly [ProtocolName, string, ReadonlyArray<ModelPart>, string]>([
    ["openai-responses", "failed", [], "an error in the stream server_error"],
    ["openai-responses", "error", [], "an error in the stream rate_limit_exceeded"],
    ["anthropic", "overloaded", text("High"), "an error in the stream overloaded_error"]
  ])("the documented answer of %s, %s, fails in the stream", (protocol, name, expected, detail) => {
    const { fault, parts } = read(protocol, bytesOf(`${protocol}-${name}`), 13)
    assert.deepStrictEqual(parts, [...expected])
    assert.strictEqual(fault?._tag, "ErrorEvent")
    assert.strictEqual(fault?.detail, detail)
  })

  it.each<readonly [ProtocolName, string]>([
    ["openai-chat", "text"],
    ["openai-responses", "text"],
    ["anthropic", "text"]
  ])("the documented answer of %s, %s, fails if it is cut before its end", (protocol, name) => {
    const bytes = bytesOf(`${protocol}-${name}`)
    const half = read(protocol, bytes.subarray(0, bytes.indexOf("6 –")), 7)
    assert.strictEqual(half.parts.at(-1)?.type, "text")
    assert.isNotNull(half.fault)
  })
})
