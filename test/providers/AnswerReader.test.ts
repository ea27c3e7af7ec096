import { assert, describe, it } from "@effect/vitest"
import { Schema, Struct } from "effect"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { AnswerReader } from "../../src/providers/AnswerReader.ts"
import { openAiChat } from "../../src/providers/OpenAiChat.ts"
import { wholeParts } from "./wholeParts.ts"

/** The origin of opaque values. */
const origin = "a server"

const usage = { prompt_tokens: 5, completion_tokens: 2 }
const counted = {
  inputTokens: 5,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 2,
  reasoningTokens: 0,
  source: "provider"
}

const frame = (json: unknown): string => `data: ${JSON.stringify(json)}\n\n`
const delta = (fields: Readonly<Record<string, unknown>>): string =>
  frame({ choices: [{ index: 0, delta: fields, finish_reason: null }] })
const finish = (reason: unknown): string =>
  frame({ choices: [{ index: 0, delta: {}, finish_reason: reason }] })
const ending = (reason: string): string => `${finish(reason)}${frame({ choices: [], usage })}data: [DONE]\n\n`

const read = (...texts: ReadonlyArray<string>) => {
  const reader = new AnswerReader(openAiChat.makeDecode(), origin)
  for (const text of texts) reader.write(Buffer.from(text))
  reader.end()
  return { parts: reader.take(), fault: reader.fault, state: reader.state }
}

const textOf = (parts: ReadonlyArray<ModelPart>): string =>
  parts.map((part) => (part.type === "text" ? part.text : "")).join("")

const finishOf = (parts: ReadonlyArray<ModelPart>) => parts.find((part) => part.type === "finish")

const callsOf = (parts: ReadonlyArray<ModelPart>) =>
  parts.flatMap((part) => (part.type === "tool_call" ? [Struct.omit(part.call, ["opaque"])] : []))

const call = (index: number | undefined, id: string | undefined, name: string | undefined, args: string) =>
  delta({ tool_calls: [{ index, id, type: "function", function: { name, arguments: args } }] })

const piecesOf = (parts: ReadonlyArray<ModelPart>) =>
  parts.flatMap((part) => {
    if (part.type === "call_text") return [`${part.position} ${part.text}`]
    return part.type === "tool_call" ? [part.call.arguments] : []
  })

describe("AnswerReader, the arguments of calls", () => {
  it.prop(
    "arguments of calls stay as they are written, in any pieces, and each call ends before the next one begins",
    {
      values: Schema.Array(Schema.Array(Schema.String)).check(Schema.isMinLength(1), Schema.isMaxLength(4)),
      size: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 }))
    },
    ({ size, values }) => {
      const all = values.map((value) => JSON.stringify({ value }))
      const fragments = all.flatMap((args, index) =>
        Array.from({ length: Math.ceil(args.length / size) }, (_, at) =>
          call(
            index,
            at === 0 ? `c${index}` : undefined,
            at === 0 ? "f" : undefined,
            args.slice(at * size, (at + 1) * size)
          )
        )
      )
      const { parts } = read(...fragments, ending("tool_calls"))
      assert.deepStrictEqual(
        callsOf(wholeParts(parts)).map((one) => one.arguments),
        all
      )
      const order = parts.flatMap((part) => {
        if (part.type === "call_text") return [part.position]
        return part.type === "tool_call" ? [all.length] : []
      })
      for (const position of all.keys()) {
        const last = order.lastIndexOf(position)
        assert.strictEqual(order[last + 1], all.length, "the call ends behind its last piece")
      }
    }
  )

  it("the pieces of a call wait for the end of the call before, and for the start of an object", () => {
    const turns = [
      call(0, "a", "f", '{"x"'),
      call(1, "b", "g", '{"y"'),
      call(0, "", "", ":1}"),
      call(1, "", "", ":2}")
    ]
    assert.deepStrictEqual(piecesOf(read(...turns, ending("tool_calls")).parts), [
      '0 {"x"',
      "0 :1}",
      '{"x":1}',
      '1 {"y":2}',
      '{"y":2}'
    ])
    for (const [args, whole] of [
      ["null", "{}"],
      [" ", "{}"],
      ["[1]", "[1]"],
      ["text", "text"]
    ] as const)
      assert.deepStrictEqual(piecesOf(read(call(0, "a", "f", args), ending("tool_calls")).parts), [whole])
    assert.deepStrictEqual(piecesOf(read(call(0, "a", "f", ' {"x"'), ending("length")).parts), ['0  {"x"'])
  })
})

