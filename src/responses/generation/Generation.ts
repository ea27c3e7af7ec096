import {
  type Array as Arr,
  Cause,
  Channel,
  Clock,
  Duration,
  Effect,
  Exit,
  Fiber,
  Metric,
  Option,
  Scope,
  Stream,
  type Tracer
} from "effect"
import type { ModelFailure, TurnLeaseLost } from "../../domain/Errors.ts"
import type { ItemId } from "../../domain/Ids.ts"
import type { ModelSpec } from "../../domain/Model.ts"
import { type CallOptions, type ModelRequest, withoutFallback } from "../../domain/ModelCall.ts"
import { secondsBetween } from "../../runtime/Monotonic.ts"
import { operationDuration } from "../../telemetry/Instruments.ts"
import { traced } from "../../telemetry/traced.ts"
import type { Attempt } from "../Attempts.ts"
import { beginCall, type Meter, noteOutcome } from "./Accounting.ts"
import type { Budget } from "./AnswerBound.ts"
import type { CallRules } from "./CallRules.ts"
import type { CheckOutput } from "./OutputCheck.ts"
import {
  type Answer,
  failureOf,
  type GenerationError,
  type GenerationPart,
  type OpenCall,
  withholdsText
} from "./Round.ts"
import { roundsOf } from "./Rounds.ts"
import type { RunTool } from "./ToolCalls.ts"

/**
 * Records a call until its scope closes, in the metrics and as a span. A call that neither finishes nor fails
 * counts as cancelled. Source: OpenTelemetry semantic conventions, generative AI spans, inference.
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
    span.attribute("gen_ai.usage.cache_read.input_tokens", usage.cachedInputTokens)
    span.attribute("gen_ai.usage.cache_creation.input_tokens", usage.cacheWriteInputTokens)
    span.attribute("gen_ai.usage.output_tokens", usage.outputTokens)
  }

  yield* Effect.addFinalizer(() =>
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

/** The data of a call that has ended. */
interface EndedCall {
  readonly span: Tracer.Span | null
  readonly id: string
  readonly provider: string
  readonly beganNanos: bigint
  readonly errorType: string | null
  /** The error type of the metric. */
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

/** An answer whose model is fixed, because it has produced output, or the wait for it was long enough. */
export interface Generation {
  readonly model: ModelSpec
  /**
   * True if logprobs are asked for but absent: the model has none, or its text is checked before it is shown.
   */
  readonly lacksLogprobs: boolean
  readonly parts: Stream.Stream<GenerationPart, GenerationError>
}

/** State that the waiting request and the attempts share. */
interface Progress {
  attempt: Attempt
  /** True if the request asks for logprobs, in the form in which it was sent. */
  asksLogprobs: boolean
  /** Set when the stream has begun. No other model may take over afterwards. */
  isFixed: boolean
}

const asksLogprobs = ({ options }: Pick<ModelRequest, "options">): boolean => options?.logprobs !== undefined

/**
 * Calls a model and waits for its first parts. The call has its own scope, which closes at once if it fails.
 */
const openCall = Effect.fnUntraced(function* (
  { model, request, stream }: Attempt,
  options: CallOptions,
  scope: Scope.Scope,
  meter: Meter
) {
  const own = yield* Scope.fork(scope)
  const { failed, finished, span } = yield* Scope.provide(recordCall(model, request.maxOutputTokens), own)
  beginCall(meter, model, request)
  // Stream.toPull would merge the whole context at every pull.
  const upstream = yield* Channel.toPullScoped(Stream.toChannel(stream(request, options)), own)
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
    finished,
    failed,
    close: Scope.close(own, Exit.void)
  }
  return call
})

/** The fields of a failure that a log line has besides its detail. */
const saidOf = ({ advice, logSentence }: ModelFailure) => ({
  ...(logSentence === undefined ? {} : { sentence: logSentence }),
  ...(advice === undefined ? {} : { advice })
})

