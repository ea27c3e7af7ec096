import { Array as Arr, Cause, Effect, Order, Stream } from "effect"
import type { ModelSpec } from "../domain/Model.ts"
import {
  type CallOptions,
  type FinishReason,
  type ModelMessage,
  type ModelPart,
  type ModelRequest,
  nothingSpent,
  type NumberedPassage,
  type ToolCall,
  type ToolName
} from "../domain/ModelCall.ts"
import { countPromptTokens, countTokens } from "./Tokenizer.ts"

/** The model of a service where no other is configured: it needs no network and no key. */
export const demoModel: ModelSpec = {
  id: "parley-offline",
  provider: "parley",
  contextWindow: 32_768,
  maxOutputTokens: 4096,
  tools: true,
  quality: 0,
  cost: 0
}

/** A longer message is material to work with, and calls no tools. */
const toolMessageCharactersMax = 400
const echoCharactersMax = 1_000
const resultCharactersMax = 2_000
const quotesMax = 3
const quoteCharactersMax = 320

const introduction =
  `I am ${demoModel.id}, the demo model of this service: a small program, and not a language model. I call a tool when a ` +
  "message plainly asks for it (“what is 12.5% of 8,431?”, “what time is it in Tokyo?”, a URL, “search for lighthouses”), " +
  "I quote passages of a project's files, and I repeat everything else. For real answers, the operator connects a " +
  "language model: OPENAI_BASE_URL (and OPENAI_API_KEY) or PARLEY_MODELS_FILE."

const passagesLead =
  `I am ${demoModel.id}, the demo model, and can't understand the question. The search of the project's files found these ` +
  "sentences, among others:"

/** The answer word by word, deterministic for a request. Other fibers run between two words. */
export const callDemoModel = (
  request: ModelRequest,
  { onSent }: Partial<CallOptions> = {}
): Stream.Stream<ModelPart> =>
  Stream.unwrap(
    Effect.map(answerTo(request), (parts) => {
      onSent?.({})
      let at = 0
      const pull = Effect.suspend(() => {
        const part = parts[at++]
        return part === undefined ? Cause.done() : Effect.succeed([part] as const)
      })
      return Stream.fromPull(Effect.succeed(Effect.andThen(Effect.yieldNow, pull)))
    })
  )

/** The parts of the answer, with at most `maxOutputTokens` by the tokenizer. */
const answerTo = Effect.fnUntraced(function* (request: ModelRequest) {
  const inputTokens = yield* countPromptTokens(request)
  const finish = (reason: FinishReason, outputTokens: number): ModelPart => ({
    type: "finish",
    reason,
    usage: { ...nothingSpent, inputTokens, outputTokens }
  })
  const calls = callsFor(request)
  const callTokens = yield* countTokens(calls.map((call) => call.name + call.arguments).join("\n"))
  // A call can't be cut: where the calls don't fit, the answer is text.
  if (calls.length > 0 && callTokens <= request.maxOutputTokens) {
    return [
      ...calls.map((call): ModelPart => ({ type: "tool_call", call })),
      finish("tool_calls", callTokens)
    ]
  }
  const words = textFor(request).match(/\s*\S+/g) ?? []
  const kept = yield* fitting(words, request.maxOutputTokens)
  const outputTokens = yield* countTokens(kept.join(""))
  return [
    ...kept.map((text): ModelPart => ({ type: "text", text })),
    finish(kept.length < words.length ? "length" : "stop", outputTokens)
  ]
})

/** The longest prefix of whole words within the allowed tokens. */
const fitting = Effect.fnUntraced(function* (words: ReadonlyArray<string>, tokensMax: number) {
  // A word has at least one token.
  let low = 0
  let high = Math.min(words.length, tokensMax)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const tokens = yield* countTokens(words.slice(0, middle).join(""))
    if (tokens <= tokensMax) low = middle
    else high = middle - 1
  }
  return words.slice(0, low)
})

