/** A word of a text as an index knows it: without differences of case and of the forms of characters. */
export interface Word {
  readonly text: string
  /** Names, numbers and addresses are looked for as they are; other words also by their stem. */
  readonly isName: boolean
}

/** Of a longer word, what is kept. */
const wordCharactersMax = 64

const grouping = /(?<=\d),(?=\d{3}(?!\d))/g
/** Letters and digits, with what joins them in names, paths, numbers and addresses. */
const run = /[\p{L}\p{M}\p{N}]+(?:['’._/\\:@-]+[\p{L}\p{M}\p{N}]+)*(?:\+\+|#)?/gu
const plain = /^[\p{L}\p{M}\p{N}]+$/u
const ascii = /^[a-z0-9]+$/i
const part = /[\p{L}\p{M}\p{N}]+/gu
/** A join that only names have; a hyphen or an apostrophe is that of a name when there are digits. */
const nameJoin = /[._/\\:@+#]/
const digit = /\p{N}/u
const camelCase = /\p{Ll}\p{Lu}|\p{Lu}{2}\p{Ll}{2}/u
const camelPart = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{M}]+|[\p{N}]+|\p{L}+/gu
const number = /^\p{N}+$/u
/** Scripts that don't put spaces between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const hangul = /^\p{Script=Hangul}{3,}$/u

/** The words of a text, in its order. What is made of several words comes whole and in parts. */
export class Words {
  private readonly segmenter = new Intl.Segmenter("und", { granularity: "word" })

  readonly of = (text: string): ReadonlyArray<Word> => {
    const words: Array<Word> = []
    for (const [found] of text.normalize("NFKC").replace(grouping, "").matchAll(run)) {
      if (plain.test(found)) {
        this.addPlain(found, words)
        continue
      }
      if (nameJoin.test(found) || digit.test(found)) words.push(word(found, true))
      for (const [piece] of found.matchAll(part)) this.addPlain(piece, words)
    }
    return words
  }

  private addPlain(found: string, words: Array<Word>): void {
    if (!ascii.test(found)) {
      if (unspaced.test(found)) return this.addSegments(found, words)
      if (hangul.test(found)) return addPairs(found, words)
    }
    words.push(word(found, number.test(found)))
    if (camelCase.test(found)) {
      for (const [piece] of found.matchAll(camelPart)) words.push(word(piece, number.test(piece)))
    }
  }

  private addSegments(found: string, words: Array<Word>): void {
    for (const { isWordLike, segment } of this.segmenter.segment(found)) {
      if (isWordLike !== false) words.push(word(segment, number.test(segment)))
    }
  }
}

/** In Korean what a word means is hard to cut from how it is used; two syllables each find it. */
const addPairs = (found: string, words: Array<Word>): void => {
  for (let at = 0; at + 1 < found.length; at++) words.push(word(found.slice(at, at + 2), true))
}

const word = (text: string, isName: boolean): Word => ({ text: folded(text), isName })

const folded = (text: string): string => {
  const kept = text.length > wordCharactersMax ? text.slice(0, wordCharactersMax).toWellFormed() : text
  // The way over capitals makes one of ß and ss, and of the two forms of sigma.
  return ascii.test(kept) ? kept.toLowerCase() : kept.toUpperCase().toLowerCase()
}
