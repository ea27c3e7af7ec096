import { isUtf8 } from "node:buffer"
import type { Archive } from "./Archive.ts"
import { decodeText, declaredCharset } from "./Charset.ts"
import { headBytes, kindOf, isHtml, isMail, textMediaType } from "./Kind.ts"
import {
  storableForm,
  type MailAllowance,
  type Reading,
  type ReadingLimits,
  Unreadable,
  type PageOptions
} from "./Reading.ts"

/** The bytes of a document, read as far as needed. */
export interface DocumentBytes {
  /** The first bytes, at most so many. */
  readonly head: (bytesMax: number) => Promise<Buffer>
  /** All bytes, or so many of them from the beginning. */
  readonly upTo: (bytesMax: number) => Promise<{ readonly bytes: Buffer; readonly isWhole: boolean }>
}

/** Attachments of a mail, those of attached mails included; and mails attached to mails. */
const [attachmentsMax, attachedDeepMax] = [100, 5]

/** Bytes of a text in UTF-32 or with markup that are read for each byte of the result. */
const sourcePerText = 4

/** Reads a document of any kind. `extension` is that of its name: it tells one kind of text from another. */
export const readDocument = (
  source: DocumentBytes,
  extension: string,
  limits: ReadingLimits
): Promise<Reading> =>
  readWithin(source, extension, limits, { attachments: attachmentsMax, deep: attachedDeepMax })

const readWithin = async (
  source: DocumentBytes,
  extension: string,
  limits: ReadingLimits,
  allowance: MailAllowance
): Promise<Reading> => {
  const head = await source.head(headBytes)
  if (head.length === 0) throw new Unreadable("no_text", "The file is empty.")
  const kind = await kindOf(head)
  const reading =
    kind === "text"
      ? readTextKind(source, textTypeOf(head, extension), limits, allowance)
      : readBinary(source, kind, limits)
  return fitted(await reading, limits.textBytesMax)
}

/** The media type of a text by its first bytes and the extension of its name. */
const textTypeOf = (head: Buffer, extension: string): string =>
  textMediaType(extension, decodeText(head)?.text ?? "")

const readTextKind = async (
  source: DocumentBytes,
  mediaType: string,
  limits: ReadingLimits,
  allowance: MailAllowance
): Promise<Reading> => {
  if (!isMail(mediaType)) return readText(source, mediaType, limits)
  if (allowance.deep === 0) throw new Unreadable("too_large", "The message is attached too deep in others.")
  const { readMail } = await import("./MailReader.ts")
  const mail = { ...(await source.upTo(limits.documentBytesMax)), mediaType }
  allowance.deep--
  try {
    return await readMail(mail, limits, allowance, (bytes, extension) =>
      readWithin(sourceOf(bytes), extension, limits, allowance)
    )
  } finally {
    allowance.deep++
  }
}

/** Bytes in memory. */
const sourceOf = (bytes: Buffer): DocumentBytes => ({
  head: async (bytesMax) => bytes.subarray(0, bytesMax),
  upTo: async (bytesMax) => ({ bytes: bytes.subarray(0, bytesMax), isWhole: bytes.length <= bytesMax })
})

const readText = async (
  source: DocumentBytes,
  mediaType: string,
  limits: ReadingLimits
): Promise<Reading> => {
  const { bytes, isWhole } = await source.upTo(
    Math.min(limits.textBytesMax * sourcePerText, limits.documentBytesMax)
  )
  const text = decodeText(bytes, declaredCharset(bytes))?.text
  if (text === undefined) {
    const message = "The file begins like a text, but it isn't one: it holds other bytes as well."
    throw new Unreadable("unsupported", message)
  }
  if (!isHtml(mediaType)) return { text: storableForm(text), mediaType, truncated: !isWhole, pages: null }
  const { readHtml } = await import("./HtmlReader.ts")
  const page = readHtml(text, { charactersMax: limits.textBytesMax, base: null, isXhtml: isXhtml(text) })
  const truncated = page.truncated || !isWhole
  return { text: withTitle(page.title, page.text), mediaType, truncated, pages: null }
}

const isXhtml = (text: string): boolean => /^\s*<\?xml/.test(text.slice(0, 100))

/** Reads a web page, whose media type the server has declared. */
export const readPage = async (
  bytes: Uint8Array,
  page: PageOptions,
  limits: ReadingLimits
): Promise<Reading> => {
  const text = decodeText(bytes, page.charset ?? declaredCharset(bytes))?.text
  if (text === undefined) throw new Unreadable("unsupported", "What is there is no text.")
  const { charactersMax, url: base } = page
  const { readHtml } = await import("./HtmlReader.ts")
  const html = readHtml(text, { charactersMax, base, isXhtml: isXhtml(text) })
  return fitted({ ...html, mediaType: "text/html", pages: null }, limits.textBytesMax)
}

