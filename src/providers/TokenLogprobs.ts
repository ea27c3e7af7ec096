import { Predicate } from "effect"
import type { TokenLikelihood, TokenLogprob } from "../domain/ModelCall.ts"
import { storable } from "../domain/storable.ts"
import type { AnswerChunk } from "./Protocol.ts"

/** Tokens of one answer with logprobs, about 200 bytes each. Text behind them has no logprobs. */
const tokensMax = 100_000

const none: ReadonlyArray<never> = []
const utf8 = new TextEncoder()

const isByte = (given: unknown): given is number =>
  Predicate.isNumber(given) && Number.isInteger(given) && given >= 0 && given <= 255

/** null for a value that isn't well-formed. */
const likelihoodOf = (given: unknown): TokenLikelihood | null => {
  if (!Predicate.isObject(given)) return null
  const { bytes, logprob, token } = given
  if (!Predicate.isString(token) || !Predicate.isNumber(logprob) || !Number.isFinite(logprob)) return null
  return {
    token: storable(token),
    logprob,
    bytes: Array.isArray(bytes) && bytes.every(isByte) ? bytes : Array.from(utf8.encode(token))
  }
}

const listOf = (given: unknown): ReadonlyArray<unknown> => (Array.isArray(given) ? given : none)

/**
 * The chosen token, with at most `topMax` of the likely ones. Some servers send more than they are asked for.
 */
const logprobOf = (given: unknown, topMax: number): TokenLogprob | null => {
  const chosen = likelihoodOf(given)
  if (chosen === null || !Predicate.isObject(given)) return null
  const top = listOf(given["top_logprobs"]).slice(0, topMax)
  return { ...chosen, top_logprobs: top.flatMap((one) => likelihoodOf(one) ?? []) }
}

/** Reads the logprobs of one answer, and puts them beside the text that their tokens write. */
export class TokenLogprobs {
  private readonly topMax: number
  /** Logprobs of tokens that have written nothing yet: several tokens may make up one character. */
  private held: Array<TokenLogprob> = []
  private tokens = 0

  constructor(topMax: number) {
    this.topMax = topMax
  }

  /** Takes the list of one event. */
  add(list: unknown): void {
    for (const one of listOf(list)) {
      const read = logprobOf(one, this.topMax)
      if (read === null) continue
      this.tokens += 1 + read.top_logprobs.length
      if (this.tokens > tokensMax) return
      this.held.push(read)
    }
  }

  /** Drops those of tokens that write none of the text. */
  drop(): void {
    this.held = []
  }

  /** The chunk with the logprobs of its text. */
  beside(chunk: AnswerChunk): AnswerChunk {
    if (chunk.type !== "delta" || chunk.text === "" || this.held.length === 0) return chunk
    const { held } = this
    this.held = []
    return { ...chunk, logprobs: held }
  }
}
