import { PromptTooLong } from "../domain/Errors.ts"
import { beginningWithin, estimateTokens } from "../domain/Tokens.ts"
import { textOf } from "./IncomingInput.ts"
import type { PromptParts } from "./PromptAssembly.ts"

/** The texts that every prompt contains. */
const textsOf = ({ directions, items, systemMessage }: PromptParts): ReadonlyArray<string> => [
  systemMessage ?? "",
  ...directions,
  ...items.flatMap((item) => (item.type === "message" ? [textOf(item.content)] : []))
]

/**
 * The refusal of texts that alone exceed the largest window; null if they don't. No more of them is counted than that window
 * holds, so that a text of megabytes is refused at little cost.
 */
export const longInput = (parts: PromptParts, contextWindow: number): PromptTooLong | null => {
  const texts = textsOf(parts)
  const characters = texts.reduce((sum, { length }) => sum + length, 0)
  // A short input fits, or is counted at little cost.
  if (characters <= contextWindow) return null
  let left = contextWindow
  let counted = 0
  for (const text of texts) {
    const held = beginningWithin(text, left)
    counted += held.length
    if (held.length < text.length) {
      const promptTokens = Math.ceil((contextWindow * characters) / Math.max(1, counted))
      return new PromptTooLong({ promptTokens, tokensMax: contextWindow - 1 })
    }
    left -= estimateTokens(text)
  }
  return null
}
