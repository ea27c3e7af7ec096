import { Array as Arr, Order, Struct } from "effect"
import type { ModelRequest, ToolCall } from "../domain/ModelCall.ts"
import { latestResults, tellResults } from "./OfflineResults.ts"
import { type OfflineTool, type Wishes, wishesIn } from "./OfflineWishes.ts"
import { answerFromPassages, withoutPassages } from "./OfflinePassages.ts"
import { shorten, summarize, wordsOf } from "./Summary.ts"

/** A text of so many characters is material to work with, and no mere question. */
const materialCharactersMin = 400

const quotedMessagesMax = 5
const quotationCharactersMax = 200

/** What is searched of the earlier messages for words of the question. */
const recalledCharactersMax = 20_000

const introduction =
  "I am parley-offline, a small program that is built into this service. I am not a language model: I don't understand " +
  "what you write, and I know nothing of the world."

const talents =
  "Give me a text of some length and I sum it up by its own most telling sentences; ask me what you said before and I " +
  "repeat it."

const remedy =
  "For real answers, whoever runs this service connects a language model: OPENAI_BASE_URL (and OPENAI_API_KEY) names a " +
  "server, PARLEY_MODELS_FILE names several."

/** What each tool is good for, as an example to ask, and as what can't be done without it. */
const uses: Readonly<Record<OfflineTool, { readonly example: string; readonly purpose: string }>> = {
  calculator: { example: "“what is 12.5% of 8,431?”", purpose: "calculate" },
  current_datetime: { example: "“what time is it in Tokyo?”", purpose: "look at a clock" },
  web_fetch: { example: "“read https://example.com and sum it up”", purpose: "read pages of the web" },
  web_search: { example: "“search for lighthouses”", purpose: "search the web" }
}

const isOffered = (request: ModelRequest, tool: OfflineTool): boolean =>
  request.tools.some(({ name }) => name === tool)

/** What the program can do with the tools that it is offered. */
const abilities = (request: ModelRequest): string => {
  const examples = Struct.keys(uses)
    .filter((tool) => isOffered(request, tool))
    .map((tool) => uses[tool].example)
  return examples.length === 0
    ? talents
    : `${talents} I use a tool when a message asks for it in plain words, such as ${new Intl.ListFormat("en", { type: "disjunction" }).format(examples)}.`
}

/** What the offline model says to a request, or the tools that it wants to call before it says anything. */
export type OfflineAnswer =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "calls"; readonly calls: Arr.NonEmptyReadonlyArray<ToolCall> }

const nothingWished: Wishes = { wishes: [], unknownPlaces: [] }

const usersOf = (request: ModelRequest): ReadonlyArray<string> =>
  request.messages.filter((message) => message.role === "user").map((message) => message.text)

const askedIn = (request: ModelRequest): string => (usersOf(request).at(-1) ?? "").trim()

/** A message of some length is material: what it says isn't meant as something to do. */
const wishesOf = (asked: string): Wishes =>
  asked.length < materialCharactersMin ? wishesIn(asked) : nothingWished

/**
 * What the offline model answers: always the same to the same request. Tools are called for what the user has just said, and
 * never for what they have answered, so that one round of calls is all there is.
 */
export const offlineAnswer = (given: ModelRequest): OfflineAnswer => {
  const request = withoutPassages(given)
  const asked = askedIn(request)
  const wanted = wishesOf(asked)
  const results = latestResults(request.messages)
  if (results.length > 0) {
    return said([tellResults(results, asked), ...regrets(request, wanted)].join("\n\n"))
  }
  const calls = request.messages.at(-1)?.role === "user" ? callsFor(request, wanted) : []
  if (Arr.isReadonlyArrayNonEmpty(calls)) return { type: "calls", calls }
  const regretted = regrets(request, wanted)
  return said(regretted.length > 0 ? regretted.join("\n\n") : offlineText(given))
}

const said = (text: string): OfflineAnswer => ({ type: "text", text: text.toWellFormed() })

const callsFor = (request: ModelRequest, { wishes }: Wishes): ReadonlyArray<ToolCall> =>
  wishes
    .filter(({ tool }) => isOffered(request, tool))
    .map(({ arguments: args, tool }, index) => ({
      id: `call_${index + 1}`,
      name: tool,
      arguments: JSON.stringify(args)
    }))

/** What was wished for and can't be done. */
const regrets = (request: ModelRequest, { unknownPlaces, wishes }: Wishes): ReadonlyArray<string> => [
  ...new Set([
    ...wishes
      .filter(({ tool }) => !isOffered(request, tool))
      .map(({ tool }) => `I have no way to ${uses[tool].purpose} here: the tool ${tool} is not offered.`),
    ...unknownPlaces.map(
      (place) =>
        `I don't know a time zone for “${place}”. Name a larger city, or a zone of the IANA database such as Asia/Tokyo.`
    )
  ])
]

/** What the offline model says without any tool. */
export const offlineText = (given: ModelRequest): string => {
  const request = withoutPassages(given)
  const asked = askedIn(request)
  const earlier = usersOf(request).slice(0, -1)
  const found = asksWhoIAm(asked) ? null : answerFromPassages(given, asked)
  return (found ?? reply(request, asked, earlier) ?? admit(request, asked)).toWellFormed()
}

