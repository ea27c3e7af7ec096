import {
  Clock,
  Context,
  Effect,
  Exit,
  Option,
  Predicate,
  Random,
  Record,
  References,
  Schema,
  type Scope,
  Tracer
} from "effect"
import { HttpServerRequest, HttpServerResponse, HttpTraceContext } from "effect/http"
import { ClientAddress } from "../auth/ClientAddress.ts"
import { type AccessEntry, CurrentAccess, newAccessEntry } from "../domain/AccessEntry.ts"
import { secondsBetween } from "../runtime/Monotonic.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import * as Instruments from "../telemetry/Instruments.ts"
import { probes } from "./Routes.ts"

/** The public endpoint, and the one of the web application. */
const responsesRoutes: ReadonlySet<string | null> = new Set([
  "/v1/responses",
  "/console/responses",
  "/openai/v1/responses",
  "/openai/v1/chat/completions",
  "/openai/v1/completions",
  "/anthropic/v1/messages"
])

/** The conventional status for a client that disconnected before the response. */
const clientClosedRequest = 499

/** The methods of metrics and spans; a client could make up any number of others. */
const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

const nanosPerMilli = 1_000_000

/** Digits of a trace id that decide whether it is sampled; a float holds no more of them exactly. */
const shareDigits = 13

type Outcome = "completed" | "failed" | "abandoned" | "refused"

interface Access {
  readonly entry: AccessEntry
  readonly requestId: string
  readonly method: string
  /** Null if no route has the path. */
  readonly route: string | null
  /** The client's address, if it is known. */
  readonly address: string | null
  readonly span: Tracer.Span | null
  /** Null until the response's headers are known. */
  status: number | null
}

const readCode = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ error: Schema.Struct({ code: Schema.String }) }))
)

const utf8 = new TextDecoder()

const codeOf = ({ body, status }: HttpServerResponse.HttpServerResponse): string | null =>
  status < 400 || body._tag !== "Uint8Array"
    ? null
    : Option.getOrNull(Option.map(readCode(utf8.decode(body.body)), ({ error }) => error.code))

const outcomeOf = ({ entry, status }: Access, exit: Exit.Exit<unknown, unknown>): Outcome => {
  const reported = entry.response?.outcome
  // With an error code, the service ended the response with an error event.
  if (reported !== undefined) {
    return reported === "abandoned" && entry.errorCode !== null ? "failed" : reported
  }
  if (status === null || Exit.isFailure(exit)) return "abandoned"
  if (status >= 500 || (entry.errorCode !== null && status < 400)) return "failed"
  return status >= 400 ? "refused" : "completed"
}

const measure = ({ entry, method, route, status }: Access, outcome: Outcome, endNanos: bigint) =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.sync(() => {
      const { errorCode, firstOutputNanos, response } = entry
      const seconds = secondsBetween(entry.beganNanos, endNanos)
      const label = methods.has(method) ? method : "_OTHER"
      Instruments.requestDuration
        .of(label, route ?? "", String(status ?? clientClosedRequest))
        .updateUnsafe(seconds, context)
      if (errorCode !== null) Instruments.errors.of(errorCode).updateUnsafe(1, context)
      // A response over a WebSocket has no method of its own.
      if (responsesRoutes.has(route) && (method === "POST" || response !== null)) {
        Instruments.responses.of(outcome).updateUnsafe(1, context)
      }
      if (response === null) return
      const { model, usage } = response
      const labels = ["chat", model.provider, model.id, model.id] as const
      Instruments.tokenUsage.of(...labels, "input").updateUnsafe(usage.inputTokens, context)
      Instruments.tokenUsage.of(...labels, "output").updateUnsafe(usage.outputTokens, context)
      Instruments.promptCacheTokens.of(...labels, "read").updateUnsafe(usage.cachedInputTokens, context)
      Instruments.promptCacheTokens.of(...labels, "write").updateUnsafe(usage.cacheWriteInputTokens, context)
      if (firstOutputNanos !== null) {
        const waited = secondsBetween(entry.beganNanos, firstOutputNanos)
        Instruments.timeToFirstToken.of(...labels).updateUnsafe(waited, context)
      }
    })
  )

const millisBetween = (from: bigint, to: bigint): number =>
  Math.round((Number(to - from) / nanosPerMilli) * 10) / 10

/** The fields of the log line; unknown ones are left out. */
const annotationsOf = (
  { address, entry, method, requestId, route, status }: Access,
  outcome: Outcome,
  endNanos: bigint
): Readonly<Record<string, string | number>> => {
  const { beganNanos, caller, embeddings, firstOutputNanos, response } = entry
  return Record.filter(
    {
      requestId,
      method,
      route,
      status: status ?? clientClosedRequest,
      durationMillis: millisBetween(beganNanos, endNanos),
      outcome,
      errorCode: entry.errorCode,
      address,
      user: caller?.userId,
      key: caller?.keyId,
      organization: caller?.organizationId,
      conversation: entry.conversationId,
      responseId: response?.responseId,
      model: response?.model.id ?? embeddings?.model,
      provider: response?.model.provider ?? embeddings?.provider,
      inputTokens: response?.usage.inputTokens ?? embeddings?.inputTokens,
      outputTokens: response?.usage.outputTokens,
      usageSource: response?.usage.source,
      toolCalls: response?.toolCalls,
      firstTokenMillis: firstOutputNanos === null ? null : millisBetween(beganNanos, firstOutputNanos)
    },
    Predicate.isNotNullish
  )
}

