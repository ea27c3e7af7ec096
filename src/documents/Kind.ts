import { decodeText } from "./Charset.ts"
import { Unreadable } from "./Unreadable.ts"

/** What a document is, by its first bytes. What a zip archive holds is found out when it is opened. */
export type Kind = "text" | "pdf" | "zip" | "compound"

/** So much of a document is enough to tell its kind. */
export const headBytes = 64 * 1024

/** Some programs write something in front of a PDF. */
const pdfLeadBytes = 1024

const compoundStart = Buffer.from("d0cf11e0a1b11ae1", "hex")
const zipStart = Buffer.from("504b0304", "hex")

/** Tells the kind of a document, or says why it is none that can be read. */
export const kindOf = async (head: Buffer): Promise<Kind> => {
  if (head.subarray(0, zipStart.length).equals(zipStart)) return "zip"
  if (head.subarray(0, compoundStart.length).equals(compoundStart)) return "compound"
  if (head.subarray(0, 5).toString("latin1") === "%PDF-") return "pdf"
  if (head.subarray(0, 5).toString("latin1") === "{\\rtf") throw unsupported("RTF documents")
  if (decodeText(head) !== null) return "text"
  if (head.subarray(0, pdfLeadBytes).includes("%PDF-")) return "pdf"
  throw unsupported(await describe(head))
}

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
  // Most files get a text, and never ask for this.
  const { fileTypeFromBuffer } = await import("file-type")
  const type = await fileTypeFromBuffer(head).catch(() => undefined)
  if (type === undefined) return "Files of this kind"
  return families.find(([start]) => start.test(type.mime))?.[1] ?? `Files of the type ${type.mime}`
}
