/**
 * Texts and questions that resemble written language in what a search index feels of it, the same in every
 * run.
 */

const smallWords =
  "the of and to in a is that for it with as was on be by this are from or an at which were not have has but".split(
    " "
  )
const smallWordsShare = 0.45
/** New words per word of text: vocabulary = 20 × words ^ 0.55, as Heaps' law has it. */
const heapsFactor = 20
const heapsExponent = 0.55
/** Words that were said are said again, the more often they were; so many of the last ones are remembered. */
const rememberedWordsMax = 4_000_000

/** A passage repeats its subject: so many words are one of the last ones. */
const recentShare = 0.4
const recentWordsMax = 60

/** The characters of Chinese texts. */
const [firstIdeograph, ideographs] = [0x4e00, 2_000]

const consonants = "bcdfghklmnprstvz"
const vowels = "aeiou"

const wordOf = (number: number): string => {
  let rest = number + 80 * 80
  let word = ""
  while (rest > 0) {
    const syllable = rest % 80
    word += consonants.charAt((syllable >> 3) & 15) + vowels.charAt(syllable % 5)
    rest = Math.floor(rest / 80)
  }
  return `${word}k`
}

export class Texts {
  private state = 1
  private vocabulary = 0
  private said = 0
  private readonly remembered = new Uint32Array(rememberedWordsMax)

  private random(): number {
    this.state = (Math.imul(this.state, 1_664_525) + 1_013_904_223) >>> 0
    return this.state / 4_294_967_296
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit)
  }

  private recentWord(): number {
    return this.remembered[Math.max(this.said - 1 - this.below(recentWordsMax), 0) % rememberedWordsMax] ?? 0
  }

  private rememberedWord(): number {
    return this.remembered[this.below(Math.min(this.said, rememberedWordsMax))] ?? 0
  }

  private word(): string {
    if (this.random() < smallWordsShare) {
      return smallWords[Math.floor(this.random() ** 2 * smallWords.length)] ?? "the"
    }
    const isNew = this.vocabulary < heapsFactor * (this.said + 1) ** heapsExponent
    const number = isNew
      ? this.vocabulary++
      : this.random() < recentShare
        ? this.recentWord()
        : this.rememberedWord()
    this.remembered[this.said++ % rememberedWordsMax] = number
    return wordOf(number)
  }

  private sentence(): string {
    const words = Array.from({ length: 8 + this.below(14) }, () => this.word())
    return `${words.join(" ")}.`
  }

  /** About as many characters, in paragraphs and sections. */
  text(characters: number): string {
    const blocks: Array<string> = []
    for (let length = 0, at = 0; length < characters; at++) {
      const sentences = Array.from({ length: 3 + this.below(4) }, () => this.sentence())
      const block = at % 12 === 0 ? `## ${this.sentence()}\n\n${sentences.join(" ")}` : sentences.join(" ")
      blocks.push(block)
      length += block.length
    }
    return blocks.join("\n\n")
  }

  /** A question of words that are as frequent as those of the texts. */
  question(): string {
    const words = Array.from({ length: 5 + this.below(7) }, () => wordOf(this.rememberedWord()))
    return `what is ${words.join(" ")}?`
  }

  /** A question in which every word has a wrong letter. */
  misspelled(words: number): string {
    return Array.from({ length: words }, () => {
      const word = wordOf(this.rememberedWord())
      return `${word.slice(0, 3)}q${word.slice(4)}`
    }).join(" ")
  }

  /** A question of so many characters. */
  longQuestion(characters: number): string {
    let text = ""
    while (text.length < characters) text += `${this.question()} `
    return text.slice(0, characters)
  }

  /** About as many characters in a script without spaces. */
  chinese(characters: number): string {
    let text = ""
    for (let sentence = 1; text.length < characters; sentence++) {
      for (let at = 0; at < 20; at++) {
        const place = Math.floor(this.random() ** 2 * ideographs)
        text += String.fromCharCode(firstIdeograph + place, firstIdeograph + ((place * 7) % ideographs))
      }
      text += sentence % 6 === 0 ? "。\n\n" : "。"
    }
    return text
  }
}
