import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { decodeChatChunk } from "../../src/models/ChatChunk.ts"
import { DeltaTemplate } from "../../src/models/DeltaTemplate.ts"

/** Texts of all kinds, and some that look like the form around them. */
const Text = Schema.Union([
  Schema.String,
  Schema.Literals(["a", "content", `"`, "\\", `","x":"`, "\n", "é", "a text that no model wrote", `"}}]}`])
])

/** The ways in which the events of one stream may differ. */
const Event = Schema.Struct({
  text: Text,
  id: Schema.Literals(["x", "content", `"content":"a"`]),
  created: Schema.Literals([1, 2]),
  finish: Schema.NullOr(Schema.Literal("stop")),
  beside: Schema.Literals(["nothing", "refusal", "reasoning", "content first"]),
  usage: Schema.NullOr(Schema.Literal(3)),
  escaped: Schema.Boolean
})

const escape16 = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

const write = (event: typeof Event.Type): string => {
  const beside = {
    nothing: {},
    refusal: { refusal: "No." },
    reasoning: { reasoning: event.text },
    "content first": { role: "assistant" }
  }[event.beside]
  const delta =
    event.beside === "content first" ? { content: event.text, ...beside } : { ...beside, content: event.text }
  const json = JSON.stringify({
    id: event.id,
    created: event.created,
    choices: [{ index: 0, delta, finish_reason: event.finish }],
    usage: event.usage === null ? null : { prompt_tokens: event.usage, completion_tokens: 1 }
  })
  return event.escaped ? json.replaceAll(/[^ -~]/g, escape16) : json
}

const plain = (text: string, created = 1): string =>
  write({
    text,
    id: "x",
    created: created === 1 ? 1 : 2,
    finish: null,
    beside: "nothing",
    usage: null,
    escaped: false
  })

describe("DeltaTemplate", () => {
  it.prop(
    "never finds another text than decoding does",
    { learned: Schema.Array(Event).check(Schema.isMaxLength(4)), events: Schema.Array(Event) },
    ({ events, learned }) => {
      const template = new DeltaTemplate()
      // Forms that recur are what it is for: every text also comes in every form that was learned.
      const variations = events.flatMap((event) => [
        event,
        ...learned.map((form) => ({ ...form, text: event.text }))
      ])
      for (const event of [...learned, ...variations]) {
        const data = write(event)
        const chunk = decodeChatChunk(data)
        const text = template.textOf(data)
        if (text === null) template.learn(data, chunk)
        else
          assert.deepStrictEqual(
            { type: "choice", text, progress: true, fragments: [], finish: null, usage: null },
            chunk as never
          )
      }
    },
    { arbitrary: { runs: 500 } }
  )

  it("spares the decoding once it knows the form", () => {
    const template = new DeltaTemplate()
    assert.isNull(template.textOf(plain("Hello")))
    template.learn(plain("Hello"), decodeChatChunk(plain("Hello")))
    assert.strictEqual(template.textOf(plain(", world")), ", world")
    assert.strictEqual(template.textOf(plain("日本😀")), "日本😀")
    assert.isNull(template.textOf(plain('a "quoted" word')))
    assert.isNull(template.textOf(plain("")))
    assert.isNull(template.textOf(plain("other second", 2)))
  })

  it("learns a form that has changed, but not one that changes every time", () => {
    const template = new DeltaTemplate()
    const learn = (data: string) => template.learn(data, decodeChatChunk(data))
    learn(plain("one"))
    learn(plain("two", 2))
    assert.strictEqual(template.textOf(plain("three", 2)), "three")
    const changing = (count: number) => plain("x").replace(`"x"`, `"${count}"`)
    for (let count = 0; count < 20; count++) learn(changing(count))
    assert.isNull(template.textOf(changing(19)))
  })
})
