/** Tokens that a chat template spends on one message besides its text. */
const messageOverheadTokens = 4

/**
 * A cheap estimate of how many tokens a text has: about four ASCII characters, or one character of any other script,
 * to a token. It errs towards too many, because it decides what fits into a context window; it is never billed where
 * a provider or a tokenizer has counted.
 */
export const estimateTokens = (text: string): number => {
  let other = 0
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 0x7f) other++
  }
  return tokensOf(text.length - other, other)
}

const tokensOf = (ascii: number, other: number): number => Math.ceil(ascii / 3.5) + other

/** The longest beginning of a text whose estimate is at most `tokensMax`; never half of a surrogate pair. */
export const beginningWithin = (text: string, tokensMax: number): string => {
  let other = 0
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 0x7f) other++
    if (tokensOf(i + 1 - other, other) > tokensMax) {
      const kept = text.slice(0, i)
      return kept.isWellFormed() ? kept : kept.slice(0, -1)
    }
  }
  return text
}

/** The estimate for one message of a prompt, its overhead included. */
export const estimateMessageTokens = (text: string): number => estimateTokens(text) + messageOverheadTokens
