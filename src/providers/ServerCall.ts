import { Clock, Effect, Option, Random, Result, Scope, Stream, Tracer } from "effect"
import type { ModelFailure } from "../domain/Errors.ts"
import type { ModelSpec } from "../domain/Model.ts"
import {
  type CallOptions,
  type ModelPart,
  type ModelRequest,
  nothingSpent,
  saidByClient,
  withoutFallback
} from "../domain/ModelCall.ts"
import { monotonicSeconds } from "../runtime/Monotonic.ts"
import { AnswerReader } from "./AnswerReader.ts"
import { askedIn, type Dialect, isServicesOwn, refusedParameter } from "./Dialect.ts"
import { formRefusal } from "./ErrorWords.ts"
import { Exchange, type ExchangeOptions, type Parts } from "./Exchange.ts"
import {
  askedWait,
  classify,
  type Fault,
  FormRefused,
  RequestRejected,
  RoundRefused,
  textOf,
  toModelFailure
} from "./Fault.ts"
import type { Tried } from "./LearnedParts.ts"
import { withBody } from "./ModelExtras.ts"
import {
  beginsThinking,
  bodyOf,
  demandsReasoning,
  endpointOf,
  firstDialect,
  type ModelServer,
  originOf,
  secretsOf,
  withHeaders
} from "./ModelServer.ts"
import type { ProviderGate } from "./ProviderGate.ts"
import { sentenceOf, withoutPrompt } from "./ProviderSentence.ts"
import { readableBy, withServersIds } from "./SentMessages.ts"
import { countPromptTokens, countTokens } from "./Tokenizer.ts"
import type { Endpoint, Upstream } from "./Upstream.ts"

/** The maximum number of retries, and of seconds since the first attempt. */
interface RetryBudget {
  readonly retriesMax: number
  readonly seconds: number
}

const retriesMax = 4

/** The budget with a fallback: one immediate retry. */
const fallbackBudget: RetryBudget = { retriesMax: 1, seconds: 0.5 }

export const retryBudget = (seconds: number, hasFallback: boolean): RetryBudget =>
  hasFallback
    ? { ...fallbackBudget, seconds: Math.min(seconds, fallbackBudget.seconds) }
    : { retriesMax, seconds }

/** A model that has made two bad calls makes a third. */
const badCallRetriesMax = 1

/** The wait before the first retry, which doubles with each that follows; up to half of a wait is random. */
const firstWaitSeconds = 0.25
const waitSecondsMax = 8

/**
 * At most this share is added to a wait that the server asked for, so that requests don't all return at once.
 */
const askedWaitJitter = 0.1

/**
 * Seconds to wait before a retry; null if a retry is pointless or would exceed the budget. `chance` is
 * between 0 and 1.
 */
export const retryWait = (
  fault: Fault,
  past: { readonly retries: number; readonly seconds: number; readonly askedSeconds: number | undefined },
  budget: RetryBudget,
  chance: number
): number | null => {
  const most = fault._tag === "CallMalformed" ? badCallRetriesMax : budget.retriesMax
  if (past.retries >= Math.min(most, budget.retriesMax) || !classify(fault).isRetryable) return null
  const backoff = Math.min(waitSecondsMax, firstWaitSeconds * 2 ** past.retries) * (1 - chance / 2)
  const wait = Math.max(backoff, (past.askedSeconds ?? 0) * (1 + askedWaitJitter * chance))
  return past.seconds + wait <= budget.seconds ? wait : null
}

/**
 * With a fallback, a model that is known to be slow gets up to this multiple of its usual time to the first
 * output.
 */
const usualTimesMax = 3

/** A request is sent at most so often without a wait: in another dialect, or over a fresh connection. */
const attemptsMax = 4

/** The state that all calls of one model share. */
interface Line {
  readonly upstream: Upstream
  readonly server: ModelServer
  readonly gate: ProviderGate
  readonly retrySeconds: number
  readonly endpoint: Endpoint
}

interface Call extends Line {
  readonly model: ModelSpec
  readonly request: ModelRequest
  readonly options: CallOptions
  readonly calledSeconds: number
}

/**
 * Calls the models of a server. A temporary fault before any output is retried for up to `retrySeconds` after
 * the first attempt. With a fallback there is at most one retry, soon.
 */
export const makeServerCall = (
  upstream: Upstream,
  server: ModelServer,
  limits: { readonly gate: ProviderGate; readonly retrySeconds: number }
) => {
  return (model: ModelSpec) => {
    const endpoint = endpointOf(server, server.protocol.path, model.id)
    const line: Line = { ...limits, upstream, server, endpoint }
    return (
      request: ModelRequest,
      options: CallOptions = withoutFallback
    ): Stream.Stream<ModelPart, ModelFailure> =>
      Stream.unwrap(
        Effect.flatMap(monotonicSeconds, (calledSeconds) =>
          Effect.map(answer({ ...line, model, request, options, calledSeconds }), ({ pull }) =>
            Stream.fromPull(Effect.succeed(pull))
          )
        )
      )
  }
}

