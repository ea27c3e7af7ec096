import { Effect, Option, Schema } from "effect"
import { ExtractionFailed } from "../domain/Errors.ts"
import type { Reading } from "./Reading.ts"

/** The length of the head, in front of it. */
const lengthBytes = 4
/** Longest head, including the offsets of many pages. */
const headBytesMax = 256 * 1024

/** A longer answer is malformed. */
export const answerBytesMax = (textBytesMax: number): number => lengthBytes + headBytesMax + textBytesMax

const titleCharactersMax = 1000

const offset = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const Head = Schema.fromJsonString(
  Schema.Union([
    Schema.Struct({
      status: Schema.Literal("text"),
      mediaType: Schema.String.check(Schema.isMaxLength(200), Schema.isPattern(/^[\w.+-]+\/[\w.+-]+$/)),
      truncated: Schema.Boolean,
      pages: Schema.NullOr(Schema.Array(offset)),
      title: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(titleCharactersMax))),
      textBytes: offset
    }),
    Schema.Struct({
      status: Schema.Literal("failed"),
      reason: Schema.Literals(["unsupported", "encrypted", "corrupt", "too_large", "no_text"]),
      message: Schema.String.check(Schema.isBetweenLength(1, 500), Schema.isPattern(/^[ -~\u2013]+$/))
    })
  ])
)

const decodeHead = Schema.decodeOption(Head)

/**
 * The head of an answer and where its text begins; none until the head is there, or where it is malformed.
 */
const headOf = (answer: Buffer) => {
  const headBytes = answer.length < lengthBytes ? 0 : answer.readUInt32BE(0)
  const textStart = lengthBytes + headBytes
  if (headBytes === 0 || headBytes > headBytesMax || textStart > answer.length) return Option.none()
  return Option.map(decodeHead(answer.toString("utf8", lengthBytes, textStart)), (head) => ({
    head,
    textStart
  }))
}

/** The bytes of a whole answer, by its head; null until the head is there, or where it is malformed. */
export const wholeAnswerBytes = (answer: Buffer): number | null =>
  Option.match(headOf(answer), {
    onNone: () => null,
    onSome: ({ head, textStart }) => textStart + (head.status === "text" ? head.textBytes : 0)
  })

export const crashed = () =>
  new ExtractionFailed({
    reason: "crashed",
    message: "The document could not be read: reading it failed unexpectedly."
  })

/** Decodes the answer of a process that has read hostile bytes: a malformed one counts as a crash. */
export const decodeAnswer = Effect.fnUntraced(function* (answer: Buffer, textBytesMax: number) {
  const { head, textStart } = yield* Effect.mapError(Effect.fromOption(headOf(answer)), crashed)
  const bytes = answer.subarray(textStart)
  if (head.status === "failed") {
    const { message, reason } = head
    return yield* bytes.length === 0 ? new ExtractionFailed({ reason, message }) : crashed()
  }
  if (head.textBytes !== bytes.length || bytes.length > textBytesMax) return yield* crashed()
  const text = yield* Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
    catch: crashed
  })
  const { mediaType, pages, title, truncated } = head
  if (text.trim() === "" || text.includes("\0") || !areAscending(pages ?? [], text.length))
    return yield* crashed()
  return { text, mediaType, truncated, pages, ...(title === undefined ? {} : { title }) } satisfies Reading
})

const areAscending = (offsets: ReadonlyArray<number>, max: number): boolean =>
  offsets.every((offset, at) => offset <= max && offset >= (offsets[at - 1] ?? 0))
