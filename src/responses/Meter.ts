import type { ModelUsage } from "../domain/ModelCall.ts"
import type { ModelSpec } from "../domain/ModelSpec.ts"
import { estimateTokens } from "../domain/Tokens.ts"

/** What one response has spent so far, and how it ended. */
export interface Meter {
  readonly model: ModelSpec
  readonly promptTokens: number
  readonly text: string
  /** What earlier rounds of the same response cost, and how much of the text they wrote; null in the first round. */
  readonly before: { readonly usage: ModelUsage; readonly characters: number } | null
  /** The provider's count, or the adapter's estimate; null until the finish. */
  readonly usage: ModelUsage | null
  /** Calls of tools that were begun. */
  readonly toolCalls: number
  readonly outcome: "completed" | "failed" | "abandoned"
}

/** Until something else is known, whoever asked has gone away. */
export const started = (model: ModelSpec, promptTokens: number): Meter => ({
  model,
  promptTokens,
  text: "",
  before: null,
  usage: null,
  toolCalls: 0,
  outcome: "abandoned"
})

export const wrote =
  (model: ModelSpec, text: string) =>
  (meter: Meter): Meter => ({ ...meter, model, text })

/** A round is over and another one follows. */
export const spent =
  (usage: ModelUsage, text: string) =>
  (meter: Meter): Meter => ({ ...meter, text, before: { usage, characters: text.length } })

export const called =
  (count: number) =>
  (meter: Meter): Meter => ({ ...meter, toolCalls: meter.toolCalls + count })

export const finished =
  (usage: ModelUsage) =>
  (meter: Meter): Meter => ({ ...meter, usage })

export const completed = (meter: Meter): Meter => ({ ...meter, outcome: "completed" })

export const failed = (meter: Meter): Meter => ({ ...meter, outcome: "failed" })

/**
 * The tokens to record. Where the model never said, the prompt and the text so far are estimated; a call that failed
 * before any text cost nothing.
 */
export const usageOf = (meter: Meter): ModelUsage => {
  if (meter.usage !== null) return meter.usage
  const { before } = meter
  const text = before === null ? meter.text : meter.text.slice(before.characters)
  const nothing = meter.outcome === "failed" && text === ""
  return {
    inputTokens: (before?.usage.inputTokens ?? 0) + (nothing ? 0 : meter.promptTokens),
    cachedInputTokens: before?.usage.cachedInputTokens ?? 0,
    outputTokens: (before?.usage.outputTokens ?? 0) + estimateTokens(text),
    reasoningTokens: before?.usage.reasoningTokens ?? 0,
    source: "estimate"
  }
}
