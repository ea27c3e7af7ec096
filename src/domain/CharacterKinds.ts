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
export const kindOfUnit: Readonly<Uint8Array> = kinds.reduce(
  (table, { ranges }, kind) => {
    for (const [first, last] of ranges) table.fill(kind, first, last + 1)
    return table
  },
  new Uint8Array(units).fill(kinds.length - 1)
)

export const firstOfKind: Readonly<Uint16Array> = Uint16Array.from(kinds, ({ first }) => first)
export const eachOfKind: Readonly<Uint16Array> = Uint16Array.from(kinds, ({ each }) => each)

/** Letters of the Latin alphabet: a word may have all three. */
export const lowerCase = 0
export const upperCase = 1
export const accented = 2
/** Up to this one, kinds are blanks. */
export const lastBlank = 5
export const punctuation = 6
/** Up to this one, repeating a character takes little; words apart. */
export const lastRepeating = 9
