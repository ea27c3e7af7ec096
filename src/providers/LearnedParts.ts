import { learnableParts, type LearnedPart } from "../domain/Model.ts"
import type { Dialect } from "./Dialect.ts"

/**
 * Seconds for which a model is asked without a part that its server refused. Then it is asked in full again.
 */
export const learnedSeconds = 600

/** The parts of a dialect that the service adds by itself. Parts that clients send are never learned. */
const fields = {
  tools: "ownTools",
  token_parameter: "tokenParameter",
  stream_options: "streamOptions",
  prompt_cache_key: "promptCacheKey",
  cache_control: "cacheControl",
  thinking_controls: "thinkingControls",
  encrypted_reasoning: "encryptedReasoning",
  reasoning_summary: "reasoningSummary"
} as const satisfies Record<LearnedPart["part"], keyof Dialect>

/** A dialect that was tried, and the server's complaint about the previous one. */
export interface Tried {
  readonly dialect: Dialect
  readonly sentence: string
}

interface Learned {
  readonly part: LearnedPart["part"]
  readonly change: Partial<Dialect>
  readonly sentence: string
  readonly untilSeconds: number
}

/**
 * The parts that the service adds to requests and the server of one model refused. Times are monotonic, in
 * seconds.
 */
export class LearnedParts {
  private learned: ReadonlyArray<Learned> = []

  /** Learns the changes from the first dialect to the one that succeeded, and returns them. */
  learn(first: Dialect, tried: ReadonlyArray<Tried>, now: number): ReadonlyArray<LearnedPart> {
    const learned = tried.flatMap(({ dialect, sentence }, index) => {
      const before = tried[index - 1]?.dialect ?? first
      return learnableParts.flatMap((part): ReadonlyArray<Learned> => {
        const field = fields[part]
        if (before[field] === dialect[field]) return []
        return [{ part, change: { [field]: dialect[field] }, sentence, untilSeconds: now + learnedSeconds }]
      })
    })
    const known = new Set(learned.map(({ part }) => part))
    this.learned = [...this.learned.filter(({ part }) => !known.has(part)), ...learned]
    return learned.map((one) => shown(one, now))
  }

  forget(): void {
    this.learned = []
  }

  /** The dialect to begin with. */
  applied(first: Dialect, now: number): Dialect {
    const changes: Partial<Dialect> = Object.assign({}, ...this.at(now).map(({ change }) => change))
    return { ...first, ...changes }
  }

  shown(now: number): ReadonlyArray<LearnedPart> {
    return this.at(now).map((one) => shown(one, now))
  }

  private at(now: number): ReadonlyArray<Learned> {
    if (this.learned.length > 0) this.learned = this.learned.filter(({ untilSeconds }) => now < untilSeconds)
    return this.learned
  }
}

const shown = ({ part, sentence, untilSeconds }: Learned, now: number): LearnedPart => ({
  part,
  sentence,
  seconds: Math.ceil(untilSeconds - now)
})
