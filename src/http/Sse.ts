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
 * Delivery as server-sent events. On `/v1` a frame is exactly `event: message`, one line of JSON, and a blank line, and is never split
 * between writes. Source: specification, Events, Wire format; wire contract, section 2.
 */

/** Writes queued for a slow client; beyond that, the upstream is not read. */
const writesMax = 16

const keepaliveComment = ": keepalive\n\n"

// Some parsers take these for line ends; JSON may escape any character.
const lineEnds = /[\u0085\u2028\u2029]/
const allLineEnds = /[\u0085\u2028\u2029]/g
const escapeLineEnds = (json: string): string =>
  lineEnds.test(json)
    ? json.replace(allLineEnds, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
    : json

/** Nearly all events are deltas, so their JSON is built by hand; a property test compares it with the schema's encoding. */
const dataOf = (event: EventBody, sequenceNumber: number): string =>
  event.type === "response.output_text.delta"
    ? `{"type":"response.output_text.delta","sequence_number":${sequenceNumber},"item_id":"${event.item_id}",` +
      `"output_index":${event.output_index},"content_index":${event.content_index},` +
      `"delta":${JSON.stringify(event.delta)},"logprobs":[]}`
    : JSON.stringify(numberEvent(event, sequenceNumber))

/** A frame as `/v1` writes it. */
export const frame = (event: EventBody, sequenceNumber: number): string =>
  `event: message\ndata: ${escapeLineEnds(dataOf(event, sequenceNumber))}\n\n`

/** One frame, whose event may have a name of its own. */
export const namedFrame = (name: string, data: object): string =>
  `event: ${name}\ndata: ${escapeLineEnds(JSON.stringify(data))}\n\n`

/** One frame without a name. */
export const dataFrame = (data: object): string => `data: ${escapeLineEnds(JSON.stringify(data))}\n\n`

/** How one stream is written. */
export interface Writing {
  /** What precedes the events, if anything does. */
  readonly start?: string
  /** The frames for an event of the core. */
  readonly event: (event: EventBody) => string
  /** The frames that end a stream that fails. */
  readonly failure: (body: ErrorBody) => string
  /** What follows the last frame. */
  readonly end: string
}

/** As `/v1` writes it. */
export const makeWriting = (): Writing => {
  let sequenceNumber = 0
  const event = (one: EventBody) => frame(one, sequenceNumber++)
  return { event, failure: (body) => event(errorEvent(body)), end: "" }
}

const utf8 = new TextEncoder()

interface StreamOptions {
  readonly headers: Readonly<Record<string, string>>
  /** A comment is sent after this time without an event. */
  readonly keepaliveSeconds: number
  /** Fails when the events must end before they are complete; never succeeds. */
  readonly lost: Effect.Effect<never, Expected>
  readonly writing: Writing
}

/**
 * Streams the events. A failure becomes the terminal `error` event, also a defect and a shutdown of the process; the stream
 * itself never fails.
 */
export const streamResponse = Effect.fnUntraced(function* <R>(
  events: Stream.Stream<EventBody, Expected, R>,
  options: StreamOptions
): Effect.fn.Return<HttpServerResponse.HttpServerResponse, never, R | Drain | Scope.Scope> {
  const drain = yield* Drain
  const clock = yield* Clock.Clock
  const access = yield* CurrentAccess
  const writes = yield* Queue.bounded<string, Cause.Done>(writesMax)
  const { writing } = options
  let wroteAt = clock.currentTimeMillisUnsafe()

  const offer = (text: string) => {
    wroteAt = clock.currentTimeMillisUnsafe()
    return Queue.offer(writes, text)
  }

  const write = (batch: ReadonlyArray<EventBody>) => {
    let text = ""
    for (const event of batch) text += writing.event(event)
    return text === "" ? Effect.void : offer(text)
  }

  /** Writes the terminal event of a stream that fails. */
  const writeError = (body: ErrorBody) => {
    if (access !== null) access.errorCode = body.code
    return offer(writing.failure(body))
  }

  const deliver = Stream.runForEachArray(events, write).pipe(
    (delivery) => Effect.raceAllFirst([delivery, drain.cutoff, options.lost]),
    Effect.catch((error) => Effect.andThen(logFailure(error), writeError(describe(error).body))),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.logError("An unhandled error ended a stream.", cause).pipe(
            Effect.andThen(writeError(defect.body))
          )
    ),
    Effect.andThen(writing.end === "" ? Effect.void : offer(writing.end)),
    Effect.andThen(Queue.end(writes))
  )

  const silenceMillis = Duration.toMillis(Duration.seconds(options.keepaliveSeconds))
  const keepalive = Effect.gen(function* () {
    while (true) {
      const left = wroteAt + silenceMillis - clock.currentTimeMillisUnsafe()
      if (left > 0) {
        yield* Effect.sleep(left)
        continue
      }
      wroteAt = clock.currentTimeMillisUnsafe()
      // The queue of a client that doesn't read is full, and it needs no comment.
      Queue.offerUnsafe(writes, keepaliveComment)
    }
  })

  if (writing.start !== undefined && writing.start !== "") yield* offer(writing.start)
  yield* Effect.acquireRelease(Metric.modify(openStreams.of(), 1), () => Metric.modify(openStreams.of(), -1))
  yield* Effect.forkScoped(deliver, { startImmediately: true })
  yield* Effect.forkScoped(keepalive)
  // Everything queued goes out in one write of whole frames.
  const body = Stream.fromQueue(writes).pipe(Stream.mapArray((texts) => [utf8.encode(texts.join(""))]))
  return HttpServerResponse.stream(body, {
    contentType: "text/event-stream",
    headers: { "cache-control": "no-cache", "x-accel-buffering": "no", ...options.headers }
  })
})
