import { Effect } from "effect"
import type { Analysis, QueryWord } from "../analysis/Analysis.ts"
import type { JointIndex } from "./JointIndex.ts"
import type { FoundWord } from "./Ranking.ts"
import { correctedCharactersMin, correctionsMax, lengthsOf, nearestOf } from "./Spelling.ts"

/** Words of a question that are corrected or taken apart; and terms that are looked through for one. */
const correctedWordsMax = 8
const neighborsMax = 20_000
/** Letters at the start of a word that are taken to be right, so that few terms need to be looked through. */
const prefixCharacters = 1

/** Languages that write compounds as one word. */
const compounding: ReadonlySet<string> = new Set([
  "danish",
  "dutch",
  "finnish",
  "german",
  "hungarian",
  "norwegian",
  "swedish"
])
/** Shares of a word's weight: of a compound that begins with the word, and of each part of the word. */
const compoundShare = 0.4
const partShare = 0.7
/** A shorter word begins too many others; and the shortest word within another one. */
const beginningCharactersMin = 5
const partCharactersMin = 4
/** Words whose compounds are looked for, and compounds of each. */
const beginningsMax = 12
const compoundsMax = 10
/** Endings that join two words. */
const joints = ["", "s", "es", "n", "en", "e"]

/** Returns each word that the index lacks with the terms that may have been meant, if there are any. */
const correct = Effect.fnUntraced(function* (index: JointIndex, words: ReadonlyArray<QueryWord>) {
  if (words.length === 0) return []
  const asked = words.map((word) => ({
    word,
    prefix: word.text.slice(0, prefixCharacters),
    forms: [...new Set([...word.terms, word.text])]
  }))
  // Words that begin alike have the same neighbors, which are read once.
  const neighbors = new Map<string, ReadonlyArray<string>>()
  for (const [prefix, alike] of Map.groupBy(asked, (one) => one.prefix)) {
    const like = { prefix, ...lengthsOf(alike.flatMap(({ forms }) => forms)) }
    neighbors.set(prefix, yield* index.neighbors(like, neighborsMax))
  }
  const found: Array<{ readonly word: QueryWord; readonly near: ReturnType<typeof nearestOf> }> = []
  for (const { forms, prefix, word } of asked) {
    found.push({ word, near: nearestOf(forms, neighbors.get(prefix) ?? []) })
    yield* Effect.yieldNow
  }
  const near = [...new Set(found.flatMap((one) => one.near?.terms ?? []))]
  const chunks = near.length === 0 ? new Map<string, number>() : yield* index.frequencies(near)
  return found.flatMap((one): ReadonlyArray<FoundWord> => {
    if (one.near === null) return []
    // People mean the frequent ones of terms that are equally near.
    const frequent = one.near.terms
      .filter((term) => chunks.has(term))
      .toSorted((first, second) => (chunks.get(second) ?? 0) - (chunks.get(first) ?? 0))
    return [{ ...one.word, edits: one.near.edits, terms: frequent.slice(0, correctionsMax) }]
  })
})

/** The ways to cut a word in two, with and without an ending that joins the parts. */
const cutsOf = (word: string): ReadonlyArray<readonly [string, string]> =>
  Array.from(
    { length: Math.max(0, word.length - 2 * partCharactersMin + 1) },
    (_, at) => at + partCharactersMin
  ).flatMap((at) =>
    joints.flatMap((joint): ReadonlyArray<readonly [string, string]> => {
      const first = word.slice(0, at)
      if (!first.endsWith(joint) || first.length - joint.length < partCharactersMin) return []
      return [[first.slice(0, first.length - joint.length), word.slice(at)]]
    })
  )

