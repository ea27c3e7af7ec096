import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { bytesOf } from "../../../src/responses/prompt/MediaContent.ts"

const text = (data: string) => {
  const bytes = bytesOf(data, false)
  return bytes === null ? null : Buffer.from(bytes).toString("latin1")
}

describe("bytesOf", () => {
  it.prop(
    "bytesOf returns what was encoded, with padding, without it, and across lines",
    [Schema.Uint8Array],
    ([bytes]) => {
      const data = Buffer.from(bytes).toString("base64")
      const lines = data.replaceAll(/.{1,10}/g, "$&\r\n")
      for (const form of [data, data.replaceAll("=", ""), lines, `data:image/png;base64,${data}`]) {
        assert.deepStrictEqual(bytesOf(form, false), bytes.length === 0 ? null : Buffer.from(bytes))
      }
    }
  )

  it.each([
    "",
    "=",
    "==",
    "A",
    "AAAAA",
    "AA*A",
    "AA=A",
    "====",
    "AAA\u0141",
    "data:image/png,AAAA",
    "data:AAAA"
  ])("bytesOf returns null for malformed base64: %s", (data) => {
    assert.isNull(text(data))
  })

  it("bytesOf reads 24 MiB", () => {
    const bytes = Buffer.alloc(24 * 1024 * 1024, "base64")
    assert.isTrue(Buffer.from(bytesOf(bytes.toString("base64"), false) ?? []).equals(bytes))
  })
})
