import { type Asked, sinceScript } from "./Asked.ts"
import { marked } from "./Marks.ts"
import type { ScriptedCall } from "./Script.ts"

/** The true counts: `reasoning` is a part of `output`, `cached` and `written` are parts of `input`. */
export interface Counts {
  readonly input: number
  readonly cached: number
  readonly written: number
  readonly output: number
  readonly reasoning: number
}

/** An answer of a scripted model. */
export interface Answer {
  readonly thought: string
  readonly calls: ReadonlyArray<ScriptedCall>
  readonly text: string
  readonly end: "stop" | "refusal" | "cut"
  readonly counts: Counts
  /** A new value of the server, such as for an id or a signature. */
  readonly mark: () => string
}

/** Roughly. */
export const tokensOf = (text: string): number => Math.ceil(text.length / 4)

/**
 * The number of rounds that a model has called something in. Calls of rounds that came as text count, too.
 */
export const roundsDone = (asked: Asked): number => {
  const roles = sinceScript(asked).map(({ role }) => role)
  return roles.filter((role, index) => role === "assistant" && roles[index - 1] !== "assistant").length
}

const resultAsText = /^\[result of [^\]]*\]\n(.*)$/gm

/** The results in the order of their calls, and behind them those that came as text. */
const resultsOf = (asked: Asked): string => {
  const since = sinceScript(asked)
  const results = since.filter(({ role }) => role === "tool")
  const calls = since.flatMap((one) => one.calls)
  const ofCalls = calls.flatMap(({ id }) =>
    results.flatMap(({ callId, text }) => (callId === id ? [text] : []))
  )
  const asText = since.flatMap(({ text }) =>
    [...text.matchAll(resultAsText)].map(([, result = ""]) => result)
  )
  return [...ofCalls, ...asText].join(", ") || "none"
}

const textOf = (asked: Asked, wanted: ReadonlyArray<ScriptedCall>): string => {
  const missing = wanted.find(({ name }) => !asked.tools.some((tool) => tool.name === name))
  if (missing !== undefined) return `There is no tool ${missing.name}.`
  const images = asked.messages.reduce((all, one) => all + one.images, 0)
  return asked.script.say ?? `Results: ${resultsOf(asked)}. Images: ${images}.`
}

/**
 * The answer of a model to a request that nothing speaks against. `numbers` counts the values that its server
 * made.
 */
export const answerTo = (server: string, asked: Asked, numbers: () => number): Answer => {
  const { end = "stop", rounds = [], think = "I consider it:" } = asked.script
  const mark = () => marked(server, numbers())
  const wanted = rounds[roundsDone(asked)] ?? []
  const isOffered = wanted.every(({ name }) => asked.tools.some((tool) => tool.name === name))
  const calls = isOffered ? wanted : []
  const text = calls.length > 0 ? "" : textOf(asked, wanted)
  const thought = think === "" ? "" : `${think} ${mark()}.`
  const input = tokensOf(JSON.stringify(asked.body))
  const reasoning = tokensOf(thought)
  const visible = tokensOf(text) + calls.reduce((sum, call) => sum + tokensOf(call.name + call.arguments), 0)
  const counts = {
    input,
    cached: Math.floor(input / 2),
    written: Math.floor(input / 8),
    reasoning,
    output: visible + reasoning
  }
  return { thought, calls, text, end, counts, mark }
}

/** The pieces in which a text is streamed. */
export const piecesOf = (text: string, size = 9): ReadonlyArray<string> =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, n) => text.slice(n * size, (n + 1) * size))
