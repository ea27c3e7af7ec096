import { assert, describe, it } from "@effect/vitest"
import { Schema, Struct } from "effect"
import type { ModelMessage, ModelPart, Reasoning } from "../../src/domain/ModelCall.ts"
import { AnswerReader } from "../../src/providers/AnswerReader.ts"
import { firstDialect } from "../../src/providers/ModelServer.ts"
import { encodeResponsesRequest, openAiResponses } from "../../src/providers/OpenAiResponses.ts"
import { readableBy } from "../../src/providers/SentMessages.ts"
import { bytesOf, call, documentOf, type Item, message, reasoning, streamOf } from "./ResponsesEvents.ts"
import { model, request, serverAt } from "./ServerSetup.ts"
import { wholeParts } from "./wholeParts.ts"

/** The origin of opaque values. */
const origin = "a server"

const dialect = firstDialect(serverAt("https://api.openai.com/v1", "openai-responses"), model)

const read = (text: string) => {
  const reader = new AnswerReader(openAiResponses.makeDecode(), origin)
  reader.write(Buffer.from(text))
  reader.end()
  return { parts: reader.take(), fault: reader.fault }
}

/** The parts but for the finish, with neighboring pieces joined: a document has none. */
const joinedParts = (text: string): ReadonlyArray<ModelPart> => {
  const joined: Array<ModelPart> = []
  for (const part of wholeParts(read(text).parts)) {
    const last = joined.at(-1)
    if (part.type === "text" && last?.type === "text") {
      joined.splice(-1, 1, { type: "text", text: last.text + part.text })
    } else if (part.type !== "finish" && part.type !== "reasoning_text") joined.push(part)
  }
  return joined
}

const sent = (encrypted_content: string, ...texts: ReadonlyArray<string>) => ({
  type: "reasoning",
  summary: texts.map((text) => ({ type: "summary_text", text })),
  encrypted_content
})

const thought = (text: string, data: object | null): Reasoning => ({
  text,
  opaque: data === null ? null : { origin, data: JSON.stringify(data) }
})

const block = (text: string, data: object | null): ModelPart => ({
  type: "reasoning",
  reasoning: thought(text, data)
})

const toolCall = (id: string, ...before: ReadonlyArray<Reasoning>): ModelPart => ({
  type: "tool_call",
  call: {
    id,
    name: "calc",
    arguments: "{}",
    opaque: { origin, data: "", callId: id },
    ...(before.length === 0 ? {} : { reasoning: before })
  }
})