describe("AnswerReader, text", () => {
  it.prop(
    "AnswerReader gives the same parts for any deltas and any cut of the bytes",
    {
      texts: Schema.Array(Schema.String).check(Schema.isMaxLength(10)),
      size: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 50 }))
    },
    ({ size, texts }) => {
      const body = Buffer.from(texts.map((content) => delta({ content })).join("") + ending("stop"))
      const whole = new AnswerReader(openAiChat.makeDecode(), origin)
      whole.write(body)
      whole.end()
      const cut = new AnswerReader(openAiChat.makeDecode(), origin)
      const parts: Array<ModelPart> = []
      for (let at = 0; at < body.length; at += size) {
        cut.write(body.subarray(at, at + size))
        parts.push(...cut.take())
      }
      cut.end()
      assert.deepStrictEqual([...parts, ...cut.take()], whole.take())
      assert.strictEqual(textOf(parts).toWellFormed(), texts.join("").toWellFormed())
      assert.strictEqual(whole.state, "over")
    }
  )

  it("AnswerReader keeps each delta as a part of its own", () => {
    const { parts } = read(delta({ content: "a" }) + delta({ content: "b" }) + ending("stop"))
    assert.deepStrictEqual(parts, [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
      { type: "finish", reason: "stop", usage: counted as never }
    ])
  })

  it("AnswerReader passes over roles, empty texts, thoughts and unknown events", () => {
    const { parts } = read(
      frame({ type: "ping" }),
      delta({ role: "assistant", content: "" }),
      delta({ content: null, reasoning_content: "hm" }),
      delta({ reasoning: "hm" }),
      frame({ choices: [{ index: 0, finish_reason: null }] }),
      delta({ content: "yes" }),
      ending("stop")
    )
    assert.strictEqual(textOf(parts), "yes")
  })

  it("AnswerReader counts reasoning as progress, and a role alone not", () => {
    const reader = new AnswerReader(openAiChat.makeDecode(), origin)
    reader.write(Buffer.from(delta({ role: "assistant", content: "" })))
    assert.strictEqual(reader.progress, 0)
    reader.write(Buffer.from(delta({ reasoning_content: "hm" })))
    assert.strictEqual(reader.progress, 1)
  })

  it("AnswerReader reads a refusal and content in parts as text", () => {
    const content = [
      { type: "thinking", thinking: [] },
      { type: "text", text: "a" }
    ]
    const usage = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }
    const refused = read(delta({ refusal: "No." }), ending("stop"), JSON.stringify(usage), "[DONE]").parts
    assert.strictEqual(textOf(refused), "No.")
    assert.deepInclude(refused.at(-1), { type: "finish", reason: "stop", isRefusal: true })
    assert.strictEqual(textOf(read(delta({ content }), ending("stop")).parts), "a")
  })

  it("AnswerReader joins surrogates that were cut apart, and replaces one that stays alone", () => {
    const [high, low] = ["\ud83d", "\ude00"]
    const { parts } = read(delta({ content: `a${high}` }), delta({ content: `${low}b` }), ending("stop"))
    assert.deepStrictEqual(
      parts.flatMap((part) => (part.type === "text" ? [part.text] : [])),
      ["a", "😀b"]
    )
    assert.strictEqual(textOf(read(delta({ content: `a${high}` }), ending("stop")).parts), "a\ufffd")
  })

  it("AnswerReader reads one JSON document where a stream was asked for", () => {
    const message = { role: "assistant", content: "Hello", tool_calls: null }
    const body = JSON.stringify({ choices: [{ index: 0, message, finish_reason: "length" }], usage })
    const { parts } = read("\n", body.slice(0, 20), body.slice(20))
    assert.deepStrictEqual(parts, [
      { type: "text", text: "Hello" },
      { type: "finish", reason: "length", usage: counted as never }
    ])
  })
})

