import { Effect } from "effect"
import { type ModelFinish, type ModelPart, type ModelUsage, nothingSpent } from "../../domain/ModelCall.ts"
import { beginningWithin, noText, tally, tokensOf } from "../../domain/Tokens.ts"
import { countTokens } from "../../providers/Tokenizer.ts"
import { makeWritten, type Written } from "./WrittenAnswer.ts"

/** The tokens that the calls of one response may still spend. */
export interface Budget {
  /** Tokens that are reserved for the answer to a prompt. */
  readonly room: (promptTokens: number) => number
  /** Reserves more for an answer that may have `outputTokens` in all. */
  readonly more: (promptTokens: number, outputTokens: number) => Effect.Effect<void>
  /** The part of `outputTokens` that the answer of the next round may have; 0 if nothing is left for it. */
  readonly nextRound: (promptTokens: number, outputTokens: number) => Effect.Effect<number>
}

export const unlimited: Budget = {
  room: () => Number.POSITIVE_INFINITY,
  more: () => Effect.void,
  nextRound: (_promptTokens, outputTokens) => Effect.succeed(outputTokens)
}

/**
 * Keeps an answer within its tokens, even if the model server ignores the bound it was given.
 *
 * The server's own count is exact but comes last. Until then a cheap estimate passes text that is surely
 * within the bound, and the tokenizer counts the rest. Text beyond the bound is withheld until the finish,
 * and an answer far beyond it is cut.
 */
export interface AnswerBound {
  /**
   * Takes the parts if all of them may be shown unchanged, which is cheap and nearly always true. Otherwise
   * call `admit`.
   */
  readonly passes: (parts: ReadonlyArray<ModelPart>) => boolean
  /**
   * Takes the parts, and returns those that may be shown now. A cut answer ends with a `finish` of the
   * service, not the server's.
   */
  readonly admit: (parts: ReadonlyArray<ModelPart>) => Effect.Effect<ReadonlyArray<ModelPart>>
  /** The text that was shown so far. */
  readonly text: () => string
  readonly isCut: () => boolean
  /** True if the bound was a token limit and no more of it could be reserved. */
  readonly isOutOfTokens: () => boolean
}

/** The part of a token limit that is reserved for an answer. */
interface ReservedTokens {
  readonly tokens: () => number
  /** Reserves more, if possible. */
  readonly more: Effect.Effect<void>
}

const noLimit: ReservedTokens = { tokens: () => Number.POSITIVE_INFINITY, more: Effect.void }

/** The counts of two tokenizers never differ by more than this: a factor, and a little for short answers. */
const countsFactorMax = 2
const countsTokensMax = 32

/** About the longest beginning of a text that has at most this many tokens. */
const beginningCounted = Effect.fnUntraced(function* (text: string, tokensMax: number) {
  let end = 0
  let left = tokensMax
  while (left > 0) {
    // The estimate is too high, so something is left after each piece, and less each time.
    const more = beginningWithin(text.slice(end), left)
    if (more === "") break
    left -= yield* countTokens(more)
    end += more.length
  }
  return text.slice(0, end)
})

/** The tokens that an answer may have now: at most `tokensMax`, reserved in steps as they are needed. */
class AnswerLimit {
  private readonly tokensMax: number
  private readonly reserved: ReservedTokens
  isOut = false

  constructor(tokensMax: number, reserved: ReservedTokens) {
    this.tokensMax = tokensMax
    this.reserved = reserved
  }

  tokens(): number {
    return Math.min(this.tokensMax, this.reserved.tokens())
  }

  private isShort(estimate: () => number): boolean {
    return !this.isOut && this.tokens() < this.tokensMax && estimate() > this.tokens()
  }

  /** Reserves enough for an estimate, which is cheap and too high. */
  reserve(estimate: () => number): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (!this.isShort(estimate)) return Effect.void
      const before = this.tokens()
      return Effect.flatMap(this.reserved.more, () => {
        this.isOut = this.tokens() <= before
        return this.reserve(estimate)
      })
    })
  }
}

type TextPart = Extract<ModelPart, { type: "text" }>

/** The text parts of a text, with the refusal mark of the finish they belong to. */
export const textParts = (
  text: string,
  { isRefusal }: Pick<ModelFinish, "isRefusal">
): ReadonlyArray<TextPart> => {
  if (text === "") return []
  return [isRefusal === true ? { type: "text", text, isRefusal } : { type: "text", text }]
}

