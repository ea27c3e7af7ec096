import type { ModelRequest } from "../domain/ModelCall.ts"
import { quotesFor, summarize } from "./Summary.ts"

const quotesMax = 3

/** The beginning and the end of the message with the passages of a project's files. */
const framed =
  /^\[Passages (\w+) from the files of the project, [^\]]*\[1\]\.\]\n\n([^]*)\n\n\[End of passages \1\]$/
const entry = /^\[(\d+)\] from (".*?"(?:, .*)?):$/
const nothingFound = /^\[The files of the project were searched\. ([^\]]+)\]$/

const isPassages = (text: string): boolean => framed.test(text) || nothingFound.test(text)

/** A request without what was found for it: what people said. */
export const withoutPassages = (request: ModelRequest): ModelRequest => ({
  ...request,
  messages: request.messages.filter((message) => message.role !== "user" || !isPassages(message.text))
})

interface Entry {
  readonly number: number
  readonly text: string
}

/** The numbered passages. A line of a passage may look like the head of another: numbers only count up, one by one. */
const entriesIn = (body: string): ReadonlyArray<Entry> => {
  const entries: Array<{ number: number; lines: Array<string> }> = []
  for (const line of body.split("\n")) {
    const number = Number(entry.exec(line)?.[1] ?? Number.NaN)
    const before = entries.at(-1)
    // Behind 999 they begin at 1 again.
    const isNext = before === undefined ? !Number.isNaN(number) : number === (before.number % 999) + 1
    if (isNext) entries.push({ number, lines: [] })
    else entries.at(-1)?.lines.push(line)
  }
  return entries.map(({ lines, number }) => ({ number, text: lines.join("\n") }))
}

/**
 * What the files of the project say to a question, in their own words and each sentence with the number of its passage; null
 * where none were searched.
 */
export const answerFromPassages = (request: ModelRequest, asked: string): string | null => {
  const texts = request.messages.flatMap((message) => (message.role === "user" ? [message.text] : []))
  const passages = texts.findLast(isPassages)
  if (passages === undefined) return null
  const reason = nothingFound.exec(passages)?.[1]
  if (reason !== undefined) return `I looked into the files of the project. ${reason}`
  const entries = entriesIn(framed.exec(passages)?.[2] ?? "")
  const quotes = quotesFor(
    entries.map(({ text }) => text),
    asked,
    quotesMax
  )
  const [best] = entries
  const shown =
    quotes.length > 0
      ? quotes.map(({ source, text }) => `- ${text} [${entries[source]?.number ?? 1}]`)
      : summarize(best?.text ?? "", asked).sentences.map((text) => `- ${text} [${best?.number ?? 1}]`)
  return `I can't understand the question, but these sentences of the project's files have most to do with it:\n\n${shown.join("\n")}`
}
