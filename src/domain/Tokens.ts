/** Tokens that a chat template spends on one message besides its text. */
export const messageOverheadTokens = 4

/** The characters of a text by what they take: ASCII packs well into tokens, other scripts don't. */
export interface CharacterCount {
  readonly ascii: number
  readonly other: number
}

export const noCharacters: CharacterCount = { ascii: 0, other: 0 }

/** The characters of a text, added to those before it. */
export const countCharacters = (text: string, before: CharacterCount): CharacterCount => {
  let other = 0
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 0x7f) other++
  }
  return { ascii: before.ascii + text.length - other, other: before.other + other }
}

/** About four ASCII characters, or one character of any other script, to a token. */
export const tokensOf = ({ ascii, other }: CharacterCount): number => Math.ceil(ascii / 3.5) + other

/**
 * A cheap estimate of how many tokens a text has. It errs towards too many, because it decides what fits into a context
 * window; it is never billed where a provider or a tokenizer has counted.
 */
export const estimateTokens = (text: string): number => tokensOf(countCharacters(text, noCharacters))

/**
 * The longest beginning of a text whose estimate, together with the characters `before` it, is at most `tokensMax`; never
 * half of a surrogate pair.
 */
export const beginningWithin = (
  text: string,
  tokensMax: number,
  before: CharacterCount = noCharacters
): string => {
  let { ascii, other } = before
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 0x7f) other++
    else ascii++
    if (tokensOf({ ascii, other }) > tokensMax) {
      const kept = text.slice(0, i)
      return kept.isWellFormed() ? kept : kept.slice(0, -1)
    }
  }
  return text
}

/** The estimate for one message of a prompt, its overhead included. */
export const estimateMessageTokens = (text: string): number => estimateTokens(text) + messageOverheadTokens
