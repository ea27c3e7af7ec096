/**
 * What the kinds of characters take of a prompt, in hundredths of a token: the first of a run, and each that follows it.
 * Fitted to the o200k vocabulary so that no kind of text comes out below its count; test/domain/Tokens.test.ts holds it to
 * that. A kind is known by its place in this list, and the first ones have rules of their own in Tokens.ts.
 */
const kinds: ReadonlyArray<{
  readonly first: number
  readonly each: number
  readonly ranges: ReadonlyArray<readonly [first: number, last: number]>
}> = [
  // Lower-case letters, capitals and accented letters of the Latin alphabet.
  { first: 96, each: 0, ranges: [[0x61, 0x7a]] },
  { first: 126, each: 2, ranges: [[0x41, 0x5a]] },
  {
    first: 180,
    each: 82,
    ranges: [
      [0xc0, 0x24f],
      [0x300, 0x36f],
      [0x1e00, 0x1eff]
    ]
  },
  // Spaces.
  { first: 36, each: 9, ranges: [[0x20, 0x20]] },
  // Line ends.
  {
    first: 130,
    each: 9,
    ranges: [
      [0x0a, 0x0a],
      [0x0d, 0x0d]
    ]
  },
  // Tabs and other blanks.
  {
    first: 130,
    each: 9,
    ranges: [
      [0x09, 0x09],
      [0x0b, 0x0c],
      [0xa0, 0xa0]
    ]
  },
  // Punctuation, symbols, lines of boxes.
  {
    first: 80,
    each: 80,
    ranges: [
      [0x21, 0x2f],
      [0x3a, 0x40],
      [0x5b, 0x60],
      [0x7b, 0x7e]
    ]
  },
  { first: 100, each: 100, ranges: [[0x2000, 0x206f]] },
  {
    first: 158,
    each: 158,
    ranges: [
      [0x80, 0x9f],
      [0xa1, 0xbf],
      [0x250, 0x2ff],
      [0x2070, 0x2bff]
    ]
  },
  {
    first: 180,
    each: 30,
    ranges: [
      [0x3000, 0x303f],
      [0xff00, 0xffef]
    ]
  },
  // Digits.
  { first: 175, each: 35, ranges: [[0x30, 0x39]] },
  // Cyrillic, Greek, Armenian, Georgian.
  {
    first: 165,
    each: 23,
    ranges: [
      [0x370, 0x3ff],
      [0x400, 0x52f],
      [0x530, 0x58f],
      [0x10a0, 0x10ff]
    ]
  },
  // Hebrew, Arabic, Khmer, Burmese, Sinhala.
  {
    first: 64,
    each: 60,
    ranges: [
      [0x590, 0x5ff],
      [0x600, 0x6ff],
      [0x1000, 0x109f],
      [0x1780, 0x17ff],
      [0xd80, 0xdff]
    ]
  },
  // Devanagari, Thai.
  {
    first: 55,
    each: 51,
    ranges: [
      [0x900, 0x97f],
      [0xe00, 0xe7f]
    ]
  },
  // Bengali, Gurmukhi, Gujarati, Tamil, Telugu, Kannada, Malayalam.
  {
    first: 180,
    each: 33,
    ranges: [
      [0x980, 0xaff],
      [0xb80, 0xd7f]
    ]
  },
  // Kana.
  { first: 60, each: 55, ranges: [[0x3040, 0x30ff]] },
  // Chinese characters.
  {
    first: 200,
    each: 80,
    ranges: [[0x4e00, 0x9fff]]
  },
  // Hangul.
  { first: 100, each: 72, ranges: [[0xac00, 0xd7af]] },
  // Odia, Tibetan, Lao, Ethiopic.
  { first: 150, each: 115, ranges: [[0xb00, 0xb7f]] },
  { first: 250, each: 165, ranges: [[0xf00, 0xfff]] },
  {
    first: 235,
    each: 235,
    ranges: [
      [0xe80, 0xeff],
      [0x1200, 0x139f]
    ]
  },
  // Halves of the characters beyond, such as emoji.
  { first: 120, each: 120, ranges: [[0xd800, 0xdfff]] },
  // All others: in UTF-8 they have up to three bytes, and no more tokens than that.
  { first: 240, each: 240, ranges: [] }
]

const units = 0x10000

/** The kind of each UTF-16 code unit. */
const kindOfUnit: Readonly<Uint8Array> = kinds.reduce(
  (table, { ranges }, kind) => {
    for (const [first, last] of ranges) table.fill(kind, first, last + 1)
    return table
  },
  new Uint8Array(units).fill(kinds.length - 1)
)

const firstOfKind: Readonly<Uint16Array> = Uint16Array.from(kinds, ({ first }) => first)
const eachOfKind: Readonly<Uint16Array> = Uint16Array.from(kinds, ({ each }) => each)

/** Letters of the Latin alphabet: a word may have all three. */
const lowerCase = 0
const upperCase = 1
const accented = 2
/** Up to this one, kinds are blanks. */
const lastBlank = 5
const punctuation = 6
/** Up to this one, repeating a character takes little; words apart. */
const lastRepeating = 9

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
