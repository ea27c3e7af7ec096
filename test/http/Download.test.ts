import { assert, describe, it } from "@effect/vitest"
import { DateTime, Schema } from "effect"
import { Headers } from "effect/http"
import { FileId, UserId } from "../../src/domain/Ids.ts"
import { cleanFilename, type StoredFile } from "../../src/domain/StoredFile.ts"
import { contentDisposition, versionOf, type Wanted, wantedOf } from "../../src/http/Download.ts"

const id = "019845e1-682f-7b02-a706-3b2422d13aec"

const file = (bytes: number): StoredFile => ({
  id: FileId.make(id),
  userId: UserId.make(id),
  filename: "file",
  purpose: "assistants",
  bytes,
  sha256: new Uint8Array(32).fill(7),
  status: "processed",
  statusDetails: null,
  createdAt: DateTime.makeUnsafe(0),
  expiresAt: null
})

const etag = `"${"07".repeat(32)}"`

const wanted = (headers: Record<string, string>, bytes = 10) =>
  wantedOf(Headers.fromInput(headers), file(bytes))

const part = (start: number, end: number): Wanted => ({ kind: "part", range: { start, end } })
const whole: Wanted = { kind: "whole" }
const beyond: Wanted = { kind: "beyond" }
const other: Wanted = { kind: "other" }
const nothing: Wanted = { kind: "nothing" }

describe("the range of a download", () => {
  for (const [range, expected] of [
    ["bytes=0-0", part(0, 1)],
    ["bytes=2-4", part(2, 5)],
    ["BYTES=2-", part(2, 10)],
    ["bytes= 2-4 ", part(2, 5)],
    ["bytes=0-9", part(0, 10)],
    ["bytes=9-9", part(9, 10)],
    ["bytes=3-999999999999999", part(3, 10)],
    ["bytes=-3", part(7, 10)],
    ["bytes=-10", part(0, 10)],
    ["bytes=-11", part(0, 10)],
    ["bytes=10-", beyond],
    ["bytes=10-20", beyond],
    ["bytes=-0", beyond],
    ["bytes=4-2", whole],
    ["bytes=-", whole],
    ["bytes=", whole],
    ["bytes=a-b", whole],
    ["bytes=1-2,4-5", whole],
    ["bytes=1-9999999999999999", whole],
    ["lines=1-2", whole],
    ["2-4", whole]
  ] as const) {
    it(`the range of a download is set by ${range}`, () => {
      assert.deepStrictEqual(wanted({ range }), expected)
    })
  }

  it("the range of a download is the whole of an empty file, or beyond its end", () => {
    assert.deepStrictEqual(wanted({}, 0), whole)
    assert.deepStrictEqual(wanted({ range: "bytes=-5" }, 0), whole)
    assert.deepStrictEqual(wanted({ range: "bytes=0-" }, 0), beyond)
  })

  it("a download has no body if If-None-Match names the file", () => {
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*", ` ${etag} `]) {
      assert.deepStrictEqual(wanted({ "if-none-match": known, range: "bytes=0-1" }), nothing)
    }
    for (const known of ["", `"other"`, etag.slice(1)]) {
      assert.deepStrictEqual(wanted({ "if-none-match": known }), whole)
    }
  })

  it("a download is the whole file if If-Range names another file", () => {
    assert.deepStrictEqual(wanted({ range: "bytes=0-1", "if-range": etag }), part(0, 2))
    assert.deepStrictEqual(wanted({ range: "bytes=0-1", "if-range": `W/${etag}` }), whole)
    assert.deepStrictEqual(wanted({ range: "bytes=0-1", "if-range": `"other"` }), whole)
  })

  it("versionOf uses the digest of the bytes as the ETag", () => {
    assert.strictEqual(versionOf(file(1)).etag, etag)
  })

  const uploaded = "Thu, 01 Jan 1970 00:00:00 GMT"
  const later = "Thu, 01 Jan 1970 00:00:01 GMT"
  const earlier = "Wed, 31 Dec 1969 23:59:59 GMT"

  it("a download is refused if If-Match names another file", () => {
    for (const expected of [`"other"`, `W/${etag}`, "", etag.slice(1)]) {
      assert.deepStrictEqual(wanted({ "if-match": expected }), other)
      assert.deepStrictEqual(
        wanted({ "if-match": expected, "if-none-match": etag, range: "bytes=0-1" }),
        other
      )
    }
    for (const expected of [etag, `"other", ${etag}`, "*"]) {
      assert.deepStrictEqual(wanted({ "if-match": expected }), whole)
      assert.deepStrictEqual(wanted({ "if-match": expected, "if-none-match": etag }), nothing)
      assert.deepStrictEqual(wanted({ "if-match": expected, range: "bytes=0-1" }), part(0, 2))
    }
  })

  it("a download is refused if the file is younger than If-Unmodified-Since, unless If-Match or an invalid date says otherwise", () => {
    assert.deepStrictEqual(wanted({ "if-unmodified-since": earlier }), other)
    assert.deepStrictEqual(wanted({ "if-unmodified-since": uploaded }), whole)
    assert.deepStrictEqual(wanted({ "if-unmodified-since": later }), whole)
    assert.deepStrictEqual(wanted({ "if-unmodified-since": earlier, "if-match": etag }), whole)
    for (const invalid of ["", "yesterday", "1969-12-31", "Wed, 99 Dec 1969 23:59:59 GMT"]) {
      assert.deepStrictEqual(wanted({ "if-unmodified-since": invalid }), whole)
    }
  })

  it("a download has no body if the file is no younger than If-Modified-Since, unless If-None-Match says otherwise", () => {
    assert.deepStrictEqual(wanted({ "if-modified-since": uploaded }), nothing)
    assert.deepStrictEqual(wanted({ "if-modified-since": earlier }), whole)
    assert.deepStrictEqual(wanted({ "if-modified-since": uploaded, "if-none-match": `"other"` }), whole)
  })

  it("a download is a part if If-Range has the date of the upload", () => {
    assert.deepStrictEqual(wanted({ range: "bytes=0-1", "if-range": uploaded }), part(0, 2))
    assert.deepStrictEqual(wanted({ range: "bytes=0-1", "if-range": later }), whole)
  })
})

