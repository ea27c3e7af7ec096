import { Effect } from "effect"
import { type ModelUsage, nothingSpent } from "../domain/ModelCall.ts"
import type { ModelSpec } from "../domain/Model.ts"
import { countPromptTokens, countTokens, type Prompt } from "../providers/Tokenizer.ts"

/** What one response has spent so far, and how it ended. */
export interface Meter {
  readonly model: ModelSpec
  /** What the model was sent that is being asked, and not a copy of it; null while none is. */
  readonly prompt: Prompt | null
  readonly text: string
  /** What earlier rounds of the same response cost, and how much of the text they wrote; null in the first round. */
  readonly before: { readonly usage: ModelUsage; readonly characters: number } | null
  /** The provider's count, or the adapter's; null until the finish. */
  readonly usage: ModelUsage | null
  /** Calls of tools that were begun. */
  readonly toolCalls: number
  readonly outcome: "completed" | "failed" | "abandoned"
}

/** Until something else is known, whoever asked has gone away. */
export const started = (model: ModelSpec): Meter => ({
  model,
  prompt: null,
  text: "",
  before: null,
  usage: null,
  toolCalls: 0,
  outcome: "abandoned"
})

/** A model is being asked: the first one, the next after one that failed, or the same in a later round. */
export const asking =
  (model: ModelSpec, prompt: Prompt) =>
  (meter: Meter): Meter => ({ ...meter, model, prompt })

export const wrote =
  (model: ModelSpec, text: string) =>
  (meter: Meter): Meter => ({ ...meter, model, text })

/** A round is over. */
export const spent =
  (usage: ModelUsage, text: string) =>
  (meter: Meter): Meter => ({ ...meter, text, prompt: null, before: { usage, characters: text.length } })

export const called =
  (count: number) =>
  (meter: Meter): Meter => ({ ...meter, toolCalls: meter.toolCalls + count })

export const finished =
  (usage: ModelUsage) =>
  (meter: Meter): Meter => ({ ...meter, usage })

export const completed = (meter: Meter): Meter => ({ ...meter, outcome: "completed" })

export const failed = (meter: Meter): Meter => ({ ...meter, outcome: "failed" })

/**
 * The tokens to record. Where the model never said, the tokenizer counts what it was sent and what it wrote; a call that
 * failed before any text cost nothing.
 */
export const usageOf = Effect.fnUntraced(function* (meter: Meter): Effect.fn.Return<ModelUsage> {
  if (meter.usage !== null) return meter.usage
  const { before, outcome, prompt } = meter
  const earlier = before?.usage ?? nothingSpent
  const text = meter.text.slice(before?.characters ?? 0)
  if (text === "" && (prompt === null || outcome === "failed")) return earlier
  const inputTokens = prompt === null ? 0 : yield* countPromptTokens(prompt)
  return {
    ...earlier,
    inputTokens: earlier.inputTokens + inputTokens,
    outputTokens: earlier.outputTokens + (yield* countTokens(text)),
    source: "tokenizer"
  }
})
