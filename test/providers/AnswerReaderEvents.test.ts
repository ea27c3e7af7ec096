import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { AnswerReader, eventCharactersMax } from "../../src/providers/AnswerReader.ts"
import { unknown } from "../../src/providers/Protocol.ts"

/** A reader that only collects the data of the events. */
const collector = () => {
  const events: Array<string> = []
  const reader = new AnswerReader((data) => {
    events.push(data)
    return unknown
  }, "a server")
  return { events, reader }
}

const read = (pieces: ReadonlyArray<Buffer>): ReadonlyArray<string> => {
  const { events, reader } = collector()
  for (const piece of pieces) reader.write(piece)
  reader.end()
  return events
}

const readText = (text: string): ReadonlyArray<string> => read([Buffer.from(text)])

/** Cuts bytes at any places, given as shares of the length. */
const cutAt = (bytes: Buffer, shares: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  const places = [0, ...shares.map((share) => Math.floor(share * bytes.length)), bytes.length]
  const sorted = places.toSorted((one, other) => one - other)
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end))
}

const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const Line = Schema.String.check(Schema.isMaxLength(40))
const LineEnd = Schema.Literals(["\n", "\r\n", "\r"])

const withoutLineEnds = (line: string): string => line.replaceAll(/[\r\n]/g, "é日😀").toWellFormed()

describe("AnswerReader: server-sent events", () => {
  it.prop(
    "AnswerReader reads the same events however lines end and bytes are cut",
    {
      events: Schema.Array(Schema.NonEmptyArray(Line)).check(Schema.isMaxLength(8)),
      lineEnd: LineEnd,
      shares: Schema.Array(Share).check(Schema.isMaxLength(12)),
      everyByte: Schema.Boolean
    },
    ({ everyByte, events, lineEnd, shares }) => {
      const expected = events.map((lines) => lines.map(withoutLineEnds))
      const text = expected
        .map(
          (lines) =>
            `: note${lineEnd}${lines.map((line) => `data: ${line}${lineEnd}`).join("")}id: 1${lineEnd}`
        )
        .map((event) => event + lineEnd)
        .join("")
      const bytes = Buffer.from(text)
      const pieces = everyByte ? [...bytes].map((byte) => Buffer.from([byte])) : cutAt(bytes, shares)
      assert.deepStrictEqual(
        read(pieces),
        expected.map((lines) => lines.join("\n"))
      )
    }
  )

  it("AnswerReader reads data with and without a space, and a field without a colon", () => {
    assert.deepStrictEqual(readText("data:a\n\ndata: b\n\ndata:  c\n\ndata\n\n"), ["a", "b", " c", ""])
  })

  it("AnswerReader joins the data lines of one event", () => {
    assert.deepStrictEqual(readText("data: {\ndata: }\n\n"), ["{\n}"])
  })

  it("AnswerReader passes over comments, other fields and events without data", () => {
    assert.deepStrictEqual(
      readText(": hi\n\nevent: ping\nid: 3\nretry: 5\n\ndatabase: no\n\ndata: yes\n\n"),
      ["yes"]
    )
  })

  it("AnswerReader removes a byte order mark, and only at the start", () => {
    assert.deepStrictEqual(readText("\ufeffdata: a\n\n\ufeffdata: b\n\n"), ["a"])
    const marked = Buffer.from("\ufeffdata: a\n\n")
    assert.deepStrictEqual(read([marked.subarray(0, 1), marked.subarray(1, 2), marked.subarray(2)]), ["a"])
  })

  it("AnswerReader reads a last event whose blank line or line end is missing", () => {
    assert.deepStrictEqual(readText("data: a\n\ndata: b\n"), ["a", "b"])
    assert.deepStrictEqual(readText("data: a\n\ndata: b"), ["a", "b"])
  })

  it("AnswerReader reads events as soon as they are whole, also when a CR ends the read", () => {
    const { events, reader } = collector()
    reader.write(Buffer.from("data: a\r\n\r"))
    assert.deepStrictEqual(events, ["a"])
    reader.write(Buffer.from("\ndata: b\r\r"))
    assert.deepStrictEqual(events, ["a", "b"])
  })

  it("AnswerReader refuses an event that outgrows its limit, on one line or on many", () => {
    const line = "x".repeat(1024)
    const writes = eventCharactersMax / line.length + 1
    const writesUntilRefused = (piece: string): number => {
      const { events, reader } = collector()
      for (let count = 1; count <= writes; count++) {
        reader.write(Buffer.from(piece))
        if (reader.fault?._tag === "AnswerMalformed") return count
      }
      return assert.fail(`${events.length} events, and no refusal`)
    }
    assert.isAtLeast(writesUntilRefused(line), writes - 1)
    assert.isAtLeast(writesUntilRefused(`data: ${line}\n`), writes - 10)
  })
})