const characters = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0x10_ffff })))

describe("the filename of a download", () => {
  it("the filename of a download is sent in ASCII and in UTF-8", () => {
    assert.strictEqual(
      contentDisposition("a b.txt"),
      `attachment; filename="a b.txt"; filename*=UTF-8''a%20b.txt`
    )
    assert.strictEqual(
      contentDisposition(`ü"'(*).pdf`),
      `attachment; filename="__'(*).pdf"; filename*=UTF-8''%C3%BC%22%27%28%2A%29.pdf`
    )
  })

  it("the file name is never a path", () => {
    assert.include(contentDisposition("../../etc/passwd"), `filename=".._.._etc_passwd"`)
    assert.include(contentDisposition("C:\\x"), `filename="C:_x"`)
    assert.include(contentDisposition(".."), `filename="_"`)
    assert.include(contentDisposition("100%22"), `filename="100_22"; filename*=UTF-8''100%2522`)
  })

  it.prop("the filename of a download is one ASCII line that decodes to it", [characters], ([codes]) => {
    const name = cleanFilename(String.fromCodePoint(...codes))
    const header = contentDisposition(name)
    assert.match(header, /^attachment; filename="[^"\\%/]*"; filename\*=UTF-8''[\w%!#$&+.^`|~-]*$/)
    assert.match(header, /^[ -~]*$/)
    const offered = decodeURIComponent(header.slice(header.indexOf("''") + 2))
    assert.isTrue(offered === "_" || name.replace(/[/\\]/g, "_").endsWith(offered.replace(/^\u{fffd}/u, "")))
    assert.isBelow(header.length, 4_000)
  })
})