/** The first call with output. The attempts are tried in order until the stream has begun. */
const firstCall = (
  fallbacks: ReadonlyArray<Attempt>,
  scope: Scope.Scope,
  progress: Progress,
  meter: Meter
): Effect.Effect<OpenCall, ModelFailure> => {
  const hasFallback = () => !progress.isFixed && fallbacks.some(({ coolingDown }) => !coolingDown)
  const onSent: CallOptions["onSent"] = (request) => {
    progress.asksLogprobs = asksLogprobs(request)
  }
  onSent(progress.attempt.request)
  return Effect.catch(openCall(progress.attempt, { hasFallback, onSent }, scope, meter), (failure) => {
    const failed = progress.attempt
    const shorter = failure.reason === "context_length" ? failed.shorter(failure.contextTokens ?? null) : null
    if (shorter !== null) {
      // A prompt is shortened only once for each model. If it is still too long, the client must shorten it.
      progress.attempt = { ...shorter, shorter: never }
      return Effect.logInfo("A model found a prompt too long; sending it a shorter one.").pipe(
        Effect.annotateLogs({
          model: failure.model,
          promptTokens: shorter.promptTokens,
          ...saidOf(failure)
        }),
        Effect.andThen(firstCall(fallbacks, scope, progress, meter))
      )
    }
    const [next, ...rest] = fallbacks
    if (next === undefined || progress.isFixed) return Effect.fail(failure)
    progress.attempt = next
    // The cooldown of a provider was logged when it began.
    const level = failed.coolingDown ? "Debug" : "Warn"
    return Effect.logWithLevel(level)("A model failed before its first output; trying the next.").pipe(
      Effect.annotateLogs({
        provider: failure.provider,
        model: failure.model,
        reason: failure.reason,
        detail: failure.detail,
        ...saidOf(failure)
      }),
      Effect.andThen(firstCall(rest, scope, progress, meter))
    )
  })
}

/**
 * Starts an answer. Succeeds at the first output of a model, or after `beginSeconds` of silence with the
 * model that is being tried then.
 *
 * Until then a failing model is replaced by the next attempt, and the failure of the last attempt is the
 * result. Afterwards the model is fixed. Everything upstream ends with the scope.
 */
export const generate = traced("Generation.generate")(
  Effect.fnUntraced(function* (options: {
    readonly attempts: Arr.NonEmptyReadonlyArray<Attempt>
    /** Fails when the turn can't be stored any more; never succeeds. */
    readonly lost: Effect.Effect<never, TurnLeaseLost>
    /** Seconds to wait for a first output before the stream begins without it. */
    readonly beginSeconds: number
    readonly runTool: RunTool
    readonly rules: CallRules
    readonly check: CheckOutput | null
    readonly nextItemId: () => ItemId
    readonly meter: Meter
    readonly budget: Budget
  }): Effect.fn.Return<Generation, ModelFailure, Scope.Scope> {
    const { attempts, beginSeconds, budget, check, lost, meter, nextItemId, rules, runTool } = options
    const scope = yield* Scope.fork(yield* Effect.scope)
    const [first, ...fallbacks] = attempts
    const progress: Progress = { attempt: first, asksLogprobs: false, isFixed: false }
    const fiber = yield* Effect.forkIn(firstCall(fallbacks, scope, progress, meter), scope, {
      startImmediately: true
    })
    const call = yield* Fiber.join(fiber).pipe(
      Effect.timeoutOption(Duration.seconds(beginSeconds)),
      Effect.tapError(() => noteOutcome(meter, "failed"))
    )
    progress.isFixed = true
    const answer: Answer = {
      // The parts for a shorter prompt are released, because no retry needs them any more.
      attempt: { ...progress.attempt, shorter: never },
      open: (attempt: Attempt) => openCall(attempt, withoutFallback, scope, meter),
      runTool,
      rules,
      check,
      nextItemId,
      meter,
      budget,
      scope,
      lost
    }
    const opened = Option.isSome(call) ? Effect.succeed(call.value) : Fiber.join(fiber)
    const isGiven = progress.asksLogprobs && !withholdsText(answer)
    return {
      model: progress.attempt.model,
      lacksLogprobs: asksLogprobs(progress.attempt.request) && !isGiven,
      parts: roundsOf(answer, opened)
    }
  })
)
