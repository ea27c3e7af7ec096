import { Effect } from "effect"
import { type Chunk, chunksOf } from "../Chunker.ts"
import type { TextForm } from "../Units.ts"
import { languageOf } from "./Languages.ts"
import { type Stem, makeStems, unspaced, type Word, Words } from "./Words.ts"

/**
 * Chunks that are analyzed before the fiber yields, and how many of them one counts for that must be
 * segmented.
 */
const chunksAtOnce = 8
const segmentedCost = 4
/** Characters of a file, at its start and in its middle, from which its language is detected. */
const sampleCharacters = 4_000
/** Share of a word's weight that a piece of a text without spaces has. */
const gramShare = 0.4
/** Characters of a question that are read. */
const queryCharactersMax = 8_000

/** Frequencies of the terms of a chunk. */
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
  /** Share of the weight of a word that stands for itself; 1 if left out. */
  readonly share?: number
}

/** The words and the language of a question. */
export interface AnalyzedQuery {
  /** Words in the order in which the question first says them. */
  readonly words: ReadonlyArray<QueryWord>
  /** Its own language, of those asked for; null where that isn't clear. */
  readonly language: string | null
}

/** Turns texts and questions into the terms by which they are compared. */
export const makeAnalysis = Effect.gen(function* () {
  const stems = yield* makeStems
  const words = new Words()

  const termsOf = Effect.fnUntraced(function* (language: string, lists: ReadonlyArray<ReadonlyArray<Word>>) {
    const stemmed = new Set(lists.flatMap((list) => list.flatMap(({ isName, text }) => (isName ? [] : text))))
    const known = yield* stems.of(language, [...stemmed])
    return lists.map((list) => countTerms(list, known))
  })

  /** The language of a text. */
  const language = Effect.fnUntraced(function* (text: string) {
    const middle = Math.max(sampleCharacters, Math.floor(text.length / 2))
    const start = words.of(text.slice(0, sampleCharacters))
    yield* Effect.yieldNow
    const rest = words.of(text.slice(middle, middle + sampleCharacters))
    yield* Effect.yieldNow
    return yield* languageOf(stems, [...start, ...rest])
  })

  /**
   * A text in chunks, and the terms of each: those of the file's title and of the headings above it count
   * once more.
   */
  const chunks = Effect.fnUntraced(function* (
    text: string,
    about: TextForm & { readonly language: string; readonly title: string }
  ) {
    const list: Array<Chunk> = []
    const terms: Array<ChunkTerms> = []
    const source = chunksOf(text, about)
    const first = firstLine(text)
    while (true) {
      const some = nextOf(source, chunksAtOnce, ({ end, start }) =>
        unspaced.test(text.slice(start, end)) ? segmentedCost : 1
      )
      if (some.length === 0) return { chunks: list, terms }
      const lists = some.map(({ end, outline: { headings, tableHeader }, start }) =>
        words.of(
          [
            about.title,
            ...(headings.length === 0 ? [first] : headings),
            tableHeader ?? "",
            text.slice(start, end)
          ].join("\n")
        )
      )
      list.push(...some)
      terms.push(...(yield* termsOf(about.language, lists)))
      yield* Effect.yieldNow
    }
  })

  /** A question, and what its words are in each of the languages. */
  const query = Effect.fnUntraced(function* (text: string, languages: ReadonlyArray<string>) {
    const counts = new Map<string, Word & { count: number }>()
    for (const word of words.of(text.slice(0, queryCharactersMax).toWellFormed())) {
      const known = counts.get(word.text)
      if (known === undefined) counts.set(word.text, { ...word, count: 1 })
      else known.count++
    }
    const stemmed = [...counts.values()].flatMap((word) => (word.isName ? [] : word.text))
    const byLanguage = new Map<string, ReadonlyMap<string, Stem>>()
    for (const name of languages) byLanguage.set(name, yield* stems.of(name, stemmed))
    const own = ownLanguage(byLanguage)
    const asked = [...counts.values()].flatMap(({ count, isGram, isName, text: word }): QueryWord | [] => {
      if (isGram === true) return { text: word, count, terms: [word], share: gramShare }
      if (isName) return { text: word, count, terms: [word] }
      if (own.stems?.get(word) === null) return []
      const terms = [...byLanguage.values()].flatMap((known) => known.get(word) ?? [])
      return terms.length === 0 ? [] : { text: word, count, terms: [...new Set(terms)] }
    })
    return { words: asked, language: own.isClear ? own.name : null } satisfies AnalyzedQuery
  })

  return { language, chunks, query, stemsOf: stems.of }
})

export type Analysis = Effect.Success<typeof makeAnalysis>

/** A first line that is longer is no title. */
const titleCharactersMax = 200

/** The first line of a text, which names what the text is about; empty where it is more than a title. */
const firstLine = (text: string): string => {
  const line = /\S[^\n]*/.exec(text.slice(0, 2 * titleCharactersMax))?.[0].trim() ?? ""
  return line.length <= titleCharactersMax ? line : ""
}

/** The next ones, until they cost enough or there are no more. */
const nextOf = <A>(
  source: Iterator<A, void>,
  enough: number,
  costOf: (value: A) => number
): ReadonlyArray<A> => {
  const taken: Array<A> = []
  for (let cost = 0; cost < enough;) {
    const { done, value } = source.next()
    if (done === true) break
    taken.push(value)
    cost += costOf(value)
  }
  return taken
}

const countTerms = (list: ReadonlyArray<Word>, stems: ReadonlyMap<string, Stem>): ChunkTerms => {
  const frequencies = new Map<string, number>()
  let length = 0
  for (const { isGram, isName, text } of list) {
    const term = isName ? text : stems.get(text)
    if (term == null) continue
    frequencies.set(term, (frequencies.get(term) ?? 0) + 1)
    if (isGram !== true) length++
  }
  return { frequencies, length }
}

/** Small words of one language from which on a question is of that language, unless another has as many. */
const clearSmallWordsMin = 2

/** The language in which the most words of a question are stop words. */
const ownLanguage = (languages: ReadonlyMap<string, ReadonlyMap<string, Stem>>) => {
  const [first, second] = [...languages]
    .map(([name, known]) => ({
      name,
      stems: known,
      smallWords: [...known.values()].filter((stem) => stem === null).length
    }))
    .toSorted((one, other) => other.smallWords - one.smallWords)
  const smallWords = first?.smallWords ?? 0
  const isClear = smallWords >= clearSmallWordsMin && smallWords > (second?.smallWords ?? 0)
  return { name: first?.name ?? null, stems: first?.stems, isClear }
}
