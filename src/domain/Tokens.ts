import {
  accented,
  eachOfKind,
  firstOfKind,
  kindOfUnit,
  lastBlank,
  lastRepeating,
  lowerCase,
  punctuation,
  upperCase
} from "./CharacterKinds.ts"

/** Tokens that a chat template spends on one message besides its text. */
export const messageOverheadTokens = 4

/** The estimate for a text so far, to go on with the text behind it. */
export interface TokenTally {
  readonly hundredths: number
  /** The last code unit, and the length of the run of its kind that it ends; -1 and 0 before any text. */
  readonly last: number
  readonly run: number
}

export const noText: TokenTally = { hundredths: 0, last: -1, run: 0 }

/** Letters of a word that its beginning pays for, and what each further one takes. */
const beginningLetters = 4
const hundredthsPerLetter = 37
/** A word behind something else than a blank, as in code or base64, is less often one token. */
const hundredthsPerJoint = 49
/** A quotation mark beside another sign, as between the fields of JSON, where one token has them all. */
const hundredthsPerQuote = 40
const quote = 0x22
/** Dashes in a row, or blanks of an indentation, make long tokens. */
const hundredthsPerRepetition = 9

const isLetter = (kind: number): boolean => kind <= accented

/** A power of two above the number of kinds, the last of which stands for the place before a text. */
const pairBase = 32
const nothing = pairBase - 1
const pairOf = (before: number, kind: number): number => before * pairBase + kind
const twoSigns = pairOf(punctuation, punctuation)

/** For two kinds, whether the second goes on with the run of the first: 1 or 0. */
const goesOn = new Uint8Array(pairBase ** 2)
/** For two kinds, what a character of the second takes behind one of the first. */
const hundredthsOfPair = new Uint16Array(pairBase ** 2)
for (const [kind, first] of firstOfKind.entries()) {
  for (let before = 0; before < pairBase; before++) {
    const isWord = isLetter(kind) && isLetter(before) && !(kind === upperCase && before === lowerCase)
    const isRun = kind === before || isWord
    const isJoint = isLetter(kind) && before > lastBlank && before !== nothing
    goesOn[pairOf(before, kind)] = isRun ? 1 : 0
    hundredthsOfPair[pairOf(before, kind)] = isRun
      ? (eachOfKind[kind] ?? 0)
      : first + (isJoint ? hundredthsPerJoint : 0)
  }
}

/**
 * Goes on with a tally until the text ends, or would exceed `hundredthsMax`. Every delta of every answer and every character
 * of every file comes by here: a few look-ups for each character, and nothing made but the result.
 */
const advance = (text: string, before: TokenTally, hundredthsMax: number) => {
  let { hundredths, last, run } = before
  let lastKind = last < 0 ? nothing : (kindOfUnit[last] ?? 0)
  let end = 0
  for (; end < text.length; end++) {
    const unit = text.charCodeAt(end)
    const kind = kindOfUnit[unit] ?? 0
    const pair = lastKind * pairBase + kind
    const length = (goesOn[pair] ?? 0) * run + 1
    let cost = hundredthsOfPair[pair] ?? 0
    if (kind <= accented) {
      if (length > beginningLetters) cost += hundredthsPerLetter
    } else if (unit === last) {
      if (kind <= lastRepeating) cost = hundredthsPerRepetition
    } else if (pair === twoSigns && (unit === quote || last === quote)) cost = hundredthsPerQuote
    if (hundredths + cost > hundredthsMax) break
    hundredths += cost
    last = unit
    lastKind = kind
    run = length
  }
  return { tally: { hundredths, last, run } satisfies TokenTally, end }
}

/** The tally of a text, added to that of the text before it. */
export const tally = (text: string, before: TokenTally = noText): TokenTally =>
  advance(text, before, Number.POSITIVE_INFINITY).tally

export const tokensOf = ({ hundredths }: TokenTally): number => Math.ceil(hundredths / 100)

/**
 * About how many tokens a text has, at little cost. It errs towards too many, by up to twice as many, because it decides what
 * fits into a context window; it is never billed where a provider or a tokenizer has counted.
 */
export const estimateTokens = (text: string): number => tokensOf(tally(text))

/**
 * The longest beginning of a text whose estimate, together with the text `before` it, is at most `tokensMax`; never half of a
 * surrogate pair.
 */
export const beginningWithin = (text: string, tokensMax: number, before: TokenTally = noText): string => {
  const { end } = advance(text, before, tokensMax * 100)
  const kept = text.slice(0, end)
  return end === text.length || kept.isWellFormed() ? kept : kept.slice(0, -1)
}

/** The estimate for one message of a prompt, its overhead included. */
export const estimateMessageTokens = (text: string): number => estimateTokens(text) + messageOverheadTokens
