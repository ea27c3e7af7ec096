import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { rowsAs } from "../../sql/rows.ts"

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
  }
}

/** In Korean what a word means is hard to cut from how it is used; two syllables each find it. */
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

const withoutAccents = (term: string): string =>
  printableAscii.test(term) ? term : term.normalize("NFD").replace(accents, "").normalize("NFC")

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
      stems.set(`${language} ${word}`, lexemes === null ? withoutAccents(word) : stemOf(lexemes))
    }
  })

  /** The stems of words in a language. */
  const of = Effect.fnUntraced(function* (language: string, words: ReadonlyArray<string>) {
    if (language === "simple") return new Map<string, Stem>(words.map((word) => [word, withoutAccents(word)]))
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

type Stems = Effect.Success<typeof makeStems>

/** Scripts that identify the language, or nearly. */
const scripts: ReadonlyArray<readonly [RegExp, string]> = [
  [/\p{Script=Arabic}/u, "arabic"],
  [/\p{Script=Armenian}/u, "armenian"],
  [/\p{Script=Devanagari}/u, "hindi"],
  [/\p{Script=Greek}/u, "greek"],
  [/\p{Script=Tamil}/u, "tamil"],
  [/\p{Script=Cyrillic}/u, "russian"],
  [/\p{Script=Latin}/u, "latin"]
]

/** Languages of the Latin script whose stop words PostgreSQL knows. */
const latin: ReadonlyArray<string> = [
  "english",
  "danish",
  "dutch",
  "finnish",
  "french",
  "german",
  "hungarian",
  "italian",
  "norwegian",
  "portuguese",
  "spanish",
  "swedish",
  "turkish"
]

/** Words that are looked at, some from the start and some from the middle. */
const sampleWordsMax = 300
/** The share of stop words from which on a language counts as detected. */
const stopWordsMin = 0.08

const sampleOf = (words: ReadonlyArray<Word>): ReadonlyArray<string> => {
  const plain = words.filter(({ isName }) => !isName)
  const half = sampleWordsMax / 2
  const middle = Math.max(half, Math.floor(plain.length / 2))
  return [...plain.slice(0, half), ...plain.slice(middle, middle + half)].map(({ text }) => text)
}

/** The language whose dictionary knows the words' stems; `simple` where there is none. */
export const languageOf = Effect.fnUntraced(function* (stems: Stems, words: ReadonlyArray<Word>) {
  const sample = sampleOf(words)
  const byScript = new Map<string, number>()
  for (const word of sample) {
    const language = scripts.find(([script]) => script.test(word))?.[1] ?? "simple"
    byScript.set(language, (byScript.get(language) ?? 0) + 1)
  }
  const script = mostFrequent(byScript)?.[0] ?? "simple"
  if (script !== "latin") return script
  const marked = yield* stems.stops(latin, [...new Set(sample)])
  const small = new Map<string, number>()
  for (const word of sample) {
    for (const language of marked.get(word) ?? []) small.set(language, (small.get(language) ?? 0) + 1)
  }
  const [language, count] = mostFrequent(small, latin) ?? ["english", 0]
  // Undetected texts are stemmed as English: it does little harm, and helps where they are.
  return count >= sample.length * stopWordsMin ? language : "english"
})

/** The most frequent; of several, the one that comes first. */
const mostFrequent = (
  counts: ReadonlyMap<string, number>,
  order: ReadonlyArray<string> = [...counts.keys()]
): readonly [string, number] | undefined => {
  const sorted = order
    .map((name): readonly [string, number] => [name, counts.get(name) ?? 0])
    .toSorted((one, other) => other[1] - one[1])
  return sorted[0]
}
