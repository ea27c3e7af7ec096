import { Channel, Clock, Context, Effect, Option, Random, Scope, Stream, Tracer } from "effect"
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
import { Exchange, type Parts, type Patience, type Pull } from "./Exchange.ts"
import { askedWait, type Fault, toModelFailure, retryBudget, retryWait } from "./Fault.ts"
import type { ModelRecord } from "./ModelRecord.ts"
import { endpointOf, firstDialect, type ModelServer } from "./ModelServer.ts"
import type { Dialect } from "./Protocol.ts"
import { isBlamed, type ProviderGate } from "./ProviderGate.ts"
import { countPromptTokens, countTokens } from "./Tokenizer.ts"
import type { Endpoint, Upstream } from "./Upstream.ts"

/** With another model to fall back to, one that is known to be slow is still waited for so many times its usual wait. */
const usualWaits = 3

/** A request is put at most so often without a wait: in other words, or over a fresh connection. */
const attemptsMax = 4

/** Everything that the calls of one server share. */
interface Line {
  readonly upstream: Upstream
  readonly server: ModelServer
  readonly gate: ProviderGate
  readonly retrySeconds: number
  readonly endpoint: Endpoint
  /**
   * How each model's server wants to be asked, where the first guess was wrong. It is found out by asking, and remembered,
   * so that it costs a second request only once.
   */
  readonly dialects: Map<string, Dialect>
}

/**
 * The way to call the models of a server. What fails before any output, and may pass, is put again for up to `retrySeconds`
 * after the call began; where another model can answer, once and at once or not at all.
 */
export const makeServerCall = (
  upstream: Upstream,
  server: ModelServer,
  options: { readonly gate: ProviderGate; readonly retrySeconds: number }
) => {
  const line: Line = {
    ...options,
    upstream,
    server,
    endpoint: endpointOf(server, server.protocol.path),
    dialects: new Map()
  }
  return (model: ModelSpec) =>
    (request: ModelRequest, options: CallOptions = alone): Stream.Stream<ModelPart, ModelFailure> =>
      Stream.fromChannel(
        Channel.fromTransform((_: unknown, scope) =>
          Effect.sync(() => new Call(line, model, request, options, scope).pull)
        )
      )
}

/** Tells a server of the trace that a request belongs to. Source: W3C Trace Context, traceparent header. */
const traceHeaders: Effect.Effect<Readonly<Record<string, string>>> = Effect.contextWith(
  (context: Context.Context<never>) => {
    const span = Option.getOrNull(Context.getOption(context, Tracer.ParentSpan))
    return Effect.succeed(
      span === null || !span.sampled ? {} : { traceparent: `00-${span.traceId}-${span.spanId}-01` }
    )
  }
)

/** One call: the request goes out at the first pull, as soon as it is its turn. */
class Call implements Patience {
  private readonly line: Line
  private readonly model: ModelSpec
  private readonly request: ModelRequest
  private readonly options: CallOptions
  private readonly scope: Scope.Scope
  private readonly record: ModelRecord
  /** How long the first output may take while another model could take over. */
  private shortSeconds = 0
  private exchange: Exchange<ModelFailure> | null = null
  private attempts = 0
  private retries = 0
  private isAwaited = false
  /** When the call was made, and when its turn came. */
  private calledSeconds = 0
  private beganSeconds = 0
  private endpoint: Endpoint

  constructor(line: Line, model: ModelSpec, request: ModelRequest, options: CallOptions, scope: Scope.Scope) {
    this.line = line
    this.model = model
    this.request = request
    this.options = options
    this.scope = scope
    this.record = line.gate.recordOf(model.id)
    this.endpoint = line.endpoint
  }

  readonly pull: Pull<ModelFailure> = Effect.callback((resume) => {
    if (this.exchange !== null) return this.exchange.next(resume)
    resume(this.first)
    return undefined
  })

  private readonly close: Effect.Effect<void> = Effect.map(monotonicSeconds, (now) => {
    if (this.exchange?.isFinished === true) {
      this.line.gate.answered(this.options.user ?? "", now)
      this.record.answered(now)
    }
    this.exchange?.close()
    this.settled()
  })

  private settled(): void {
    if (this.isAwaited) this.record.settled()
    this.isAwaited = false
  }

  private readonly first: Pull<ModelFailure> = Effect.gen({ self: this }, function* () {
    const headers = yield* traceHeaders
    const { endpoint } = this.line
    this.endpoint = { ...endpoint, headers: { ...endpoint.headers, ...headers } }
    // How long it takes until the first output counts from here on, so that a queue makes a model slow as well.
    this.calledSeconds = yield* monotonicSeconds
    yield* Scope.provide(this.line.gate.acquire(this.options), this.scope)
    // Runs before the permit is released.
    yield* Scope.addFinalizer(this.scope, this.close)
  }).pipe(
    Effect.catch((fault) => this.failWith(fault)),
    Effect.andThen(
      Effect.suspend(() => this.line.gate.guard(this.options, this.ask, (fault) => this.failWith(fault)))
    )
  )

