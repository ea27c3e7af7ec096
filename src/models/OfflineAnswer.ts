import { Array as Arr, Order } from "effect"
import type { ModelRequest } from "../domain/ModelCall.ts"
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

const abilities =
  "Give me a text of some length and I sum it up by its own most telling sentences; ask me what you said before and I " +
  "repeat it."

const remedy =
  "For real answers, whoever runs this service connects a language model: OPENAI_BASE_URL (and OPENAI_API_KEY) names a " +
  "server, PARLEY_MODELS_FILE names several."

/** What the offline model answers: always the same to the same request. */
export const offlineAnswer = (request: ModelRequest): string => {
  const users = request.messages.filter((message) => message.role === "user").map((message) => message.text)
  const asked = (users.at(-1) ?? "").trim()
  const earlier = users.slice(0, -1)
  return (reply(request, asked, earlier) ?? admit(asked)).toWellFormed()
}

const reply = (request: ModelRequest, asked: string, earlier: ReadonlyArray<string>): string | null => {
  if (asked.length >= materialCharactersMin) return sumUp(asked, "")
  if (asksWhoIAm(asked)) return `${introduction} ${abilities} ${remedy}`
  if (asksForEarlier.test(asked)) return recite(earlier)
  if (asksForInstructions.test(asked)) return confess(request)
  const material = materialOf(request, asked)
  if (material !== null) return sumUp(material, asked)
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

const sumUp = (text: string, question: string): string => {
  const { sentences, total } = summarize(text, question)
  if (sentences.length === 0) return admit(text)
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

const admit = (asked: string): string => {
  const question = shorten(oneLine(asked), quotationCharactersMax)
  const heard = question === "" ? "You sent no text." : `You asked: “${question}”`
  return `${heard}\n\nI can't answer that. ${introduction} ${abilities} ${remedy}`
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim()

const bullets = (lines: ReadonlyArray<string>): string => lines.map((line) => `- ${line}`).join("\n")
