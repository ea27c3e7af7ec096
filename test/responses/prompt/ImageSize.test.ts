import { assert, describe, it } from "@effect/vitest"
import { imageSize } from "../../../src/responses/prompt/Images.ts"

const hex = (...parts: ReadonlyArray<string>) => new Uint8Array(Buffer.from(parts.join(""), "hex"))
const ascii = (text: string) => Buffer.from(text).toString("hex")

const riff = (...chunk: ReadonlyArray<string>) => hex(ascii("RIFF"), "64000000", ascii("WEBP"), ...chunk)

/** Headers of images of 640 by 480 pixels, as encoders write them. */
const headers = [
  ["image/png", hex("89504e470d0a1a0a", "0000000d", ascii("IHDR"), "00000280", "000001e0", "0806000000")],
  ["image/gif", hex(ascii("GIF89a"), "8002", "e001", "f70000")],
  ["image/webp", riff(ascii("VP8X"), "0a000000", "10000000", "7f0200", "df0100")],
  ["image/webp", riff(ascii("VP8L"), "20000000", "2f", "7fc27700")],
  ["image/webp", riff(ascii("VP8 "), "20000000", "302e00", "9d012a", "8002", "e001")],
  [
    "image/jpeg",
    hex(
      "ffd8",
      "ffe00010",
      ascii("JFIF"),
      "00010100000100010000",
      "ffffffc4000400",
      "00",
      "ffc20011080",
      "1e0028003"
    )
  ]
] as const

describe("the size of an image", () => {
  it("imageSize reads the headers of all kinds", () => {
    for (const [type, bytes] of headers) {
      assert.deepStrictEqual(imageSize(bytes, type), { width: 640, height: 480 }, type)
    }
  })

  it("imageSize returns null for a truncated, empty or foreign header", () => {
    for (const [type, bytes] of headers) {
      for (let length = 0; length < bytes.length; length++) {
        const size = imageSize(bytes.subarray(0, length), type)
        assert.isTrue(size === null || (size.width === 640 && size.height === 480), `${type} ${length}`)
      }
      assert.isNull(imageSize(bytes.subarray(0, 6), type))
    }
    assert.isNull(imageSize(hex("89504e470d0a1a0a0000000d49484452", "0000000000000000"), "image/png"))
    assert.isNull(imageSize(hex("ffd8", "ffda000c", "00".repeat(40)), "image/jpeg"))
    assert.isNull(imageSize(headers[0][1], "image/tiff"))
  })

  it("imageSize ends in time for a JPEG that is all markers", () => {
    for (const filling of ["ff", "ffd00000"]) {
      assert.isNull(imageSize(hex("ffd8", filling.repeat(1_000_000)), "image/jpeg"))
    }
  })
})
