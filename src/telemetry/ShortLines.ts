import { Formatter, Predicate } from "effect"

/** What a log line consists of. */
export interface Line {
  readonly timestamp: string
  readonly level: string
  readonly message: string
  readonly annotations: Readonly<Record<string, unknown>>
}

const textOf = (value: unknown): string => (Predicate.isString(value) ? value : Formatter.formatJson(value))

/** Nothing that was sent may steer the terminal. */
const printable = (text: string): string => text.replaceAll(/\p{Cc}/gu, "\u{fffd}")

const seconds = (millis: unknown): string =>
  Predicate.isNumber(millis) ? `${(millis / 1_000).toFixed(millis < 1_000 ? 2 : 1)} s` : ""

/** A request: what was asked, how it ended, how long it took, and what it cost. */
const requestText = (annotations: Line["annotations"]): string => {
  const { durationMillis, errorCode, inputTokens, method, model, outcome, outputTokens, route, status } =
    annotations
  return [
    textOf(method),
    route === null || route === undefined ? "(no such path)" : textOf(route),
    textOf(status),
    seconds(durationMillis),
    ...(outcome === "completed" ? [] : [textOf(outcome)]),
    ...(errorCode === undefined ? [] : [textOf(errorCode)]),
    ...(model === undefined ? [] : [textOf(model)]),
    ...(inputTokens === undefined ? [] : [`${textOf(inputTokens)} + ${textOf(outputTokens)} tokens`])
  ].join("  ")
}

const detailsText = (annotations: Line["annotations"]): string =>
  Object.entries(annotations)
    .filter(([name]) => name !== "requestId")
    .map(([name, value]) => `  ${name}=${textOf(value)}`)
    .join("")

/** A log line as a person at a terminal reads it; the time is UTC. */
export const shortLine = ({ annotations, level, message, timestamp }: Line): string => {
  const isRequest = message === "request" && annotations["method"] !== undefined
  const what = isRequest ? requestText(annotations) : message + detailsText(annotations)
  const mark = level === "INFO" ? "" : `${level}  `
  return printable(`${timestamp.slice(11, 19)}  ${mark}${what}`)
}
