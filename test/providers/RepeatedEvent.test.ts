import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { decodeChatChunk } from "../../src/providers/OpenAiChat.ts"
import { decodingRepeated } from "../../src/providers/RepeatedEvent.ts"

/** Few texts, so that the same one often stands in several places of an event. */
const Text = Schema.Union([
  Schema.Literals([
    "",
    "x",
    "chat",
    '"',
    "\\",
    '","content":"',
    "\u0000",
    "\ud83d",
    "stop",
    "content",
    "\u00f6\n"
  ]),
  Schema.String
])
/** An event with a text, and what else it has. */
const Event = Schema.Struct({
  content: Text,
  other: Schema.Literals([
    "nothing",
    "nothing",
    "another creation",
    "a finish",
    "no choice",
    "a role",
    "a refusal",
    "reasoning",
    "a second content",
    "content in parts",
    "a call",
    "usage",
    "a broken end"
  ])
})

const dataOf = ({ content, other }: typeof Event.Type): string => {
  const text = JSON.stringify(content)
  const deltas: Partial<Record<typeof other, string>> = {
    "a role": `{"content":${text},"role":"assistant"}`,
    "a refusal": `{"content":${text},"refusal":"x"}`,
    reasoning: `{"content":${text},"reasoning":"x"}`,
    "a call": `{"content":${text},"tool_calls":[{"index":0,"id":"c","function":{"name":"f"}}]}`,
    // The last one counts.
    "a second content": `{"content":${text},"content":"x"}`,
    "content in parts": `{"content":[{"text":${text}},{"text":"x"}]}`
  }
  const delta = deltas[other] ?? `{"content":${text}}`
  // As long as null.
  const finish = other === "a finish" ? `"no"` : "null"
  const usage = other === "usage" ? `{"prompt_tokens":3,"completion_tokens":1}` : "null"
  const choice = other === "no choice" ? "" : `{"index":0,"delta":${delta},"finish_reason":${finish}}`
  const created = other === "another creation" ? 2 : 1
  const end = other === "a broken end" ? "" : "}"
  return `{"id":"chat","created":${created},"choices":[${choice}],"usage":${usage}${end}`
}

const plain = (content: string) => dataOf({ content, other: "nothing" })

describe("decodingRepeated", () => {
  it.prop(
    "decodes the events of any stream as decoding each of them does",
    { events: Schema.Array(Event).check(Schema.isMaxLength(12)) },
    ({ events }) => {
      // Each once more, since what comes once is never repeated.
      const stream = [...events, ...events].map(dataOf)
      const decode = decodingRepeated(decodeChatChunk)
      assert.deepStrictEqual(
        stream.map((data) => decode(data)),
        stream.map(decodeChatChunk)
      )
    },
    { arbitrary: { runs: 1000 } }
  )

  it("takes nothing for the text that only reads like it", () => {
    const decode = decodingRepeated(decodeChatChunk)
    const first = plain("chat")
    for (const data of [first, first.replace("chat", "else")]) {
      assert.deepStrictEqual(decode(data), decodeChatChunk(data))
    }
  })

  it("parses an event only where it differs in more than its text, and stops to look for what repeats where nothing does", () => {
    const decoded: Array<string> = []
    const decode = decodingRepeated((data) => {
      decoded.push(data)
      return decodeChatChunk(data)
    })
    const events = ["x", "b", 'a "quoted" word', "c"].map(plain)
    for (const data of events) assert.deepStrictEqual(decode(data), decodeChatChunk(data))
    assert.strictEqual(decoded.filter((data) => events.includes(data)).length, 1)

    decoded.length = 0
    const different = Array.from({ length: 10 }, (_, n) => `{"n":${n},${plain("a b").slice(1)}`)
    for (const data of different) decode(data)
    assert.isAtMost(decoded.length, different.length + 3)
    decoded.length = 0
    for (const data of events) decode(data)
    assert.deepStrictEqual(decoded, events)
  })
})
