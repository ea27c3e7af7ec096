const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const SPACE = 0x20
const byteOrderMark = 0xfeff

/** The incomplete rest of one read of a server-sent event stream. */
interface EventRest {
  /** The beginning of a line. */
  readonly line: string
  /** The data lines of an event that has not ended. */
  readonly data: string | null
  /** The last line ended in CR: an LF that follows belongs to it. */
  readonly isAfterCr: boolean
}

/** The state before the first read. */
export const noEvents: EventRest = { line: "", data: null, isAfterCr: false }

/**
 * The data of the events that `text` completes, and the incomplete rest. The text may be cut anywhere.
 * Comments and all other fields are skipped, because no model's stream needs them. Source: WHATWG HTML,
 * section 9.2.6.
 *
 * An own implementation, to save processor time: docs/decisions/speed.md.
 */
export const readEvents = (
  rest: EventRest,
  text: string
): { readonly events: ReadonlyArray<string>; readonly rest: EventRest } => {
  const events: Array<string> = []
  if (text === "") return { events, rest }
  const lines = withoutCr(rest === noEvents ? withoutMark(text) : text, rest.isAfterCr)
  const isAfterCr = text.charCodeAt(text.length - 1) === CR
  const firstEnd = lines.indexOf("\n")
  // A chain of strings, joined once when the line is complete.
  if (firstEnd < 0) return { events, rest: { line: rest.line + lines, data: rest.data, isAfterCr } }
  const whole = rest.line + lines
  let { data } = rest
  let at = 0
  for (let end = rest.line.length + firstEnd; end >= 0; end = whole.indexOf("\n", at)) {
    if (end > at) data = withLine(data, whole, at, end)
    else if (data !== null) {
      events.push(data)
      data = null
    }
    at = end + 1
  }
  return { events, rest: { line: whole.slice(at), data, isAfterCr } }
}

const withoutMark = (text: string): string => (text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text)

const withoutCr = (text: string, isAfterCr: boolean): string => {
  if (!isAfterCr && !text.includes("\r")) return text
  return text.slice(isAfterCr && text.charCodeAt(0) === LF ? 1 : 0).replaceAll(/\r\n?/g, "\n")
}

/** The data of an event with one more line of it. */
const withLine = (data: string | null, text: string, at: number, end: number): string | null => {
  if (!text.startsWith("data", at)) return data
  const colon = at + "data".length
  if (colon < end && text.charCodeAt(colon) !== COLON) return data
  const value = text.slice(text.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1, end)
  return data === null ? value : `${data}\n${value}`
}
