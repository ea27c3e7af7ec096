import type { ImageDetail, ModelMessage } from "./ModelCall.ts"

/**
 * The cost of characters in hundredths of a token: of the first in a run of one kind, and of each that
 * follows. `units` are hexadecimal ranges of UTF-16 code units. Fitted to the o200k vocabulary so that no
 * kind of text is estimated below its real count, which test/domain/Tokens.test.ts checks. A kind is its
 * index in this list; the first ones have rules of their own below.
 */
const kinds: ReadonlyArray<{ readonly first: number; readonly each: number; readonly units: string }> = [
  // Lower-case letters, capitals and accented letters of the Latin alphabet.
  { first: 96, each: 0, units: "61-7a" },
  { first: 126, each: 2, units: "41-5a" },
  { first: 180, each: 82, units: "c0-24f 300-36f 1e00-1eff" },
  // Spaces.
  { first: 36, each: 9, units: "20" },
  // Line ends.
  { first: 130, each: 9, units: "0a 0d" },
  // Tabs and other blanks.
  { first: 130, each: 9, units: "09 0b-0c a0" },
  // Punctuation, symbols, lines of boxes.
  { first: 80, each: 80, units: "21-2f 3a-40 5b-60 7b-7e" },
  { first: 100, each: 100, units: "2000-206f" },
  { first: 158, each: 158, units: "80-9f a1-bf 250-2ff 2070-2bff" },
  { first: 180, each: 30, units: "3000-303f ff00-ffef" },
  // Digits.
  { first: 175, each: 35, units: "30-39" },
  // Cyrillic, Greek, Armenian, Georgian.
  { first: 165, each: 23, units: "370-3ff 400-52f 530-58f 10a0-10ff" },
  // Hebrew, Arabic, Khmer, Burmese, Sinhala.
  { first: 64, each: 60, units: "590-5ff 600-6ff 1000-109f 1780-17ff d80-dff" },
  // Devanagari, Thai.
  { first: 55, each: 51, units: "900-97f e00-e7f" },
  // Bengali, Gurmukhi, Gujarati, Tamil, Telugu, Kannada, Malayalam.
  { first: 180, each: 33, units: "980-aff b80-d7f" },
  // Kana.
  { first: 60, each: 55, units: "3040-30ff" },
  // Chinese characters.
  { first: 200, each: 80, units: "4e00-9fff" },
  // Hangul.
  { first: 100, each: 72, units: "ac00-d7af" },
  // Odia, Tibetan, Lao, Ethiopic.
  { first: 150, each: 115, units: "b00-b7f" },
  { first: 250, each: 165, units: "f00-fff" },
  { first: 235, each: 235, units: "e80-eff 1200-139f" },
  // Halves of the characters beyond, such as emoji.
  { first: 120, each: 120, units: "d800-dfff" },
  // All others: in UTF-8 they have up to three bytes, and no more tokens than that.
  { first: 240, each: 240, units: "" }
]

/** The kind of each UTF-16 code unit. */
const kindOfUnit: Readonly<Uint8Array> = kinds.reduce(
  (table, { units }, kind) => {
    for (const range of units.split(" ").filter(Boolean)) {
      const [first = 0, last = first] = range.split("-").map((unit) => Number.parseInt(unit, 16))
      table.fill(kind, first, last + 1)
    }
    return table
  },
  new Uint8Array(0x10000).fill(kinds.length - 1)
)

const firstOfKind: Readonly<Uint16Array> = Uint16Array.from(kinds, ({ first }) => first)
const eachOfKind: Readonly<Uint16Array> = Uint16Array.from(kinds, ({ each }) => each)

/** Letters of the Latin alphabet; one word may have all three kinds. */
const lowerCase = 0
const upperCase = 1
const accented = 2
/** The last kind of blanks. */
const lastBlank = 5
const punctuation = 6
/** The last kind, besides words, of which a repeated character costs little. */
const lastRepeating = 9

/** Tokens that a chat template spends on one message besides its text. */
export const messageOverheadTokens = 4

