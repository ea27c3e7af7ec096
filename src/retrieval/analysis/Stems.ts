import type { Word } from "./Words.ts"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { rowsAs } from "../../sql/rows.ts"

/** Words whose stems are remembered, in all languages together. */
const rememberedMax = 100_000
/** Words in one question to the database. */
const batchMax = 5_000

const Lexemes = Schema.Struct({ word: Schema.String, lexemes: Schema.NullOr(Schema.Array(Schema.String)) })
const Marked = Schema.Struct({ word: Schema.String, languages: Schema.Array(Schema.String) })

/** Accents of Latin letters, which people leave out; those of other scripts tell letters apart. */
const accents = /(?<=\p{Script=Latin})\p{M}+/gu
const ascii = /^[\x20-\x7e]*$/

const withoutAccents = (term: string): string =>
  ascii.test(term) ? term : term.normalize("NFD").replace(accents, "").normalize("NFC")

/** What a language makes of a word: its stem, or null for a word that says nothing by itself. */
export type Stem = string | null

/** The dictionaries that PostgreSQL has of languages. They don't change, so what they say is remembered. */
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

  /** In which of the languages a word says nothing by itself. */
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

/** Scripts that tell the language, or nearly. */
const scripts: ReadonlyArray<readonly [RegExp, string]> = [
  [/\p{Script=Arabic}/u, "arabic"],
  [/\p{Script=Armenian}/u, "armenian"],
  [/\p{Script=Devanagari}/u, "hindi"],
  [/\p{Script=Greek}/u, "greek"],
  [/\p{Script=Tamil}/u, "tamil"],
  [/\p{Script=Cyrillic}/u, "russian"],
  [/\p{Script=Latin}/u, "latin"]
]

/** Languages that share the Latin script, and whose words that say nothing by themselves PostgreSQL knows. */
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
/** A text of any length has this share of small words of its language, or is too short to tell. */
const smallWordsMin = 0.08

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
  // Words that nobody can tell are stemmed as English ones: it does little harm, and much good where they are.
  return count >= sample.length * smallWordsMin ? language : "english"
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
