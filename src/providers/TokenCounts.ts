import { Predicate } from "effect"
import type { ModelUsage } from "../domain/ModelCall.ts"

/** A count of tokens; null where it is absent or unusable. */
export const decodeCount = (count: unknown): number | null =>
  typeof count === "number" && Number.isSafeInteger(count) && count >= 0 ? count : null

/** A count in a nested object of the usage; 0 where it is absent. */
export const decodeDetail = (details: unknown, name: string): number =>
  (Predicate.isObject(details) ? decodeCount(details[name]) : null) ?? 0

/**
 * The details objects within a usage, and the names of their counts, which may also stand in the usage
 * itself.
 */
const details = {
  input: ["prompt_tokens_details", "prompt_token_details", "input_tokens_details"],
  output: ["completion_tokens_details", "output_tokens_details"]
} as const
const cachedNames = [
  "cached_tokens",
  "num_cached_tokens",
  "prompt_cache_hit_tokens",
  "cache_read_input_tokens"
]
const writtenNames = ["cache_write_tokens", "cache_creation_input_tokens", "cache_creation_tokens"]
const reasoningNames = ["reasoning_tokens", "thinking_tokens"]

type Fields = Readonly<Record<PropertyKey, unknown>>

/** The largest count by one of the names; 0 where there is none. */
const countBy = (usage: Fields, side: keyof typeof details, names: ReadonlyArray<string>): number =>
  Math.max(
    ...[usage, ...details[side].map((name) => usage[name])].flatMap((counts) =>
      names.map((name) => decodeDetail(counts, name))
    )
  )

/**
 * The usage in the names of OpenAI's interfaces; null if counts are absent or unusable, so that they are
 * estimated. Some servers count reasoning or cached tokens in the total only, and not as output or input.
 */
export const decodeOpenAiUsage = (
  usage: unknown,
  input: "prompt" | "input",
  output: "completion" | "output"
): ModelUsage | null => {
  if (!Predicate.isObject(usage)) return null
  const inputTold = decodeCount(usage[`${input}_tokens`])
  const outputTold = decodeCount(usage[`${output}_tokens`])
  if (inputTold === null || outputTold === null) return null
  const cached = countBy(usage, "input", cachedNames)
  const reasoning = countBy(usage, "output", reasoningNames)
  const rest = untold(usage["total_tokens"], inputTold + outputTold)
  const written = countBy(usage, "input", writtenNames)
  const inRest = cachedIn(rest, { cached, written }, reasoning)
  // More than the input can't be a part of it.
  const apart = inRest === 0 && cached + written > inputTold ? cached + written : inRest
  // More thoughts than output, of which they are a part elsewhere.
  const thought = rest === null ? (reasoning > outputTold ? reasoning : 0) : rest - inRest
  const inputTokens = inputTold + apart
  const outputTokens = outputTold + thought
  return {
    inputTokens,
    cachedInputTokens: Math.min(cached, inputTokens),
    cacheWriteInputTokens: Math.min(written, Math.max(0, inputTokens - cached)),
    outputTokens,
    reasoningTokens: Math.min(reasoning === 0 ? thought : reasoning, outputTokens),
    source: "provider"
  }
}

/** The tokens of the total that neither count has; null without a total that can be right. */
const untold = (total: unknown, told: number): number | null => {
  const all = decodeCount(total)
  return all === null || all < told ? null : all - told
}

/** The tokens read from a cache or written to it that only the total has. */
const cachedIn = (
  rest: number | null,
  { cached, written }: { readonly cached: number; readonly written: number },
  reasoning: number
): number => {
  if (rest === null || rest === reasoning) return 0
  const apart = [cached + written, written, cached].find(
    (count) => rest === count || rest === count + reasoning
  )
  return apart ?? 0
}
