import { Effect } from "effect"
import type { ModelPart } from "../../domain/ModelCall.ts"
import { noText, tally, tokensOf } from "../../domain/Tokens.ts"
import { countTokens, lastWordEnd } from "../../providers/Tokenizer.ts"

/** The text of one answer, and its tokens: a cheap estimate that is too high, and a count. */

/** After this many characters without the end of a word, the text is counted as if a word ended. */
const wordCharactersMax = 2048

type CallPart = Extract<ModelPart, { type: "call_text" | "tool_call" }>

/** The calls of an answer, as far as they are not counted yet. */
const makeUncountedCalls = () => {
  let text = ""
  let estimate = noText
  /** Characters that the pieces of the open call have brought. */
  let pieces = 0

  return {
    tokens: (): number => tokensOf(estimate),
    /** Adds a piece of a call, or the rest of a whole call behind its pieces. */
    add: (part: CallPart): void => {
      const isPiece = part.type === "call_text"
      const more = isPiece ? part.text : part.call.name + part.call.arguments.slice(pieces)
      pieces = isPiece ? pieces + more.length : 0
      text += more
      estimate = tally(more, estimate)
    },
    /** The text of the calls, for a count. */
    take: (): string => {
      const taken = text
      text = ""
      estimate = noText
      return taken
    }
  }
}

/**
 * The whole output of one answer, and how much of it was shown. The tokenizer counts as little of it as
 * possible.
 */
export const makeWritten = () => {
  let text = ""
  let shownTo = 0
  const calls = makeUncountedCalls()
  /** Tokens of the text up to `countedTo`, and the estimate for the rest. */
  let counted = 0
  let countedTo = 0
  let rest = noText

  const isWithheld = () => shownTo < text.length

  const estimate = (uncounted = rest) => counted + tokensOf(uncounted) + calls.tokens()

  /** Stores the count up to the end of the last word, and returns the whole count. */
  const countTo = (end: number) => (tokens: number) => {
    counted += tokens
    countedTo = end
    rest = tally(text.slice(end))
    return Effect.map(countTokens(text.slice(end)), (ofRest) => counted + ofRest)
  }

  const count: Effect.Effect<number> = Effect.suspend(() =>
    Effect.flatMap(countTokens(calls.take()), (tokens) => {
      counted += tokens
      const isLong = text.length - countedTo > wordCharactersMax
      const end = lastWordEnd(text, countedTo, text.length) ?? (isLong ? text.length : countedTo)
      return Effect.flatMap(countTokens(text.slice(countedTo, end)), countTo(end))
    })
  )

  return {
    shown: () => text.slice(0, shownTo),
    /** True if some text was not shown. */
    isWithheld,
    /** Shows at most this many characters of the withheld text. */
    show: (charactersMax = Number.POSITIVE_INFINITY): string => {
      const next = text.slice(shownTo, shownTo + charactersMax)
      shownTo += next.length
      return next
    },
    count,
    add: (more: string): void => {
      text += more
      rest = tally(more, rest)
    },
    /** Adds the text and shows it, if none is withheld and it is surely within the bound. */
    showWithin: (more: string, tokensMax: number): boolean => {
      if (isWithheld()) return false
      const after = tally(more, rest)
      if (estimate(after) > tokensMax) return false
      text += more
      shownTo = text.length
      rest = after
      return true
    },
    estimateWith: (more: string): number => estimate(tally(more, rest)),
    addCall: calls.add,
    exceeds: (tokensMax: number): Effect.Effect<boolean> => {
      if (counted > tokensMax) return Effect.succeed(true)
      if (estimate() <= tokensMax) return Effect.succeed(false)
      return Effect.map(count, (tokens) => tokens > tokensMax)
    }
  }
}

export type Written = ReturnType<typeof makeWritten>