/** The title stands above the text, unless the text begins with it. */
const withTitle = (title: string, text: string): string =>
  title === "" || text === "" || text.startsWith(`# ${title}\n`) ? text : `# ${title}\n\n${text}`

const readBinary = async (
  source: DocumentBytes,
  kind: "pdf" | "zip" | "compound",
  limits: ReadingLimits
): Promise<Reading> => {
  const { bytes, isWhole } = await source.upTo(limits.documentBytesMax)
  if (!isWhole) {
    const megabytes = Math.floor(limits.documentBytesMax / 1_048_576)
    throw new Unreadable("too_large", `Documents of this kind are read up to ${megabytes} MiB.`)
  }
  // Each reader is loaded when it is needed: a process reads one document.
  if (kind === "pdf") return (await import("./PdfReader.ts")).readPdf(bytes, limits)
  if (kind === "zip") return readZip(bytes, limits)
  throw bytes.includes(Buffer.from("EncryptedPackage", "utf16le"))
    ? new Unreadable("encrypted", "The file is protected by a password.")
    : new Unreadable(
        "unsupported",
        "Office files of before 2007 can't be read: save the file in a newer format."
      )
}

const openDocument = /^application\/vnd\.oasis\.opendocument\.(text|spreadsheet|presentation)(-template)?$/

/** Reads a document that is a zip archive; its parts tell which. */
const readZip = async (bytes: Buffer, limits: ReadingLimits): Promise<Reading> => {
  const { Archive, officePart } = await import("./Archive.ts")
  const archive = await Archive.open(bytes)
  const office = await officePart(archive)
  if (office !== null) return readOffice(archive, office.part, office.type, limits)
  const type = await archive.mimetype()
  if (openDocument.test(type)) {
    return (await import("./OpenDocumentReader.ts")).readOpenDocument(archive, type, limits)
  }
  if (type === "application/epub+zip" || archive.has("META-INF/container.xml")) {
    return (await import("./EpubReader.ts")).readEpub(archive, limits)
  }
  throw new Unreadable("unsupported", "Archives can't be read: upload the documents in it one by one.")
}

const readOffice = async (
  archive: Archive,
  part: string,
  type: string,
  limits: ReadingLimits
): Promise<Reading> => {
  if (/wordprocessingml|ms-word/.test(type)) {
    return (await import("./DocxReader.ts")).readDocx(archive, part, limits)
  }
  if (/presentationml|ms-powerpoint/.test(type)) {
    return (await import("./PptxReader.ts")).readPptx(archive, part, limits)
  }
  if (/spreadsheetml|ms-excel/.test(type) && !type.includes("binary")) {
    return (await import("./XlsxReader.ts")).readXlsx(archive, part, limits)
  }
  throw new Unreadable(
    "unsupported",
    "Of the Office formats, only Word, Excel (not binary) and PowerPoint can be read."
  )
}

/** Cuts a reading at its limit, and refuses one without text. */
const fitted = (reading: Reading, textBytesMax: number): Reading => {
  const whole = storableForm(reading.text)
  if (whole.trim() === "") throw new Unreadable("no_text", withoutText(reading))
  const text = cutToBytes(whole, textBytesMax)
  const isCut = text.length < whole.length
  const pages =
    reading.pages
      ?.filter((start) => !isCut || start < text.length)
      .map((start) => Math.min(start, text.length)) ?? null
  return { ...reading, text, truncated: reading.truncated || isCut, pages }
}

const withoutText = ({ mediaType, title }: Reading): string => {
  if (title !== undefined) return "The page has no text."
  return mediaType === "application/pdf"
    ? "The PDF has no text. If it was scanned, it needs text recognition (OCR) first."
    : "The file has no text."
}

/** Cuts a text to its bytes in UTF-8, between characters. */
const cutToBytes = (text: string, bytesMax: number): string => {
  if (Buffer.byteLength(text) <= bytesMax) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytesMax))
  return text.slice(0, read)
}

/**
 * Reads a plain text in UTF-8 as the reader process would; null for everything else, and for what can't be
 * read.
 */
export const readPlainText = async (
  bytes: Buffer,
  extension: string,
  limits: ReadingLimits
): Promise<Reading | null> => {
  if (!isUtf8(bytes)) return null
  try {
    const head = bytes.subarray(0, headBytes)
    if ((await kindOf(head)) !== "text") return null
    const mediaType = textTypeOf(head, extension)
    if (isHtml(mediaType) || isMail(mediaType)) return null
    return await readDocument(sourceOf(bytes), extension, limits)
  } catch {
    // The reader process reports the reason.
    return null
  }
}
