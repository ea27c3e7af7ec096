import { type Archive, partName, readXml } from "./Archive.ts"
import { decodeText } from "./Charset.ts"
import { readHtml } from "./HtmlReader.ts"
import { type Reading, type ReadingLimits, Unreadable } from "./Reading.ts"

const mediaType = "application/epub+zip"

const chaptersMax = 10_000
const chapterBytesMax = 32 * 1024 * 1024

/** Reads a book, chapter by chapter in reading order. */
export const readEpub = async (archive: Archive, limits: ReadingLimits): Promise<Reading> => {
  const { chapters, title } = await readPackage(archive, await packagePart(archive))
  const encrypted = await encryptedParts(archive)
  const texts: Array<string> = title === "" ? [] : [`# ${title}`]
  let characters = title.length
  let truncated = chapters.length > chaptersMax
  for (const chapter of chapters.slice(0, chaptersMax)) {
    if (encrypted.has(chapter)) throw new Unreadable("encrypted", "The book is protected against copying.")
    if (characters >= limits.textBytesMax) {
      truncated = true
      break
    }
    const bytes = await archive.readWhole(chapter, chapterBytesMax)
    const charactersMax = limits.textBytesMax - characters
    const html = decodeText(bytes)?.text ?? ""
    const read = readHtml(html, { charactersMax, base: null, isXhtml: true })
    if (read.text !== "") texts.push(read.text)
    characters += read.text.length
    truncated ||= read.truncated
  }
  // The title alone isn't what the book says.
  const text = texts.length > (title === "" ? 0 : 1) ? texts.join("\n\n") : ""
  return { text, mediaType, truncated, pages: null }
}

const packagePart = async (archive: Archive): Promise<string> => {
  let part = ""
  await readXml(archive, "META-INF/container.xml", {
    open: ({ attribute, name }) => {
      if (name === "rootfile" && part === "") part = attribute("full-path") ?? ""
    }
  })
  return part
}

const readPackage = async (archive: Archive, part: string) => {
  const parts = new Map<string, string>()
  const chapters: Array<string> = []
  let title = ""
  let isTitle = false
  await readXml(archive, part, {
    open: ({ attribute, name }) => {
      if (name === "title") isTitle = title === ""
      else if (name === "item" && /html/.test(attribute("media-type") ?? "")) {
        if (parts.size < chaptersMax)
          parts.set(attribute("id") ?? "", linkedPart(part, attribute("href") ?? ""))
      } else if (name === "itemref") {
        const chapter = parts.get(attribute("idref") ?? "")
        if (chapter !== undefined && archive.has(chapter) && chapters.length <= chaptersMax)
          chapters.push(chapter)
      }
    },
    close: (name) => {
      if (name === "title") isTitle = false
    },
    text: (text) => {
      if (isTitle) title = (title + text).slice(0, 300)
    }
  })
  return { chapters, title: title.replace(/\s+/g, " ").trim() }
}

/** Returns the part to which an href of a part leads. */
const linkedPart = (part: string, href: string): string => {
  const path = href.replace(/[#?].*$/s, "")
  try {
    return partName(part, decodeURIComponent(path))
  } catch {
    return path
  }
}

/** Fonts are often scrambled, which doesn't matter here; chapters are when the book is protected. */
const encryptedParts = async (archive: Archive): Promise<ReadonlySet<string>> => {
  const parts = new Set<string>()
  const encryption = "META-INF/encryption.xml"
  if (!archive.has(encryption)) return parts
  await readXml(archive, encryption, {
    open: ({ attribute, name }) => {
      if (name === "CipherReference") parts.add(linkedPart("", attribute("URI") ?? ""))
    }
  })
  return parts
}
