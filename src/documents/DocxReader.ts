import {
  type Archive,
  readXml,
  type XmlElement,
  type XmlHandler,
  readRelationships,
  relatedPart,
  type Relationship
} from "./Archive.ts"
import { MarkdownDocument, untilFull } from "./MarkdownDocument.ts"
import type { Reading, ReadingLimits } from "./Reading.ts"

const mediaType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

/**
 * Reads a Word document: headings, paragraphs, lists, tables and notes. Deleted text, comments and hidden
 * fields are left out.
 */
export const readDocx = async (archive: Archive, part: string, limits: ReadingLimits): Promise<Reading> => {
  const relationships = await readRelationships(archive, part)
  const related = (type: string) => relatedPart(archive, relationships, type)
  const headingLevelOf = await readHeadingLevels(archive, related("styles"))
  const nextMarker = await readNumbering(archive, related("numbering"))
  const document = new MarkdownDocument(limits.textBytesMax)
  const reader = new DocxBody(document, headingLevelOf, nextMarker)
  reader.relationships = relationships
  const { text, truncated } = await untilFull(document, async () => {
    await readXml(archive, part, reader)
    for (const notes of ["footnotes", "endnotes"]) {
      const notesPart = related(notes)
      if (notesPart === null) continue
      // The ids of a part's relationships are its own.
      reader.relationships = await readRelationships(archive, notesPart)
      await readXml(archive, notesPart, reader)
    }
  })
  return { text, mediaType, truncated, pages: null }
}

/** Deleted text, hidden instructions, and duplicates for older programs. */
const skippedElements: ReadonlySet<string> = new Set(["Fallback", "del", "moveFrom", "instrText", "delText"])

class DocxBody implements XmlHandler {
  /** Relationships of the part that is being read. */
  relationships: ReadonlyMap<string, Relationship> = new Map()
  private readonly document: MarkdownDocument
  private readonly headingLevelOf: HeadingLevelOf
  private readonly nextMarker: NextMarker
  private isText = false
  /** The ends of the open paragraphs: those of a text box are within another one. */
  private readonly ends: Array<() => void> = []
  private numbering: { id: string | null; level: number } = { id: null, level: 0 }
  private style = ""
  private outline: number | null = null
  private isBegun = true
  private wasItem = false
  private noteLabel: string | null = null

  constructor(document: MarkdownDocument, headingLevelOf: HeadingLevelOf, nextMarker: NextMarker) {
    this.document = document
    this.headingLevelOf = headingLevelOf
    this.nextMarker = nextMarker
  }

  readonly skips = ({ name }: XmlElement): boolean => skippedElements.has(name)

  readonly open = (element: XmlElement): void => {
    const { name } = element
    if (name === "t") {
      this.beginParagraph()
      this.isText = true
    } else if (name === "p") this.openParagraph()
    else if (name === "hyperlink") this.openLink(element)
    else if (name === "tbl") this.document.openTable()
    else if (name === "tc") this.document.openCell()
    else this.property(element)
  }

  readonly close = (name: string): void => {
    if (name === "t") this.isText = false
    else if (name === "p") this.closeParagraph()
    else if (name === "hyperlink") this.document.closeLink()
    else this.document.closeTablePart(name)
  }

  readonly text = (text: string): void => {
    if (this.isText) this.document.flow.text(text)
  }

  private property({ attribute, name }: XmlElement): void {
    const value = attribute("val") ?? ""
    if (name === "pStyle") this.style = value
    else if (name === "outlineLvl" && /^[0-8]$/.test(value)) this.outline = Number(value) + 1
    else if (name === "numId") this.numbering.id = value === "0" ? null : value
    else if (name === "ilvl") this.numbering.level = /^[0-8]$/.test(value) ? Number(value) : 0
    else if (name === "footnoteReference" || name === "endnoteReference") this.note(attribute("id"))
    else if (name === "footnote" || name === "endnote")
      this.noteLabel = attribute("type") ? null : (attribute("id") ?? null)
    else if (name === "br" || name === "cr") this.document.flow.lineBreak()
    // Before the first text, in a paragraph's properties, it is a tab stop.
    else if (name === "tab" && this.isBegun) this.document.flow.text(" ")
    else if (name === "noBreakHyphen") this.document.flow.text("-")
  }

  private note(id: string | undefined): void {
    this.beginParagraph()
    if (id !== undefined) this.document.flow.text(`[^${id.slice(0, 10)}]`)
  }

  private openParagraph(): void {
    this.beginParagraph()
    this.style = ""
    this.outline = null
    this.numbering = { id: null, level: 0 }
    this.isBegun = false
  }

