import { Cause, Clock, Context, Duration, Effect, Layer, Metric, Queue, type Scope, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import type { ErrorBody } from "../api/ErrorEnvelope.ts"
import { describe, defect, type Expected, type Failure } from "../api/Failure.ts"
import { errorEvent, type EventBody, makeShownPlaces, shownEvent } from "../api/ResponseEvent.ts"
import type { ReasoningShown } from "../api/ShownItem.ts"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { openStreams } from "../telemetry/Instruments.ts"
import { Drain } from "./Drain.ts"
import { logFailure } from "./ErrorBoundary.ts"

/**
 * Delivery as server-sent events. On `/v1` a frame is exactly `event: message`, one line of JSON, and a blank
 * line, and is never split between writes. Source: specification, Events, Wire format; wire contract,
 * section 2.
 */

// Some parsers take these for line ends; JSON may escape any character.
const lineEnds = /[\u0085\u2028\u2029]/
const allLineEnds = /[\u0085\u2028\u2029]/g
const escapeLineEnds = (json: string): string =>
  lineEnds.test(json)
    ? json.replace(allLineEnds, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
    : json

/**
 * Nearly all events are deltas. Their JSON is built by hand: a property test compares it with the schema's
 * encoding.
 */
const dataOf = (event: EventBody, sequenceNumber: number, reasoning: ReasoningShown): string | null => {
  if (event.type === "response.output_text.delta")
    return (
      `{"type":"response.output_text.delta","sequence_number":${sequenceNumber},"item_id":"${event.item_id}",` +
      `"output_index":${event.output_index},"content_index":${event.content_index},` +
      `"delta":${escapeLineEnds(JSON.stringify(event.delta))},"logprobs":[]}`
    )
  const shown = shownEvent(event, sequenceNumber, reasoning)
  return shown && escapeLineEnds(JSON.stringify(shown))
}

/** A frame as `/v1` writes it; "" for what is not shown. */
export const frame = (
  event: EventBody,
  sequenceNumber: number,
  reasoning: ReasoningShown = "off"
): string => {
  const data = dataOf(event, sequenceNumber, reasoning)
  return data === null ? "" : `event: message\ndata: ${data}\n\n`
}

/** One frame, whose event may have a name of its own. */
export const namedFrame = (name: string, data: object): string =>
  `event: ${name}\ndata: ${escapeLineEnds(JSON.stringify(data))}\n\n`

/** One frame without a name. */
export const dataFrame = (data: object): string => `data: ${escapeLineEnds(JSON.stringify(data))}\n\n`

/** The form in which one stream is written. */
export interface Writing<Event = EventBody> {
  /** The text before the events, if any. */
  readonly start?: string
  /** The frames for an event of the core. */
  readonly event: (event: Event) => string
  /** The frames that end a stream that fails. */
  readonly failure: (body: ErrorBody, status?: number) => string
  /** The text after a silence; a comment if absent. */
  readonly keepalive?: string
  /** The text behind the last frame. */
  readonly end: string
}

/** The form of `/v1`, with the shown part of a model's reasoning. */
export const makeWriting = (reasoning: ReasoningShown): Writing => {
  const placed = makeShownPlaces(reasoning)
  let sequenceNumber = 0
  const event = (one: EventBody) => {
    const written = frame(placed(one), sequenceNumber, reasoning)
    if (written !== "") sequenceNumber++
    return written
  }
  return { event, failure: (body) => event(errorEvent(body)), end: "" }
}

interface StreamOptions<Event> {
  readonly headers: Readonly<Record<string, string>>
  readonly writing: Writing<Event>
  /**
   * Run where the events don't come to their end, before the client hears of it; null where the client went
   * away.
   */
  readonly broken?: (failed: Failure | null) => Effect.Effect<void>
}

const encoder = new TextEncoder()

/** Pieces of one body that wait for a client that reads more slowly than its model writes. */
const piecesAheadMax = 16

const keepaliveComment = ": keepalive\n\n"

/** The streams of events that clients are reading. */
export class EventStreams extends Context.Service<
  EventStreams,
  {
    /**
     * Streams the events as the body of a response: each array of them in one piece, and a comment after each
     * silence. A failure becomes the terminal `error` event, also a defect and a shutdown of the process; the
     * body itself never fails.
     */
    readonly respond: <Event = EventBody>(
      events: Stream.Stream<Event, Expected>,
      options: StreamOptions<Event>
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse, never, Scope.Scope>
  }
>()("parley/http/EventStreams") {
  static readonly layer = Layer.effect(
    EventStreams,
    Effect.gen(function* () {
      const { cutoff } = yield* Drain
      const keepaliveMillis = (yield* AppConfig).stream.keepaliveSeconds * 1000

      const respond = Effect.fnUntraced(function* <Event>(
        events: Stream.Stream<Event, Expected>,
        { broken = () => Effect.void, headers, writing }: StreamOptions<Event>
      ) {
        const access = yield* CurrentAccess
        const clock = yield* Clock.Clock
        // The body is read where the context of the request's handler is gone: its trace, and what its log
        // lines have.
        const context = yield* Effect.context<never>()

        const write = Effect.fnUntraced(function* (pieces: Queue.Queue<Uint8Array, Cause.Done>) {
          let wroteAt = clock.currentTimeMillisUnsafe()
          const put = (text: string): Effect.Effect<unknown> => {
            // Events of which nothing is shown are silence to the client.
            if (text === "") return Effect.void
            wroteAt = clock.currentTimeMillisUnsafe()
            return Queue.offer(pieces, encoder.encode(text))
          }
          /** A comment after each silence. */
          const comment = Effect.suspend(() => {
            const left = wroteAt + keepaliveMillis - clock.currentTimeMillisUnsafe()
            return left > 0 ? Effect.sleep(Duration.millis(left)) : put(writing.keepalive ?? keepaliveComment)
          })
          /** Writes the terminal event of a stream that fails. */
          const fail = (failed: Failure) => {
            if (access !== null) access.errorCode = failed.body.code
            return Effect.andThen(broken(failed), () => put(writing.failure(failed.body, failed.status)))
          }
          yield* put(writing.start ?? "")
          yield* Stream.runForEachArray(events, (batch) => put(batch.map(writing.event).join(""))).pipe(
            (deliver) => Effect.raceAllFirst([deliver, cutoff, Effect.forever(comment)]),
            Effect.catch((error) => Effect.andThen(logFailure(error), () => fail(describe(error)))),
            Effect.catchCause((cause) =>
              Cause.hasInterruptsOnly(cause)
                ? Effect.failCause(cause)
                : Effect.andThen(Effect.logError("An unhandled error ended a stream.", cause), () =>
                    fail(defect)
                  )
            )
          )
          yield* put(writing.end)
          yield* Queue.end(pieces)
        })
        const body = Stream.callback<Uint8Array>(
          (pieces) =>
            write(pieces).pipe(
              Effect.onInterrupt(() => broken(null)),
              Effect.provideContext(context)
            ),
          { bufferSize: piecesAheadMax }
        )

        yield* Effect.acquireRelease(Metric.modify(openStreams.of(), 1), () =>
          Metric.modify(openStreams.of(), -1)
        )
        return HttpServerResponse.stream(body, {
          contentType: "text/event-stream",
          headers: { "cache-control": "no-cache", "x-accel-buffering": "no", ...headers }
        })
      })

      return EventStreams.of({ respond })
    })
  )
}
