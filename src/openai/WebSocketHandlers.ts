import { Cause, Context, Effect, Exit, Layer, Option, Queue, Redacted, Scope, Stream, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Socket } from "effect/socket"
import type { ErrorBody } from "../api/ErrorEnvelope.ts"
import { defect, describe, type Expected, type Failure } from "../api/Failure.ts"
import { CreateBody } from "../api/openai/CreateBody.ts"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import type { ProfileEventBody } from "../api/openai/ResponseEvents.ts"
import { webSocketPath } from "../api/openai/WebSocketApi.ts"
import { profileProblem } from "../api/RequestProblem.ts"
import { errorEvent, type EventBody } from "../api/ResponseEvent.ts"
import { ApiKeys } from "../auth/ApiKeys.ts"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import { type Caller, CurrentUser } from "../domain/Account.ts"
import { InvalidRequest, ServerShuttingDown, UserLimitReached } from "../domain/Errors.ts"
import { makeAccessLog } from "../http/AccessLog.ts"
import { excessProblem } from "../http/BodyBounds.ts"
import { connectionEnd } from "../http/ConnectionEnd.ts"
import { Drain } from "../http/Drain.ts"
import { enveloped, logFailure } from "../http/ErrorBoundary.ts"
import { excessOf } from "../http/JsonScanner.ts"
import { UserBounds } from "../http/UserBounds.ts"
import { Responses } from "../responses/Responses.ts"
import { FairPermits } from "../runtime/FairPermits.ts"
import { inTurns } from "../runtime/ProcessorTurns.ts"
import { KeyRates } from "../usage/KeyRates.ts"
import { type Arrived, makeArrivals } from "./ArrivingMessages.ts"
import { refuseKey } from "./BackgroundCreation.ts"
import { makeKeepBroken } from "./BrokenResponses.ts"
import {
  type Continuation,
  makeNamingPrevious,
  remembered,
  checkPrevious,
  goesOn,
  withHistory
} from "./Continuations.ts"
import { contradictionIn, namedTwice } from "./Contradictions.ts"
import type { View } from "./ItemRendering.ts"
import { makeRenderer } from "./Rendering.ts"
import { readRequest } from "./RequestReading.ts"
import { Sealing } from "./Sealing.ts"

/** The messages that clients send over a WebSocket. */

const decodeMessage = Schema.decodeUnknownEffect(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Any))
)
const decodeBody = Schema.decodeUnknownEffect(CreateBody)

const invalid = (param: string, message: string) => new InvalidRequest({ param, message })

/** The fields of a message, without those that only a message has. */
const fieldsOf = Effect.fnUntraced(function* (frame: string | Uint8Array) {
  if (typeof frame !== "string") return yield* invalid("", "A message must be text.")
  const excess = yield* excessOf(frame)
  if (excess !== null) return yield* excessProblem(excess, "The message")
  const { type, ...body } = yield* decodeMessage(frame).pipe(
    Effect.mapError(() => invalid("", "A message must be a JSON object."))
  )
  if (type !== "response.create") return yield* invalid("type", '`type` must be "response.create".')
  if (body["background"] === true) {
    return yield* invalid(
      "background",
      "`background` must be false or left out: send POST /openai/v1/responses."
    )
  }
  if (body["generate"] === false) return yield* invalid("generate", "`generate` must be true or left out.")
  const twice = namedTwice(body)
  if (twice !== null) return yield* twice
  yield* checkPrevious(body)
  return body
})

const invalidField = (body: unknown) => (error: Schema.SchemaError) =>
  new InvalidRequest({ ...profileProblem(error, body) })

/** Reads what a message asks for, with the history that it goes on from. */
const readMessage = Effect.fnUntraced(function* (frame: string | Uint8Array, known: Continuation | null) {
  const fields = yield* fieldsOf(frame)
  const isKnown = goesOn(fields, known)
  const whole = isKnown ? withHistory(fields, known) : fields
  const body = yield* Effect.mapError(decodeBody(whole), invalidField(whole))
  return { body, whole, previous: isKnown ? known.id : null }
})

type ReadMessage = Effect.Success<ReturnType<typeof readMessage>>

/** A connection without a message for so long is closed, and any connection after so long. */
export const ConnectionLimits = Context.Reference("parley/openai/ConnectionLimits", {
  defaultValue: () => ({ idleSeconds: 600, connectionSeconds: 3_600 })
})
/** Connections of one user at once, in one process. */
export const connectionsPerUserMax = 32
const connectionRetrySeconds = 60
/** An idle connection looks so often whether the service is shutting down. */
const lookSeconds = 1

