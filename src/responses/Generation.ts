import {
  type Array as Arr,
  Cause,
  Channel,
  Clock,
  Effect,
  Exit,
  Fiber,
  Metric,
  Option,
  Scope,
  Stream,
  type Tracer
} from "effect"
import { type Deadline, joinBy } from "../domain/Deadlines.ts"
import type { ModelFailure } from "../domain/Errors.ts"
import type { ItemId } from "../domain/Ids.ts"
import type { ModelSpec } from "../domain/Model.ts"
import { alone, type CallOptions, type TextBypass } from "../domain/ModelCall.ts"
import { secondsBetween } from "../domain/Monotonic.ts"
import { onClose } from "../domain/onClose.ts"
import { adviceOn } from "../providers/Fault.ts"
import { operationDuration } from "../telemetry/Instruments.ts"
import { traced } from "../telemetry/traced.ts"
import { beginCall, type Meter } from "./Accounting.ts"
import type { Budget } from "./AnswerBound.ts"
import type { Attempt } from "./Attempts.ts"
import type { CallRules } from "./CallRules.ts"
import type { Outlet } from "./Outlet.ts"
import type { CheckOutput } from "./OutputCheck.ts"
import { failureOf, type GenerationPart, type OpenCall, type PullParts } from "./Round.ts"
import { pullRounds } from "./Rounds.ts"
import type { RunTool } from "./ToolCalls.ts"

/**
 * Records a call until its scope closes, in the metrics and as a span. A call that neither finishes nor fails counts as
 * cancelled. Source: OpenTelemetry semantic conventions, generative AI spans, inference.
 */
const recordCall = Effect.fnUntraced(function* ({ id, provider }: ModelSpec, maxOutputTokens: number) {
  const beganNanos = yield* Clock.monotonicTimeNanos
  const made = yield* Effect.makeSpan(`chat ${id}`, {
    kind: "client",
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": provider,
      "gen_ai.request.model": id,
      "gen_ai.request.max_tokens": maxOutputTokens
    }
  })
  const span = made.sampled ? made : null
  let isFinished = false
  let errorType: string | null = null

  const finished: OpenCall["finished"] = (reason, usage) => {
    isFinished = true
    if (span === null) return
    span.attribute("gen_ai.response.model", id)
    span.attribute("gen_ai.response.finish_reasons", [reason])
    span.attribute("gen_ai.usage.input_tokens", usage.inputTokens)
    span.attribute("gen_ai.usage.output_tokens", usage.outputTokens)
  }

  yield* onClose(() =>
    recordEnd({
      span,
      id,
      provider,
      beganNanos,
      errorType,
      type: errorType ?? (isFinished ? "" : "cancelled")
    })
  )
  return {
    span,
    finished,
    failed: (type: string) => {
      errorType ??= type
    }
  }
})

/** How a call ended. */
interface EndedCall {
  readonly span: Tracer.Span | null
  readonly id: string
  readonly provider: string
  readonly beganNanos: bigint
  readonly errorType: string | null
  /** The type that the metric has. */
  readonly type: string
}

const recordEnd = Effect.fnUntraced(function* ({
  beganNanos,
  errorType,
  id,
  provider,
  span,
  type
}: EndedCall) {
  const seconds = secondsBetween(beganNanos, yield* Clock.monotonicTimeNanos)
  yield* Metric.update(operationDuration.of("chat", provider, id, id, type), seconds)
  if (span === null) return
  if (type !== "") span.attribute("error.type", type)
  const exit = errorType === null ? Exit.void : Exit.fail({ _tag: errorType })
  span.end(yield* Clock.currentTimeNanos, exit)
})

const never = () => null

/** An answer whose model is fixed: it has put something out, or was waited for long enough. */
export interface Generation {
  readonly model: ModelSpec
  readonly pull: PullParts
  /** The text that was shown of the latest round, which wrote the parts that were pulled last. */
  readonly roundText: () => string
  readonly outlet: Outlet<GenerationPart>
}

/** What the waiting request and the attempts know of each other. */
interface Progress {
  attempt: Attempt
  /** Set when the stream has begun: no other model may take over from then on. */
  isFixed: boolean
}

