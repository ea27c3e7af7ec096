import { Cause, Clock, Duration, Effect, Metric, Queue, type Scope, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import type { ErrorBody } from "../api/ErrorEnvelope.ts"
import { describe, defect, type Expected } from "../api/Failure.ts"
import { errorEvent, type EventBody, numberEvent } from "../api/ResponseEvent.ts"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import { openStreams } from "../telemetry/Instruments.ts"
import { Drain } from "./Drain.ts"
import { logFailure } from "./ErrorBoundary.ts"

/**
 * Delivery as server-sent events. The frame is exactly `event: message`, one line of JSON, and a blank line; each frame
 * goes out whole. Source: specification, Events, Wire format; wire contract, section 2.
 */

/** Writes that may wait for a slow client; beyond it the upstream isn't read any further. */
const writesMax = 16

const keepaliveComment = ": keepalive\n\n"

// Some parsers take these for line ends; in JSON they may be escaped like any other character.
const lineEnds = /[\u0085\u2028\u2029]/
const allLineEnds = /[\u0085\u2028\u2029]/g
const escapeLineEnds = (json: string): string =>
  lineEnds.test(json)
    ? json.replace(allLineEnds, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
    : json

/**
 * The data of one event. Deltas are nearly all events of a stream, so theirs is put together by hand; a property test
 * holds it equal to the schema's encoding.
 */
const dataOf = (event: EventBody, sequenceNumber: number): string =>
  event.type === "response.output_text.delta"
    ? `{"type":"response.output_text.delta","sequence_number":${sequenceNumber},"item_id":"${event.item_id}",` +
      `"output_index":${event.output_index},"content_index":${event.content_index},` +
      `"delta":${JSON.stringify(event.delta)},"logprobs":[]}`
    : JSON.stringify(numberEvent(event, sequenceNumber))

/** One event as it goes over the wire. */
export const frame = (event: EventBody, sequenceNumber: number): string =>
  `event: message\ndata: ${escapeLineEnds(dataOf(event, sequenceNumber))}\n\n`

const utf8 = new TextEncoder()

export interface StreamOptions {
  readonly headers: Readonly<Record<string, string>>
  /** A comment is sent after this much silence. */
  readonly keepaliveSeconds: number
  /** Fails when the events must end before they are complete; never succeeds. */
  readonly lost: Effect.Effect<never, Expected>
}

/**
 * Answers with the events as they come. Their failure becomes the terminal `error` event, also when it is a defect or
 * when the process goes down; the stream itself never fails.
 */
export const streamResponse = Effect.fnUntraced(function* <R>(
  events: Stream.Stream<EventBody, Expected, R>,
  options: StreamOptions
): Effect.fn.Return<HttpServerResponse.HttpServerResponse, never, R | Drain | Scope.Scope> {
  const drain = yield* Drain
  const clock = yield* Clock.Clock
  const access = yield* CurrentAccess
  const writes = yield* Queue.bounded<string, Cause.Done>(writesMax)
  let sequenceNumber = 0
  let wroteAt = clock.currentTimeMillisUnsafe()

  const write = (batch: ReadonlyArray<EventBody>) => {
    let text = ""
    for (const event of batch) text += frame(event, sequenceNumber++)
    wroteAt = clock.currentTimeMillisUnsafe()
    return Queue.offer(writes, text)
  }

  /** The terminal event of a stream that fails. */
  const tell = (body: ErrorBody) => {
    if (access !== null) access.errorCode = body.code
    return write([errorEvent(body)])
  }

  const deliver = Stream.runForEachArray(events, write).pipe(
    (delivery) => Effect.raceAllFirst([delivery, drain.cutoff, options.lost]),
    Effect.catch((error) => Effect.andThen(logFailure(error), tell(describe(error).body))),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.logError("A stream died.", cause).pipe(Effect.andThen(tell(defect.body)))
    ),
    Effect.andThen(Queue.end(writes))
  )

  const silenceMillis = Duration.toMillis(Duration.seconds(options.keepaliveSeconds))
  const keepalive = Effect.gen(function* () {
    while (true) {
      const rest = wroteAt + silenceMillis - clock.currentTimeMillisUnsafe()
      if (rest > 0) {
        yield* Effect.sleep(rest)
        continue
      }
      wroteAt = clock.currentTimeMillisUnsafe()
      // A client that doesn't read has a full queue, and needs no comment.
      Queue.offerUnsafe(writes, keepaliveComment)
    }
  })

  yield* Effect.acquireRelease(Metric.modify(openStreams.of(), 1), () => Metric.modify(openStreams.of(), -1))
  yield* Effect.forkScoped(deliver, { startImmediately: true })
  yield* Effect.forkScoped(keepalive)
  // Whatever waits goes out in one write; each frame in it is whole.
  const body = Stream.fromQueue(writes).pipe(Stream.mapArray((texts) => [utf8.encode(texts.join(""))]))
  return HttpServerResponse.stream(body, {
    contentType: "text/event-stream",
    headers: { "cache-control": "no-cache", "x-accel-buffering": "no", ...options.headers }
  })
})