const textFor = ({ messages, passages }: ModelRequest): string => {
  const message = latestUserMessage(messages)
  const results = latestResults(messages)
  if (results.length > 0) return results.join("\n\n").toWellFormed()
  const quotes = quotesFrom(passages ?? [], message)
  if (quotes.length > 0) return [passagesLead, "", ...quotes].join("\n").toWellFormed()
  const echo = message === "" ? "You sent no text." : `You wrote:\n\n${shorten(message, echoCharactersMax)}`
  const nothingFound = passages?.length === 0 ? ["No passage of the project's files was found."] : []
  return [introduction, ...nothingFound, echo].join("\n\n").toWellFormed()
}

const latestUserMessage = (messages: ReadonlyArray<ModelMessage>): string =>
  (messages.findLast(({ role }) => role === "user")?.text ?? "").trim()

/** The tool results at the end of the conversation, each with its call. */
const latestResults = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<string> => {
  const caller = messages.findLastIndex(({ role }) => role !== "tool")
  const message = messages[caller]
  const calls = message?.role === "assistant" ? message.toolCalls : []
  return messages.slice(caller + 1).flatMap((result) => {
    if (result.role !== "tool") return []
    const args = calls.find(({ id }) => id === result.callId)?.arguments ?? ""
    return [
      `The tool ${result.name} was called with ${args}:\n\n${shorten(result.text, resultCharactersMax)}`
    ]
  })
}

/** The calls of offered tools that the latest user message asks for; tool results call none. */
const callsFor = ({ messages, tools }: ModelRequest): ReadonlyArray<ToolCall> =>
  messages.at(-1)?.role !== "user"
    ? []
    : callsIn(latestUserMessage(messages))
        .filter(([name]) => tools.some((tool) => tool.name === name))
        .map(([name, args], index) => ({
          id: `call_${index + 1}`,
          name,
          arguments: JSON.stringify(args)
        }))

type Call = readonly [name: ToolName, args: Readonly<Record<string, string>>]

