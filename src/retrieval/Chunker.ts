import { Array as Arr } from "effect"
import { type Outline, type TextForm, type Unit, unitsOf } from "./Units.ts"

/** A passage of a text, in UTF-16 code units; it begins and ends with something that is no space. */
export interface Chunk {
  readonly start: number
  readonly end: number
  readonly outline: Outline
}

/**
 * Characters that a chunk aims at, and that no chunk exceeds. Wide characters count twice: each means as much
 * as a short word.
 */
const chunkCharactersAim = 1_000
export const chunkCharactersMax = 1_300
/** Longest text that a chunk repeats from the chunk before it, in characters. */
export const overlapCharactersMax = 180

/** Characters by which a chunk may miss its aim to end at each kind of boundary. */
const worth: Readonly<Record<Unit["boundary"], number>> = {
  page: 400,
  section: 400,
  block: 250,
  sentence: 120,
  line: 100,
  word: 0
}

/** The units of a text, computed on demand. */
class Layout {
  readonly text: string
  private readonly source: Iterator<Unit, void>
  private readonly units: Array<Unit> = []
  /** Characters before each unit, wide ones counted twice, and at last those of all units so far. */
  private readonly before: Array<number> = [0]
  private sum = 0

  constructor(text: string, form: TextForm) {
    this.text = text
    this.source = unitsOf(text, form)
  }

  has(at: number): boolean {
    while (this.units.length <= at) {
      const { done, value } = this.source.next()
      if (done === true) return false
      this.units.push(value)
      this.before.push((this.sum += value.weight))
    }
    return true
  }

  /** A unit that there is. */
  unit(at: number): Unit {
    return Arr.getUnsafe(this.units, at)
  }

  /** True if a page or a section begins with the unit. A heading directly below another one begins none. */
  isSection(at: number): boolean {
    const { boundary } = this.unit(at)
    return boundary === "page" || (boundary === "section" && (at === 0 || !this.unit(at - 1).isHeading))
  }

  /**
   * The outline of the chunk from the unit `from` to the one before `to`. Headings that begin the chunk
   * belong to it.
   */
  outline(from: number, to: number): Outline {
    let at = from
    while (at + 1 < to && this.unit(at).isHeading) at++
    const { headings } = this.unit(at).outline
    return { headings, tableHeader: this.unit(from).outline.tableHeader }
  }

  /** The characters of the units from one to the one before another. */
  length(from: number, to: number): number {
    return Arr.getUnsafe(this.before, to) - Arr.getUnsafe(this.before, from)
  }
}

/**
 * Cuts a text into passages of about 1,000 characters, where it is cut best: always between pages and
 * sections, else between blocks or sentences. All of the text but spaces is in some chunk; the end of one is
 * repeated by the next unless a new section begins there. Each is computed on demand, so that a long text can
 * be cut in portions.
 */
export function* chunksOf(text: string, form: TextForm): Generator<Chunk, void> {
  const layout = new Layout(text, form)
  let covered = 0
  let from = 0
  while (layout.has(from)) {
    const { start: unitStart } = layout.unit(from)
    const overlapping = overlapStart(layout, from)
    const to = chunkEnd(layout, from, unitStart - overlapping)
    const { end, start } = trimmed(text, overlapping, layout.unit(to - 1).end)
    // Skip what is only spaces, or is all in the chunk before.
    if (end > Math.max(start, covered)) yield { start, end, outline: layout.outline(from, to) }
    covered = Math.max(covered, end)
    from = to
  }
}

/** The unit at which the chunk that begins with unit `from` ends. */
const chunkEnd = (layout: Layout, from: number, overlap: number): number => {
  const length = (to: number) => layout.length(from, to) + overlap
  let last = from + 1
  while (layout.has(last) && !layout.isSection(last) && length(last) < charactersAhead) {
    last++
  }
  if (length(last) <= chunkCharactersMax) return last
  // Parts of the same size, rather than full ones and a rest.
  const aim = length(last) / Math.ceil(length(last) / chunkCharactersAim)
  let best = from + 1
  let bestWorth = Number.NEGATIVE_INFINITY
  for (let to = from + 1; to < last && length(to) <= chunkCharactersMax; to++) {
    const value = worth[layout.unit(to).boundary] - Math.abs(length(to) - aim)
    if (value >= bestWorth) [best, bestWorth] = [to, value]
  }
  return best
}

/** Text that is looked at in order to divide it evenly. */
const charactersAhead = 8 * chunkCharactersMax

/** The start of the chunk of unit `from`: a little before the unit, in the same section. */
const overlapStart = (layout: Layout, from: number): number => {
  const { start } = layout.unit(from)
  if (from === 0 || layout.isSection(from) || layout.isSection(from - 1)) return start
  let first = from
  while (
    first > 0 &&
    !layout.isSection(first - 1) &&
    layout.length(first - 1, from) <= overlapCharactersMax
  ) {
    first--
  }
  if (first < from) return layout.unit(first).start
  const previous = layout.unit(from - 1)
  const room = Math.floor((overlapCharactersMax * (previous.end - previous.start)) / previous.weight)
  return wordStart(layout.text, Math.max(previous.start, start - room), start)
}

/** The first word that begins at `from` or later; `to` when there is none. */
const wordStart = (text: string, from: number, to: number): number => {
  const space = /\s/.exec(text.slice(from, to))
  if (space !== null) return from + space.index
  return isLowSurrogate(text, from) ? from + 1 : from
}

const isLowSurrogate = (text: string, at: number): boolean => {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff
}

/** The range without the spaces at both ends. */
const trimmed = (text: string, start: number, end: number) => {
  const piece = text.slice(start, end)
  return { start: end - piece.trimStart().length, end: start + piece.trimEnd().length }
}
