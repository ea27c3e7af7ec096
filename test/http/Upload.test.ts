import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Headers } from "effect/http"
import { cleanFilename, filenameCharactersMax, isPurpose } from "../../src/domain/StoredFile.ts"
import { makeUploadForm, surroundingBytesMax } from "../../src/http/Upload.ts"

const boundary = "x-boundary"
const headers = Headers.fromInput({ "content-type": `multipart/form-data; boundary=${boundary}` })

interface Part {
  readonly head: string
  readonly body: Uint8Array | string
}

const part = (disposition: string, body: Uint8Array | string, more = ""): Part => ({
  head: `Content-Disposition: form-data; ${disposition}\r\n${more}`,
  body
})

const file = (body: Uint8Array | string, filename = "a.txt") =>
  part(`name="file"; filename="${filename}"`, body)
const purpose = (text: string) => part(`name="purpose"`, text)

const bodyOf = (parts: ReadonlyArray<Part>, end = `--${boundary}--\r\n`): Buffer =>
  Buffer.concat([
    ...parts.flatMap(({ body, head }) => [
      Buffer.from(`--${boundary}\r\n${head}\r\n`),
      Buffer.from(body),
      Buffer.from("\r\n")
    ]),
    Buffer.from(end)
  ])

/** The content of a form that is received in pieces, cut at these places. */
const read = (body: Buffer, cuts: ReadonlyArray<number> = [], given = headers) => {
  const form = makeUploadForm(given)
  const taken: Array<Uint8Array> = []
  const places = [...cuts.map((cut) => cut % (body.length + 1)), body.length].toSorted((a, b) => a - b)
  let from = 0
  for (const place of places) {
    if (form.problem() !== null) break
    // The parser must not keep hold of what it was given: the network uses its buffers again.
    form.write(Uint8Array.from(body.subarray(from, place)))
    taken.push(...form.take())
    from = place
  }
  if (form.problem() === null) form.end()
  const problem = form.problem()
  return {
    problem: problem === null ? null : [problem.param, problem.message],
    file: form.file(),
    bytes: Buffer.concat(taken),
    ...form.about()
  }
}

const bytes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })))
const characters = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0x10_ffff })))
const places = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_000 })))

