import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { rowsAs } from "../../sql/rows.ts"
import { isListed, isStemmed } from "./StopWords.ts"

/** A word of a text as an index knows it: without differences of case and of the forms of characters. */
export interface Word {
  readonly text: string
  /** Names, numbers and addresses are looked for as they are; other words also by their stem. */
  readonly isName: boolean
  /** True for a piece of a script without spaces, whose words are cut differently in different texts. */
  readonly isGram?: true
}

/** Characters that are kept of a longer word. */
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
export const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
/** The unspaced scripts that have an alphabet: fewer than three of their letters say little. */
const alphabetic = /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const hangul = /^\p{Script=Hangul}{3,}$/u

/** The words of a text, in its order. A compound comes whole and in parts. */
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
    addGrams(found, words)
  }
}

/** Keeps grams apart from words, which have no such character. */
const gramMark = "~"

const addGrams = (found: string, words: Array<Word>): void => {
  const characters = [...found]
  const size = alphabetic.test(found) ? 3 : 2
  for (let at = 0; at + size <= characters.length; at++) {
    const text = gramMark + characters.slice(at, at + size).join("")
    words.push({ text, isName: true, isGram: true })
  }
}

/** Korean endings are hard to cut off; each pair of syllables finds the word. */
const addPairs = (found: string, words: Array<Word>): void => {
  for (let at = 0; at + 1 < found.length; at++) words.push(word(found.slice(at, at + 2), true))
}

const word = (text: string, isName: boolean): Word => ({ text: folded(text), isName })

const folded = (text: string): string => {
  const kept = text.length > wordCharactersMax ? text.slice(0, wordCharactersMax).toWellFormed() : text
  // Upper case first, which equates ß with ss and the two forms of sigma.
  return ascii.test(kept) ? kept.toLowerCase() : kept.toUpperCase().toLowerCase()
}

/** Words whose stems are remembered, in all languages together. */
const rememberedMax = 100_000
/** Words in one question to the database. */
const batchMax = 5_000

const Lexemes = Schema.Struct({ word: Schema.String, lexemes: Schema.NullOr(Schema.Array(Schema.String)) })
const Marked = Schema.Struct({ word: Schema.String, languages: Schema.Array(Schema.String) })

/** Accents of Latin letters, which people leave out; in other scripts they distinguish letters. */
const accents = /(?<=\p{Script=Latin})\p{M}+/gu
const printableAscii = /^[\x20-\x7e]*$/

export const withoutAccents = (term: string): string =>
  printableAscii.test(term) ? term : term.normalize("NFD").replace(accents, "").normalize("NFC")

/**
 * A word of a language whose stems aren't known. The marks of Vietnamese make other words, and people write
 * them.
 */
const unstemmed = (language: string, word: string): Stem => {
  if (isListed(language, word)) return null
  return language === "vietnamese" ? word : withoutAccents(word)
}

/** The stem of a word in a language, or null for a stop word. */
export type Stem = string | null

/** The dictionaries that PostgreSQL has of languages. They don't change, so results are kept. */
export const makeStems = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const stems = new Map<string, Stem>()
  const stopLanguages = new Map<string, ReadonlyArray<string>>()

  const lookUp = Effect.fnUntraced(function* (language: string, words: ReadonlyArray<string>) {
    const rows = yield* sql`SELECT word, ts_lexize(${`${language}_stem`}::regdictionary, word) AS lexemes
      FROM unnest(${words}::text[]) AS asked (word)`.pipe(rowsAs(Lexemes))
    for (const { lexemes, word } of rows) {
      const stem = lexemes === null ? withoutAccents(word) : stemOf(lexemes)
      stems.set(`${language} ${word}`, isListed(language, word) ? null : stem)
    }
  })

  /** The stems of words in a language. */
  const of = Effect.fnUntraced(function* (language: string, words: ReadonlyArray<string>) {
    if (!isStemmed(language)) return new Map(words.map((word) => [word, unstemmed(language, word)]))
    if (stems.size > rememberedMax) stems.clear()
    const unknown = words.filter((word) => !stems.has(`${language} ${word}`))
    for (let from = 0; from < unknown.length; from += batchMax) {
      yield* lookUp(language, unknown.slice(from, from + batchMax))
    }
    return new Map(words.map((word): [string, Stem] => [word, stems.get(`${language} ${word}`) ?? null]))
  })

  /** The languages in which a word is a stop word. */
  const stops = Effect.fnUntraced(function* (languages: ReadonlyArray<string>, words: ReadonlyArray<string>) {
    if (stopLanguages.size > rememberedMax) stopLanguages.clear()
    const unknown = words.filter((word) => !stopLanguages.has(word)).slice(0, batchMax)
    if (unknown.length > 0) {
      const rows = yield* sql`SELECT word, array(
          SELECT language FROM unnest(${languages}::text[]) AS known (language)
          WHERE ts_lexize((language || '_stem')::regdictionary, word) = '{}'
        ) AS languages
        FROM unnest(${unknown}::text[]) AS asked (word)`.pipe(rowsAs(Marked))
      for (const row of rows) stopLanguages.set(row.word, row.languages)
    }
    return new Map(words.map((word) => [word, stopLanguages.get(word) ?? []]))
  })

  return { of, stops }
})

const stemOf = ([first]: ReadonlyArray<string>): Stem => (first === undefined ? null : withoutAccents(first))

export type Stems = Effect.Success<typeof makeStems>