const url = /https?:\/\/(?:\([^\s()<>]*\)|[^\s()<>"“”])+/giu
const search =
  /\bsearch(?: the (?:web|internet)| online)? for\s+(\S.*?)(?=[.,;?!]?(?:\s*$|\s*\n)|[.,;?!]\s)/iu
const time =
  /\b(?:what (?:time|date|day|weekday|year) (?:is (?:it|today)|it is)\b|(?:what(?:['’]s| is) |tell me )(?:the |today['’]s )?(?:current |local )?(?:time|date|day)(?=\s*(?:[?.!,]|$|(?:in|now|today|and)\b)))(?: (?:now|today|right now))?(?: in ([\p{L}_/ -]{2,40}?)(?=\s*(?:[^\p{L}_/ -]|$)|\s(?:and|now|today|right|please)\b))?/iu

/** The calculator checks the brackets. The pattern is unambiguous, so that matching never backtracks far. */
const number = String.raw`\(*[-−]?\d+(?:,\d{3})*(?:\.\d+)?%?\)*`
const operator = String.raw`\s*(?:[-−+*/×÷^x]|of\b|plus\b|minus\b|times\b|divided by\b)\s*`
const asksForResult = String.raw`\b(?:what(?:['’]s| is)|how much is|calculate|compute)\b[\s:]*`
const calculation = new RegExp(
  `(${asksForResult})?(?<![\\w.-])(?!\\d{4}-\\d\\d-\\d\\d)(${number}(?:${operator}${number})+)(?![\\w/-])`,
  "giu"
)
/** Operators that are not part of a date, a range or "24/7". */
const plainOperator = /[+*×÷^x]|%\s*of/i
const signs: Readonly<Record<string, string>> = {
  x: "*",
  plus: "+",
  minus: "-",
  times: "*",
  "divided by": "/"
}

const callsIn = (message: string): ReadonlyArray<Call> => {
  if (message.length > toolMessageCharactersMax) return []
  const urls = Array.from(message.matchAll(url), ([found]) => found.replace(/[.,;:!?'’]+$/, ""))
  const withoutUrls = message.replaceAll(url, " ").trim()
  const query = search.exec(withoutUrls)?.[1]
  const rest = withoutUrls.replace(search, ". ")
  const asked = time.exec(rest)
  const expressions = Array.from(rest.matchAll(calculation))
    .filter(([, asks, found = ""]) => asks !== undefined || !/\p{L}/u.test(rest) || plainOperator.test(found))
    .map(([, , found = ""]) =>
      found.replaceAll(/x|plus|minus|times|divided by/gi, (sign) => signs[sign.toLowerCase()] ?? sign)
    )
  return [
    ...urls.map((found): Call => ["web_fetch", { url: found }]),
    ...(query === undefined ? [] : [["web_search", { query }] satisfies Call]),
    ...(asked === null ? [] : [["current_datetime", zoneOf(asked[1])] satisfies Call]),
    ...expressions.map((expression): Call => ["calculator", { expression }])
  ]
}

/** The IANA zone of a city; another place is passed on as it is, and the tool asks for a zone. */
const zoneOf = (place: string | undefined): Readonly<Record<string, string>> => {
  if (place === undefined) return {}
  const city = place.toLowerCase().replaceAll(" ", "_")
  const zone = Intl.supportedValuesOf("timeZone").find(
    (name) => name.split("/").at(-1)?.toLowerCase() === city
  )
  return { timezone: zone ?? place }
}

interface Sentence {
  readonly quote: string
  readonly words: ReadonlySet<string>
  readonly score: number
}

const segmenter = new Intl.Segmenter("en", { granularity: "sentence" })

/** Words, or single characters in scripts without blanks between words. */
const word =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]|[\p{L}\p{M}\p{N}]+/gu

const citation = /\[\d[\d\s,]*\]/g

const wordsOf = (text: string): ReadonlySet<string> => new Set(text.toLowerCase().match(word))

/** The sentences of a passage, also of hard-wrapped lines, without citation marks. */
const sentencesOf = (text: string): ReadonlyArray<string> =>
  text
    .split(/\n\s*\n/)
    .flatMap((paragraph) => Array.from(segmenter.segment(paragraph.replaceAll(/\s+/g, " ").trim())))
    .map(({ segment }) => shorten(segment.replaceAll(citation, "").trim(), quoteCharactersMax))
    .filter((sentence) => sentence !== "")

/**
 * The sentences that share most words with the question, weighted by rarity; else the first of the best
 * passage.
 */
const quotesFrom = (passages: ReadonlyArray<NumberedPassage>, question: string): ReadonlyArray<string> => {
  const asked = wordsOf(question)
  const quotes = passages.flatMap(({ number: mark, text }) =>
    sentencesOf(text).map((sentence) => ({ quote: `- ${sentence} [${mark}]`, words: wordsOf(sentence) }))
  )
  const rarity = (one: string): number =>
    Math.log1p(quotes.length / quotes.filter(({ words }) => words.has(one)).length)
  const shared = new Map(
    Array.from(asked)
      .filter((one) => quotes.some(({ words }) => words.has(one)))
      .map((one) => [one, rarity(one)])
  )
  const scored = quotes.map(({ quote, words }): Sentence => {
    let score = 0
    for (const [one, points] of shared) if (words.has(one)) score += points
    return { quote, words, score }
  })
  const best = Arr.sort(
    scored.filter(({ score }) => score > 0),
    Order.mapInput(Order.flip(Order.Number), ({ score }: Sentence) => score)
  )
  return (best.length > 0 ? best : scored.slice(0, 1)).slice(0, quotesMax).map(({ quote }) => quote)
}

/**
 * Cuts a text to this many UTF-16 units, with an ellipsis in place of the rest. Never cuts a character in
 * half.
 */
const shorten = (text: string, charactersMax: number): string =>
  text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1).replace(/[\ud800-\udbff]$/, "")}…`
