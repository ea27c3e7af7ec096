import { Archive } from "./Archive.ts"
import { readDocx } from "./DocxReader.ts"
import { readEpub } from "./EpubReader.ts"
import { readRelationships, relatedPart } from "./OfficePackage.ts"
import { readOpenDocument } from "./OpenDocumentReader.ts"
import { readPptx } from "./PptxReader.ts"
import type { Reading, ReadingLimits } from "./Reading.ts"
import { Unreadable } from "./Unreadable.ts"
import { readXlsx } from "./XlsxReader.ts"
import { readXml } from "./XmlReader.ts"

const mimetypeBytesMax = 1000
const contentTypes = "[Content_Types].xml"
const openDocument = /^application\/vnd\.oasis\.opendocument\.(text|spreadsheet|presentation)(-template)?$/

/** Reads a document that is a zip archive: which one, its parts tell. */
export const readZip = async (bytes: Buffer, limits: ReadingLimits): Promise<Reading> => {
  const archive = await Archive.open(bytes)
  if (archive.has(contentTypes)) return readOffice(archive, limits)
  const type = archive.has("mimetype")
    ? (await archive.readWhole("mimetype", mimetypeBytesMax)).toString("latin1").trim()
    : ""
  if (openDocument.test(type)) return readOpenDocument(archive, type, limits)
  if (type === "application/epub+zip" || archive.has("META-INF/container.xml"))
    return readEpub(archive, limits)
  throw new Unreadable("unsupported", "Archives can't be read: upload the documents in it one by one.")
}

const readOffice = async (archive: Archive, limits: ReadingLimits): Promise<Reading> => {
  const part = relatedPart(archive, await readRelationships(archive, ""), "officeDocument")
  const type = part === null ? "" : await contentTypeOf(archive, part)
  if (part !== null && /wordprocessingml|ms-word/.test(type)) return readDocx(archive, part, limits)
  if (part !== null && /presentationml|ms-powerpoint/.test(type)) return readPptx(archive, part, limits)
  if (part !== null && /spreadsheetml|ms-excel/.test(type) && !type.includes("binary")) {
    return readXlsx(archive, part, limits)
  }
  throw new Unreadable(
    "unsupported",
    "Of the Office formats, only Word, Excel (not binary) and PowerPoint can be read."
  )
}

const contentTypeOf = async (archive: Archive, part: string): Promise<string> => {
  let found = ""
  await readXml(archive, contentTypes, {
    open: ({ attribute, name }) => {
      const isPart = name === "Override" && attribute("PartName")?.toLowerCase() === `/${part}`.toLowerCase()
      if (isPart) found = attribute("ContentType") ?? ""
    }
  })
  return found
}