/** Sends the request as soon as the gate lets it through; the stream begins with the first output. */
const answer = Effect.fnUntraced(
  function* (call: Call) {
    const { calledSeconds, gate, model, options } = call
    yield* gate.acquire(options)
    const exchange = yield* gate.guard(options, firstOutput(call))
    const now = yield* monotonicSeconds
    // The wait for a permit counts as well, so that a queue makes a model slow.
    gate.recordOf(model.id).began(now - calledSeconds, now)
    return exchange
  },
  (effect, call) => Effect.catch(effect, (fault) => failWith(call, fault))
)

/** The exchange that has the first output, after retries. */
const firstOutput = (call: Call) => {
  const record = call.gate.recordOf(call.model.id)
  return Effect.acquireUseRelease(
    Effect.sync(() => record.asked()),
    () => attempt(call),
    () => Effect.sync(() => record.settled())
  )
}

const attempt = Effect.fnUntraced(function* (call: Call) {
  const { gate, model, options, request, server } = call
  const record = gate.recordOf(model.id)
  const endpoint = yield* tracedEndpoint(call)
  const beganSeconds = yield* monotonicSeconds
  const timeouts = timeoutsOf(call, beganSeconds)
  const first = record.learned.applied(firstDialect(server, model), beganSeconds)
  const tried: Array<Tried> = []
  let dialect = first
  let attempts = 0
  let retries = 0
  while (true) {
    attempts++
    const exchange = yield* send(call, endpoint, dialect, timeouts)
    const opened = yield* Effect.result(exchange.opened)
    if (Result.isSuccess(opened)) {
      if (dialect !== first) yield* learn(call, first, tried)
      return exchange
    }
    const fault = opened.failure
    if (attempts < attemptsMax) {
      if (fault._tag === "ConnectionStale") continue
      const other = otherDialect(call, fault, dialect)
      if (other !== null) {
        dialect = other
        tried.push({ dialect, sentence: sentenceOf(fault, secretsOf(server)) })
        continue
      }
    }
    const now = yield* monotonicSeconds
    const askedSeconds = askedWait(fault, yield* Clock.currentTimeMillis)
    if (fault._tag === "RateLimited") record.limited(askedSeconds ?? 0, now)
    const wait = retryWait(
      fault,
      { retries, seconds: now - beganSeconds, askedSeconds },
      retryBudget(call.retrySeconds, options.hasFallback()),
      yield* Random.next
    )
    if (wait === null) {
      const blamed = blaming(fault, request, dialect)
      yield* recordFailure(call, blamed)
      return yield* blamed
    }
    retries++
    attempts = 0
    yield* Effect.logInfo("A model server failed before its first output; retrying.").pipe(
      Effect.annotateLogs({ provider: server.provider, reason: classify(fault).reason, waitSeconds: wait })
    )
    yield* Effect.sleep(`${wait * 1000} millis`)
  }
})

/** Sends the request once. The exchange is closed with the scope. */
const send = (
  call: Call,
  endpoint: Endpoint,
  dialect: Dialect,
  timeouts: ExchangeOptions["timeouts"]
): Effect.Effect<Exchange, never, Scope.Scope> =>
  Effect.flatMap(Effect.scope, (scope) => {
    const { gate, model, options, request, server, upstream } = call
    const origin = originOf(server, model.id)
    const { encode, headersOf, makeDecode } = server.protocol
    const clients = demandsReasoning(server, dialect) ? saidByClient(model.id) : null
    const messages = withServersIds(readableBy(origin, request.messages, clients))
    const readable = { ...askedIn(request, dialect), messages }
    const decode = makeDecode(beginsThinking(server, model), readable.options?.logprobs)
    const reader = new AnswerReader(decode, origin)
    const exchange = new Exchange(reader, {
      timeouts,
      count: () => estimate(request, reader),
      giveUp: (fault) => Effect.andThen(recordFailure(call, fault), failWith(call, fault, reader.written))
    })
    const close = Effect.map(monotonicSeconds, (now) => {
      if (exchange.isFinished) {
        gate.answered(options.user ?? "", now)
        gate.recordOf(model.id).answered(now)
      }
      exchange.close()
    })
    return Effect.map(Scope.addFinalizer(scope, close), () => {
      options.onSent?.(readable)
      const to = withHeaders(endpoint, headersOf?.(model.id, readable, dialect) ?? {})
      const body = withBody(encode(model.id, readable, dialect), bodyOf(server, model))
      upstream.post(to, body, exchange, server.sdk?.send)
      return exchange
    })
  })

