import { Effect } from "effect"
import type { Stems } from "./Stems.ts"
import type { Word } from "./Words.ts"

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
