import { Channel, Clock, Effect, Random, Redacted, Scope, Stream } from "effect"
import type { ModelFailure } from "../domain/Errors.ts"
import type { ModelPart, ModelRequest, ModelUsage } from "../domain/ModelCall.ts"
import type { ModelSpec } from "../domain/ModelSpec.ts"
import { AnswerReader } from "./AnswerReader.ts"
import type { Dialect, TokenParameter } from "./Dialect.ts"
import { Exchange, type Parts, type Pull } from "./Exchange.ts"
import { askedWait, type Fault, toModelFailure } from "./Fault.ts"
import type { Protocol } from "./Protocol.ts"
import { monotonicSeconds, Pass, type ProviderGate } from "./ProviderGate.ts"
import { retryWait } from "./Retry.ts"
import { countPromptTokens, countTokens } from "./Tokenizer.ts"
import type { Endpoint, Upstream } from "./Upstream.ts"

/** A server that answers with models. */
export interface ModelServer {
  /** How the catalog names it. */
  readonly provider: string
  readonly protocol: Protocol
  readonly baseUrl: URL
  readonly key: Redacted.Redacted | null
  /** null leaves it to the server's name: OpenAI's own knows the newer parameter, most others the older. */
  readonly tokenParameter: TokenParameter | null
  /** Requests at once; null leaves it to the setting. */
  readonly concurrentMax: number | null
}

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

/** Where a server's resource is, and the headers that every request to it carries. */
export const endpointOf = (server: ModelServer, path: string): Endpoint => ({
  origin: server.baseUrl.origin,
  path: server.baseUrl.pathname.replace(/\/+$/, "") + path + server.baseUrl.search,
  headers: {
    "content-type": "application/json",
    ...server.protocol.headers(server.key === null ? null : Redacted.value(server.key))
  }
})

/**
 * The way to call the models of a server. What fails before any output, and may pass, is put again for up to `retrySeconds`
 * after the call began.
 */
export const makeModelCall = (
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
    (request: ModelRequest): Stream.Stream<ModelPart, ModelFailure> =>
      Stream.fromChannel(
        Channel.fromTransform((_: unknown, scope) =>
          Effect.suspend(() => {
            const call = new Call(line, model, request)
            return Effect.as(
              Scope.addFinalizer(
                scope,
                Effect.sync(() => call.close())
              ),
              call.pull
            )
          })
        )
      )
}

const firstGuess = (server: ModelServer, model: ModelSpec): Dialect => ({
  tokenParameter:
    server.tokenParameter ??
    (server.baseUrl.hostname === "api.openai.com" ? "max_completion_tokens" : "max_tokens"),
  streamOptions: true,
  tools: model.tools
})

/** One call: the request goes out at the first pull, as soon as it is its turn. */
class Call {
  private readonly line: Line
  private readonly model: ModelSpec
  private readonly request: ModelRequest
  private readonly pass: Pass
  private exchange: Exchange<ModelFailure> | null = null
  private attempts = 0
  private retries = 0
  private beganSeconds = 0

  constructor(line: Line, model: ModelSpec, request: ModelRequest) {
    this.line = line
    this.model = model
    this.request = request
    this.pass = new Pass(line.gate)
  }

  readonly pull: Pull<ModelFailure> = Effect.callback((resume) => {
    if (this.exchange !== null) return this.exchange.next(resume)
    resume(this.first)
    return undefined
  })

  close(): void {
    if (this.exchange?.isFinished === true) this.pass.finished()
    this.exchange?.close()
    this.pass.leave()
  }

  private readonly first: Pull<ModelFailure> = Effect.suspend(() => this.pass.enter).pipe(
    Effect.andThen(monotonicSeconds),
    Effect.matchEffect({
      onFailure: (fault) => this.failWith(fault),
      onSuccess: (now) => {
        this.beganSeconds = now
        const { dialects, server } = this.line
        return Effect.tap(this.put(dialects.get(this.model.id) ?? firstGuess(server, this.model)), () =>
          Effect.sync(() => this.pass.answering())
        )
      }
    })
  )

  private put(dialect: Dialect): Pull<ModelFailure> {
    return Effect.callback((resume) => {
      const { endpoint, server, upstream } = this.line
      this.attempts++
      const exchange: Exchange<ModelFailure> = new Exchange({
        reader: new AnswerReader(server.protocol.makeDecode()),
        patience: upstream.patience,
        recover: (fault) => this.recover(fault, dialect, exchange.hasDelivered),
        count: (reader) => estimate(this.request, reader)
      })
      this.exchange = exchange
      upstream.post(endpoint, server.protocol.encode(this.model.id, this.request, dialect), exchange)
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
    const failed = this.pass.failed(fault)
    return hasDelivered
      ? Effect.andThen(failed, this.failWith(fault))
      : Effect.andThen(failed, this.retry(fault, dialect))
  }

  private otherDialect(fault: Fault, dialect: Dialect): Dialect | null {
    if (fault.reason !== "bad_request") return null
    return this.line.server.protocol.adapt(dialect, `${fault.detail} ${fault.message ?? ""}`)
  }

  private retry(fault: Fault, dialect: Dialect): Pull<ModelFailure> {
    return Effect.gen({ self: this }, function* () {
      const wait = retryWait(
        fault,
        {
          retries: this.retries,
          seconds: (yield* monotonicSeconds) - this.beganSeconds,
          askedSeconds: askedWait(fault, yield* Clock.currentTimeMillis)
        },
        this.line.retrySeconds,
        yield* Random.next
      )
      if (wait === null || this.line.gate.breaker.isOpen) return yield* this.failWith(fault)
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

/** The finish of an answer whose server counts nothing. */
const estimate = Effect.fnUntraced(function* (
  request: ModelRequest,
  reader: AnswerReader
): Effect.fn.Return<Parts> {
  const usage: ModelUsage = {
    inputTokens: yield* countPromptTokens(request),
    cachedInputTokens: 0,
    outputTokens: yield* countTokens(reader.written),
    reasoningTokens: 0,
    source: "tokenizer"
  }
  return reader.finishWith(usage)
})
