import { Option, Schema } from "effect"
import type { ModelMessage, ToolCall } from "../domain/ModelCall.ts"
import { shorten, summarize } from "./Summary.ts"

/** What the service writes before the reason of a call that failed. */
const failureMark = "Error: "

const outputCharactersMax = 2_000

/** What a tool answered to a call of the model's. */
interface Answered {
  readonly call: ToolCall
  readonly text: string
}

type ToolMessage = Extract<ModelMessage, { readonly role: "tool" }>

/** The results that a request ends with, each with the call that it answers; none where it ends with anything else. */
export const latestResults = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<Answered> => {
  const results: Array<ToolMessage> = []
  for (const message of messages.toReversed()) {
    if (message.role === "tool") {
      results.unshift(message)
      continue
    }
    const calls = message.role === "assistant" ? message.toolCalls : []
    return results.map(({ callId, name, text }) => ({
      call: calls.find(({ id }) => id === callId) ?? { id: callId, name, arguments: "{}" },
      text
    }))
  }
  return results.map(({ callId, name, text }) => ({ call: { id: callId, name, arguments: "{}" }, text }))
}

const decodeArguments = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

/** What the call was asked with, as text; "" where it says nothing of the kind. */
const argument = ({ arguments: args }: ToolCall, name: string): string => {
  const value = Option.getOrUndefined(decodeArguments(args))?.[name]
  return typeof value === "string" ? value : ""
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim()

/** What the calls were about, for a sentence about their failure. */
const attempts: Readonly<Record<string, (call: ToolCall) => string>> = {
  calculator: (call) => `work out ${argument(call, "expression")}`,
  current_datetime: (call) =>
    `tell the time${argument(call, "timezone") === "" ? "" : ` in ${argument(call, "timezone")}`}`,
  web_fetch: (call) => `read ${argument(call, "url")}`,
  web_search: (call) => `search the web for “${argument(call, "query")}”`
}

const admitFailure = (call: ToolCall, reason: string): string => {
  const attempt = attempts[call.name]?.(call) ?? `use the tool ${call.name}`
  return `I could not ${attempt}. The reason that I was given: ${shorten(oneLine(reason), outputCharactersMax)}`
}

const decodeTime = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({ datetime: Schema.String, weekday: Schema.String, timezone: Schema.String })
  )
)

const isoTime = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})(?::\d{2})?(?:\.\d+)?(Z|[+-]\d{2}:\d{2})$/

const tellTime = (call: ToolCall, text: string): string => {
  const told = Option.getOrUndefined(decodeTime(text))
  const [, day, time, offset] = isoTime.exec(told?.datetime ?? "") ?? []
  if (told === undefined || day === undefined || time === undefined) {
    const zone = argument(call, "timezone")
    return `The clock${zone === "" ? "" : ` of ${zone}`} says: ${shorten(oneLine(text), outputCharactersMax)}`
  }
  const from = told.timezone === "UTC" || offset === "Z" ? "" : ` (UTC${offset})`
  return `In ${told.timezone} it is ${told.weekday}, ${day}, ${time}${from}.`
}

/** The frame that the service puts around a page: its mark, then the page's own address. */
const pageFrame = /^<<< begin (\S+)\n/m

const pageIn = (text: string): { readonly url: string; readonly title: string; readonly body: string } => {
  const begin = pageFrame.exec(text)
  if (begin === null) return { url: "", title: "", body: text }
  const inside = text.slice(begin.index + begin[0].length).split(`\n>>> end ${begin[1] ?? ""}`, 1)[0] ?? ""
  const gap = inside.indexOf("\n\n")
  const head = gap < 0 ? inside : inside.slice(0, gap)
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(head)?.[1] ?? ""
  return { url: field("Address"), title: field("Title"), body: gap < 0 ? "" : inside.slice(gap + 2) }
}

const sumUpPage = (call: ToolCall, text: string, question: string): string => {
  const { body, title, url } = pageIn(text)
  const { sentences, total } = summarize(body, question)
  const source = `Source: ${url === "" ? argument(call, "url") : url}`
  if (sentences.length === 0) return `The page has no sentences that I could sum up.\n\n${source}`
  const share = sentences.length === total ? "all of it" : `${sentences.length} of ${total} sentences`
  const of = title === "" ? "The page" : `The page “${oneLine(title)}”`
  const lines = sentences.map((sentence) => `- ${sentence}`).join("\n")
  return `${of} says this most of all, by the words that recur in it (${share}):\n\n${lines}\n\n${source}`
}

/** What stands between the first line of a list of results and its end. */
const listFrame = /^\[Results of the web search [^\n]*\n\n([^]*?)(?:\n\n\[End of the results\])?$/

const listFinds = (call: ToolCall, text: string): string => {
  const list = listFrame.exec(text)?.[1]
  return list === undefined
    ? oneLine(text)
    : `The web search for “${argument(call, "query")}” found these pages. I can't judge what they say:\n\n${list}`
}

const tell = ({ call, text }: Answered, question: string): string => {
  if (text.startsWith(failureMark)) return admitFailure(call, text.slice(failureMark.length))
  switch (call.name) {
    case "calculator":
      return `${argument(call, "expression") || "The result"} is ${shorten(oneLine(text), outputCharactersMax)}.`
    case "current_datetime":
      return tellTime(call, text)
    case "web_fetch":
      return sumUpPage(call, text, question)
    case "web_search":
      return listFinds(call, text)
    default:
      return `The tool ${call.name} says: ${shorten(oneLine(text), outputCharactersMax)}`
  }
}

/** An answer made of nothing but what the tools said; `question` is what the user had asked. */
export const tellResults = (results: ReadonlyArray<Answered>, question: string): string => {
  const withoutAddresses = question.replaceAll(/https?:\/\/\S+/g, " ")
  return results.map((result) => tell(result, withoutAddresses)).join("\n\n")
}
