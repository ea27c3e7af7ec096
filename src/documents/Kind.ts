import { decodeText, isBinary } from "./Charset.ts"
import { Unreadable } from "./Reading.ts"

/** The kind of a document by its first bytes. The parts of a zip archive tell which document it is. */
type Kind = "text" | "pdf" | "zip" | "compound"

/** Enough of a document to detect its kind. */
export const headBytes = 64 * 1024
/** A PDF may begin this late. */
const pdfLeadBytes = 1024
/** Length of the headers of a mail that are checked. */
const headCharacters = 64 * 1024

const compoundStart = Buffer.from("d0cf11e0a1b11ae1", "hex")
const zipStart = Buffer.from("504b0304", "hex")

/** Detects the kind of a document; throws `Unreadable` for one that can't be read. */
export const kindOf = async (head: Buffer): Promise<Kind> => {
  if (head.subarray(0, zipStart.length).equals(zipStart)) return "zip"
  if (head.subarray(0, compoundStart.length).equals(compoundStart)) return "compound"
  if (head.subarray(0, 5).toString("latin1") === "%PDF-") return "pdf"
  if (head.subarray(0, 5).toString("latin1") === "{\\rtf") throw unsupported("RTF documents")
  if (decodeText(head) !== null) return "text"
  if (head.subarray(0, pdfLeadBytes).includes("%PDF-")) return "pdf"
  throw unsupported(await describe(head))
}

/** True if `kindOf` refuses every document with this head, by a check that costs little. */
export const isForeign = (head: Buffer): boolean =>
  head.length >= headBytes &&
  ![zipStart, compoundStart].some((start) => head.subarray(0, start.length).equals(start)) &&
  !head.subarray(0, pdfLeadBytes).includes("%PDF-") &&
  isBinary(head)

const unsupported = (what: string) =>
  new Unreadable(
    "unsupported",
    `${what} can't be read as text. Supported are text, HTML, mail, PDF, Office, OpenDocument and EPUB.`
  )

const families: ReadonlyArray<readonly [start: RegExp, name: string]> = [
  [/^image\//, "Images"],
  [/^audio\//, "Audio files"],
  [/^video\//, "Videos"],
  [/^font\//, "Fonts"],
  [/^application\/(x-(msdownload|elf|mach-binary|executable)|wasm|java)/, "Programs"],
  [/^application\/(zip|gzip|x-(tar|bzip2|xz|7z|rar|lzip|compress)|vnd\.rar|zstd)/, "Archives"]
]

const describe = async (head: Buffer): Promise<string> => {
  // Loaded on first use: most documents have text.
  const { fileTypeFromBuffer } = await import("file-type")
  const type = await fileTypeFromBuffer(head).catch(() => undefined)
  if (type === undefined) return "Files of this kind"
  return families.find(([start]) => start.test(type.mime))?.[1] ?? `Files of the type ${type.mime}`
}

/** The media types of texts, by the extension of the file name. */
const mediaTypes: ReadonlyMap<string, string> = new Map([
  ["csv", "text/csv"],
  ["css", "text/css"],
  ["htm", "text/html"],
  ["html", "text/html"],
  ["ics", "text/calendar"],
  ["js", "text/javascript"],
  ["json", "application/json"],
  ["jsonl", "application/jsonl"],
  ["markdown", "text/markdown"],
  ["md", "text/markdown"],
  ["mjs", "text/javascript"],
  ["ndjson", "application/jsonl"],
  ["sql", "application/sql"],
  ["svg", "image/svg+xml"],
  ["tab", "text/tab-separated-values"],
  ["toml", "application/toml"],
  ["tsv", "text/tab-separated-values"],
  ["xht", "application/xhtml+xml"],
  ["xhtml", "application/xhtml+xml"],
  ["xml", "application/xml"],
  ["yaml", "application/yaml"],
  ["yml", "application/yaml"]
])

export const messageType = "message/rfc822"
const mailboxType = "application/mbox"

/** Extensions of mails. Patches begin like mails, but have others. */
const mailExtensions = new Set(["", "eml", "email", "mail", "mbox", "mbx", "mht", "mhtml", "txt"])

/**
 * The media type of a text by its extension, which is in lower case and without its dot, or else by its
 * beginning.
 */
export const textMediaType = (extension: string, text: string): string => {
  const known = mediaTypes.get(extension)
  if (known !== undefined) return known
  if (mailExtensions.has(extension)) {
    if (looksLikeMailbox(text)) return mailboxType
    if (looksLikeMessage(text, extension === "eml")) return messageType
  }
  return extension === "" && looksLikeHtml(text) ? "text/html" : "text/plain"
}

const looksLikeMailbox = (text: string): boolean =>
  /^From \S+ [^\n]{0,200}\d\d:\d\d[^\n]{0,200}\n[!-9;-~]{1,100}:/.test(text.slice(0, 1000))

/** A message begins with headers. Notes may begin with some as well, but not with those of a mail server. */
const looksLikeMessage = (text: string, hasExtension: boolean): boolean => {
  const [head = ""] = text.slice(0, headCharacters).split(/\n\r?\n/, 1)
  const lines = head.split(/\r?\n/)
  const isHeader = (line: string, at: number): boolean =>
    /^[!-9;-~]{1,100}:/.test(line) ||
    (at > 0 && /^[ \t]/.test(line)) ||
    (head.length === headCharacters && at === lines.length - 1)
  if (!lines.every(isHeader)) return false
  const has = (...names: ReadonlyArray<string>): boolean =>
    lines.some((line) => names.some((name) => line.toLowerCase().startsWith(`${name}:`)))
  return hasExtension
    ? has("from", "to", "subject", "received", "mime-version")
    : has("from") && has("received", "mime-version", "message-id")
}

export const isMail = (mediaType: string): boolean => mediaType === messageType || mediaType === mailboxType

export const isHtml = (mediaType: string): boolean => /html/.test(mediaType)

const looksLikeHtml = (text: string): boolean => /^\s*(<!doctype html|<html[\s>])/i.test(text.slice(0, 1000))
