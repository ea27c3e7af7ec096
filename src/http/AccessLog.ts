import { Clock, Context, Effect, Exit, Option, Random, Schema, type Scope, Tracer } from "effect"
import { HttpServerRequest, HttpServerResponse, HttpTraceContext } from "effect/http"
import { AppConfig } from "../settings/AppConfig.ts"
import { type AccessEntry, CurrentAccess, newAccessEntry } from "../domain/AccessEntry.ts"
import { secondsBetween } from "../domain/Monotonic.ts"
import * as Instruments from "../telemetry/Instruments.ts"
import { probes } from "./Routes.ts"

/** Where responses are asked for. */
const responsesRoute = "/v1/responses"

/** What HTTP servers log for a client that went away before it was answered. */
const clientGone = 499

/** Methods as metrics tell them apart; a client can make up others. */
const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

const nanosPerMilli = 1_000_000

/** Digits of a trace's id that decide whether it is taken; a float holds no more of them exactly. */
const shareDigits = 13

/** What became of a request. */
export type Outcome = "completed" | "failed" | "abandoned" | "refused"

/** A request that is being answered. */
interface Access {
  readonly entry: AccessEntry
  readonly requestId: string
  readonly method: string
  /** Null where no route has the path. */
  readonly route: string | null
  readonly span: Tracer.Span | null
  /** Null until the response's headers are known. */
  status: number | null
}

const readCode = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ error: Schema.Struct({ code: Schema.String }) }))
)

const utf8 = new TextDecoder()

/** The code in the envelope of an error. */
const codeOf = ({ body, status }: HttpServerResponse.HttpServerResponse): string | null =>
  status < 400 || body._tag !== "Uint8Array"
    ? null
    : Option.getOrNull(Option.map(readCode(utf8.decode(body.body)), ({ error }) => error.code))

const outcomeOf = ({ entry, status }: Access, exit: Exit.Exit<unknown, unknown>): Outcome => {
  const told = entry.response?.outcome
  // The service may have ended what the account takes for abandoned, and then the client was told so.
  if (told !== undefined) return told === "abandoned" && entry.errorCode !== null ? "failed" : told
  if (status === null || Exit.isFailure(exit)) return "abandoned"
  if (status >= 500 || (entry.errorCode !== null && status < 400)) return "failed"
  return status >= 400 ? "refused" : "completed"
}

/** Adds to the metrics, in one step. */
const measure = ({ entry, method, route, status }: Access, outcome: Outcome, endNanos: bigint) =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.sync(() => {
      const { errorCode, firstOutputNanos, response } = entry
      const seconds = secondsBetween(entry.beganNanos, endNanos)
      const label = methods.has(method) ? method : "_OTHER"
      Instruments.requestDuration
        .of(label, route ?? "", String(status ?? clientGone))
        .updateUnsafe(seconds, context)
      if (errorCode !== null) Instruments.errors.of(errorCode).updateUnsafe(1, context)
      if (route === responsesRoute && method === "POST") {
        Instruments.responses.of(outcome).updateUnsafe(1, context)
      }
      if (response === null) return
      const { model, usage } = response
      const labels = ["chat", model.provider, model.id, model.id] as const
      Instruments.tokenUsage.of(...labels, "input").updateUnsafe(usage.inputTokens, context)
      Instruments.tokenUsage.of(...labels, "output").updateUnsafe(usage.outputTokens, context)
      if (firstOutputNanos !== null) {
        const waited = secondsBetween(entry.beganNanos, firstOutputNanos)
        Instruments.timeToFirstToken.of(...labels).updateUnsafe(waited, context)
      }
    })
  )

const millisBetween = (from: bigint, to: bigint): number =>
  Math.round((Number(to - from) / nanosPerMilli) * 10) / 10

/** What the line says; what isn't known is left out. */
const annotationsOf = (
  { entry, method, requestId, route, status }: Access,
  outcome: Outcome,
  endNanos: bigint
) => {
  const { caller, conversationId, errorCode, firstOutputNanos, response } = entry
  return {
    requestId,
    method,
    ...(route === null ? {} : { route }),
    status: status ?? clientGone,
    durationMillis: millisBetween(entry.beganNanos, endNanos),
    outcome,
    ...(errorCode === null ? {} : { errorCode }),
    ...(caller === null
      ? {}
      : { user: caller.userId, key: caller.keyId, organization: caller.organizationId }),
    ...(conversationId === null ? {} : { conversation: conversationId }),
    ...(response === null
      ? {}
      : {
          responseId: response.responseId,
          model: response.model.id,
          provider: response.model.provider,
          inputTokens: response.usage.inputTokens,
          outputTokens: response.usage.outputTokens,
          usageSource: response.usage.source,
          toolCalls: response.toolCalls
        }),
    ...(firstOutputNanos === null
      ? {}
      : { firstTokenMillis: millisBetween(entry.beganNanos, firstOutputNanos) })
  }
}

const endSpan = (span: Tracer.Span, { entry, status }: Access, outcome: Outcome) =>
  Effect.map(Clock.currentTimeNanos, (now) => {
    const { caller, conversationId, errorCode, response } = entry
    span.attribute("http.response.status_code", status ?? clientGone)
    span.attribute("parley.outcome", outcome)
    if (caller !== null) span.attribute("user.id", caller.userId)
    if (conversationId !== null) span.attribute("gen_ai.conversation.id", conversationId)
    if (response !== null) span.attribute("gen_ai.response.id", response.responseId)
    if (errorCode !== null) span.attribute("error.type", errorCode)
    span.end(now, outcome === "failed" ? Exit.fail({ _tag: errorCode ?? outcome }) : Exit.void)
  })

/**
 * Whether a trace that began elsewhere is taken: by its id, so that every service which asks for the same share takes the
 * same ones, and one that its beginner leaves out never is. Source: OpenTelemetry, trace SDK, TraceIdRatioBased.
 */
export const isTaken = (
  { sampled, traceId }: Pick<Tracer.AnySpan, "sampled" | "traceId">,
  share: number
): boolean => sampled && Number.parseInt(traceId.slice(-shareDigits), 16) / 16 ** shareDigits < share

/** Writes one line for each request at its real end, adds to the metrics, and traces the requests that are to be traced. */
export const makeAccessLog = Effect.gen(function* () {
  const { accessLog, otlpEndpoint, otlpSignals, traceShare } = (yield* AppConfig).observability
  const isTraced = otlpEndpoint !== null && otlpSignals.includes("traces")

  const serverSpan = Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    requestId: string,
    route: string | null
  ) {
    const parent = HttpTraceContext.w3c(request.headers)
    const taken = Option.isSome(parent)
      ? isTaken(parent.value, traceShare)
      : (yield* Random.next) < traceShare
    if (!taken || probes.has(route)) return null
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

  /** The request is over when the scope closes. */
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
      span: isTraced ? yield* serverSpan(request, requestId, route) : null,
      status: null
    }
    yield* Effect.addFinalizer((exit) => finish(access, exit))
    return access
  })

  /** What runs for the request: it can say what it finds out, its lines bear the request's id, and it may be traced. */
  const within =
    ({ entry, requestId, span }: Access) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
      const known = effect.pipe(
        Effect.annotateLogs({ requestId }),
        Effect.provideService(CurrentAccess, entry)
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