/**
 * The timeouts of a call. The first is a function, because a fallback can become available or unavailable
 * during the wait.
 */
const timeoutsOf = ({ gate, model, options, upstream }: Call, now: number): ExchangeOptions["timeouts"] => {
  const { fallbackSeconds, firstTokenSeconds, idleSeconds } = upstream.timeouts
  const usualSeconds = gate.recordOf(model.id).seen(now).firstOutputSeconds ?? 0
  const withFallback = Math.min(firstTokenSeconds, Math.max(fallbackSeconds, usualTimesMax * usualSeconds))
  return {
    firstTokenSeconds: () => (options.hasFallback() ? withFallback : firstTokenSeconds),
    idleSeconds
  }
}

/**
 * The endpoint, with the trace that the request belongs to. Source: W3C Trace Context, traceparent header.
 */
const tracedEndpoint = ({ endpoint }: Call): Effect.Effect<Endpoint> =>
  // Without a span, `Effect.currentParentSpan` would create an error, which costs a tenth of the processor
  // time of a short call.
  Effect.map(Effect.serviceOption(Tracer.ParentSpan), (span) => {
    if (Option.isNone(span) || !span.value.sampled) return endpoint
    const traceparent = `00-${span.value.traceId}-${span.value.spanId}-01`
    return { ...endpoint, headers: { ...endpoint.headers, traceparent } }
  })

const otherDialect = ({ request, server }: Call, fault: Fault, dialect: Dialect): Dialect | null =>
  fault._tag === "RequestRejected"
    ? server.protocol.adapt(dialect, textOf(fault), askedIn(request, dialect))
    : null

/**
 * Makes later requests for the model begin with the dialect that succeeded. Skipped if the client's own
 * fields may have caused the refusal.
 */
const learn = Effect.fnUntraced(function* (
  { gate, model, request, server }: Call,
  first: Dialect,
  tried: ReadonlyArray<Tried>
) {
  if (!isServicesOwn(request)) return
  const safe = tried.map(({ dialect, sentence }) => ({
    dialect,
    sentence: withoutPrompt(sentence, request.messages)
  }))
  const learned = gate.recordOf(model.id).learned.learn(first, safe, yield* monotonicSeconds)
  for (const { part, seconds, sentence } of learned) {
    yield* Effect.logWithLevel(part === "tools" ? "Warn" : "Info")(
      "A model server refuses a part of the service's own requests; leaving it out for a while."
    ).pipe(Effect.annotateLogs({ provider: server.provider, model: model.id, part, seconds, sentence }))
  }
})

/**
 * The fault, with the client's parameter that it is about, or as a refusal of something that the service
 * added.
 */
const blaming = (fault: Fault, request: ModelRequest, dialect: Dialect): Fault => {
  if (fault._tag !== "RequestRejected") return fault
  const text = textOf(fault)
  const parameter = refusedParameter(text, askedIn(request, dialect), dialect)
  if (parameter !== null) return new RequestRejected({ ...fault, parameter })
  if (isServicesOwn(request) && formRefusal.test(text)) return new FormRefused(fault)
  return givesOwnResults(request) ? new RoundRefused(fault) : fault
}

/** True if the request returns results of the service's own tools, which the client has no influence on. */
const givesOwnResults = ({ followsOwnCalls, messages }: ModelRequest): boolean =>
  followsOwnCalls === true && messages.at(-1)?.role === "tool"

/** Records that the request failed, once for all its attempts. */
const recordFailure = Effect.fnUntraced(function* (call: Call, fault: Fault) {
  const now = yield* monotonicSeconds
  const record = call.gate.recordOf(call.model.id)
  call.gate.failed(fault, now)
  if (classify(fault).countsAgainstModel) record.failed(now)
  // The server may only be slow. The next request gives it more time.
  if (fault._tag === "FirstTokenTimeout") record.began(now - call.calledSeconds, now)
})

/** `written`: the model's text, which the server's words may quote besides the prompt. */
const failWith = (
  { model, request, server }: Call,
  fault: Fault,
  written = ""
): Effect.Effect<never, ModelFailure> =>
  Effect.flip(
    toModelFailure(fault, {
      provider: server.provider,
      model: model.id,
      secrets: secretsOf(server),
      messages: [...request.messages, { role: "assistant", text: written, toolCalls: [] }]
    })
  )

/** The finish of an answer whose server counted nothing, or only a part. */
const estimate = Effect.fnUntraced(function* (
  request: ModelRequest,
  reader: AnswerReader
): Effect.fn.Return<Parts> {
  const counted = reader.counted ?? nothingSpent
  return reader.finishWith({
    ...counted,
    inputTokens: counted.inputTokens || (yield* countPromptTokens(request)),
    outputTokens: counted.outputTokens || (yield* countTokens(reader.written)),
    source: "tokenizer"
  })
})