const reply = (request: ModelRequest, asked: string, earlier: ReadonlyArray<string>): string | null => {
  if (asked.length >= materialCharactersMin) return sumUp(request, asked, "")
  if (asksWhoIAm(asked)) return `${introduction} ${abilities(request)} ${remedy}`
  if (asksForEarlier.test(asked)) return recite(earlier)
  if (asksForInstructions.test(asked)) return confess(request)
  const material = materialOf(request, asked)
  if (material !== null) return sumUp(request, material, asked)
  return recall(asked, earlier)
}

const greeting =
  /^(hi|hello|hey|good (morning|afternoon|evening|day)|greetings|hallo|guten (tag|morgen|abend)|bonjour|salut|hola|ciao|olá|ola|привет|你好|こんにちは|안녕)(\P{L}|$)/iu
const greetingWordsMax = 6
const whoAreYou =
  /\b(who|what)\s+(are|r)\s+(you|u)\b|\bwho is this\b|\byour name\b|\bwhat can you do\b|\bwhat do you do\b|\bintroduce yourself\b|\bare you (an?|the|real|human|chatgpt|gpt)\b|\b(wer|was) bist du\b|\bqui es-tu\b|\bquién eres\b|你是谁/iu

const asksWhoIAm = (asked: string): boolean =>
  whoAreYou.test(asked) || (greeting.test(asked) && wordsOf(asked).length <= greetingWordsMax)

const asksForEarlier =
  /\bwhat (did|have|had) I (just )?(say|said|ask|asked|write|written|wrote|tell|told)\b|\b(my|the) (previous|earlier|last|first) (messages?|questions?|words)\b|\b(repeat|quote|recall) (what I|my)\b|\bdo you remember\b|\bwhat (did|have) we (say|said|talk|talked|discuss|discussed)\b/iu

const recite = (earlier: ReadonlyArray<string>): string => {
  if (earlier.length === 0) return "You said nothing before: this is the first message that I was given."
  const shown = earlier.slice(-quotedMessagesMax)
  const lead =
    shown.length === earlier.length
      ? "Before this message you wrote:"
      : `Before this message you wrote ${earlier.length} messages; the last ${shown.length} are:`
  return `${lead}\n\n${bullets(shown.map((message) => shorten(oneLine(message), quotationCharactersMax)))}`
}

const asksForInstructions =
  /\b(system (prompt|message)|your (instructions?|orders|rules)|(follow|obey|heed|given) (\w+ )?instructions?)\b/iu

/** The instructions aren't repeated: they may be the operator's, and not for the user's eyes. */
const confess = (request: ModelRequest): string => {
  const given = request.messages.some((message) => message.role === "system" && message.text.trim() !== "")
  return given
    ? "I was given instructions for this conversation, but I can't follow any: I am a small program and no language model."
    : "I was given no instructions for this conversation, and I could not follow any: I am a small program and no language model."
}

/** The latest long text among the other messages: an earlier message, a file, a tool's result. */
const materialOf = (request: ModelRequest, asked: string): string | null =>
  request.messages.findLast(
    (message) =>
      (message.role === "user" || message.role === "tool") &&
      message.text.length >= materialCharactersMin &&
      message.text.trim() !== asked
  )?.text ?? null

const sumUp = (request: ModelRequest, text: string, question: string): string => {
  const { sentences, total } = summarize(text, question)
  if (sentences.length === 0) return admit(request, text)
  const share = sentences.length === total ? "all of it" : `${sentences.length} of ${total} sentences`
  const lead = `I can't understand the text, but by the words that recur in it these sentences tell the most (${share}):`
  return `${lead}\n\n${bullets(sentences)}`
}

/** A word that an earlier message shares with the question is hardly a chance if it has this many letters. */
const tellingLettersMin = 4

/** The earlier sentence that has most words in common with the question; null where none has any that tells. */
const recall = (asked: string, earlier: ReadonlyArray<string>): string | null => {
  const words = new Set(wordsOf(asked).filter((word) => word.length >= tellingLettersMin))
  if (words.size === 0) return null
  const [best] = Arr.sort(
    earlier
      .map((message, position) => ({ message, position, shared: sharedWords(message, words) }))
      .filter((candidate) => candidate.shared > 0),
    mostSharedThenLatest
  )
  if (best === undefined) return null
  const quotation = shorten(oneLine(best.message), quotationCharactersMax)
  return `I can't understand the question, but it has words in common with what you wrote before:\n\n- ${quotation}`
}

interface Recalled {
  readonly message: string
  readonly position: number
  readonly shared: number
}

const mostSharedThenLatest = Order.combine(
  Order.mapInput(Order.flip(Order.Number), (candidate: Recalled) => candidate.shared),
  Order.mapInput(Order.flip(Order.Number), (candidate: Recalled) => candidate.position)
)

const sharedWords = (message: string, words: ReadonlySet<string>): number =>
  new Set(wordsOf(message.slice(0, recalledCharactersMax)).filter((word) => words.has(word))).size

const admit = (request: ModelRequest, asked: string): string => {
  const question = shorten(oneLine(asked), quotationCharactersMax)
  const heard = question === "" ? "You sent no text." : `You asked: “${question}”`
  return `${heard}\n\nI can't answer that. ${introduction} ${abilities(request)} ${remedy}`
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim()

const bullets = (lines: ReadonlyArray<string>): string => lines.map((line) => `- ${line}`).join("\n")