/** The estimate for the beginning of a text, to continue with the rest of it. */
interface TokenTally {
  readonly hundredths: number
  /** The last code unit, and the length of the run that it ends; -1 and 0 before any text. */
  readonly last: number
  readonly run: number
}

export const noText: TokenTally = { hundredths: 0, last: -1, run: 0 }

/** Letters that the cost of a word's first one includes, and the cost of each further one. */
const beginningLetters = 4
const hundredthsPerLetter = 37
/** Added for a word that doesn't follow a blank, as in code or base64: it is less often one token. */
const hundredthsPerJoint = 49
/** A quotation mark beside another sign, as between the fields of JSON, where they share one token. */
const hundredthsPerQuote = 40
const quote = 0x22
/** Repeated dashes and the blanks of an indentation form long tokens. */
const hundredthsPerRepetition = 9

const isLetter = (kind: number): boolean => kind <= accented

/** A power of two above the number of kinds; the last number stands for the place before a text. */
const pairBase = 32
const nothing = pairBase - 1
const pairOf = (before: number, kind: number): number => before * pairBase + kind
const twoSigns = pairOf(punctuation, punctuation)

/** 1 if the second of two kinds continues the run of the first, else 0. */
const continues = new Uint8Array(pairBase ** 2)
/** Cost of a character of the second of two kinds after one of the first. */
const hundredthsOfPair = new Uint16Array(pairBase ** 2)
for (const [kind, first] of firstOfKind.entries()) {
  for (let before = 0; before < pairBase; before++) {
    const isWord = isLetter(kind) && isLetter(before) && !(kind === upperCase && before === lowerCase)
    const isRun = kind === before || isWord
    const isJoint = isLetter(kind) && before > lastBlank && before !== nothing
    continues[pairOf(before, kind)] = isRun ? 1 : 0
    hundredthsOfPair[pairOf(before, kind)] = isRun
      ? (eachOfKind[kind] ?? 0)
      : first + (isJoint ? hundredthsPerJoint : 0)
  }
}

/**
 * Continues a tally to the end of the text or to `hundredthsMax`. It runs over every delta of every answer
 * and every character of every file: a few look-ups for each character, and no allocation but the result.
 */
const advance = (text: string, before: TokenTally, hundredthsMax: number) => {
  let { hundredths, last, run } = before
  let lastKind = last < 0 ? nothing : (kindOfUnit[last] ?? 0)
  let end = 0
  for (; end < text.length; end++) {
    const unit = text.charCodeAt(end)
    const kind = kindOfUnit[unit] ?? 0
    const pair = lastKind * pairBase + kind
    const length = (continues[pair] ?? 0) * run + 1
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
 * A cheap estimate of the tokens of a text. It may be up to twice the real count but not below it, because it
 * decides what fits into a context window; it is never billed if a provider or a tokenizer has counted.
 */
export const estimateTokens = (text: string): number => tokensOf(tally(text))

/**
 * The longest beginning of a text whose estimate, with the text `before` it, is at most `tokensMax`; never
 * half a surrogate pair.
 */
export const beginningWithin = (text: string, tokensMax: number, before: TokenTally = noText): string => {
  const { end } = advance(text, before, tokensMax * 100)
  const kept = text.slice(0, end)
  return end === text.length || kept.isWellFormed() ? kept : kept.slice(0, -1)
}

/** The estimate for one message of a prompt, its overhead included. */
export const estimateMessageTokens = (text: string): number => estimateTokens(text) + messageOverheadTokens

/**
 * Tokens of an image, on the safe side: models of OpenAI take up to about 1,500, those that count patches up
 * to about 3,800, and those of Anthropic up to 1,600, or 4,800 where they see high resolutions. Not all know
 * a low detail.
 */
const tokensByDetail: Readonly<Record<ImageDetail, number>> = { low: 1_600, auto: 4_800, high: 4_800 }

export const estimateImageTokens = (detail: ImageDetail): number => tokensByDetail[detail]

/** The estimate for the images of a message. */
export const imagesTokens = (message: ModelMessage): number =>
  message.role === "user" || message.role === "tool"
    ? (message.images ?? []).reduce((sum, image) => sum + estimateImageTokens(image.detail), 0)
    : 0