/** Calls a model and waits for its first parts. The call has its own scope, which closes at once if it fails. */
const openCall = Effect.fnUntraced(function* (
  { model, request, stream }: Attempt,
  options: CallOptions,
  scope: Scope.Scope,
  meter: Meter
) {
  const own = yield* Scope.fork(scope)
  const { failed, finished, span } = yield* Scope.provide(recordCall(model, request.maxOutputTokens), own)
  beginCall(meter, model, request)
  const bypass: TextBypass = { take: null }
  // Stream.toPull would merge the whole context at every pull.
  const upstream = yield* Channel.toPullScoped(Stream.toChannel(stream(request, { ...options, bypass })), own)
  const pullOr = (detail: string) =>
    Effect.catch(upstream, (error) => {
      const failure = Cause.isDone(error) ? failureOf(model, "no_finish", detail) : error
      failed(failure.reason)
      return Effect.fail(failure)
    })
  const beginning = pullOr("the stream ended before any output")
  const first = yield* (span === null ? beginning : Effect.withParentSpan(beginning, span)).pipe(
    Effect.onError((cause) => Scope.close(own, Exit.failCause(cause)))
  )
  const call: OpenCall = {
    first,
    pull: pullOr("the stream ended without a finish"),
    bypass,
    finished,
    failed,
    close: Scope.close(own, Exit.void)
  }
  return call
})

/** The first call that puts something out. The attempts are tried in order until the stream has begun. */
const firstCall = (
  fallbacks: ReadonlyArray<Attempt>,
  scope: Scope.Scope,
  progress: Progress,
  meter: Meter
): Effect.Effect<OpenCall, ModelFailure> => {
  const hasFallback = () => !progress.isFixed && fallbacks.some(({ coolingDown }) => !coolingDown)
  return Effect.catch(openCall(progress.attempt, { hasFallback }, scope, meter), (failure) => {
    const failed = progress.attempt
    const shorter = failure.reason === "context_length" ? failed.shorter(failure.contextTokens ?? null) : null
    if (shorter !== null) {
      // Once for each model: if it is too long again, the client has to shorten it.
      progress.attempt = { ...shorter, shorter: never }
      return Effect.logInfo("A model found a prompt too long; sending it a shorter one.").pipe(
        Effect.annotateLogs({ model: failure.model, promptTokens: shorter.promptTokens }),
        Effect.andThen(firstCall(fallbacks, scope, progress, meter))
      )
    }
    const [next, ...rest] = fallbacks
    if (next === undefined || progress.isFixed) return Effect.fail(failure)
    progress.attempt = next
    // That a provider is cooling down was logged when that began.
    const level = failed.coolingDown ? "Debug" : "Warn"
    return Effect.logWithLevel(level)("A model failed before its first output; trying the next.").pipe(
      Effect.annotateLogs({
        provider: failure.provider,
        model: failure.model,
        reason: failure.reason,
        detail: failure.detail,
        ...(adviceOn(failure) === null ? {} : { advice: adviceOn(failure) })
      }),
      Effect.andThen(firstCall(rest, scope, progress, meter))
    )
  })
}

/**
 * Starts an answer. Succeeds at the first output of a model, or after the silence that `deadline` allows, with the model that is
 * being tried then. Until it succeeds a failing model is replaced by the next attempt, and the last one's failure is the result;
 * afterwards the model is fixed. Everything upstream ends with the scope.
 */
export const generate = traced("Generation.generate")(
  Effect.fnUntraced(function* (options: {
    readonly attempts: Arr.NonEmptyReadonlyArray<Attempt>
    /** Until the stream begins. */
    readonly deadline: Deadline
    readonly runTool: RunTool
    readonly rules: CallRules
    readonly check: CheckOutput | null
    readonly nextItemId: () => ItemId
    readonly meter: Meter
    readonly budget: Budget
  }): Effect.fn.Return<Generation, ModelFailure, Scope.Scope> {
    const { attempts, budget, check, deadline, meter, nextItemId, rules, runTool } = options
    const scope = yield* Effect.scope
    const [first, ...fallbacks] = attempts
    const progress: Progress = { attempt: first, isFixed: false }
    const fiber = yield* Effect.forkIn(firstCall(fallbacks, scope, progress, meter), scope, {
      startImmediately: true
    })
    const call = yield* Effect.tapError(joinBy(fiber, deadline), () =>
      Effect.sync(() => void (meter.outcome = "failed"))
    )
    progress.isFixed = true
    const rounds = pullRounds({
      // What a shorter prompt would be made from is needed no longer.
      attempt: { ...progress.attempt, shorter: never },
      call: Option.isSome(call) ? Effect.succeed(call.value) : Fiber.join(fiber),
      open: (attempt) => openCall(attempt, alone, scope, meter),
      runTool,
      rules,
      check,
      nextItemId,
      meter,
      budget,
      scope
    })
    return { model: progress.attempt.model, ...rounds }
  })
)