describe("Reasoning in the answer of a Responses server", () => {
  it("reasoning of Responses comes in pieces, with a blank line between two parts", () => {
    const { parts } = read(
      streamOf(reasoning("rs_1", "gAAA", "First.", "Second thing."), message("msg_1", "4"))
    )
    const pieces = parts.flatMap((part) => (part.type === "reasoning_text" ? [part.text] : []))
    assert.deepStrictEqual(pieces, ["First.", "\n\nSecond ", "thing."])
    assert.deepStrictEqual(parts.slice(3, 5), [
      block("First.\n\nSecond thing.", sent("gAAA", "First.", "Second thing.")),
      { type: "text", text: "4" }
    ])
  })

  it("reasoning of Responses comes as it is where the server shows it", () => {
    const delta = (text: string) => ({
      type: "response.reasoning_text.delta",
      item_id: "rs_1",
      output_index: 0,
      content_index: 0,
      delta: text
    })
    const item = {
      id: "rs_1",
      type: "reasoning",
      summary: [],
      content: [{ type: "reasoning_text", text: "ab" }]
    }
    const done = { type: "response.output_item.done", output_index: 0, item }
    assert.deepStrictEqual(read(bytesOf([delta("a"), delta("b"), done])).parts, [
      { type: "reasoning_text", text: "a" },
      { type: "reasoning_text", text: "b" },
      block("ab", null)
    ])
    assert.deepStrictEqual(read(bytesOf([done])).parts, [block("ab", null)])
  })

  it.each([
    ["without the encrypted form", reasoning("rs_1", null, "Hm."), [block("Hm.", null)]],
    ["that was cut off", { ...reasoning("rs_1", "gAAA", "Hm."), status: "incomplete" }, [block("Hm.", null)]],
    ["without a summary", reasoning("rs_1", "gAAA"), [block("", sent("gAAA"))]],
    ["without either", reasoning("rs_1", null), []]
  ])("reasoning of Responses %s keeps its usable parts", (_, item, expected) => {
    assert.deepStrictEqual(joinedParts(streamOf(item)), expected)
    assert.deepStrictEqual(joinedParts(documentOf(item)), expected)
  })

  it("reasoning of Responses keeps its place before the text, between calls, and between the text and a call", () => {
    const [r1, r2] = [sent("g1", "One."), sent("g2", "Two.")] as const
    const one = reasoning("rs_1", "g1", "One.")
    const two = reasoning("rs_2", "g2", "Two.")
    const phase = { phase: "commentary" }
    const said = message("msg_1", "Let me see.", "commentary")
    const text: ModelPart = { type: "text", text: "Let me see." }
    const cases: ReadonlyArray<readonly [ReadonlyArray<Item>, ReadonlyArray<ModelPart>]> = [
      [
        [one, call("fc_1", "c1"), two, call("fc_2", "c2")],
        [block("One.", r1), toolCall("c1"), toolCall("c2", thought("Two.", r2))]
      ],
      [
        [one, said, two, call("fc_1", "c1")],
        [block("One.", r1), block("", phase), text, toolCall("c1", thought("Two.", r2))]
      ],
      [
        [said, one, message("msg_2", "It is 4.", "final_answer")],
        [
          block("", phase),
          text,
          block("One.", r1),
          block("", { phase: "final_answer" }),
          { type: "text", text: "It is 4." }
        ]
      ],
      [
        [said, two],
        [block("", phase), text, block("Two.", r2)]
      ]
    ]
    for (const [items, expected] of cases) {
      assert.deepStrictEqual(joinedParts(streamOf(...items)), expected)
      assert.deepStrictEqual(joinedParts(documentOf(...items)), expected)
    }
  })

  it("an answer of Responses with malformed pieces or items fails", () => {
    const piece = {
      type: "response.reasoning_summary_text.delta",
      output_index: 0,
      summary_index: 0,
      delta: 1
    }
    assert.strictEqual(read(bytesOf([piece])).fault?._tag, "AnswerMalformed")
    const broken = read(documentOf(message("msg_1", "Hi"), { type: "function_call" }))
    assert.deepStrictEqual([broken.parts, broken.fault?._tag], [[], "AnswerMalformed"])
  })

  const error = {
    type: "invalid_request_error",
    code: "context_length_exceeded",
    message: "Your input exceeds the context window of this model. Please adjust your input and try again.",
    param: "input"
  }

  it.each([
    ["nested in an error event", { type: "error", error }],
    ["in an error event", { ...error, type: "error" }],
    ["in a failed response", { type: "response.failed", response: { status: "failed", error } }]
  ])("an exceeded context %s is an error of the request", (_, event) => {
    const { fault, parts } = read(bytesOf([{ type: "response.created", response: {} }, event]))
    assert.deepStrictEqual([parts, fault?._tag], [[], "ContextExceeded"])
  })
})

const parse = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ input: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)) }))
)

/** The items of earlier answers as they go back, without the question before them. */
const inputOf = (answers: ReadonlyArray<ModelMessage>, sentIn = dialect) => {
  const messages: ReadonlyArray<ModelMessage> = [{ role: "user", text: "2+2?" }, ...answers]
  const tools = [{ name: "calc", description: "", parameters: {} }]
  return parse(encodeResponsesRequest("gpt-5.5", request("", { messages, tools }), sentIn)).input.slice(1)
}

