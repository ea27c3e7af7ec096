import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"

/** Length of the beginning, in which a charset may be declared. */
const headBytes = 1024

/** The charset that the beginning of a page or of an XML document declares. */
export const declaredCharset = (head: Uint8Array): string | null => {
  const text = new TextDecoder("latin1").decode(head.subarray(0, headBytes))
  const found =
    /<meta[^>]{1,200}charset\s*=\s*["']?\s*([\w-]{1,40})/i.exec(text) ??
    /^<\?xml[^>]{0,100}encoding\s*=\s*["']([\w-]{1,40})["']/.exec(text)
  return found?.[1] ?? null
}

interface DecodedText {
  readonly text: string
  /** The name in the Encoding Standard. */
  readonly charset: string
}

/** A charset is guessed from this many bytes around the first that isn't ASCII. */
const sampleBytes = 64 * 1024
const sampleLeadBytes = 1024
/**
 * Control characters in UTF-8, as in the logs of crashed programs; and in charsets where every byte is valid.
 */
const controlPercentMax = 1
const controlPermilleMax = 1
/** Valid characters for each invalid one in a text that still counts as UTF-8. */
const soundPerBroken = 10
/** Longest character in UTF-8. */
const utf8BytesMax = 4

/**
 * In windows-1252, only signs such as £ and ° that touch no letter; as letters of other charsets they would
 * touch others.
 */
const onlySigns =
  /^(?!.*(?:\p{L}[\u00a3\u00a5\u00a9\u00ae\u00b1\u00b5]|[\u00a3\u00a5\u00a9\u00ae\u00b1]\p{L}))[\p{ASCII}\u00a0\u00a2\u00a3\u00a5\u00a7\u00a9\u00ab\u00ae\u00b0\u00b1\u00b5\u00b7\u00bb\u2010-\u20ac]*$/su

/** The detector returns it for some short texts in Latin letters, though hardly any text uses it. */
const unlikelyCharset = "ISO-8859-4"
/** Every byte is valid in it. */
const fallbackCharset = "windows-1252"

/**
 * Reads bytes as text: by their byte-order mark, as UTF-8 if they are valid, in the charset that the document
 * declares, as UTF-16 if they look like it, and else in the charset that their statistics suggest. Null when
 * they aren't text.
 */
export const decodeText = (bytes: Uint8Array, declared: string | null = null): DecodedText | null => {
  const marked = decodeMarked(bytes)
  if (marked !== null) return marked
  const controls = countControls(bytes)
  if (hasIso2022Escape(bytes) && controls === 0) return decodeAs("iso-2022-jp", bytes)
  if (controls * 100 <= bytes.length * controlPercentMax) {
    const utf8 = decodeUtf8(bytes)
    if (utf8 !== null) return utf8
  }
  if (controls * 1000 > bytes.length * controlPermilleMax) return decodeUtf16(bytes)
  return (declared === null ? null : decodeAs(declared, bytes)) ?? decodeAs(guessCharset(bytes), bytes)
}

/**
 * True if `decodeText` gives null for other bytes than text. It takes no guess of a charset, and few
 * milliseconds for 64 KiB.
 */
export const isBinary = (bytes: Uint8Array): boolean =>
  decodeMarked(bytes) === null &&
  countControls(bytes) * 100 > bytes.length * controlPercentMax &&
  decodeUtf16(bytes) === null

const startsWith = (bytes: Uint8Array, ...start: ReadonlyArray<number>): boolean =>
  start.every((byte, at) => bytes[at] === byte)

/** Decodes a text by its byte-order mark. */
const decodeMarked = (bytes: Uint8Array): DecodedText | null => {
  if (startsWith(bytes, 0xef, 0xbb, 0xbf)) return decodeAs("utf-8", bytes)
  if (startsWith(bytes, 0xff, 0xfe, 0, 0)) return decodeUtf32(bytes, true)
  if (startsWith(bytes, 0, 0, 0xfe, 0xff)) return decodeUtf32(bytes, false)
  if (startsWith(bytes, 0xff, 0xfe)) return decodeAs("utf-16le", bytes)
  if (startsWith(bytes, 0xfe, 0xff)) return decodeAs("utf-16be", bytes)
  return null
}

/** Null for an unknown label. */
const decodeAs = (label: string, bytes: Uint8Array): DecodedText | null => {
  try {
    const decoder = new TextDecoder(label)
    return { text: decoder.decode(bytes), charset: decoder.encoding }
  } catch {
    return null
  }
}

/** The platform's decoder doesn't know UTF-32. */
const decodeUtf32 = (bytes: Uint8Array, littleEndian: boolean): DecodedText => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const pieces: Array<string> = []
  for (let at = 4; at + 4 <= bytes.length; at += 4) {
    const point = view.getUint32(at, littleEndian)
    pieces.push(point > 0x10ffff ? "\uFFFD" : String.fromCodePoint(point))
  }
  return { text: pieces.join(""), charset: littleEndian ? "utf-32le" : "utf-32be" }
}

/** Control characters that no sound text in a charset based on ASCII has. */
const countControls = (bytes: Uint8Array): number => {
  let count = 0
  for (const byte of bytes) {
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0c && byte !== 0x0d && byte !== 0x1b)
      count++
  }
  return count
}

