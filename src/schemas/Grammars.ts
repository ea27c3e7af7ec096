import type { TextGrammar } from "../domain/ModelCall.ts"
import { readLark } from "./LarkReader.ts"
import { Broken, TooMuchWork, Unsupported } from "./Pattern.ts"
import { type Grammar, type Misfit, recognize } from "./Recognizer.ts"
import { readRegex } from "./RegexReader.ts"

/** Characters of a grammar. Longer grammars aren't read. */
const grammarCharactersMax = 32_768
/** Characters of a text. Longer texts aren't checked. */
const textCharactersMax = 131_072
/** The most steps of one check. A step takes from a millionth of a second to a few. */
const stepsMax = 1_000_000
/** The number of grammars that stay parsed, because clients send the same grammar with each request. */
const knownMax = 16

type Reading =
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
  if (given.definition.length > grammarCharactersMax) return { is: "unsupported" }
  try {
    return { is: "read", grammar: grammarOf(given) }
  } catch (error) {
    if (error instanceof Broken) return { is: "broken", problem: error.message }
    if (error instanceof Unsupported) return { is: "unsupported" }
    throw error
  }
}

/** Grammars by their JSON, the last used one at the end. */
const known = new Map<string, Reading>()

const readingOf = (json: string): Reading => {
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
    if (error instanceof TooMuchWork) return null
    throw error
  }
}