const endSpan = (span: Tracer.Span, { entry, status }: Access, outcome: Outcome) =>
  Effect.map(Clock.currentTimeNanos, (now) => {
    const { caller, conversationId, errorCode, response } = entry
    span.attribute("http.response.status_code", status ?? clientClosedRequest)
    span.attribute("parley.outcome", outcome)
    if (caller !== null) span.attribute("user.id", caller.userId)
    if (conversationId !== null) span.attribute("gen_ai.conversation.id", conversationId)
    if (response !== null) span.attribute("gen_ai.response.id", response.responseId)
    if (errorCode !== null) span.attribute("error.type", errorCode)
    span.end(now, outcome === "failed" ? Exit.fail({ _tag: errorCode ?? outcome }) : Exit.void)
  })

/**
 * True if a trace that another service began is to be sampled. The id decides, so that all services with the
 * same share sample the same traces; a trace that its origin doesn't sample never is. Source: OpenTelemetry,
 * trace SDK, TraceIdRatioBased.
 */
export const isSampled = (
  { sampled, traceId }: Pick<Tracer.AnySpan, "sampled" | "traceId">,
  share: number
): boolean => sampled && Number.parseInt(traceId.slice(-shareDigits), 16) / 16 ** shareDigits < share

/**
 * Writes one log line for each request when it has ended, updates the metrics, and traces a share of the
 * requests.
 */
export const makeAccessLog = Effect.gen(function* () {
  const { accessLog, otlpEndpoint, otlpSignals, traceShare } = (yield* AppConfig).observability
  const clientAddress = yield* ClientAddress
  const isTraced = otlpEndpoint !== null && otlpSignals.includes("traces")

  const serverSpan = Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    requestId: string,
    route: string | null
  ) {
    const parent = HttpTraceContext.w3c(request.headers)
    const sampled = Option.isSome(parent)
      ? isSampled(parent.value, traceShare)
      : (yield* Random.next) < traceShare
    if (!sampled || probes.has(route)) return null
    const method = methods.has(request.method) ? request.method : "HTTP"
    return yield* Effect.makeSpan(route === null ? method : `${method} ${route}`, {
      kind: "server",
      root: Option.isNone(parent),
      ...(Option.isSome(parent) ? { parent: parent.value } : {}),
      attributes: {
        "http.request.method": request.method,
        ...(route === null ? {} : { "http.route": route }),
        "parley.request.id": requestId
      }
    })
  })

  const finish = Effect.fnUntraced(function* (access: Access, exit: Exit.Exit<unknown, unknown>) {
    const { entry, route, span } = access
    const endNanos = entry.endedNanos ?? (yield* Clock.monotonicTimeNanos)
    const outcome = outcomeOf(access, exit)
    yield* measure(access, outcome, endNanos)
    if (accessLog) {
      const line = Effect.logWithLevel(probes.has(route) ? "Debug" : "Info")("request").pipe(
        Effect.annotateLogs(annotationsOf(access, outcome, endNanos))
      )
      yield* span === null ? line : Effect.withParentSpan(line, span)
    }
    if (span !== null) yield* endSpan(span, access, outcome)
  })

  /** The request ends when the scope closes. */
  const begin = Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    requestId: string,
    route: string | null
  ): Effect.fn.Return<Access, never, Scope.Scope> {
    const access: Access = {
      entry: newAccessEntry(yield* Clock.monotonicTimeNanos),
      requestId,
      method: request.method,
      route,
      address: accessLog ? clientAddress.of(request).address : null,
      span: isTraced ? yield* serverSpan(request, requestId, route) : null,
      status: null
    }
    yield* Effect.addFinalizer((exit) => finish(access, exit))
    return access
  })

  /**
   * Runs an effect for the request: it can fill the entry, its log lines have the request's id, and it may be
   * traced.
   */
  const within =
    ({ entry, requestId, span }: Access) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
      // One change of the context for both.
      const known = Effect.updateContext(effect, (context: Context.Context<R>) =>
        Context.add(context, CurrentAccess, entry).pipe(
          Context.add(References.CurrentLogAnnotations, {
            ...Context.get(context, References.CurrentLogAnnotations),
            requestId
          })
        )
      )
      if (!isTraced) return known
      return span === null ? Effect.withTracerEnabled(known, false) : Effect.withParentSpan(known, span)
    }

  const responded = (access: Access, response: HttpServerResponse.HttpServerResponse): void => {
    access.status = response.status
    access.entry.errorCode ??= codeOf(response)
  }

  return { begin, within, responded }
})
