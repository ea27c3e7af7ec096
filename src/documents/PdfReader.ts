import { getDocumentProxy, getResolvedPDFJS } from "unpdf"
import { storableForm } from "./storableForm.ts"
import { plainLetters } from "./PdfLetters.ts"
import { joinItems } from "./PdfLines.ts"
import type { Reading, ReadingLimits } from "./Reading.ts"
import { Unreadable } from "./Unreadable.ts"

const mediaType = "application/pdf"

const pageSeparator = "\n\n"

/** Reads a PDF page by page. */
export const readPdf = async (bytes: Buffer, limits: ReadingLimits): Promise<Reading> => {
  const { normalizeUnicode } = await getResolvedPDFJS()
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
      // Ligatures are taken apart when their letters are in reading order.
      const content = await page.getTextContent({ disableNormalization: true })
      const items = content.items.filter((item) => "str" in item)
      text = storableForm(
        joinItems(items.map((item) => ({ ...item, str: plainLetters(normalizeUnicode(item.str)) })))
      )
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
