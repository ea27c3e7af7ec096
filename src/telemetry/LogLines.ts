import { Cause, Formatter, Logger, Predicate } from "effect"
import { counted } from "../runtime/counted.ts"
import type { LogOutput } from "./LogOutput.ts"

/** The parts of a log line. */
interface Line {
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

/** Seconds in which a warning about the database that says the same again is left out. */
const repeatSeconds = 60
/** Different warnings that are remembered for it. */
const remembered = 100

/** The message of the SqlError that is the reason of a log line, or null if none is. */
const databaseReason = (error: unknown): string | null => {
  if (Predicate.isTagged(error, "DatabaseUnavailable") && Predicate.hasProperty(error, "cause")) {
    return databaseReason(error.cause)
  }
  return Predicate.isTagged(error, "SqlError") && error instanceof Error ? error.message : null
}

const errorOf = (reason: Cause.Reason<unknown>): unknown => {
  if (Cause.isFailReason(reason)) return reason.error
  return Cause.isDieReason(reason) ? reason.defect : undefined
}

const partText = (part: unknown): string => {
  if (Predicate.isString(part)) return part
  return databaseReason(part) ?? (part instanceof Error ? part.message : Formatter.format(part))
}

/** The message of a line as one string, and whether the database is its reason. */
const describe = ({ cause, message }: Logger.Options<unknown>) => {
  const parts = Array.isArray(message) ? message : [message]
  const reasons = cause.reasons.map((reason) => databaseReason(errorOf(reason)))
  const database = [...parts, ...cause.reasons.map(errorOf)].some((part) => databaseReason(part) !== null)
  const texts = [...parts.map(partText), ...reasons.filter(Predicate.isNotNull)]
  if (texts.length === 0 && cause.reasons.length > 0) texts.push(partText(Cause.squash(cause)))
  return { text: [...new Set(texts)].join(": "), isDatabase: database }
}

const isScalar = (value: unknown): boolean =>
  Predicate.isString(value) || Predicate.isNumber(value) || Predicate.isBoolean(value)

/** A line about `count` lines that could not be written. */
const lostLine = (timestamp: string, count: number) => ({
  message:
    `${counted(count, "log line")} ${count === 1 ? "was" : "were"} lost here: the log could not be written, or not as fast as it grew. ` +
    "Look for a full disk, or for a program that stopped reading it.",
  level: "WARN",
  timestamp,
  annotations: { lines: count }
})

/**
 * Writes lines of JSON to an output, or short ones for a person, in which `message` is one string. A failure
 * of the database has no stack, and a warning about it that was logged within the last minute is left out:
 * during an outage much fails for the same reason.
 */
export const makeLogLines = (
  output: Pick<LogOutput, "write" | "reportLost">,
  format: "json" | "pretty" = "json"
): Logger.Logger<unknown, void> => {
  const lately = new Map<string, number>()
  const isRepeated = (text: string, now: number) => {
    const last = lately.get(text)
    if (last !== undefined && now - last < repeatSeconds * 1000) return true
    if (lately.size >= remembered) lately.clear()
    lately.set(text, now)
    return false
  }
  return Logger.make((options) => {
    const { isDatabase, text } = describe(options)
    if (isDatabase && options.logLevel === "Warn" && isRepeated(text, options.date.getTime())) return
    const { cause, ...line } = Logger.formatStructured.log(options)
    const shown = isDatabase || cause === undefined ? {} : { cause }
    const isShort = format === "pretty" && Object.keys(shown).length === 0
    const whole = { ...line, message: text, ...shown }
    // Scalars hold neither circles nor secrets.
    const isPlain = cause === undefined && Object.values(line.annotations).every(isScalar)
    const asJson = isPlain ? JSON.stringify : Formatter.formatJson
    output.reportLost((count) => {
      const lost = lostLine(line.timestamp, count)
      return format === "pretty"
        ? shortLine(lost)
        : JSON.stringify({ ...lost, spans: {}, fiberId: line.fiberId })
    })
    output.write(isShort ? shortLine({ ...line, message: text }) : asJson(whole))
  })
}