  /** The first output, with retries. */
  private readonly ask: Pull<ModelFailure> = Effect.flatMap(monotonicSeconds, (now) => {
    this.beganSeconds = now
    this.record.asked()
    this.isAwaited = true
    this.shortSeconds = this.shortSecondsAt(now)
    const { dialects, server } = this.line
    return Effect.tap(this.put(dialects.get(this.model.id) ?? firstDialect(server, this.model)), () =>
      Effect.map(monotonicSeconds, (answered) => {
        this.settled()
        this.record.began(answered - this.calledSeconds, answered)
      })
    )
  })

  get idleSeconds(): number {
    return this.line.upstream.patience.idleSeconds
  }

  get firstTokenSeconds(): number {
    const { firstTokenSeconds } = this.line.upstream.patience
    return this.options.hasFallback() ? Math.min(firstTokenSeconds, this.shortSeconds) : firstTokenSeconds
  }

  private shortSecondsAt(now: number): number {
    const usualSeconds = this.record.seen(now).firstOutputSeconds ?? 0
    return Math.max(this.line.upstream.fallbackSeconds, usualWaits * usualSeconds)
  }

  private put(dialect: Dialect): Pull<ModelFailure> {
    return Effect.callback((resume) => {
      const { server, upstream } = this.line
      this.attempts++
      const exchange: Exchange<ModelFailure> = new Exchange({
        reader: new AnswerReader(server.protocol.makeDecode()),
        patience: this,
        recover: (fault) => this.recover(fault, dialect, exchange.hasDelivered),
        count: (reader) => estimate(this.request, reader)
      })
      this.exchange = exchange
      upstream.post(this.endpoint, server.protocol.encode(this.model.id, this.request, dialect), exchange)
      return exchange.next(resume)
    })
  }

  private recover(fault: Fault, dialect: Dialect, hasDelivered: boolean): Pull<ModelFailure> {
    if (this.attempts < attemptsMax) {
      if (fault.staleConnection === true) return this.put(dialect)
      const other = this.otherDialect(fault, dialect)
      if (other !== null)
        return Effect.tap(this.put(other), () =>
          Effect.sync(() => this.line.dialects.set(this.model.id, other))
        )
    }
    return hasDelivered ? this.giveUp(fault) : this.retry(fault, dialect)
  }

  /** However often it was put, the request has failed once. */
  private giveUp(fault: Fault): Pull<ModelFailure> {
    return Effect.flatMap(monotonicSeconds, (now) => {
      this.line.gate.failed(fault, now)
      if (isBlamed(fault)) this.record.failed(now)
      // It may be slow and nothing worse: the next request waits for it longer.
      if (fault.reason === "first_token_timeout") this.record.began(now - this.calledSeconds, now)
      return this.failWith(fault)
    })
  }

  private otherDialect(fault: Fault, dialect: Dialect): Dialect | null {
    if (fault.reason !== "bad_request") return null
    return this.line.server.protocol.adapt(dialect, `${fault.detail} ${fault.message ?? ""}`)
  }

  private retry(fault: Fault, dialect: Dialect): Pull<ModelFailure> {
    return Effect.gen({ self: this }, function* () {
      const now = yield* monotonicSeconds
      const askedSeconds = askedWait(fault, yield* Clock.currentTimeMillis)
      if (fault.reason === "rate_limited") this.record.limited(askedSeconds ?? 0, now)
      const wait = retryWait(
        fault,
        { retries: this.retries, seconds: now - this.beganSeconds, askedSeconds },
        retryBudget(this.line.retrySeconds, this.options.hasFallback()),
        yield* Random.next
      )
      if (wait === null) return yield* this.giveUp(fault)
      this.retries++
      this.attempts = 0
      yield* Effect.logInfo("A model server failed before its first output; asking it again.").pipe(
        Effect.annotateLogs({ provider: this.line.server.provider, reason: fault.reason, waitSeconds: wait })
      )
      yield* Effect.sleep(`${wait * 1000} millis`)
      return yield* this.put(dialect)
    })
  }

  private failWith(fault: Fault): Pull<ModelFailure> {
    const from = { provider: this.line.server.provider, model: this.model.id }
    return Effect.flatMap(toModelFailure(fault, from), (failure) => Effect.fail(failure))
  }
}

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
