import {
  type Archive,
  readXml,
  type XmlElement,
  type XmlHandler,
  readRelationships,
  relatedPart
} from "./Archive.ts"
import { MarkdownDocument, untilFull } from "./MarkdownDocument.ts"
import type { Reading, ReadingLimits } from "./Reading.ts"

const mediaType = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

/** Reads the slides in the order in which they are shown, with tables, diagrams and speaker notes. */
export const readPptx = async (archive: Archive, part: string, limits: ReadingLimits): Promise<Reading> => {
  const slides = await listSlides(archive, part)
  const document = new MarkdownDocument(limits.textBytesMax)
  const { text, truncated } = await untilFull(document, async () => {
    for (const [at, slide] of slides.slice(0, limits.pagesMax).entries()) {
      document.beginPage()
      await readSlide(archive, slide, at + 1, document)
    }
  })
  return { text, mediaType, truncated: truncated || slides.length > limits.pagesMax, pages: document.pages }
}

const listSlides = async (archive: Archive, part: string): Promise<ReadonlyArray<string>> => {
  const relationships = await readRelationships(archive, part)
  const slides: Array<string> = []
  await readXml(archive, part, {
    open: ({ attribute, name }) => {
      if (name !== "sldId") return
      // It has two attributes named id: one is a number, the other names a relationship.
      const target = relationships.get(attribute("r:id") ?? "")?.target
      if (target !== undefined && archive.has(target)) slides.push(target)
    }
  })
  return slides
}

const readSlide = async (
  archive: Archive,
  part: string,
  number: number,
  document: MarkdownDocument
): Promise<void> => {
  const relationships = await readRelationships(archive, part)
  const slide = new SlideShapes(document, `Slide ${number}`)
  await readXml(archive, part, slide)
  slide.finish()
  for (const { isExternal, target, type } of relationships.values()) {
    if (type === "diagramData" && !isExternal && archive.has(target)) {
      await readXml(archive, target, new SlideShapes(document, null))
    }
  }
  const notes = relatedPart(archive, relationships, "notesSlide")
  await readXml(archive, notes, new SlideShapes(document, null, "Notes:"))
}

/** Placeholders that repeat on every slide, or show something other than text. */
const skippedPlaceholders: ReadonlySet<string> = new Set(["dt", "ftr", "hdr", "sldImg", "sldNum"])

class SlideShapes implements XmlHandler {
  private readonly document: MarkdownDocument
  /** The label of the slide until its title is read; null when there is no title to write. */
  private heading: string | null
  private readonly label: string
  private isLabelled = false
  private placeholder: string | null = null
  private isTitle = false
  private title = ""
  private isText = false
  private level = 0
  private isListed = false

  constructor(document: MarkdownDocument, heading: string | null, label = "") {
    this.document = document
    this.heading = heading
    this.label = label
  }

  readonly skips = ({ name }: XmlElement): boolean => name === "Fallback"

  readonly open = ({ attribute, name }: XmlElement): void => {
    if (name === "sp") {
      this.placeholder = null
      this.isTitle = false
    } else if (name === "ph") {
      this.placeholder = attribute("type") ?? "body"
      this.isTitle = this.heading !== null && /^(title|ctrTitle)$/.test(this.placeholder)
    } else if (name === "p" && !this.isTitle) this.level = 0
    else if (name === "pPr") this.level = Math.min(Number(attribute("lvl") ?? 0) || 0, 8)
    else if (name === "t") this.isText = !skippedPlaceholders.has(this.placeholder ?? "")
    else if (name === "br") this.lineBreak()
    else if (name === "tbl") {
      this.finish()
      this.document.openTable()
    } else if (name === "tc") this.document.openCell()
  }

  readonly close = (name: string): void => {
    if (name === "t") this.isText = false
    else if (name === "p") this.endParagraph()
    else if (name === "sp") this.endShape()
    else this.document.closeTablePart(name)
  }

  readonly text = (text: string): void => {
    if (!this.isText) return
    if (this.isTitle) this.title += text
    else {
      this.finish()
      this.beginParagraph()
      this.document.flow.text(text)
    }
  }

  /** Writes the slide's heading once. */
  finish(): void {
    if (this.heading === null) return
    const title = this.title.replace(/\s+/g, " ").trim()
    this.document.title(title === "" ? this.heading : `${this.heading}: ${title}`)
    this.heading = null
  }

  private beginParagraph(): void {
    const { flow } = this.document
    if (!this.isLabelled && this.label !== "") {
      flow.endBlock()
      flow.text(`${this.label} `)
    }
    this.isLabelled = true
    // Indented paragraphs are list items.
    if (this.level > 0 && !this.isListed) {
      this.isListed = true
      this.document.openItem("- ", this.level - 1)
    }
  }

  private endParagraph(): void {
    if (this.isTitle) this.title += " "
    else if (this.isListed) {
      this.isListed = false
      this.document.closeItem()
    } else this.document.flow.endLine()
  }

  private endShape(): void {
    if (this.isTitle) this.finish()
    this.isTitle = false
    this.placeholder = null
    this.document.flow.endBlock()
  }

  private lineBreak(): void {
    if (this.isTitle) this.title += " "
    else this.document.flow.lineBreak()
  }
}