describe("an upload form", () => {
  it.prop(
    "an upload form parses the same however it is split, with any name and purpose, in any order",
    [bytes, characters, characters, places, Schema.Boolean, Schema.Boolean],
    ([content, nameCodes, purposeCodes, cuts, fileFirst, extended]) => {
      const name = cleanFilename(String.fromCodePoint(...nameCodes))
        .slice(0, filenameCharactersMax)
        .toWellFormed()
      const sent = String.fromCodePoint(...purposeCodes)
      const use = isPurpose(sent) ? sent : "p"
      // Something that looks like a boundary but is none.
      const body = Buffer.concat([
        Buffer.from(content),
        Buffer.from(`\r\n--${boundary.slice(0, 5)}`),
        Buffer.from(content)
      ])
      const quoted = `filename="${name.replaceAll("\\", "").replaceAll('"', "%22")}"`
      const encoded = `filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`)}`
      const parts = [part(`name="file"; ${extended ? encoded : quoted}`, body), purpose(use)]
      const found = read(bodyOf(fileFirst ? parts : parts.toReversed()), cuts)
      assert.isNull(found.problem)
      assert.strictEqual(found.file, "whole")
      assert.deepStrictEqual(found.bytes, body)
      assert.strictEqual(found.purpose, use)
      const decoded = name.replaceAll("\\", "").replaceAll(/%(22|0D|0A)/gi, (c) => decodeURIComponent(c))
      assert.strictEqual(found.filename, extended ? name : cleanFilename(decoded))
    }
  )

  it("an upload form needs no purpose and no content type, and may have unknown parts", () => {
    const plain = read(
      bodyOf([part(`name=file; filename=""`, "abc"), part(`name="more"; filename="m"`, "x".repeat(100_000))])
    )
    assert.deepStrictEqual(plain, {
      problem: null,
      file: "whole",
      bytes: Buffer.from("abc"),
      filename: "file",
      purpose: "assistants",
      expiresAfterSeconds: null
    })
  })

  it("an upload form refuses a text in place of a file, and says how curl sends a file", () => {
    const { problem } = read(bodyOf([part(`name="file"`, "report.pdf")]))
    assert.deepStrictEqual(problem, [
      "file",
      "`file` is a text and no file. With curl, put an @ before its path: `-F file=@report.pdf`."
    ])
  })

  it("an upload form may let the file expire from an hour to thirty days after the upload", () => {
    const seconds = (text: string) => part(`name="expires_after[seconds]"`, text)
    const anchor = part(`name="expires_after[anchor]"`, "created_at")
    for (const given of ["3600", "2592000"]) {
      const found = read(bodyOf([file("x"), anchor, seconds(given)]))
      assert.deepStrictEqual([found.problem, found.expiresAfterSeconds], [null, Number(given)])
    }
    for (const given of ["3599", "2592001", "", "1e4", "-3600", "3600.5", " 3600"]) {
      assert.deepStrictEqual(read(bodyOf([anchor, seconds(given), file("x")])).problem, [
        "expires_after[seconds]",
        "`expires_after[seconds]` must be a whole number from 3600 to 2592000."
      ])
    }
    assert.deepStrictEqual(read(bodyOf([file("x"), anchor])).problem?.[0], "expires_after[seconds]")
    assert.deepStrictEqual(read(bodyOf([file("x"), seconds("3600")])).problem?.[0], "expires_after[anchor]")
    const json = part(`name="expires_after"`, `{"anchor":"created_at","seconds":3600}`)
    assert.deepStrictEqual(read(bodyOf([file("x"), json])).problem, [
      "expires_after",
      "`expires_after` must be two parts, `expires_after[anchor]` and `expires_after[seconds]`."
    ])
    const other = part(`name="expires_after[anchor]"`, "now")
    assert.deepStrictEqual(
      read(bodyOf([other, seconds("3600"), file("x")])).problem?.[0],
      "expires_after[anchor]"
    )
  })

  it("an upload form may have an empty file, a preamble and an epilogue", () => {
    const body = Buffer.concat([
      Buffer.from("preamble\r\n"),
      bodyOf([file("")]),
      Buffer.from("epilogue\r\n--more")
    ])
    for (let cut = 0; cut < body.length; cut++) {
      const { bytes, file, problem } = read(body, [cut])
      assert.deepStrictEqual([problem, file, bytes.length], [null, "whole", 0], `cut at ${cut}`)
    }
  })

  it("an upload form removes deceptive characters from the filename", () => {
    const { filename } = read(bodyOf([file("x", "a\u202etxt.exe%0D%0A")]))
    assert.strictEqual(filename, "atxt.exe")
  })

  for (const [what, body, param] of [
    ["without a file", bodyOf([purpose("x")]), "file"],
    ["with two files", bodyOf([file("a"), file("b")]), "file"],
    ["with two purposes", bodyOf([purpose("a"), purpose("b"), file("x")]), "purpose"],
    ["with an empty purpose", bodyOf([purpose(""), file("x")]), "purpose"],
    ["with a purpose that is too long", bodyOf([purpose("x".repeat(65)), file("x")]), "purpose"],
    ["with an endless purpose", bodyOf([purpose("x".repeat(100_000)), file("x")]), "purpose"],
    ["with a NUL in its purpose", bodyOf([purpose("a\0b"), file("x")]), "purpose"],
    [
      "with a purpose that is no UTF-8",
      bodyOf([part(`name="purpose"`, Uint8Array.of(0xff)), file("x")]),
      "purpose"
    ],
    ["with a name that is too long", bodyOf([file("x", "n".repeat(513))]), "file"],
    ["without anything", Buffer.from(""), ""],
    ["without its end", bodyOf([file("x")], ""), ""],
    ["that is cut in its file", bodyOf([file("x".repeat(100))]).subarray(0, 120), ""],
    ["with a nameless part", bodyOf([part(`filename="x"`, "x"), file("x")]), ""],
    ["with unreadable headers", bodyOf([{ head: "nonsense\r\n", body: "" }, file("x")]), ""],
    [
      "with headers that don't end",
      bodyOf([{ head: `X: ${"x".repeat(20_000)}\r\n`, body: "" }, file("x")]),
      ""
    ],
    ["with too many parts", bodyOf(Array.from({ length: 21 }, (_, n) => part(`name="p${n}"`, "x"))), ""],
    [
      "with too much besides the file",
      bodyOf([part(`name="more"`, "x".repeat(surroundingBytesMax + 10)), file("x")]),
      ""
    ],
    [
      "with too much before it",
      Buffer.concat([Buffer.alloc(surroundingBytesMax + 10), Buffer.from("\r\n"), bodyOf([file("x")])]),
      ""
    ],
    [
      "with too much after it",
      Buffer.concat([bodyOf([file("x")]), Buffer.alloc(surroundingBytesMax + 10)]),
      ""
    ]
  ] as const) {
    it(`${what} is refused, and says where`, () => {
      const cuts = Array.from({ length: 60 }, (_, index) => index * 20_000)
      const { problem } = read(body, cuts)
      assert.isNotNull(problem)
      assert.strictEqual(problem?.[0], param)
      assert.isBelow(problem?.[1]?.length ?? 0, 200)
    })
  }

  it("an upload form without a boundary in its content type is refused at once", () => {
    const { problem } = read(
      Buffer.from(""),
      [],
      Headers.fromInput({ "content-type": "multipart/form-data" })
    )
    assert.strictEqual(problem?.[0], "")
  })
})
