import { Effect } from "effect"
import { decodeText } from "../documents/Charset.ts"
import { declaredCharset } from "../documents/declaredCharset.ts"
import { htmlSteps } from "../documents/HtmlReader.ts"
import { storableForm } from "../documents/storableForm.ts"

/** What a page says. */
export interface WebPage {
  readonly title: string
  readonly text: string
  /** It says more than was read. */
  readonly isCut: boolean
}

/** How something from the web is read: here, by the reader of documents, or not at all. */
export type PageKind = "html" | "text" | "document" | "none"

const documentTypes: ReadonlySet<string> = new Set([
  // Nothing was said of what it is, so that its bytes have to tell.
  "",
  "application/octet-stream",
  "binary/octet-stream",
  "application/epub+zip",
  "application/pdf",
  "application/x-pdf",
  "application/vnd.oasis.opendocument.presentation",
  "application/vnd.oasis.opendocument.spreadsheet",
  "application/vnd.oasis.opendocument.text",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
])

const textTypes =
  /^(text\/[\w.+-]+|application\/((x-)?(javascript|json|jsonl|ndjson|sql|toml|xml|yaml)|[\w.-]+\+(json|xml|yaml)))$/

/** The kind that a media type stands for; it is in lower case and without parameters. */
export const pageKind = (mediaType: string): PageKind => {
  if (mediaType === "text/html" || mediaType === "application/xhtml+xml") return "html"
  if (documentTypes.has(mediaType)) return "document"
  return textTypes.test(mediaType) ? "text" : "none"
}

/** Of HTML, between which others get their turn: even the worst page takes some milliseconds for them. */
const stepCharacters = 16 * 1024

/** Reads HTML or plain text; null when the bytes are no text at all. `url` is where they are from. */
export const readPage = Effect.fnUntraced(function* (
  bytes: Uint8Array,
  options: {
    readonly kind: "html" | "text"
    readonly url: string
    readonly charset: string | null
    readonly charactersMax: number
  }
): Effect.fn.Return<WebPage | null> {
  const { charactersMax, charset, kind, url } = options
  const decoded = decodeText(bytes, charset ?? declaredCharset(bytes))
  if (decoded === null) return null
  const text = storableForm(decoded.text)
  if (kind === "text") {
    return {
      title: "",
      text: text.slice(0, charactersMax).toWellFormed(),
      isCut: text.length > charactersMax
    }
  }
  const isXhtml = /^\s*<\?xml/.test(text.slice(0, 100))
  const step = htmlSteps(text, { charactersMax, base: url, isXhtml }, stepCharacters)
  for (;;) {
    const page = step()
    if (page !== null) return { title: page.title, text: page.text, isCut: page.truncated }
    yield* Effect.yieldNow
  }
})
