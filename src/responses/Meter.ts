import type { ModelUsage } from "../domain/ModelCall.ts"
import type { ModelSpec } from "../domain/ModelSpec.ts"
import { estimateTokens } from "../domain/Tokens.ts"

/** What one response has spent so far, and how it ended. */
export interface Meter {
  readonly model: ModelSpec
  readonly promptTokens: number
  readonly text: string
  /** The provider's count, or the adapter's estimate; null until the finish. */
  readonly usage: ModelUsage | null
  readonly outcome: "completed" | "failed" | "abandoned"
}

/** Until something else is known, whoever asked has gone away. */
export const started = (model: ModelSpec, promptTokens: number): Meter => ({
  model,
  promptTokens,
  text: "",
  usage: null,
  outcome: "abandoned"
})

export const wrote =
  (model: ModelSpec, text: string) =>
  (meter: Meter): Meter => ({ ...meter, model, text })

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
  const nothing = meter.outcome === "failed" && meter.text === ""
  return {
    inputTokens: nothing ? 0 : meter.promptTokens,
    cachedInputTokens: 0,
    outputTokens: estimateTokens(meter.text),
    reasoningTokens: 0,
    source: "estimate"
  }
}