  /** Begins a paragraph with its first text, after its properties. */
  private beginParagraph(): void {
    if (this.isBegun) return
    this.isBegun = true
    const { flow } = this.document
    const level = this.outline ?? (this.style === "" ? 0 : this.headingLevelOf(this.style))
    if (level > 0) {
      this.wasItem = false
      this.document.heading(level)
      this.ends.push(() => this.document.endHeading())
    } else if (this.numbering.id !== null) {
      this.openItem(this.numbering.id)
    } else {
      this.wasItem = false
      flow.endBlock()
      if (this.noteLabel !== null) flow.text(`[^${this.noteLabel.slice(0, 10)}]: `)
      this.noteLabel = null
      this.ends.push(() => flow.endBlock())
    }
  }

  private openItem(numberingId: string): void {
    const { level } = this.numbering
    if (!this.wasItem) this.document.flow.endBlock()
    this.wasItem = true
    this.document.openItem(this.nextMarker(numberingId, level), level)
    this.ends.push(() => this.document.closeItem())
  }

  private closeParagraph(): void {
    // A paragraph without text leaves nothing.
    if (this.isBegun) this.ends.pop()?.()
    this.isBegun = true
  }

  private openLink({ attribute }: XmlElement): void {
    this.beginParagraph()
    const target = this.relationships.get(attribute("id") ?? "")
    this.document.openLink(target?.isExternal === true ? target.target : "")
  }
}

interface Style {
  basedOn: string
  headingLevel: number | null
}

/** Longest chain of styles that are based on each other. */
const chainMax = 20

const stylesMax = 10_000

/** The heading level of a style; 0 for none. */
type HeadingLevelOf = (styleId: string) => number

/**
 * Reads the styles. A style is a heading by its name, which is English in every language, or by its outline
 * level.
 */
const readHeadingLevels = async (archive: Archive, part: string | null): Promise<HeadingLevelOf> => {
  const styles = new Map<string, Style>()
  let style: Style = { basedOn: "", headingLevel: null }
  await readXml(archive, part, {
    open: ({ attribute, name }) => {
      const value = attribute("val") ?? ""
      if (name === "style") {
        style = { basedOn: "", headingLevel: null }
        if (styles.size < stylesMax) styles.set(attribute("styleId") ?? "", style)
      } else if (name === "name") style.headingLevel ??= headingLevelOfName(value) || null
      else if (name === "basedOn") style.basedOn = value
      else if (name === "outlineLvl" && /^[0-8]$/.test(value)) style.headingLevel ??= Number(value) + 1
    }
  })
  return (styleId) => {
    let based = styles.get(styleId)
    for (let step = 1; based?.headingLevel === null && step < chainMax; step++)
      based = styles.get(based.basedOn)
    return based?.headingLevel ?? headingLevelOfName(styleId)
  }
}

const headingLevelOfName = (name: string): number => {
  if (/^title$/i.test(name)) return 1
  return Number(/^heading ?([1-9])$/i.exec(name)?.[1] ?? 0)
}

/** The marker of a list item; counts the items. */
type NextMarker = (numberingId: string, level: number) => string

const levelsMax = 9
const listsMax = 10_000

/**
 * Reads how lists are numbered. Bullets are dashes; every numbering, in letters or in Roman numerals, is in
 * digits here.
 */
const readNumbering = async (archive: Archive, part: string | null): Promise<NextMarker> => {
  const bullets = new Set<string>()
  const abstractOf = new Map<string, string>()
  let abstractId = ""
  let listLevel = ""
  let numberingId = ""
  await readXml(archive, part, {
    open: ({ attribute, name }) => {
      const value = attribute("val") ?? ""
      if (name === "abstractNum") abstractId = attribute("abstractNumId") ?? ""
      else if (name === "lvl") listLevel = attribute("ilvl") ?? ""
      else if (name === "numFmt" && (value === "bullet" || value === "none") && bullets.size < listsMax)
        bullets.add(`${abstractId}/${listLevel}`)
      else if (name === "num") numberingId = attribute("numId") ?? ""
      else if (name === "abstractNumId" && abstractOf.size < listsMax) abstractOf.set(numberingId, value)
    }
  })
  return markerCounter(bullets, abstractOf)
}

const markerCounter = (bullets: ReadonlySet<string>, abstractOf: ReadonlyMap<string, string>): NextMarker => {
  const counters = new Map<string, Array<number>>()
  return (numberingId, level) => {
    const depth = Math.min(level, levelsMax - 1)
    const abstractId = abstractOf.get(numberingId)
    if (abstractId === undefined || bullets.has(`${abstractId}/${depth}`)) return "- "
    const counts = counters.get(numberingId) ?? []
    if (counters.size < listsMax) counters.set(numberingId, counts)
    counts.length = Math.min(counts.length, depth + 1)
    counts[depth] = (counts[depth] ?? 0) + 1
    return `${counts[depth]}. `
  }
}