/** Source: RFC 6455, section 7.4.1. */
const goingAway = 1001

const errorBefore = (body: ErrorBody, status: number) => [{ ...errorEvent(body), status }]

/** Numbers the events of one response. */
const makeNumbering = () => {
  let sequenceNumber = 0
  return (event: object & { readonly type: string }): string =>
    JSON.stringify(Object.assign({ type: event.type, sequence_number: sequenceNumber++ }, event))
}

const isUpgrade = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["upgrade"]?.toLowerCase() === "websocket"

const credentialOf = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  Redacted.make((headers["authorization"] ?? "").replace(/^bearer +/i, "").trim())

type Write = Socket.Writer["write"]

/** The memory that one connection has of its last answer. */
interface Memory {
  last: Continuation | null
}

/** The events of one of the core's, for a connection that remembers the response at its end. */
const makeRendering = (view: View, message: ReadMessage, memory: Memory) => {
  const renderer = makeRenderer(view)
  const event = (one: EventBody): ReadonlyArray<ProfileEventBody> => {
    const rendered = renderer.event(one).map((each) => continuing(each, message.previous))
    const end = rendered.at(-1)
    // Before the client can send the next message.
    if (end?.type === "response.completed" || end?.type === "response.incomplete") {
      memory.last = remembered(message.whole, end.response)
    }
    return rendered
  }
  return { event, failure: renderer.failure }
}

/** The same event, of a response that says which one it continues. */
const continuing = (event: ProfileEventBody, previous: string | null): ProfileEventBody =>
  previous !== null && "response" in event
    ? { ...event, response: { ...event.response, previous_response_id: previous } }
    : event

/** Begins the response that a message asks for. */
const makeBegin = Effect.gen(function* () {
  const responses = yield* Responses
  const namingPrevious = yield* makeNamingPrevious
  const drain = yield* Drain
  const sealing = yield* Sealing

  return Effect.fnUntraced(function* (
    caller: Caller,
    frame: string | Uint8Array,
    known: Continuation | null
  ) {
    const message = yield* readMessage(frame, known)
    const { body } = message
    const contradiction = contradictionIn(body)
    if (contradiction !== null) return yield* contradiction
    const { demands, request: asked, view } = yield* readRequest(body, sealing.of(caller.userId))
    const begun = yield* responses
      .create(asked, demands)
      .pipe(
        Effect.catchTag("ConversationNotFound", namingPrevious(asked)),
        Effect.provideService(CurrentUser, caller),
        Effect.raceFirst(drain.cutoff)
      )
    return { begun, message, view }
  })
})

/**
 * Answers the messages of connections, as POST answers requests: with the same checks, limits, records and
 * log lines.
 */
const makeAnswer = Effect.gen(function* () {
  const begin = yield* makeBegin
  const keepBroken = yield* makeKeepBroken
  const drain = yield* Drain
  const keys = yield* ApiKeys
  const rates = yield* KeyRates
  const bounds = yield* UserBounds
  const random = yield* SecureRandom.SecureRandom
  const log = yield* makeAccessLog

  return Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    { frame, refusal }: Arrived,
    write: Write,
    memory: Memory
  ) {
    const access = yield* log.begin(request, yield* random.uuidV7(), webSocketPath)
    access.status = 200
    const number = makeNumbering()
    const send = (events: ReadonlyArray<ProfileEventBody | ReturnType<typeof errorBefore>[number]>) =>
      Effect.forEach(events, (event) => write(number(event)), { discard: true })
    let failed: (body: ErrorBody, status: number) => Parameters<typeof send>[0] = errorBefore
    let broken: (failure: Failure | null) => Effect.Effect<void> = () => Effect.void

    // Only an answer is remembered: what fails is continued by nothing.
    const known = memory.last
    memory.last = null

    const respondTo = Effect.fnUntraced(function* (caller: Caller) {
      const { begun, message, view } = yield* begin(caller, frame, known)
      const renderer = makeRendering(view, message, memory)
      failed = renderer.failure
      broken = keepBroken(caller, message.body, begun)
      const delivery = Stream.runForEach(begun.events, (event) => send(renderer.event(event)))
      yield* Effect.raceFirst(delivery, drain.cutoff)
    })

    const respond = Effect.gen(function* () {
      if (refusal !== null) return yield* refusal
      // The key may have been revoked since the connection was opened.
      const caller = yield* keys.authenticate(credentialOf(request))
      access.entry.caller = caller
      const { requestsPerMinute } = caller.keyLimits
      if (requestsPerMinute !== null) yield* rates.admit(caller.keyId, requestsPerMinute)
      yield* bounds.admit(caller.userId)
      yield* inTurns(caller.userId)(respondTo(caller))
    })

    const sendError = (failure: Failure) => {
      access.entry.errorCode = failure.body.code
      return Effect.andThen(broken(failure), send(failed(failure.body, failure.status)))
    }
    const tell = (error: Expected) => Effect.andThen(logFailure(error), sendError(describe(error)))
    yield* respond.pipe(
      Effect.onInterrupt(() => broken(null)),
      Effect.catch((error) =>
        Socket.isSocketError(error) ? Effect.andThen(broken(null), Effect.fail(error)) : tell(error)
      ),
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause) || Cause.hasFails(cause)
          ? Effect.failCause(cause)
          : Effect.andThen(Effect.logError("An unhandled error ended a response.", cause), sendError(defect))
      ),
      log.within(access)
    )
  }, Effect.scoped)
})

