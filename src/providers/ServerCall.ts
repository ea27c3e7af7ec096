import { Clock, Effect, Option, Random, Result, type Scope, Stream } from "effect"
import type { ModelFailure } from "../domain/Errors.ts"
import {
  alone,
  type CallOptions,
  type ModelPart,
  type ModelRequest,
  nothingSpent
} from "../domain/ModelCall.ts"
import type { ModelSpec } from "../domain/Model.ts"
import { monotonicSeconds } from "../domain/Monotonic.ts"
import { AnswerReader } from "./AnswerReader.ts"
import { Exchange, type ExchangeOptions, type Parts } from "./Exchange.ts"
import { askedWait, type Fault, retryBudget, retryWait, toModelFailure } from "./Fault.ts"
import { endpointOf, firstDialect, type ModelServer } from "./ModelServer.ts"
import type { Dialect } from "./Protocol.ts"
import { isBlamed, type ProviderGate } from "./ProviderGate.ts"
import { countPromptTokens, countTokens } from "./Tokenizer.ts"
import type { Endpoint, Upstream } from "./Upstream.ts"

/** With a fallback, a model that is known to be slow still gets so many times its usual time to the first output. */
const usualTimesMax = 3

/** A request is sent at most so often without a wait: in another dialect, or over a fresh connection. */
const attemptsMax = 4

/** What the calls of one server share. */
interface Line {
  readonly upstream: Upstream
  readonly server: ModelServer
  readonly gate: ProviderGate
  readonly retrySeconds: number
  /** The dialect of each model whose server refused the first one: learning it costs a second request only once. */
  readonly dialects: Map<string, Dialect>
}

interface Call extends Line {
  readonly model: ModelSpec
  readonly request: ModelRequest
  readonly options: CallOptions
  readonly calledSeconds: number
}

/**
 * The way to call the models of a server. A fault before any output that may be temporary is retried for up to `retrySeconds`
 * after the first attempt; where a fallback is available, at most once and soon.
 */
export const makeServerCall = (
  upstream: Upstream,
  server: ModelServer,
  limits: { readonly gate: ProviderGate; readonly retrySeconds: number }
) => {
  const line: Line = { ...limits, upstream, server, dialects: new Map() }
  return (model: ModelSpec) =>
    (request: ModelRequest, options: CallOptions = alone): Stream.Stream<ModelPart, ModelFailure> =>
      Stream.unwrap(
        Effect.flatMap(monotonicSeconds, (calledSeconds) =>
          answer({ ...line, model, request, options, calledSeconds })
        )
      )
}

/** Sends the request as soon as the gate lets it through; the stream begins with the first output. */
const answer = Effect.fnUntraced(function* (call: Call) {
  const { calledSeconds, gate, model, options } = call
  const rejected = (fault: Fault) => failWith(call, fault)
  yield* Effect.catch(gate.acquire(options), rejected)
  const ask = Effect.gen(function* () {
    const exchange = yield* firstOutput(call)
    const now = yield* monotonicSeconds
    // The wait for a permit counts as well, so that a queue makes a model slow.
    gate.recordOf(model.id).began(now - calledSeconds, now)
    return exchange
  })
  const exchange = yield* gate.guard(options, ask, rejected)
  return Stream.fromPull(Effect.succeed(exchange.pull))
})