/** Every byte of ISO-2022-JP is ASCII, and escape sequences switch to Japanese. */
const hasIso2022Escape = (bytes: Uint8Array): boolean => {
  const at = bytes.subarray(0, sampleBytes).indexOf(0x1b)
  return at >= 0 && bytes[at + 1] === 0x24 && (bytes[at + 2] === 0x40 || bytes[at + 2] === 0x42)
}

const decodeStrictly = (bytes: Uint8Array, isCut: boolean): string | null => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isCut })
  } catch {
    return null
  }
}

const decodeUtf8 = (bytes: Uint8Array): DecodedText | null => {
  const strict = decodeStrictly(bytes, false)
  if (strict !== null) return { text: strict, charset: "utf-8" }
  // The bytes may end in the middle of a character: a long text was cut there, or there are others that are
  // whole.
  const cut = decodeStrictly(bytes, true)
  if (cut !== null && (bytes.length > sampleBytes || cut.length < bytes.length - utf8BytesMax)) {
    return { text: cut, charset: "utf-8" }
  }
  const text = new TextDecoder().decode(bytes)
  let broken = 0
  let sound = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === 0xfffd) broken++
    else if (unit > 0x7f) sound++
  }
  return broken * soundPerBroken <= sound ? { text, charset: "utf-8" } : null
}

/** Decodes text without a byte-order mark in the byte order with more plain and no invalid characters. */
const decodeUtf16 = (bytes: Uint8Array): DecodedText | null => {
  if (bytes.length % 2 !== 0) return null
  const sample = bytes.subarray(0, sampleBytes)
  const [best] = ["utf-16le", "utf-16be"]
    .map((label) => ({ label, score: utf16Score(new TextDecoder(label).decode(sample)) }))
    .toSorted((one, other) => other.score - one.score)
  return best === undefined || best.score <= 0 ? null : decodeAs(best.label, bytes)
}

const invalid = /[\p{Cn}\p{Co}\p{Cc}\uFFFD]/u
const separators = /[\n\r\t \u3000-\u3002]/g

/** Zero for a text with invalid characters; else the number of separators and ASCII characters. */
const utf16Score = (text: string): number => {
  if (invalid.test(text.replace(/[\n\r\t\f]/g, ""))) return 0
  const plain = text.match(/[ -~]/g)?.length ?? 0
  return (text.match(separators)?.length ?? 0) + plain
}

const guessCharset = (bytes: Uint8Array): string => {
  const first = bytes.findIndex((byte) => byte > 0x7f)
  const start = Math.max(0, first - sampleLeadBytes)
  const sample = bytes.subarray(start, start + sampleBytes)
  if (onlySigns.test(decodeAs(fallbackCharset, sample)?.text ?? "")) return fallbackCharset
  // A sample that is cut may end in the middle of a character.
  const charset = detectCharset(sample, sample.length < sampleBytes)
  return charset === unlikelyCharset ? fallbackCharset : charset
}

/** The exports of chardetng, Firefox's charset detector. Pointers are offsets in its memory. */
interface Chardetng {
  readonly memory: { readonly buffer: ArrayBuffer }
  readonly __wbindgen_malloc: (bytes: number) => number
  readonly __wbindgen_add_to_stack_pointer: (bytes: number) => number
  readonly encodingdetector_new: () => number
  readonly encodingdetector_feed: (detector: number, text: number, bytes: number, isWhole: number) => number
  readonly encodingdetector_guess: (
    result: number,
    detector: number,
    domain: number,
    domainBytes: number,
    allowsUtf8: number
  ) => void
}

declare global {
  // The types of Node.js lack it.
  namespace WebAssembly {
    const Module: new (program: Uint8Array) => object
    class Instance<Exports> {
      constructor(program: object, imports: Record<string, Record<string, () => void>>)
      readonly exports: Exports
    }
  }
}

/** A bundle has a copy beside itself. */
const programPath = (): string =>
  import.meta.url.endsWith(".ts")
    ? createRequire(import.meta.url).resolve("chardetng-wasm/dist/chardetng_wasm_bg.wasm")
    : fileURLToPath(new URL("chardetng.wasm", import.meta.url))

/** Compiled on first use: most texts are UTF-8. */
const compiled = (() => {
  let program: object | null = null
  return () => (program ??= new WebAssembly.Module(readFileSync(programPath())))
})()

const imports = {
  "./chardetng_wasm_bg.js": {
    __wbindgen_throw: () => {
      throw new Error("The detector of charsets failed.")
    }
  }
}

const resultBytes = 16

/** The charset of a text by its bytes, as the Encoding Standard names it; never UTF-8. */
const detectCharset = (bytes: Uint8Array, isWhole: boolean): string => {
  // A new instance for each text: nothing has to be freed.
  const { exports: chardetng } = new WebAssembly.Instance<Chardetng>(compiled(), imports)
  const detector = chardetng.encodingdetector_new()
  const text = chardetng.__wbindgen_malloc(bytes.length)
  new Uint8Array(chardetng.memory.buffer).set(bytes, text)
  chardetng.encodingdetector_feed(detector, text, bytes.length, Number(isWhole))
  const result = chardetng.__wbindgen_add_to_stack_pointer(-resultBytes)
  // Without a top-level domain, and not UTF-8.
  chardetng.encodingdetector_guess(result, detector, 0, 0, 0)
  const [name = 0, length = 0] = new Uint32Array(chardetng.memory.buffer, result, 2)
  return Buffer.from(chardetng.memory.buffer, name, length).toString("latin1")
}
