import { Cause, Clock, Context, Duration, Effect, Layer, Metric, type Scope, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { ErrorBody } from "../api/ErrorEnvelope.ts"
import { describe, defect, type Expected, type Failure } from "../api/Failure.ts"
import { errorEvent, type EventBody, isTerminal, numberEvent } from "../api/ResponseEvent.ts"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import { type Alarm, unless } from "../domain/Alarm.ts"
import { acquired } from "../domain/onClose.ts"
import { Slots } from "../domain/Slots.ts"
import type { Outlet } from "../responses/Outlet.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { openStreams } from "../telemetry/Instruments.ts"
import { Drain } from "./Drain.ts"
import { logFailure } from "./ErrorBoundary.ts"
import { type FrameOutput, makeFrameOutput } from "./FrameOutput.ts"

/**
 * Delivery as server-sent events. On `/v1` a frame is exactly `event: message`, one line of JSON, and a blank line, and is never split
 * between writes. Source: specification, Events, Wire format; wire contract, section 2.
 */

// Some parsers take these for line ends; JSON may escape any character.
const lineEnds = /[\u0085\u2028\u2029]/
const allLineEnds = /[\u0085\u2028\u2029]/g
const escapeLineEnds = (json: string): string =>
  lineEnds.test(json)
    ? json.replace(allLineEnds, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
    : json

/** The one event whose response is `in_progress`: what all of them have in common stands here. */
const createdData = (
  { response }: Extract<EventBody, { type: "response.created" }>,
  sequenceNumber: number
) =>
  `{"type":"response.created","sequence_number":${sequenceNumber},"response":{"id":"${response.id}","object":"response",` +
  `"created_at":${response.created_at},"status":"in_progress","model":${JSON.stringify(response.model)},"output":[],` +
  `"output_text":"","conversation_id":"${response.conversation_id}","conversation":{"id":"${response.conversation.id}"},` +
  `"completed_at":null,"error":null,"incomplete_details":null,"instructions":${JSON.stringify(response.instructions)},` +
  `"max_output_tokens":${response.max_output_tokens},"max_tool_calls":null,` +
  `"previous_response_id":${JSON.stringify(response.previous_response_id)},"parallel_tool_calls":true,` +
  `"tool_choice":"auto","tools":[],"temperature":1,"top_p":1,"presence_penalty":0,"frequency_penalty":0,` +
  `"top_logprobs":0,"truncation":"disabled","text":{"format":{"type":"text"}},"reasoning":null,` +
  `"store":${response.store},"background":false,"usage":null,"service_tier":"default","metadata":{},` +
  `"safety_identifier":null,"prompt_cache_key":null}}`

/**
 * Nearly all events are deltas, and no first token leaves before `response.created` and `response.content_part.added`: their JSON is
 * built by hand. A property test compares it with the schema's encoding. Of a delta only its text may have to be escaped.
 */
const dataOf = (event: EventBody, sequenceNumber: number): string => {
  switch (event.type) {
    case "response.output_text.delta":
      return (
        `{"type":"response.output_text.delta","sequence_number":${sequenceNumber},"item_id":"${event.item_id}",` +
        `"output_index":${event.output_index},"content_index":${event.content_index},` +
        `"delta":${escapeLineEnds(JSON.stringify(event.delta))},"logprobs":[]}`
      )
    case "response.content_part.added":
      return (
        `{"type":"response.content_part.added","sequence_number":${sequenceNumber},"item_id":"${event.item_id}",` +
        `"output_index":${event.output_index},"content_index":${event.content_index},` +
        `"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}`
      )
    case "response.created":
      return escapeLineEnds(createdData(event, sequenceNumber))
    default:
      return escapeLineEnds(JSON.stringify(numberEvent(event, sequenceNumber)))
  }
}

/** A frame as `/v1` writes it. */
export const frame = (event: EventBody, sequenceNumber: number): string =>
  `event: message\ndata: ${dataOf(event, sequenceNumber)}\n\n`

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

interface StreamOptions {
  readonly headers: Readonly<Record<string, string>>
  /** Raised when the events must end before they are complete. */
  readonly lost: Alarm<Expected>
  readonly writing: Writing
  /** Opened for events that need not pass the stream. */
  readonly outlet?: Outlet<EventBody>
  /** Run where the events don't come to their end, before the client hears of it; null where the client went away. */
  readonly broken?: (failed: Failure | null) => Effect.Effect<void>
}

type Respond = (
  events: Stream.Stream<EventBody, Expected>,
  options: StreamOptions
) => Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  never,
  HttpServerRequest.HttpServerRequest | Scope.Scope
>

/**
 * The body of one response, which forgets what it delivers when that begins: what the server keeps of a request leads
 * to its response long after that has ended (docs/decisions/young-objects.md).
 */
const bodyOf = (once: { delivered: Effect.Effect<void> | null }): Stream.Stream<never> =>
  Stream.fromEffectDrain(
    Effect.suspend(() => {
      const { delivered } = once
      once.delivered = null
      return delivered ?? Effect.void
    })
  )

/** How often silent streams are looked for, at most and at least; else after this share of the silence. */
const sweepSecondsMax = 1
const sweepSecondsMin = 0.01
const sweepShare = 0.1

/** The streams of events that clients are reading. */
export class EventStreams extends Context.Service<
  EventStreams,
  {
    /**
     * Streams the events. A failure becomes the terminal `error` event, also a defect and a shutdown of the process; the stream
     * itself never fails. The body writes to the client by itself: each pull of the events is one write, and there is neither a
     * queue nor another fiber between the model's server and the client (docs/decisions/delivery.md).
     */
    readonly respond: Respond
  }
>()("parley/http/EventStreams") {
  static readonly layer = Layer.effect(
    EventStreams,
    Effect.gen(function* () {
      const { cutoff } = yield* Drain
      const { keepaliveSeconds } = (yield* AppConfig).stream
      const clock = yield* Clock.Clock
      const open = new Slots<FrameOutput>()

      const sweepSeconds = Math.min(sweepSecondsMax, Math.max(sweepSecondsMin, keepaliveSeconds * sweepShare))
      const silenceMillis = (keepaliveSeconds - sweepSeconds) * 1000
      // One for all streams, where each would need a fiber and a timer. No silence is longer than the settings say.
      yield* Effect.sync(() => {
        for (const output of open) output.keepAlive(silenceMillis)
      }).pipe(Effect.delay(Duration.seconds(sweepSeconds)), Effect.forever, Effect.forkScoped)

      const respond: Respond = Effect.fnUntraced(function* (
        events,
        { broken, headers, lost, outlet, writing }
      ) {
        const access = yield* CurrentAccess
        // The body is pulled where the context of the request's handler is gone: its trace, and what its log lines have.
        const context = yield* Effect.context<never>()
        const output = makeFrameOutput(yield* HttpServerRequest.HttpServerRequest, clock)

        const send = (text: string, isLast = false) =>
          output.push(text, isLast) ? Effect.void : output.drained

        const framesOf = (batch: ReadonlyArray<EventBody>) => {
          let text = ""
          for (const event of batch) text += writing.event(event)
          return text
        }

        /** Writes the terminal event of a stream that fails. */
        const writeError = (failed: Failure) => {
          if (access !== null) access.errorCode = failed.body.code
          const write = Effect.suspend(() => send(writing.failure(failed.body), true))
          return broken === undefined ? write : Effect.andThen(broken(failed), write)
        }

        const deliver = Stream.runForEachArray(events, (batch) =>
          send(framesOf(batch), isTerminal(batch.at(-1)))
        ).pipe(
          unless(cutoff, lost),
          Effect.catch((error) => Effect.andThen(logFailure(error), () => writeError(describe(error)))),
          Effect.catchCause((cause) =>
            Cause.hasInterruptsOnly(cause)
              ? Effect.failCause(cause)
              : Effect.logError("An unhandled error ended a stream.", cause).pipe(
                  Effect.andThen(() => writeError(defect))
                )
          ),
          Effect.andThen(() => send(writing.end, true)),
          (delivery) => (broken === undefined ? delivery : Effect.onInterrupt(delivery, () => broken(null)))
        )

        yield* acquired(
          Effect.map(Metric.modify(openStreams.of(), 1), () => open.add(output)),
          (slot) => {
            open.remove(slot, output)
            return Metric.modify(openStreams.of(), -1)
          }
        )
        const delivered = Effect.suspend(() => {
          outlet?.leadTo({
            isReady: () => !output.isBlocked(),
            show: (batch) => void output.push(framesOf(batch))
          })
          return Effect.andThen(send(writing.start ?? ""), deliver)
        }).pipe(Effect.updateContext<never, never>(() => context))
        return HttpServerResponse.stream(bodyOf({ delivered }), {
          contentType: "text/event-stream",
          headers: { "cache-control": "no-cache", "x-accel-buffering": "no", ...headers }
        })
      })

      return EventStreams.of({ respond })
    })
  )
}
