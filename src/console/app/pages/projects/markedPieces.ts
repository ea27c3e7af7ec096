/** A piece of a text. */
export interface MarkedPiece {
  readonly start: number
  readonly text: string
  readonly isMarked: boolean
}

interface Term {
  readonly word: string
  readonly term: string
}

/** Longest ending of a word behind its stem. */
const endingCharactersMax = 5

const words = /[\p{L}\p{M}\p{N}]+/gu
const accents = /(?<=\p{Script=Latin})\p{M}+/gu

const folded = (text: string): string =>
  text.toLowerCase().normalize("NFKD").replace(accents, "").normalize("NFC")

/** A text cut around its words that a search was for: the words themselves, and forms of them. */
export const markedPieces = (text: string, terms: ReadonlyArray<Term>): ReadonlyArray<MarkedPiece> => {
  const exact = new Set(terms.map(({ word }) => folded(word)))
  const stems = terms.map(({ term }) => folded(term))
  const isFound = (word: string): boolean =>
    exact.has(word) ||
    stems.some((stem) => word.startsWith(stem) && word.length <= stem.length + endingCharactersMax)
  const pieces: Array<MarkedPiece> = []
  let from = 0
  const add = (to: number, isMarked: boolean) => {
    if (to > from) pieces.push({ start: from, text: text.slice(from, to), isMarked })
    from = to
  }
  for (const { 0: word, index } of text.matchAll(words)) {
    if (!isFound(folded(word))) continue
    add(index, false)
    add(index + word.length, true)
  }
  add(text.length, false)
  return pieces
}
