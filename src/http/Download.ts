import { Hex } from "effect/encoding"
import type { Headers } from "effect/http"
import type { StoredFile } from "../domain/StoredFile.ts"
import { permitsRange, verdictOf, type Version } from "./Preconditions.ts"

/** Bytes from `start` (inclusive) to `end` (exclusive). */
interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * The part that a request asks for: `beyond` is a range after the end of the file, and `other` another file
 * than this one.
 */
export type Wanted =
  | { readonly kind: "whole" }
  | { readonly kind: "part"; readonly range: ByteRange }
  | { readonly kind: "nothing" }
  | { readonly kind: "beyond" }
  | { readonly kind: "other" }

const whole: Wanted = { kind: "whole" }

const onePart = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i

/** A `Range` header that is invalid or has several ranges is ignored. */
const wantedByRange = (header: string, bytes: number): Wanted => {
  const [, first, last] = onePart.exec(header) ?? []
  if (first === undefined || last === undefined || first + last === "") return whole
  if (first === "") {
    if (Number(last) === 0) return { kind: "beyond" }
    return bytes === 0
      ? whole
      : { kind: "part", range: { start: Math.max(0, bytes - Number(last)), end: bytes } }
  }
  const start = Number(first)
  const end = last === "" ? bytes : Math.min(Number(last) + 1, bytes)
  if (last !== "" && Number(last) < start) return whole
  return start >= bytes ? { kind: "beyond" } : { kind: "part", range: { start, end } }
}

/** The bytes of a file never change. */
export const versionOf = ({ createdAt, sha256 }: StoredFile): Version => ({
  etag: `"${Hex.encode(sha256)}"`,
  modifiedAt: createdAt
})

/** Source: RFC 9110, sections 13 and 14. */
export const wantedOf = (headers: Headers.Headers, file: StoredFile): Wanted => {
  const version = versionOf(file)
  const verdict = verdictOf(headers, version)
  if (verdict !== "send") return { kind: verdict === "unchanged" ? "nothing" : "other" }
  const range = headers["range"]
  if (range === undefined || !permitsRange(headers["if-range"], version)) return whole
  return wantedByRange(range, file.bytes)
}

/** Some clients refuse longer headers. */
const filenameCharactersMax = 200

const percentEncoded = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`

/** Offers the name in two encodings, and never as a path. Source: RFC 6266, RFC 8187. */
export const contentDisposition = (filename: string): string => {
  const flat = filename.replace(/[/\\]/g, "_").replace(/^\.+$/, "_")
  // A long name loses its beginning, because the extension is at its end.
  const offered = flat.slice(-filenameCharactersMax).toWellFormed()
  const ascii = offered.replace(/[^\x20-\x7e]/g, "_").replace(/["%]/g, "_")
  const encoded = encodeURIComponent(offered).replace(/['()*]/g, percentEncoded)
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