describe("AnswerReader, finish and usage", () => {
  it.each([
    ["stop", "stop"],
    ["length", "length"],
    ["max_tokens", "length"],
    ["content_filter", "content_filter"],
    ["tool_calls", "stop"],
    ["something_new", "stop"]
  ])("AnswerReader maps the reason %s to %s", (reason, expected) => {
    assert.strictEqual(finishOf(read(delta({ content: "a" }), ending(reason)).parts)?.reason, expected)
  })

  it("AnswerReader takes the usage from wherever it comes, with its details", () => {
    const detailed = {
      ...usage,
      prompt_tokens_details: { cached_tokens: 3 },
      completion_tokens_details: { reasoning_tokens: 1 }
    }
    const chunk = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: detailed }
    const found = finishOf(read(delta({ content: "a" }), frame(chunk)).parts)
    assert.deepStrictEqual(found?.usage, {
      ...counted,
      cachedInputTokens: 3,
      reasoningTokens: 1
    } as never)
  })

  it("AnswerReader is uncounted without a usable usage, and keeps the text for an estimate", () => {
    for (const unusable of [
      undefined,
      null,
      {},
      { prompt_tokens: 1 },
      { prompt_tokens: -1, completion_tokens: 2 }
    ]) {
      const reader = new AnswerReader(openAiChat.makeDecode(), origin)
      reader.write(Buffer.from(delta({ content: "abc" }) + finish("stop")))
      reader.write(Buffer.from(frame({ choices: [], usage: unusable })))
      reader.end()
      assert.strictEqual(reader.state, "uncounted")
      assert.strictEqual(reader.written, "abc")
    }
  })

  it("AnswerReader needs no [DONE] after a finish, and reads nothing after it", () => {
    assert.strictEqual(
      read(delta({ content: "a" }), finish("stop"), frame({ choices: [], usage })).state,
      "over"
    )
    assert.strictEqual(textOf(read(ending("stop"), delta({ content: "late" })).parts), "")
  })

  it("AnswerReader keeps all that was written for an estimate", () => {
    const reader = new AnswerReader(openAiChat.makeDecode(), origin)
    const texts = Array.from({ length: 500 }, (_, index) => `word${index} é `)
    for (const content of texts) reader.write(Buffer.from(delta({ content })))
    assert.strictEqual(reader.written, texts.join(""))
  })
})

