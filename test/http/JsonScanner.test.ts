import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { type JsonBounds, jsonBounds, JsonScanner } from "../../src/http/JsonScanner.ts"

const unbounded: JsonBounds = {
  nestingMax: Infinity,
  fieldsMax: Infinity,
  entriesMax: Infinity,
  valuesMax: Infinity,
  namesMax: Infinity,
  nameBytesMax: Infinity
}

/** The limit that a whole text exceeds. */
const excessOf = (text: string) => new JsonScanner().push(Buffer.from(text))

interface Counts {
  nestingMax: number
  fieldsMax: number
  entriesMax: number
  valuesMax: number
  nameBytesMax: number
}

/** The counts of a parsed value; an empty list counts as one with an entry. */
const countsOf = (
  value: unknown,
  depth = 1,
  counts = { nestingMax: 0, fieldsMax: 0, entriesMax: 0, valuesMax: 0, nameBytesMax: 0 }
): Counts => {
  if (typeof value !== "object" || value === null) return counts
  const entries = Object.entries(value)
  const own = Array.isArray(value) ? Math.max(1, entries.length) : entries.length
  counts.nestingMax = Math.max(counts.nestingMax, depth)
  counts.valuesMax += own
  if (Array.isArray(value)) counts.entriesMax = Math.max(counts.entriesMax, own)
  else {
    counts.fieldsMax = Math.max(counts.fieldsMax, own)
    for (const [name] of entries) {
      // The name is measured as it is written, with escapes.
      const written = Buffer.byteLength(JSON.stringify(name)) - 2
      counts.nameBytesMax = Math.max(counts.nameBytesMax, written)
    }
  }
  for (const [, inner] of entries) countsOf(inner, depth + 1, counts)
  return counts
}

/** The text in pieces of so many bytes. */
const scanInPieces = (text: string, size: number, bounds: JsonBounds) => {
  const scanner = new JsonScanner(bounds)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) {
    const excess = scanner.push(bytes.subarray(at, at + size))
    if (excess !== null) return excess
  }
  return null
}

const fieldsOf = (count: number, prefix = "f") =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, 1]))
const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])

describe("JsonScanner", () => {
  it.prop(
    "JsonScanner counts what JSON.parse finds, in pieces of any size",
    {
      given: Schema.Json,
      size: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 7 })),
      indent: Schema.Literals([0, 2])
    },
    ({ given, indent, size }) => {
      const text = JSON.stringify(given, null, indent)
      const counts = countsOf(JSON.parse(text))
      for (const bound of ["nestingMax", "fieldsMax", "entriesMax", "valuesMax", "nameBytesMax"] as const) {
        const max = counts[bound]
        // The outermost value always opens.
        if (max === 0 || (bound === "nestingMax" && max === 1)) continue
        assert.isNull(scanInPieces(text, size, { ...unbounded, [bound]: max }))
        assert.strictEqual(scanInPieces(text, size, { ...unbounded, [bound]: max - 1 })?.bound, bound)
      }
    }
  )

  it.prop(
    "JsonScanner reads any bytes without an error",
    { texts: Schema.Array(Schema.Literals(["[", "]", "{", "}", '"', ",", ":", "\\", "a", " ", "é"])) },
    ({ texts }) => {
      for (const size of [1, 3, 100]) assert.isNull(scanInPieces(texts.join(""), size, unbounded))
    }
  )

  const { entriesMax, fieldsMax, nameBytesMax, namesMax, nestingMax, valuesMax } = jsonBounds
  const lists = (values: number) => {
    // Each of the 19 lists, and the outer one, has its entries.
    const full = Array.from({ length: 19 }, () => Array(entriesMax).fill(0))
    return [...full, Array(values - 19 * entriesMax - 20).fill(0)]
  }
  const cases: ReadonlyArray<readonly [keyof JsonBounds, number, (count: number) => unknown]> = [
    ["nestingMax", nestingMax, nested],
    ["fieldsMax", fieldsMax, fieldsOf],
    ["entriesMax", entriesMax, (count) => Array(count).fill(1)],
    ["valuesMax", valuesMax, lists],
    ["nameBytesMax", nameBytesMax, (count) => ({ ["n".repeat(count)]: 1 })]
  ]
  for (const [bound, max, make] of cases) {
    it(`${bound} allows ${max - 1} and ${max}, and refuses one more`, () => {
      assert.isNull(excessOf(JSON.stringify(make(max - 1))))
      assert.isNull(excessOf(JSON.stringify(make(max))))
      assert.deepInclude(excessOf(JSON.stringify(make(max + 1))), { bound, max })
    })
  }

  it("namesMax refuses a text of more different names, and allows the same name in each entry", () => {
    const objects = (count: number) =>
      Array.from({ length: Math.ceil(count / 10) }, (_, index) => fieldsOf(10, `f${index}_`))
    assert.isNull(excessOf(JSON.stringify(objects(namesMax))))
    assert.deepInclude(excessOf(JSON.stringify(objects(namesMax * 1.2))), {
      bound: "namesMax",
      max: namesMax
    })
    assert.isNull(excessOf(JSON.stringify(Array.from({ length: entriesMax }, () => fieldsOf(15)))))
  })

  it("JsonScanner names the object or list that exceeds a bound", () => {
    const at = (value: unknown) => excessOf(JSON.stringify(value))?.path
    assert.strictEqual(at({ metadata: fieldsOf(fieldsMax + 1) }), "metadata")
    assert.strictEqual(at({ input: [1, { content: Array(entriesMax + 1).fill(1) }] }), "input[1].content")
    assert.strictEqual(at({ "a secret text": fieldsOf(fieldsMax + 1) }), "?")
    assert.strictEqual(at(fieldsOf(fieldsMax + 1)), "")
  })

  it("JsonScanner reads 10,000 items of answers, and long data URLs", () => {
    const item = {
      id: "msg_1",
      type: "message",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: "Hi", annotations: [], logprobs: [] }]
    }
    assert.isNull(excessOf(JSON.stringify({ input: Array.from({ length: 10_000 }, () => item) })))
    const image = { type: "input_image", image_url: `data:image/png;base64,${"A".repeat(3_000_000)}` }
    assert.isNull(excessOf(JSON.stringify({ input: [{ role: "user", content: [image] }] })))
    const tool = (index: number) => ({
      name: `t${index}`,
      parameters: { properties: fieldsOf(100, `p${index}_`) }
    })
    assert.isNull(excessOf(JSON.stringify({ tools: Array.from({ length: 128 }, (_, index) => tool(index)) })))
  })
})
