import { Predicate } from "effect"
import type { Reasoning } from "../domain/ModelCall.ts"
import {
  type AnswerChunk,
  type Fields,
  parseJson,
  thinking,
  thoughtBlock,
  thoughtDelta,
  unknown
} from "./Protocol.ts"

/** Reasoning in the Responses protocol: its items as blocks, and the items that go back. */

/** Stands between two parts of a summary, which are paragraphs with a heading each. */
const partSeparator = "\n\n"

/**
 * A reasoning item; null if it can't go back. The server stores nothing, so only an item with its encrypted
 * form is useful.
 */
const sentItem = (item: Fields): object | null => {
  const { encrypted_content, summary, type } = item
  return type === "reasoning" && typeof encrypted_content === "string" && encrypted_content !== ""
    ? { type, summary: Array.isArray(summary) ? summary : [], encrypted_content }
    : null
}

const textsIn = (parts: unknown): ReadonlyArray<string> =>
  (Array.isArray(parts) ? parts : [])
    .map((part) => (Predicate.isObject(part) ? part["text"] : ""))
    .filter(Predicate.isString)

/** Reads the reasoning of one answer. */
export const makeReadReasoning = () => {
  /** The part of the open item whose text came last; null before the first. */
  let open: string | null = null
  return {
    /** A piece of a summary, or of the reasoning itself where its server shows it. */
    piece: ({ delta, summary_index, type }: Fields): AnswerChunk => {
      const part = `${type} ${summary_index}`
      const isNext = open !== null && open !== part
      open = part
      return thoughtDelta(isNext && typeof delta === "string" ? partSeparator + delta : delta)
    },
    /** A whole item. One that was cut off is of no use to the model. */
    item: (item: Fields): AnswerChunk => {
      const sent = item["status"] === "incomplete" ? null : sentItem(item)
      const data = sent === null ? null : JSON.stringify(sent)
      const shown = [...textsIn(item["summary"]), textsIn(item["content"]).join("")]
        .filter((text) => text !== "")
        .join(partSeparator)
      const text = open === null ? shown : null
      open = null
      return text === "" && data === null ? thinking : thoughtBlock({ text, data })
    }
  }
}

/**
 * The phase of a message, as a block before its text. Models that set the phase answer worse if it doesn't
 * come back with the message.
 */
export const phaseBlock = ({ phase }: Fields): AnswerChunk =>
  typeof phase === "string" ? thoughtBlock({ text: "", data: JSON.stringify({ phase }) }) : unknown

const dataOf = ({ opaque }: Reasoning): Fields => {
  const data = opaque === null ? null : parseJson(opaque.data)
  return Predicate.isObject(data) ? data : {}
}

/** The reasoning items before a message or a call. */
export const reasoningItems = (reasoning: ReadonlyArray<Reasoning> = []): ReadonlyArray<object> =>
  reasoning.flatMap((one) => sentItem(dataOf(one)) ?? [])

/** The field of a message that says its phase, if the model named one. */
export const phaseField = (reasoning: ReadonlyArray<Reasoning> = []): { readonly phase?: string } => {
  const phase = reasoning.map((one) => dataOf(one)["phase"]).findLast(Predicate.isString)
  return phase === undefined ? {} : { phase }
}
