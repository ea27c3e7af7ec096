import { Clock, DateTime, Effect, Option, Schema, Stream } from "effect"
import { FetchHttpClient, HttpClient, type HttpClientError } from "effect/http"
import { streamProbePath } from "../http/Routes.ts"
import { probeGapSeconds, StreamPart } from "../http/StreamProbe.ts"

/** Timeout of one probe; the stream alone takes `probeGapSeconds`. */
const probeSeconds = 10
/** The whole stream has a few hundred bytes. */
const streamBytesMax = 4_096
/**
 * The pause arrives shortened by the jitter of a network, and not at all through a proxy that holds events
 * back.
 */
const gapMillisMin = probeGapSeconds * 500

/** The request was not answered in time. */
export class NoAnswer extends Schema.TaggedError<NoAnswer>()("NoAnswer", {}) {
  override readonly message = `nothing came within ${probeSeconds} seconds`
}

const bounded = <A>(
  self: Effect.Effect<A, HttpClientError.HttpClientError, HttpClient.HttpClient>
): Effect.Effect<A, HttpClientError.HttpClientError | NoAnswer> =>
  self.pipe(
    Effect.timeoutOrElse({ duration: `${probeSeconds} seconds`, orElse: () => Effect.fail(new NoAnswer()) }),
    Effect.provide(FetchHttpClient.layer)
  )

/**
 * The least difference between this machine's clock and a web server's, in seconds; the `Date` header has
 * whole ones. Null if it doesn't tell.
 */
export const clockDifference = (url: string): Effect.Effect<number | null> =>
  Effect.gen(function* () {
    const before = yield* Clock.currentTimeMillis
    const { headers } = yield* HttpClient.head(url)
    const after = yield* Clock.currentTimeMillis
    const date = DateTime.make(headers["date"] ?? "")
    // A cache answers with the time at which it got the answer.
    if (Option.isNone(date) || headers["age"] !== undefined) return null
    // The server wrote it between the two, and left out the fraction of the second.
    const earliest = DateTime.toEpochMillis(date.value)
    return Math.max(0, earliest - after, before - (earliest + 1_000)) / 1_000
  }).pipe(
    bounded,
    Effect.orElseSucceed(() => null)
  )

/** The status of the answer to a request without a key. */
export const statusOf = (url: string) => Effect.map(HttpClient.get(url), ({ status }) => status).pipe(bounded)

/** The outcome of reading the stream of StreamProbe. */
export type StreamSeen =
  /** The answer is not this service's. */
  | { readonly _tag: "Other"; readonly status: number }
  /** `isHeldBack` if both parts came at once. */
  | {
      readonly _tag: "Stream"
      readonly isHeldBack: boolean
      readonly forwarded: boolean
      readonly trusted: boolean
    }

const decode = Schema.decodeOption(Schema.fromJsonString(StreamPart))
const dataPrefix = "data: "

const partOf = (line: string) =>
  line.startsWith(dataPrefix) ? decode(line.slice(dataPrefix.length)) : Option.none()

/** Reads the stream of StreamProbe through the address `base`, which ends without a slash. */
export const watchStream = (
  base: string
): Effect.Effect<StreamSeen, HttpClientError.HttpClientError | NoAnswer> =>
  Effect.gen(function* () {
    const answer = yield* HttpClient.get(base + streamProbePath, { headers: { accept: "text/event-stream" } })
    let bytes = 0
    const parts = yield* answer.stream.pipe(
      Stream.takeWhile((piece) => (bytes += piece.length) <= streamBytesMax),
      Stream.decodeText,
      Stream.splitLines,
      Stream.flatMap((line) =>
        Option.match(partOf(line), { onNone: () => Stream.empty, onSome: Stream.succeed })
      ),
      Stream.mapEffect((part) => Effect.map(Clock.currentTimeMillis, (at) => ({ at, part }))),
      Stream.take(2),
      Stream.runCollect
    )
    const [first, second] = parts
    if (answer.status !== 200 || first === undefined || second === undefined)
      return { _tag: "Other", status: answer.status } as const
    const { forwarded, trusted } = first.part
    return {
      _tag: "Stream",
      isHeldBack: second.at - first.at < gapMillisMin,
      forwarded,
      trusted
    } as const
  }).pipe(bounded)
