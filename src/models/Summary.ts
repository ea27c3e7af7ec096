import { Array as Arr, Order } from "effect"

/** A longer text is summed up by its beginning, and a sentence is compared with so many others at most. */
const textCharactersMax = 60_000
const sentencesMax = 800
const sentenceCharactersMax = 320

const chosenMin = 1
const chosenMax = 5
/** One sentence in so many is chosen, within the bounds above. */
const sentencesPerChosen = 5

/** Two sentences that share this much of their words say the same. */
const sameShare = 0.6

/** A sentence with fewer words than this is a heading or an exclamation. */
const wordsMin = 4
const wordsUsual = 18

export interface Summary {
  /** In the order of the text. */
  readonly sentences: ReadonlyArray<string>
  /** How many sentences the text has, as far as it was read. */
  readonly total: number
}

interface Sentence {
  readonly text: string
  readonly position: number
  readonly words: ReadonlySet<string>
}

/**
 * The most telling sentences of a text, in its own words and in any language. A sentence tells much if its words recur in the
 * text without being everywhere, if it stands at the beginning, if it is neither very short nor very long, and if it shares
 * words with what was asked.
 */
export const summarize = (text: string, question: string): Summary => {
  const sentences = sentencesOf(text.slice(0, textCharactersMax))
  const counts = countsOf(sentences)
  const asked = new Set(wordsOf(question))
  const byScore = Arr.sort(
    sentences.map((sentence): Scored => ({
      ...sentence,
      score: scoreOf(sentence, sentences.length, counts, asked)
    })),
    bestThenFirst
  )
  const wanted = Math.min(chosenMax, Math.max(chosenMin, Math.round(sentences.length / sentencesPerChosen)))
  const chosen: Array<Sentence> = []
  for (const sentence of byScore) {
    if (chosen.length === wanted) break
    if (!chosen.some((other) => overlap(other.words, sentence.words) > sameShare)) chosen.push(sentence)
  }
  return { sentences: Arr.sort(chosen, inOrder).map((sentence) => sentence.text), total: sentences.length }
}

/** A sentence, and the place in the list of the text that it is from. */
export interface Quoted {
  readonly source: number
  readonly text: string
}

interface Candidate extends Sentence {
  readonly source: number
  /** Among the sentences of all texts. */
  readonly order: number
  readonly score: number
}

const mostRelevantThenFirst = Order.combine(
  Order.mapInput(Order.flip(Order.Number), ({ score }: Candidate) => score),
  Order.mapInput(Order.Number, ({ order }: Candidate) => order)
)

/** A word of the question with fewer letters tells nothing, but for scripts in which a character is a word. */
const askedLettersMin = 3
const oneCharacterWord = /^[^\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\d]$/u

/** Of several texts the sentences that have most to do with a question, best first; none where no word is shared. */
export const quotesFor = (
  texts: ReadonlyArray<string>,
  question: string,
  quotesMax: number
): ReadonlyArray<Quoted> => {
  const asked = new Set(
    wordsOf(question).filter((word) => word.length >= askedLettersMin || oneCharacterWord.test(word))
  )
  const sentences = texts.flatMap((text, source) =>
    sentencesOf(text.slice(0, textCharactersMax)).map((sentence) => ({ ...sentence, source }))
  )
  const counts = countsOf(sentences)
  const relevance = ({ words }: Sentence): number => {
    const shared = [...asked].filter((word) => words.has(word))
    const rarity = shared.reduce(
      (sum, word) => sum + Math.log1p(sentences.length / (counts.get(word) ?? 1)),
      0
    )
    return words.size < wordsMin ? rarity / 3 : rarity
  }
  const scored = sentences.map((sentence, order): Candidate => ({
    ...sentence,
    order,
    score: relevance(sentence)
  }))
  const best = Arr.sort(
    scored.filter(({ score }) => score > 0),
    mostRelevantThenFirst
  )
  const chosen: Array<Candidate> = []
  for (const sentence of best) {
    if (chosen.length === quotesMax) break
    if (!chosen.some((other) => overlap(other.words, sentence.words) > sameShare)) chosen.push(sentence)
  }
  return chosen.map(({ source, text }) => ({ source, text }))
}

interface Scored extends Sentence {
  readonly score: number
}

const inOrder = Order.mapInput(Order.Number, (sentence: Sentence) => sentence.position)
const bestThenFirst = Order.combine(
  Order.mapInput(Order.flip(Order.Number), (sentence: Scored) => sentence.score),
  inOrder
)

const segmenter = new Intl.Segmenter("en", { granularity: "sentence" })

/** A line end inside a paragraph: neither before a blank line nor before a list, a heading or a quotation. */
const softLineEnd = /(?<=\S)[ \t]*\r?\n(?![ \t]*(\r?\n|[-*#>|•]|\d+[.)]))/g

/** What stands before a heading, a quotation or a point of a list. */
const marker = /^\s*([-*#>|•]+|\d+[.)])\s+/

const sentencesOf = (text: string): ReadonlyArray<Sentence> => {
  const sentences: Array<Sentence> = []
  for (const { segment } of segmenter.segment(text.replaceAll(softLineEnd, " "))) {
    const trimmed = shorten(segment.replaceAll(/\s+/g, " ").replace(marker, "").trim(), sentenceCharactersMax)
    const words = new Set(wordsOf(trimmed))
    if (words.size > 0) sentences.push({ text: trimmed, position: sentences.length, words })
    if (sentences.length === sentencesMax) break
  }
  return sentences
}

/** Words, or single characters in the scripts that put no blanks between words. */
const wordPattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{M}\p{N}]+/gu

export const wordsOf = (text: string): ReadonlyArray<string> => text.toLowerCase().match(wordPattern) ?? []

/** How many of the sentences have each word. */
const countsOf = (sentences: ReadonlyArray<Sentence>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const { words } of sentences) {
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  return counts
}

/** How much a word counts for being asked for, beside recurring. */
const askedWeight = 6

const scoreOf = (
  { position, words }: Sentence,
  total: number,
  counts: ReadonlyMap<string, number>,
  asked: ReadonlySet<string>
): number => {
  let sum = 0
  for (const word of words) {
    const count = counts.get(word) ?? 1
    const rarity = Math.log1p(total / count)
    sum += rarity * (Math.log1p(count) + (asked.has(word) ? askedWeight : 0))
  }
  const place = position === 0 ? 1.3 : position === total - 1 ? 1.1 : 1
  const brevity = words.size < wordsMin ? 0.3 : 1
  // Divided by the length, or the longest sentence would always win.
  return (sum * place * brevity) / Math.max(words.size, wordsUsual)
}

const overlap = (one: ReadonlySet<string>, other: ReadonlySet<string>): number => {
  let shared = 0
  for (const word of one) if (other.has(word)) shared++
  return shared / Math.min(one.size, other.size)
}

/** A text of at most so many characters, with a sign where it was cut; never half a character. */
export const shorten = (text: string, charactersMax: number): string => {
  if (text.length <= charactersMax) return text
  const cut = text.slice(0, charactersMax - 1)
  const last = cut.charCodeAt(cut.length - 1)
  return `${last >= 0xd800 && last <= 0xdbff ? cut.slice(0, -1) : cut}…`
}