/**
 * One connection. Its messages are answered one after the other; a client that disconnects cancels the
 * answer.
 */
const makeServe = Effect.gen(function* () {
  const drain = yield* Drain
  const { connectionSeconds, idleSeconds } = yield* ConnectionLimits
  const answer = yield* makeAnswer
  const arrivals = yield* makeArrivals

  const closed = Effect.repeat(Effect.delay(drain.isClosed, `${lookSeconds} seconds`), {
    until: (isClosed) => isClosed
  })

  return Effect.fnUntraced(function* (socket: Socket.Socket, request: HttpServerRequest.HttpServerRequest) {
    const { pull } = yield* socket.reader
    const { write } = yield* socket.writer
    const { frames, read } = yield* arrivals(request, pull, (yield* CurrentUser).userId)

    const next = Effect.raceFirst(
      Effect.asSome(Queue.take(frames)).pipe(
        Effect.timeoutOrElse({ duration: `${idleSeconds} seconds`, orElse: () => Effect.succeedNone })
      ),
      Effect.as(closed, Option.none())
    )
    const memory: Memory = { last: null }
    const answerAll = Effect.gen(function* () {
      for (;;) {
        const arrived = yield* next
        if (Option.isNone(arrived)) return
        yield* Effect.ensuring(
          answer(request, arrived.value, write, memory),
          Scope.close(arrived.value.scope, Exit.void)
        )
      }
    })
    // Nothing is read while messages wait, and so not that the client has gone.
    yield* Effect.raceAllFirst([read, answerAll, connectionEnd(request)]).pipe(
      Effect.timeoutOption(`${connectionSeconds} seconds`)
    )
    yield* write(new Socket.CloseEvent(goingAway))
  }, Effect.scoped)
})

export const WebSocketHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "webSocket",
  Effect.fn(function* (handlers) {
    const serve = yield* makeServe
    const connections = new FairPermits({ perKeyMax: connectionsPerUserMax })
    const drain = yield* Drain

    return handlers.handle(
      "connect",
      Effect.fnUntraced(
        function* ({ request }) {
          if (yield* drain.isClosed) return yield* new ServerShuttingDown()
          yield* refuseKey(request)
          if (!isUpgrade(request)) {
            return yield* invalid("", "Send POST /openai/v1/responses, or connect by WebSocket.")
          }
          const { userId } = yield* CurrentUser
          if (connections.of(userId).held >= connectionsPerUserMax) {
            return yield* new UserLimitReached({
              limit: "connections",
              max: connectionsPerUserMax,
              retryAfterSeconds: connectionRetrySeconds
            })
          }
          yield* connections.acquire(userId)
          const socket = yield* Effect.orDie(request.upgrade)
          // The responses have their own log lines.
          yield* serve(socket, request).pipe(
            Effect.provideService(CurrentAccess, null),
            // The client has closed the connection.
            Effect.catchIf(Socket.isSocketError, () => Effect.void)
          )
          return HttpServerResponse.empty()
        },
        Effect.scoped,
        enveloped
      )
    )
  })
).pipe(Layer.provide(UserBounds.layer))
