import { type AnswerChunk, type Decode, decodeTextDelta, parseJson } from "./Protocol.ts"

/**
 * What surrounds the text of an event, up to its quotes. The events of one answer that bring text often differ in that text alone:
 * the first one is decoded, and of those that follow only the text is parsed. docs/decisions/repeated-events.md has the figures.
 */
interface Surroundings {
  readonly before: string
  readonly after: string
}

/** After so many events in a row that differ in more than their text, the events of an answer are not compared any longer. */
const differentMax = 3

/** Text that no model writes. */
const probe = "\u0001no model's\u0001"

/** The text of an event that brings nothing else; "" otherwise. */
const textOf = (chunk: AnswerChunk): string =>
  chunk.type === "delta" &&
  chunk.fragments.length === 0 &&
  chunk.finish === null &&
  chunk.usage === null &&
  chunk.isRefusal === undefined
    ? chunk.text
    : ""

/** Null if it is not certain where in the event its text stands. */
const surroundingsOf = (data: string, text: string, decode: Decode): Surroundings | null => {
  const quoted = JSON.stringify(text)
  const at = data.indexOf(quoted)
  if (at < 0 || text === probe) return null
  const before = data.slice(0, at)
  const after = data.slice(at + quoted.length)
  // The same string may stand elsewhere in the event: with another one in its place the event must bring that.
  return textOf(decode(before + JSON.stringify(probe) + after)) === probe ? { before, after } : null
}

/** The text of an event with those surroundings; "" if it has others, or no text. */
const textWithin = (data: string, { after, before }: Surroundings): string => {
  const end = data.length - after.length
  // Comparing slices takes half the time of `startsWith`.
  if (end < before.length || data.slice(end) !== after || data.slice(0, before.length) !== before) return ""
  const text = parseJson(data.slice(before.length, end))
  return typeof text === "string" ? text : ""
}

/** Decodes the events of one answer as `decode` does, whose result may depend on nothing but the event. */
export const decodingRepeated = (decode: Decode): Decode => {
  let surroundings: Surroundings | null = null
  let differentLeft = differentMax
  return (data) => {
    if (differentLeft === 0) return decode(data)
    const repeated = surroundings === null ? "" : textWithin(data, surroundings)
    if (repeated !== "") {
      differentLeft = differentMax
      return decodeTextDelta(repeated)
    }
    const chunk = decode(data)
    const text = textOf(chunk)
    if (surroundings !== null || text !== "") differentLeft--
    if (text !== "") surroundings = surroundingsOf(data, text, decode)
    return chunk
  }
}