/** The finish of a cut answer. It has no usage of the prompt, because the server's count never arrives. */
const cutFinish = (outputTokens: number): ModelFinish => {
  const usage: ModelUsage = { ...nothingSpent, outputTokens, source: "tokenizer" }
  return { type: "finish", reason: "length", usage }
}

export const makeAnswerBound = (tokensMax: number, reserved: ReservedTokens = noLimit): AnswerBound => {
  const cutTokens = tokensMax * countsFactorMax + countsTokensMax
  const written = makeWritten()
  const limit = new AnswerLimit(tokensMax, reserved)
  let cut = false
  /** The reasoning. It counts towards the bound of the answer, too, unless the server ignores that. */
  let thought = noText

  const reserveWith = (text: string) => limit.reserve(() => written.estimateWith(text))

  const admitFinish = (finish: ModelFinish): ReadonlyArray<ModelPart> => {
    if (!written.isWithheld()) return [finish]
    if (finish.usage.outputTokens <= tokensMax) return [...textParts(written.show(), finish), finish]
    return [{ ...finish, reason: "length" }]
  }

  const admitPart = (part: ModelPart): Effect.Effect<ReadonlyArray<ModelPart>> => {
    switch (part.type) {
      case "reasoning_text":
        thought = tally(part.text, thought)
        return Effect.succeed([part])
      case "reasoning":
        return Effect.succeed([part])
      case "text":
        return Effect.andThen(reserveWith(part.text), admittedText(written, limit, part))
      case "finish":
        return Effect.succeed(admitFinish(part))
      case "call_text":
      case "tool_call":
        written.addCall(part)
        return Effect.as(reserveWith(""), [part])
    }
  }

  const passesText = (text: string): boolean => !cut && written.showWithin(text, limit.tokens())

  const passes = (parts: ReadonlyArray<ModelPart>): boolean => {
    let text = ""
    let thinking = thought
    for (const part of parts) {
      if (part.type === "text") text += part.text
      else if (part.type === "reasoning_text") thinking = tally(part.text, thinking)
      else return false
    }
    if (tokensOf(thinking) > cutTokens || !passesText(text)) return false
    thought = thinking
    return true
  }

  /** The end of an answer that is far beyond its bound. */
  const cutAfter = (part: ModelPart) => {
    const tokens = part.type !== "tool_call" && limit.isOut ? limit.tokens() : cutTokens
    const exceeds = tokensOf(thought) > cutTokens ? Effect.succeed(true) : written.exceeds(tokens)
    return Effect.map(exceeds, (isBeyond) => {
      cut ||= isBeyond
      return isBeyond ? [cutFinish(limit.tokens())] : []
    })
  }

  return {
    passes,
    admit: (parts) => admittedParts(parts, { passesText, admitPart, cutAfter, isCut: () => cut }),
    text: written.shown,
    isCut: () => cut,
    isOutOfTokens: () => limit.isOut
  }
}

/**
 * The part of a text that may be shown, after as much as possible is reserved. A part that is shown unchanged
 * keeps its logprobs.
 */
const admittedText = Effect.fnUntraced(function* (written: Written, limit: AnswerLimit, part: TextPart) {
  const { text } = part
  if (written.showWithin(text, limit.tokens())) return [part]
  const before = written.isWithheld() ? limit.tokens() : yield* written.count
  written.add(text)
  if (!(yield* written.exceeds(limit.tokens()))) {
    const shown = written.show()
    return shown === text ? [part] : textParts(shown, part)
  }
  const beginning = yield* beginningCounted(text, limit.tokens() - before)
  return textParts(written.show(beginning.length), part)
})

const admittedParts = Effect.fnUntraced(function* (
  parts: ReadonlyArray<ModelPart>,
  bound: {
    readonly passesText: (text: string) => boolean
    readonly admitPart: (part: ModelPart) => Effect.Effect<ReadonlyArray<ModelPart>>
    readonly cutAfter: (part: ModelPart) => Effect.Effect<ReadonlyArray<ModelPart>>
    readonly isCut: () => boolean
  }
) {
  const admitted: Array<ModelPart> = []
  // The finish is among the same parts if a server answers with one document. Nothing is cut then.
  const isFinished = parts.some(({ type }) => type === "finish")
  for (const part of parts) {
    if (bound.isCut()) break
    if (part.type === "text" && bound.passesText(part.text)) {
      admitted.push(part)
      continue
    }
    for (const one of yield* bound.admitPart(part)) admitted.push(one)
    if (isFinished) continue
    for (const one of yield* bound.cutAfter(part)) admitted.push(one)
  }
  return admitted
})
