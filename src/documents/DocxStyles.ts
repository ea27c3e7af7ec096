import type { Archive } from "./Archive.ts"
import { readXml } from "./XmlReader.ts"

/** What a Word document says elsewhere about its paragraphs: which are headings, and how lists are numbered. */

interface Style {
  basedOn: string | null
  headingLevel: number | null
}

/** Styles that are based on each other. */
const chainMax = 20

const stylesMax = 10_000

/** The level of the heading that a paragraph of a style is; 0 when it isn't one. */
export type HeadingLevelOf = (styleId: string) => number

/** Reads the styles. A style is a heading by its name, which is English in every language, or by its outline level. */
export const readHeadingLevels = async (archive: Archive, part: string | null): Promise<HeadingLevelOf> => {
  const styles = new Map<string, Style>()
  if (part !== null) await readStyles(archive, part, styles)
  return (styleId) => {
    let at: string | null = styleId
    for (let step = 0; at !== null && step < chainMax; step++) {
      const style: Style | undefined = styles.get(at)
      if (style === undefined) break
      if (style.headingLevel !== null) return style.headingLevel
      at = style.basedOn
    }
    return headingLevelOfName(styleId)
  }
}

const readStyles = async (archive: Archive, part: string, styles: Map<string, Style>): Promise<void> => {
  let style: Style = { basedOn: null, headingLevel: null }
  await readXml(archive, part, {
    open: ({ attribute, name }) => {
      const value = attribute("val") ?? ""
      if (name === "style") {
        style = { basedOn: null, headingLevel: null }
        if (styles.size < stylesMax) styles.set(attribute("styleId") ?? "", style)
      } else if (name === "name") style.headingLevel ??= headingLevelOfName(value) || null
      else if (name === "basedOn") style.basedOn = value
      else if (name === "outlineLvl" && /^[0-8]$/.test(value)) style.headingLevel ??= Number(value) + 1
    }
  })
}

const headingLevelOfName = (name: string): number => {
  if (/^title$/i.test(name)) return 1
  return Number(/^heading ?([1-9])$/i.exec(name)?.[1] ?? 0)
}

/** What stands before an item of a list, and counts it. */
export type NextMarker = (numberingId: string, level: number) => string

const levelsMax = 9
const listsMax = 10_000

/** Reads how lists are numbered. Bullets are dashes; every numbering, in letters or in Roman numerals, is in digits here. */
export const readNumbering = async (archive: Archive, part: string | null): Promise<NextMarker> => {
  const bullets = new Set<string>()
  const abstractOf = new Map<string, string>()
  if (part !== null) await readLists(archive, part, bullets, abstractOf)
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

const readLists = async (
  archive: Archive,
  part: string,
  bullets: Set<string>,
  abstractOf: Map<string, string>
): Promise<void> => {
  let abstractId = ""
  let level = ""
  let numberingId = ""
  await readXml(archive, part, {
    open: ({ attribute, name }) => {
      const value = attribute("val") ?? ""
      if (name === "abstractNum") abstractId = attribute("abstractNumId") ?? ""
      else if (name === "lvl") level = attribute("ilvl") ?? ""
      else if (name === "numFmt" && (value === "bullet" || value === "none") && bullets.size < listsMax)
        bullets.add(`${abstractId}/${level}`)
      else if (name === "num") numberingId = attribute("numId") ?? ""
      else if (name === "abstractNumId" && abstractOf.size < listsMax) abstractOf.set(numberingId, value)
    }
  })
}