describe("Reasoning that goes back to a Responses server", () => {
  const answer: ModelMessage = {
    role: "assistant",
    text: "Let me see.",
    reasoning: [thought("One.", sent("g1", "One.")), thought("", { phase: "commentary" })],
    toolCalls: [
      { id: "c1", name: "calc", arguments: "{}" },
      { id: "c2", name: "calc", arguments: "{}", reasoning: [thought("", sent("g2"))] }
    ]
  }
  const called = (call_id: string) => ({ type: "function_call", call_id, name: "calc", arguments: "{}" })

  it("returned reasoning stands directly before its message and its call, as it came", () => {
    assert.deepStrictEqual(inputOf([answer]), [
      sent("g1", "One."),
      { role: "assistant", content: "Let me see.", phase: "commentary" },
      called("c1"),
      sent("g2"),
      called("c2")
    ])
  })

  it("returned reasoning is left out with the phase where the server refused it", () => {
    assert.deepStrictEqual(inputOf([answer], { ...dialect, thoughts: false }), [
      { role: "assistant", content: "Let me see." },
      called("c1"),
      called("c2")
    ])
  })

  it("returned reasoning never stands alone, and is left out where it can't be read", () => {
    const alone: ModelMessage = {
      role: "assistant",
      text: "",
      reasoning: [thought("", sent("g1"))],
      toolCalls: []
    }
    assert.deepStrictEqual(inputOf([alone]), [])
    assert.deepStrictEqual(inputOf(readableBy("another server", [alone])), [])
    const unreadable = ["", "{", "[]", `{"type":"reasoning"}`, `{"type":"reasoning","encrypted_content":1}`]
    const broken: ModelMessage = {
      role: "assistant",
      text: "4",
      reasoning: unreadable.map((data) => ({ text: "", opaque: { origin, data } })),
      toolCalls: []
    }
    assert.deepStrictEqual(inputOf([broken]), [{ role: "assistant", content: "4" }])
  })
})

const Turn = Schema.Array(
  Schema.Struct({
    type: Schema.Literals(["reasoning", "message", "function_call"]),
    encrypted: Schema.NullOr(Schema.NonEmptyString),
    texts: Schema.Array(Schema.NonEmptyString).check(Schema.isMaxLength(2)),
    phase: Schema.Literals(["commentary", "final_answer"])
  })
).check(Schema.isMaxLength(8))

/** The items of a turn, its messages before its calls. */
const itemsOf = (turn: typeof Turn.Type): ReadonlyArray<Item> => {
  let calls = 0
  return turn.flatMap(({ encrypted, phase, texts, type }, index): ReadonlyArray<Item> => {
    if (type === "reasoning") return [reasoning(`rs_${index}`, encrypted, ...texts)]
    if (type === "function_call") return [call(`fc_${index}`, `c${calls++}`, JSON.stringify({ texts }))]
    return calls === 0 ? [message(`msg_${index}`, `Text ${index}.`, phase)] : []
  })
}

type Answer = Extract<ModelMessage, { readonly role: "assistant" }>

/**
 * The messages of an answer as a conversation keeps them: reasoning behind a text begins the next message.
 */
const messagesOf = (parts: ReadonlyArray<ModelPart>): ReadonlyArray<ModelMessage> => {
  const before: Array<Answer> = []
  let last: Answer = { role: "assistant", text: "", toolCalls: [] }
  for (const part of parts) {
    if (part.type === "reasoning") {
      if (last.text !== "") {
        before.push(last)
        last = { role: "assistant", text: "", toolCalls: [] }
      }
      last = { ...last, reasoning: [...(last.reasoning ?? []), part.reasoning] }
    } else if (part.type === "text") last = { ...last, text: last.text + part.text }
    else if (part.type === "tool_call") last = { ...last, toolCalls: [...last.toolCalls, part.call] }
  }
  return last.text === "" && last.toolCalls.length === 0 ? before : [...before, last]
}

/** The items that must be sent back: without ids and status, and without reasoning that nothing follows. */
const expectedInput = (items: ReadonlyArray<Item>): ReadonlyArray<object> =>
  items
    .slice(0, items.findLastIndex(({ type }) => type !== "reasoning") + 1)
    .flatMap((item): ReadonlyArray<object> => {
      if (item.type === "message") {
        const [part] = item["content"] as ReadonlyArray<{ readonly text: string }>
        return [{ role: "assistant", content: part?.text, phase: item["phase"] }]
      }
      const isKept = item.type === "function_call" || item["encrypted_content"] !== undefined
      return isKept ? [Struct.omit(item, ["id", "status"])] : []
    })

describe("An answer of a Responses server", () => {
  it.prop(
    "an answer of Responses goes back with the same reasoning in the same places",
    { turn: Turn },
    ({ turn }) => {
      const items = itemsOf(turn)
      const expected = expectedInput(items)
      for (const bytes of [streamOf(...items), documentOf(...items)]) {
        assert.deepStrictEqual(inputOf(messagesOf(read(bytes).parts)), expected)
      }
    },
    { arbitrary: { runs: 300 } }
  )
})
