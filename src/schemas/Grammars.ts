import type { TextGrammar } from "../domain/ModelCall.ts"
import { readLark } from "./LarkReader.ts"
import { Broken, TooMuchWork, Unsupported } from "./Pattern.ts"
import { type Grammar, type Misfit, recognize } from "./Recognizer.ts"
import { readRegex } from "./RegexReader.ts"

/** Longer texts aren't checked. */
const textCharactersMax = 131_072
/** Steps of one check: most take a ten-millionth to a millionth of a second. */
const stepsMax = 1_500_000
/** Grammars that stay read, because clients send the same ones with each request. */
const knownMax = 16

export type Reading =
  | { readonly is: "read"; readonly grammar: Grammar }
  /** The grammar is invalid. */
  | { readonly is: "broken"; readonly problem: string }
  /** The grammar uses a feature that is not supported. */
  | { readonly is: "unsupported" }

const grammarOf = ({ definition, syntax }: TextGrammar): Grammar => {
  if (syntax === "lark") return readLark(definition)
  const pattern = readRegex(definition, "")
  return {
    start: "start",
    rules: new Map([["start", [[{ pattern, label: "the expression" }]]]]),
    ignored: null
  }
}

export const readGrammar = (given: TextGrammar): Reading => {
  try {
    return { is: "read", grammar: grammarOf(given) }
  } catch (error) {
    if (error instanceof Broken) return { is: "broken", problem: error.message }
    // A RangeError is a stack, a list or a text that became too large.
    if (error instanceof Unsupported || error instanceof RangeError) return { is: "unsupported" }
    throw error
  }
}

/** Grammars by their JSON, the last used one at the end. */
const known = new Map<string, Reading>()

/** Reads the grammar, given as JSON, or takes what an earlier request has read. */
export const readingOf = (json: string): Reading => {
  // oxlint-disable-next-line no-restricted-properties -- the service wrote it, and the process starts without Effect
  const reading = known.get(json) ?? readGrammar(JSON.parse(json) as TextGrammar)
  known.delete(json)
  for (const oldest of known.keys()) {
    if (known.size < knownMax) break
    known.delete(oldest)
  }
  known.set(json, reading)
  return reading
}

const placeIn = (text: string, { at, expected }: Misfit): string => {
  const before = text.slice(0, at).split("\n")
  const place = `line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`
  return expected.length === 0
    ? `Nothing more may follow ${place}.`
    : `At ${place} one of these is expected: ${expected.join(" ")}`
}

/**
 * Describes where the text violates the grammar, given as JSON, without quoting the text. null if it doesn't,
 * or if the check is impossible.
 */
export const grammarMismatch = (json: string, text: string): string | null => {
  const reading = readingOf(json)
  if (reading.is !== "read" || text.length > textCharactersMax) return null
  try {
    const misfit = recognize(reading.grammar, text, { left: stepsMax })
    return misfit === null ? null : placeIn(text, misfit)
  } catch (error) {
    if (error instanceof TooMuchWork || error instanceof RangeError) return null
    throw error
  }
}