/** A word that the index doesn't have, as two that it has. */
const takeApart = Effect.fnUntraced(function* (
  analysis: Analysis,
  index: JointIndex,
  language: string,
  word: QueryWord
) {
  const cuts = cutsOf(word.text)
  if (cuts.length === 0) return []
  const stems = yield* analysis.stemsOf(language, [...new Set(cuts.flat())])
  const known = yield* index.frequencies([...new Set(stems.values())].filter((stem) => stem !== null))
  const isKnown = (part: string) => known.has(stems.get(part) ?? "")
  const [best] = cuts
    .filter((parts) => parts.every(isKnown))
    .toSorted((one, other) => shortest(other) - shortest(one))
  return (best ?? []).map((part): FoundWord => ({
    text: part,
    count: word.count,
    edits: 0,
    share: partShare,
    terms: [stems.get(part) ?? ""]
  }))
})

const shortest = (parts: readonly [string, string]): number => Math.min(...parts.map(({ length }) => length))

/** The terms that stand for the words of a question in an index. */
interface LookedUp {
  readonly words: ReadonlyArray<FoundWord>
  /** The number of chunks that hold each term. */
  readonly frequencies: ReadonlyMap<string, number>
  /** Number of words for which the index has no term. */
  readonly unknownWords: number
}

/**
 * The words with the terms that the index has of them; those that it hasn't at all, taken apart or corrected.
 */
export const lookUp = Effect.fnUntraced(function* (
  analysis: Analysis,
  index: JointIndex,
  words: ReadonlyArray<QueryWord>,
  language: string | null
) {
  const frequencies = new Map<string, number>()
  const count = Effect.fnUntraced(function* (some: ReadonlyArray<QueryWord>) {
    const terms = [...new Set(some.flatMap((word) => word.terms))]
    if (terms.length === 0) return
    for (const [term, chunks] of yield* index.frequencies(terms)) frequencies.set(term, chunks)
  })
  yield* count(words)
  const isKnown = ({ terms }: QueryWord) => terms.some((term) => frequencies.has(term))
  const known = words.filter(isKnown).map((word): FoundWord => ({ ...word, edits: 0 }))
  const missing = words.filter((word) => !isKnown(word) && word.share === undefined)
  const joining = [language ?? index.languages.find((name) => compounding.has(name)) ?? ""].find((name) =>
    compounding.has(name)
  )

  const replaceable = missing
    .filter(({ text }) => text.length >= correctedCharactersMin)
    .slice(0, correctedWordsMax)
  const parted = yield* Effect.forEach(replaceable, (word) =>
    joining === undefined ? Effect.succeed([]) : takeApart(analysis, index, joining, word)
  )
  const isWhole = (_: QueryWord, at: number): boolean => parted[at]?.length === 0
  const corrected = yield* correct(index, replaceable.filter(isWhole))
  const compounds = joining === undefined ? [] : yield* compoundsOf(index, words)
  const found = [...parted.flat(), ...corrected, ...compounds]
  yield* count(found)
  return {
    words: [...known, ...found],
    frequencies,
    unknownWords: missing.length - parted.filter(({ length }) => length > 0).length - corrected.length
  } satisfies LookedUp
})

/** The compounds that begin with one of the words. */
const compoundsOf = Effect.fnUntraced(function* (index: JointIndex, words: ReadonlyArray<QueryWord>) {
  const long = words.filter(({ share, text }) => share === undefined && text.length >= beginningCharactersMin)
  const asked = long
    .slice(0, beginningsMax)
    .flatMap((word) =>
      word.terms.filter(({ length }) => length >= beginningCharactersMin).map((term) => ({ word, term }))
    )
  if (asked.length === 0) return []
  const own = new Set(words.flatMap(({ terms }) => terms))
  const rows = yield* index.beginnings(
    asked.map(({ term }) => term),
    compoundsMax
  )
  return rows.flatMap(({ beginning, terms }): ReadonlyArray<FoundWord> => {
    const word = asked.find(({ term }) => term === beginning)?.word
    const others = terms.filter((term) => !own.has(term) && term.length >= beginning.length + compoundRestMin)
    return word === undefined || others.length === 0
      ? []
      : [{ text: `${word.text}…`, count: word.count, edits: 0, share: compoundShare, terms: others }]
  })
})

/** Fewest characters of a compound after its first word; fewer are another ending of the same word. */
const compoundRestMin = 3
