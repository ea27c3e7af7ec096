import { Redacted } from "effect"
import type { ModelMessage } from "../domain/ModelCall.ts"

const sentenceCharactersMax = 300

/** Texts that look like a key, including one that a server has shortened by stars. */
const keys = new RegExp(
  [
    "\\bbearer\\s+\\S+|\\b(?:sk|pk|rk|gsk|xai|hf|key)[-_][\\w*.-]{8,}|\\bAIza[\\w*-]{10,}|\\beyJ[\\w.-]{20,}",
    "\\b(?=\\w*\\d)\\w{32,}|[\\w-]{0,12}\\*{3,}[\\w-]*"
  ].join("|"),
  "gi"
)

/**
 * A server's words about a fault, for people: bounded, on one line, and without keys or what looks like one.
 */
export const sentenceOf = (
  fault: { readonly detail: string; readonly serverMessage?: Redacted.Redacted },
  secrets: ReadonlyArray<Redacted.Redacted>
): string => {
  const said = fault.serverMessage === undefined ? "" : Redacted.value(fault.serverMessage).trim()
  const known = secrets.map(Redacted.value).filter((secret) => secret !== "")
  const safe = known.reduce((text, secret) => text.replaceAll(secret, "[redacted]"), said || fault.detail)
  const sentence = safe.replaceAll(/[\s\p{Cc}]+/gu, " ").replaceAll(keys, "[redacted]")
  return sentence.length > sentenceCharactersMax
    ? `${sentence.slice(0, sentenceCharactersMax - 1)}…`
    : sentence
}

/**
 * A sequence of this many characters that is also in a prompt counts as a quotation. Sequences are checked at
 * multiples of `quotedStep`.
 */
const quotedCharactersMin = 24
const quotedStep = 8

/**
 * A message of at least this many characters that stands in the sentence as a whole, between other words, is
 * a quotation.
 */
const wholeCharactersMin = 4

/** The sentence, unless it quotes the messages: logs and the pages of operators never show a prompt. */
export const withoutPrompt = (sentence: string, messages: ReadonlyArray<ModelMessage>): string =>
  messages.some((message) => textsOf(message).some((text) => isQuoted(sentence, text)))
    ? "[withheld, because it quotes the prompt]"
    : sentence

const textsOf = (message: ModelMessage): ReadonlyArray<string> =>
  message.role === "assistant"
    ? [
        message.text,
        ...message.toolCalls.map((call) => call.arguments),
        ...(message.reasoning ?? []).map(({ text }) => text)
      ]
    : [message.text]

const isQuoted = (sentence: string, text: string): boolean => {
  for (let at = 0; at + quotedCharactersMin <= sentence.length; at += quotedStep) {
    if (text.includes(sentence.slice(at, at + quotedCharactersMin))) return true
  }
  return text.length <= sentence.length && standsIn(sentence, text.trim())
}

const standsIn = (sentence: string, text: string): boolean => {
  if (text.length < wholeCharactersMin) return false
  const around = sentence.split(text)
  return around.some(
    (before, index) =>
      index + 1 < around.length &&
      !/[\p{L}\p{N}]$/u.test(before) &&
      !/^[\p{L}\p{N}]/u.test(around[index + 1] ?? "")
  )
}

/** The words before which llama.cpp and Ollama quote the answer. */
const answerQuotation = /(failed to parse [^:]{0,60}:|\braw=).*/is

/** The words of a server about a fault, for the log; null where it said nothing. */
export const logSentenceOf = (
  fault: { readonly detail: string; readonly serverMessage?: Redacted.Redacted },
  secrets: ReadonlyArray<Redacted.Redacted>,
  messages: ReadonlyArray<ModelMessage>
): string | null => {
  if (fault.serverMessage === undefined || Redacted.value(fault.serverMessage).trim() === "") return null
  return withoutPrompt(sentenceOf(fault, secrets), messages).replace(answerQuotation, "$1 [withheld]")
}
