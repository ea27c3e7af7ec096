import { zoneOf } from "./OfflinePlaces.ts"

/** A question for the date or the time. */
export interface Moment {
  readonly at: number
  /** Where the time is asked of; null for no place in particular. */
  readonly zones: ReadonlyArray<string | null>
  /** The place that was meant, where its zone isn't known. */
  readonly unknownPlace: string | null
}

const when = "(?:date|time|day|weekday|day\\s+of\\s+the\\s+week|date\\s+and\\s+time|time\\s+and\\s+date)"
const now = "(?:today|now|right\\s+now|currently|at\\s+the\\s+moment)"

/** The ways to ask for it. What follows decides whether "the day" is today, or that of something else. */
const askings = new RegExp(
  [
    `\\b(?:what|which)\\s+${when}\\s+is\\s+(?:it|today)\\b`,
    `\\b(?:what(?:['’]?s|\\s+is)|tell\\s+me|give\\s+me)\\s+(?:the\\s+)?(?:current\\s+|local\\s+|exact\\s+)*${when}(?=\\s+(?:${now}|is\\s+it|in|at)\\b|\\s*(?:[?.!,;]|$))`,
    `\\btoday['’]s\\s+(?:date|weekday)\\b`,
    `\\b(?:current|local)\\s+(?:date|time)\\b`,
    `^\\s*(?:the\\s+)?(?:date|time)(?=\\s+in\\b|\\s*\\??\\s*$)`
  ].join("|"),
  "giu"
)

const words = "[\\p{L}\\p{M}'’./_+-]*[\\p{L}\\p{M}]"
const beforePlace = new RegExp(`(?:\\s+(?:${now}|is\\s+it|there))*\\s+(?:in|at|for)\\s+`, "iuy")
const beforeNextPlace = /\s*(?:,\s*and|,|and)\s+(?:in\s+)?/iy
const placeWords = new RegExp(`${words}(?:\\s+${words}){0,3}`, "iuy")

/** What stands in the place of a place and is none. */
const noPlace = /^(?:the\s+)?(?:moment|present|my\s+(?:place|area|city|zone|time\s*zone)|here)\b/i

const matchAt = (pattern: RegExp, text: string, at: number): string | null => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? null
}

interface Place {
  readonly zone: string
  readonly end: number
}

/** The longest name of a place that begins here. */
const placeAt = (text: string, at: number): Place | null => {
  for (let name = matchAt(placeWords, text, at); name !== null && name !== "";) {
    const zone = zoneOf(name) ?? zoneOf(name.replace(/^the\s+/i, ""))
    if (zone !== null) return { zone, end: at + name.length }
    const shorter = name.replace(/\s+\S+$/, "")
    name = shorter === name ? null : shorter
  }
  return null
}

const placesAfter = (text: string, from: number): Pick<Moment, "zones" | "unknownPlace"> => {
  const before = matchAt(beforePlace, text, from)
  if (before === null) return { zones: [null], unknownPlace: null }
  let at = from + before.length
  const first = placeAt(text, at)
  if (first === null) {
    const name = matchAt(placeWords, text, at)?.replace(/\s+(?:and|please|today|now|right)\b.*$/i, "") ?? ""
    return name === "" || noPlace.test(name)
      ? { zones: [null], unknownPlace: null }
      : { zones: [], unknownPlace: name }
  }
  const zones = [first.zone]
  at = first.end
  for (;;) {
    const between = matchAt(beforeNextPlace, text, at)
    const next = between === null ? null : placeAt(text, at + between.length)
    if (next === null) return { zones, unknownPlace: null }
    zones.push(next.zone)
    at = next.end
  }
}

/** The place that a question begins with, as in "In Tokyo, what time is it?". */
const placeBefore = (text: string): string | null => {
  const name = /\bin\s+([^,?.!]{1,40}),\s*$/i.exec(text)?.[1]
  return name === undefined ? null : zoneOf(name.trim())
}

/** The questions for the date or the time, with the places that they name. */
export const momentsIn = (text: string): ReadonlyArray<Moment> =>
  [...text.matchAll(askings)].map(({ 0: asking, index }): Moment => {
    const before = placeBefore(text.slice(0, index))
    if (before !== null) return { at: index, zones: [before], unknownPlace: null }
    return { at: index, ...placesAfter(text, index + asking.length) }
  })
