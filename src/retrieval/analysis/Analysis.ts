import { Effect } from "effect"
import { type Chunk, chunksOf } from "../Chunker.ts"
import { languageOf, type Stem, makeStems, type Word, Words } from "./Words.ts"

/** Chunks that are analyzed before the fiber yields. */
const chunksAtOnce = 32
/** Characters of a file, at its start and in its middle, from which its language is detected. */
const sampleCharacters = 4_000
/** Of a question, what is read. */
const queryCharactersMax = 8_000

/** How often each term is in a chunk. */
export interface ChunkTerms {
  readonly frequencies: ReadonlyMap<string, number>
  /** Terms in all. */
  readonly length: number
}

/** A word of a question, with the terms that stand for it in texts of the languages asked for. */
export interface QueryWord {
  readonly text: string
  readonly count: number
  readonly terms: ReadonlyArray<string>
}

/** What texts and questions become before they are compared. */
export const makeAnalysis = Effect.gen(function* () {
  const stems = yield* makeStems
  const words = new Words()

  const termsOf = Effect.fnUntraced(function* (language: string, lists: ReadonlyArray<ReadonlyArray<Word>>) {
    const stemmed = new Set(lists.flatMap((list) => list.flatMap(({ isName, text }) => (isName ? [] : text))))
    const known = yield* stems.of(language, [...stemmed])
    return lists.map((list) => countTerms(list, known))
  })

  /** The language of a text. */
  const language = (text: string) => {
    const middle = Math.max(sampleCharacters, Math.floor(text.length / 2))
    const sample = `${text.slice(0, sampleCharacters)} ${text.slice(middle, middle + sampleCharacters)}`
    return languageOf(stems, words.of(sample))
  }

  /** A text in chunks, and the terms of each: those of the file's title and of the headings above it count once more. */
  const chunks = Effect.fnUntraced(function* (
    text: string,
    about: { readonly language: string; readonly title: string }
  ) {
    const list: Array<Chunk> = []
    const terms: Array<ChunkTerms> = []
    const source = chunksOf(text)
    while (true) {
      const some = nextOf(source, chunksAtOnce)
      if (some.length === 0) return { chunks: list, terms }
      const lists = some.map(({ end, headings, start }) =>
        words.of(`${[about.title, ...headings].join("\n")}\n${text.slice(start, end)}`)
      )
      list.push(...some)
      terms.push(...(yield* termsOf(about.language, lists)))
      yield* Effect.yieldNow
    }
  })

  /** The words of a question, and what they are in each of the languages. */
  const query = Effect.fnUntraced(function* (text: string, languages: ReadonlyArray<string>) {
    const counts = new Map<string, { readonly isName: boolean; count: number }>()
    for (const { isName, text: word } of words.of(text.slice(0, queryCharactersMax).toWellFormed())) {
      const known = counts.get(word)
      if (known === undefined) counts.set(word, { isName, count: 1 })
      else known.count++
    }
    const stemmed = [...counts].filter(([, { isName }]) => !isName).map(([word]) => word)
    const byLanguage: Array<ReadonlyMap<string, Stem>> = []
    for (const name of languages) byLanguage.push(yield* stems.of(name, stemmed))
    const own = ownLanguage(byLanguage)
    return [...counts].flatMap(([word, { count, isName }]): QueryWord | [] => {
      if (isName) return { text: word, count, terms: [word] }
      if (own?.get(word) === null) return []
      const terms = byLanguage.flatMap((known) => known.get(word) ?? [])
      return terms.length === 0 ? [] : { text: word, count, terms: [...new Set(terms)] }
    })
  })

  return { language, chunks, query }
})

export type Analysis = Effect.Success<typeof makeAnalysis>

/** The next ones, fewer only where there are no more. */
const nextOf = <A>(source: Iterator<A, void>, count: number): ReadonlyArray<A> => {
  const taken: Array<A> = []
  while (taken.length < count) {
    const { done, value } = source.next()
    if (done === true) break
    taken.push(value)
  }
  return taken
}

const countTerms = (list: ReadonlyArray<Word>, stems: ReadonlyMap<string, Stem>): ChunkTerms => {
  const frequencies = new Map<string, number>()
  let length = 0
  for (const { isName, text } of list) {
    const term = isName ? text : stems.get(text)
    if (term == null) continue
    frequencies.set(term, (frequencies.get(term) ?? 0) + 1)
    length++
  }
  return { frequencies, length }
}

/** The language in which the most words of a question are stop words; undefined when there are none. */
const ownLanguage = (
  languages: ReadonlyArray<ReadonlyMap<string, Stem>>
): ReadonlyMap<string, Stem> | undefined => {
  const smallWords = (known: ReadonlyMap<string, Stem>) =>
    [...known.values()].filter((stem) => stem === null).length
  return languages.toSorted((one, other) => smallWords(other) - smallWords(one))[0]
}
