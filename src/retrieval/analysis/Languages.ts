import { Effect } from "effect"
import { isListed, listedLanguages } from "./StopWords.ts"
import type { Stems, Word } from "./Words.ts"

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
const known: ReadonlyArray<string> = [
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
const latin: ReadonlyArray<string> = [...known, ...listedLanguages]
const englishLast = [...latin.filter((language) => language !== "english"), "english"]

/** Letters that hardly any other of these languages has. */
const letters: ReadonlyArray<readonly [RegExp, string]> = [
  [/[ơưđạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ]/u, "vietnamese"],
  [/[ąęłńśźż]/u, "polish"],
  [/[ěřůťďň]/u, "czech"],
  [/[ğı]/u, "turkish"],
  [/[ățșţ]/u, "romanian"],
  [/[őű]/u, "hungarian"],
  [/[ėįųū]/u, "lithuanian"],
  [/ñ/u, "spanish"],
  [/[ãõ]/u, "portuguese"],
  [/œ|ê/u, "french"]
]
/** A word with such a letter says as much as so many stop words. */
const letterWeight = 2

/** Words that are looked at, some from the start and some from the middle. */
const sampleWordsMax = 300
/**
 * The share of stop words from which on a language counts as detected, and how many there must be to be sure.
 */
const evidenceShareMin = 0.08
const sureEvidenceMin = 4
/**
 * In a text of so many words English would have more stop words than any other language, and Finnish may have
 * a single one: there half the share is enough for another language, and an equal number of words speaks
 * against English.
 */
const tellingWordsMin = 10

const sampleOf = (words: ReadonlyArray<Word>): ReadonlyArray<string> => {
  const plain = words.filter(({ isGram, isName }) => !isName && isGram !== true)
  const half = sampleWordsMax / 2
  const middle = Math.max(half, Math.floor(plain.length / 2))
  return [...plain.slice(0, half), ...plain.slice(middle, middle + half)].map(({ text }) => text)
}

interface Detected {
  /** The language whose dictionary knows the words' stems; `simple` if there is none. */
  readonly language: string
  /** True if the text has enough words to tell. */
  readonly isSure: boolean
}

/** The language of some words. */
export const languageOf = Effect.fnUntraced(function* (stems: Stems, words: ReadonlyArray<Word>) {
  const sample = sampleOf(words)
  const byScript = new Map<string, number>()
  for (const word of sample) {
    const language = scripts.find(([script]) => script.test(word))?.[1] ?? "simple"
    byScript.set(language, (byScript.get(language) ?? 0) + 1)
  }
  const script = mostFrequent(byScript)?.[0] ?? "simple"
  if (script !== "latin") return { language: script, isSure: script !== "simple" } satisfies Detected
  const marked = yield* stems.stops(known, [...new Set(sample)])
  const evidence = new Map<string, number>()
  const count = (language: string, weight: number) =>
    evidence.set(language, (evidence.get(language) ?? 0) + weight)
  for (const word of sample) {
    for (const language of marked.get(word) ?? []) count(language, 1)
    for (const language of listedLanguages) if (isListed(language, word)) count(language, 1)
    for (const [letter, language] of letters) if (letter.test(word)) count(language, letterWeight)
  }
  const isTelling = sample.length >= tellingWordsMin
  const [language, found] = mostFrequent(evidence, isTelling ? englishLast : latin) ?? ["english", 0]
  const shareMin = isTelling && language !== "english" ? evidenceShareMin / 2 : evidenceShareMin
  // Undetected texts are stemmed as English: it does little harm, and helps where they are.
  if (found < sample.length * shareMin || found === 0)
    return { language: "english", isSure: false } satisfies Detected
  return { language, isSure: found >= sureEvidenceMin } satisfies Detected
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