/** The exchange that has the first output, after retries. */
const firstOutput = (call: Call) => {
  const { dialects, gate, model, options, server } = call
  const record = gate.recordOf(model.id)
  const attempt = Effect.gen(function* () {
    const endpoint = yield* tracedEndpoint(server)
    const beganSeconds = yield* monotonicSeconds
    const timeouts = timeoutsOf(call, beganSeconds)
    const known = dialects.get(model.id) ?? firstDialect(server, model)
    let dialect = known
    let attempts = 0
    let retries = 0
    while (true) {
      attempts++
      const exchange = yield* send(call, endpoint, dialect, timeouts)
      const opened = yield* Effect.result(exchange.opened)
      if (Result.isSuccess(opened)) {
        if (dialect !== known) dialects.set(model.id, dialect)
        return exchange
      }
      const fault = opened.failure
      if (attempts < attemptsMax) {
        if (fault.staleConnection === true) continue
        const other = otherDialect(call, fault, dialect)
        if (other !== null) {
          dialect = other
          continue
        }
      }
      const now = yield* monotonicSeconds
      const askedSeconds = askedWait(fault, yield* Clock.currentTimeMillis)
      if (fault.reason === "rate_limited") record.limited(askedSeconds ?? 0, now)
      const wait = retryWait(
        fault,
        { retries, seconds: now - beganSeconds, askedSeconds },
        retryBudget(call.retrySeconds, options.hasFallback()),
        yield* Random.next
      )
      if (wait === null) return yield* giveUp(call, fault)
      retries++
      attempts = 0
      yield* Effect.logInfo("A model server failed before its first output; retrying.").pipe(
        Effect.annotateLogs({ provider: server.provider, reason: fault.reason, waitSeconds: wait })
      )
      yield* Effect.sleep(`${wait * 1000} millis`)
    }
  })
  return Effect.acquireUseRelease(
    Effect.sync(() => record.asked()),
    () => attempt,
    () => Effect.sync(() => record.settled())
  )
}

/** Sends the request once. The exchange is closed with the scope. */
const send = (
  call: Call,
  endpoint: Endpoint,
  dialect: Dialect,
  timeouts: ExchangeOptions["timeouts"]
): Effect.Effect<Exchange, never, Scope.Scope> => {
  const { gate, model, options, request, server, upstream } = call
  return Effect.acquireRelease(
    Effect.sync(() => {
      const reader = new AnswerReader(server.protocol.makeDecode())
      const exchange = new Exchange(reader, {
        timeouts,
        count: () => estimate(request, reader),
        giveUp: (fault) => giveUp(call, fault)
      })
      upstream.post(endpoint, server.protocol.encode(model.id, request, dialect), exchange)
      return exchange
    }),
    (exchange) =>
      Effect.map(monotonicSeconds, (now) => {
        if (exchange.isFinished) {
          gate.answered(options.user ?? "", now)
          gate.recordOf(model.id).answered(now)
        }
        exchange.close()
      })
  )
}

/** Whether a fallback is available can change while the request waits for its first output. */
const timeoutsOf = ({ gate, model, options, upstream }: Call, now: number): ExchangeOptions["timeouts"] => {
  const { fallbackSeconds, firstTokenSeconds, idleSeconds } = upstream.timeouts
  const usualSeconds = gate.recordOf(model.id).seen(now).firstOutputSeconds ?? 0
  const withFallback = Math.min(firstTokenSeconds, Math.max(fallbackSeconds, usualTimesMax * usualSeconds))
  return {
    firstTokenSeconds: () => (options.hasFallback() ? withFallback : firstTokenSeconds),
    idleSeconds
  }
}

/** The endpoint, with the trace that the request belongs to. Source: W3C Trace Context, traceparent header. */
const tracedEndpoint = (server: ModelServer): Effect.Effect<Endpoint> => {
  const endpoint = endpointOf(server, server.protocol.path)
  return Effect.map(Effect.option(Effect.currentParentSpan), (span) => {
    if (Option.isNone(span) || !span.value.sampled) return endpoint
    const traceparent = `00-${span.value.traceId}-${span.value.spanId}-01`
    return { ...endpoint, headers: { ...endpoint.headers, traceparent } }
  })
}

const otherDialect = ({ server }: Call, fault: Fault, dialect: Dialect): Dialect | null =>
  fault.reason === "bad_request"
    ? server.protocol.adapt(dialect, `${fault.detail} ${fault.message ?? ""}`)
    : null

/** Records that the request failed, once for all its attempts. */
const giveUp = Effect.fnUntraced(function* (call: Call, fault: Fault) {
  const now = yield* monotonicSeconds
  const record = call.gate.recordOf(call.model.id)
  call.gate.failed(fault, now)
  if (isBlamed(fault)) record.failed(now)
  // It may only be slow: the next request gives it more time.
  if (fault.reason === "first_token_timeout") record.began(now - call.calledSeconds, now)
  return yield* failWith(call, fault)
})

const failWith = ({ model, server }: Call, fault: Fault): Effect.Effect<never, ModelFailure> =>
  Effect.flip(toModelFailure(fault, { provider: server.provider, model: model.id }))

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