describe("AnswerReader, tool calls", () => {
  it("AnswerReader joins fragments by index, and returns the calls whole", () => {
    const { parts } = read(
      call(0, "c1", "calculator", ""),
      call(1, "c2", "clock", "{}"),
      call(0, undefined, undefined, `{"a":`),
      call(0, undefined, "calculator", "1}"),
      ending("tool_calls")
    )
    assert.deepStrictEqual(callsOf(parts), [
      { id: "c1", name: "calculator", arguments: `{"a":1}` },
      { id: "c2", name: "clock", arguments: "{}" }
    ])
    assert.strictEqual(finishOf(parts)?.reason, "tool_calls")
  })

  it("AnswerReader distinguishes calls that have the same index or none", () => {
    const expected = ["a", "b"]
    const names = (...frames: ReadonlyArray<string>) =>
      callsOf(read(...frames, ending("stop")).parts).map((one) => one.name)
    assert.deepStrictEqual(names(call(0, "1", "a", "{}"), call(0, "2", "b", "{}")), expected)
    assert.deepStrictEqual(names(call(undefined, "1", "a", "{}"), call(undefined, "2", "b", "{}")), expected)
    assert.deepStrictEqual(
      names(call(undefined, undefined, "a", "{}"), call(undefined, undefined, "b", "{}")),
      expected
    )
    assert.deepStrictEqual(
      names(call(undefined, "1", "a", "{"), call(undefined, undefined, undefined, "}")),
      ["a"]
    )
  })

  it("AnswerReader completes what a server leaves out of a call", () => {
    const [whole] = callsOf(read(call(0, undefined, "clock", ""), ending("tool_calls")).parts)
    assert.deepStrictEqual(whole, { id: "call_0", name: "clock", arguments: "{}" })
  })

  it.each([" \n", "null", " null\n"])("AnswerReader reads the arguments %j as none", (none) => {
    const [whole] = callsOf(read(call(0, "1", "clock", none), ending("tool_calls")).parts)
    assert.strictEqual(whole?.arguments, "{}")
  })

  it("AnswerReader returns tool_calls if the server sends stop after a call", () => {
    assert.strictEqual(finishOf(read(call(0, "1", "a", "{}"), ending("stop")).parts)?.reason, "tool_calls")
  })

  it("AnswerReader doesn't pass on a call that was cut off", () => {
    const { parts } = read(call(0, "1", "a", `{"x":`), ending("length"))
    assert.deepStrictEqual(callsOf(parts), [])
    assert.strictEqual(finishOf(parts)?.reason, "length")
  })
})

describe("AnswerReader, faults", () => {
  it.each([
    ["broken JSON", `data: {"choices":[{"delta":{"conte\n\n`],
    ["no object", "data: 17\n\n"],
    ["choices that are no list", frame({ choices: "no" })],
    ["a choice that is no object", frame({ choices: [3] })],
    ["a delta that is no object", frame({ choices: [{ delta: "no" }] })],
    ["content that is no text", delta({ content: 3 })],
    ["a refusal that is no text", delta({ refusal: {} })],
    ["a finish that is no text", finish(3)],
    ["tool calls that are no list", delta({ tool_calls: {} })],
    ["a tool call that is no object", delta({ tool_calls: ["no"] })],
    ["a tool call whose name is no text", delta({ tool_calls: [{ index: 0, function: { name: 3 } }] })],
    ["a tool call without a name", call(0, "1", "", "{}") + ending("tool_calls")],
    ["a line that never ends", `data: ${"x".repeat(1024 * 1024 + 1)}`],
    ["arguments that never end", call(0, "1", "a", "x".repeat(600_000)).repeat(2)]
  ])("AnswerReader finds %s malformed, and keeps what came before", (_, broken) => {
    const { fault, parts } = read(
      delta({ content: "before" }),
      broken,
      delta({ content: "after" }),
      ending("stop")
    )
    assert.strictEqual(fault?._tag, "AnswerMalformed")
    assert.strictEqual(textOf(parts), "before")
    assert.isUndefined(finishOf(parts))
  })

  it("AnswerReader separates the code of an error in the stream from its words", () => {
    const error = { message: "you said: secret", type: "server_error", code: "overloaded", param: null }
    const { fault, parts } = read(delta({ content: "a" }), frame({ error }))
    assert.strictEqual(fault?._tag, "ErrorEvent")
    assert.include(fault?.detail, "overloaded server_error")
    assert.notInclude(fault?.detail, "secret")
    assert.strictEqual(textOf(parts), "a")
    assert.strictEqual(read(frame({ error: "oh" })).fault?._tag, "ErrorEvent")
    assert.strictEqual(read(finish("error")).fault?._tag, "ErrorEvent")
  })

  it("AnswerReader fails for a body that ends without a finish", () => {
    assert.strictEqual(read(delta({ content: "a" })).fault?._tag, "FinishMissing")
    assert.strictEqual(read("").fault?._tag, "FinishMissing")
    assert.strictEqual(read(delta({ content: "a" }), "data: [DONE]\n\n").fault?._tag, "FinishMissing")
  })
})
