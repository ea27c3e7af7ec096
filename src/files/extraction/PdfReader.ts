import { getDocumentProxy } from "unpdf"
import { storableForm } from "../../text/storableForm.ts"
import type { Reading, ReadingLimits } from "./Reading.ts"
import { Unreadable } from "./Unreadable.ts"

const mediaType = "application/pdf"

/** Lines that are further apart than this many times the height of their letters belong to different paragraphs. */
const paragraphGap = 2

const pageSeparator = "\n\n"

/** A piece of a page's text, as pdf.js finds it. */
interface TextItem {
  readonly str: string
  readonly hasEOL: boolean
  readonly height: number
  readonly transform: ReadonlyArray<number>
}

/** Reads a PDF page by page. */
export const readPdf = async (bytes: Buffer, limits: ReadingLimits): Promise<Reading> => {
  const document = await openDocument(bytes)
  const texts: Array<string> = []
  const pages: Array<number> = []
  let characters = 0
  let damaged = 0
  const count = Math.min(document.numPages, limits.pagesMax)
  for (let number = 1; number <= count && characters <= limits.textBytesMax; number++) {
    let text = ""
    try {
      const page = await document.getPage(number)
      const content = await page.getTextContent()
      text = storableForm(joinItems(content.items.filter((item) => "str" in item)))
      page.cleanup()
    } catch {
      damaged++
    }
    if (text !== "" && texts.length > 0) characters += pageSeparator.length
    pages.push(characters)
    if (text !== "") texts.push(text)
    characters += text.length
  }
  if (damaged === pages.length) throw corrupt()
  const truncated = pages.length < document.numPages
  return { text: texts.join(pageSeparator), mediaType, truncated, pages }
}

const corrupt = () => new Unreadable("corrupt", "The PDF is damaged and can't be read.")

const openDocument = async (bytes: Buffer) => {
  try {
    return await getDocumentProxy(plainBytes(bytes), {
      // Nothing of the document is run or drawn, and nothing is fetched for it.
      disableFontFace: true,
      useSystemFonts: false,
      useWorkerFetch: false,
      useWasm: false,
      enableXfa: false,
      verbosity: 0
    })
  } catch (error) {
    if (error instanceof Error && error.name === "PasswordException") {
      throw new Unreadable("encrypted", "The PDF is protected by a password.")
    }
    throw corrupt()
  }
}

/** pdf.js takes no Buffer, and keeps what it is given: it gets the memory itself, unless others have a share of that. */
const plainBytes = (bytes: Buffer): Uint8Array =>
  bytes.buffer.byteLength === bytes.length ? new Uint8Array(bytes.buffer) : new Uint8Array(bytes)

/** The lines of a page, with an empty one between paragraphs. */
const joinItems = (items: ReadonlyArray<TextItem>): string => {
  const pieces: Array<string> = []
  let line: TextItem | null = null
  for (const item of items) {
    if (item.str !== "") {
      if (line !== null && item.transform[5] !== line.transform[5] && isApart(line, item)) pieces.push("\n")
      line = item
    }
    pieces.push(item.str)
    if (item.hasEOL) pieces.push("\n")
  }
  return pieces
    .join("")
    .replace(/[^\S\n]+\n/g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim()
}

const isApart = (line: TextItem, next: TextItem): boolean => {
  const distance = (line.transform[5] ?? 0) - (next.transform[5] ?? 0)
  return distance > Math.max(line.height, next.height) * paragraphGap
}
