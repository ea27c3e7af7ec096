import { Redacted } from "effect"
import type { ModelMessage } from "../domain/ModelCall.ts"

const sentenceCharactersMax = 300

/** What looks like a key, also one that a server has shortened by stars. */
const keys =
  /\bbearer\s+\S+|\b(?:sk|pk|rk|gsk|xai|hf|key)[-_][\w*.-]{8,}|\bAIza[\w*-]{10,}|\b(?=\w*\d)\w{32,}/gi

/** The words of a server about a fault, for people: bounded, on one line, and without what is or looks like a key. */
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

/** So many characters in a row that stand in a prompt too are taken for a quotation, wherever they begin in steps of that many. */
const quotedCharactersMin = 24
const quotedStep = 8

/** The sentence, unless it quotes the messages: logs and the pages of operators never show a prompt. */
export const withoutPrompt = (sentence: string, messages: ReadonlyArray<ModelMessage>): string => {
  for (let at = 0; at + quotedCharactersMin <= sentence.length; at += quotedStep) {
    const piece = sentence.slice(at, at + quotedCharactersMin)
    if (messages.some(({ text }) => text.includes(piece))) return "[withheld, because it quotes the prompt]"
  }
  return sentence
}
