import { estimateTokens } from "../../src/domain/Tokens.ts"
import type { PromptFile } from "../../src/responses/prompt/AttachedFiles.ts"

/** A file with its whole text. */
export const promptFile = (filename: string, text: string, isPart = false): PromptFile => ({
  filename,
  text,
  isWhole: true,
  isPart,
  characters: text.length,
  tokens: estimateTokens(text)
})
