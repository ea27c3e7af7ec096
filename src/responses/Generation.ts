import { ModelFailure } from "../domain/Errors.ts"
import { alone, type CallOptions } from "../domain/ModelCall.ts"
import type { ModelSpec } from "../domain/Model.ts"
import { secondsBetween } from "../domain/Monotonic.ts"
import { adviceOn } from "../providers/Fault.ts"
import { operationDuration } from "../telemetry/Instruments.ts"
import type { Attempt } from "./Attempts.ts"
import { type Budget, unlimited } from "./AnswerBound.ts"
import { type CallRecord, failureOf, type Flow, type GenerationPart, pullRounds } from "./Rounds.ts"
import type { ToolBelt } from "./ToolCalls.ts"
import {
  type Array as Arr,
  Channel,
  Duration,
  Effect,
  Exit,
  Fiber,
  Option,
  Pull,
  Scope,
  Stream,
  Clock,
  Metric
} from "effect"

/**
 * Records a call until its scope closes, in the metrics and as a span. A call that neither finishes nor fails was not
 * wanted to its end. Source: OpenTelemetry semantic conventions, generative AI spans, inference.
 */
const recordCall = Effect.fnUntraced(function* (
  { id, provider }: ModelSpec,
  maxOutputTokens: number
): Effect.fn.Return<CallRecord, never, Scope.Scope> {
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

  const finished: CallRecord["finished"] = (reason, usage) => {
    isFinished = true
    if (span === null) return
    span.attribute("gen_ai.response.model", id)
    span.attribute("gen_ai.response.finish_reasons", [reason])
    span.attribute("gen_ai.usage.input_tokens", usage.inputTokens)
    span.attribute("gen_ai.usage.output_tokens", usage.outputTokens)
  }

  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      const seconds = secondsBetween(beganNanos, yield* Clock.monotonicTimeNanos)
      const type = errorType ?? (isFinished ? "" : "cancelled")
      yield* Metric.update(operationDuration.of("chat", provider, id, id, type), seconds)
      if (span === null) return
      if (type !== "") span.attribute("error.type", type)
      const exit = errorType === null ? Exit.void : Exit.fail({ _tag: errorType })
      span.end(yield* Clock.currentTimeNanos, exit)
    })
  )
  return {
    span,
    finished,
    failed: (type) => {
      errorType ??= type
    }
  }
})

const never = () => null

/** A generation whose model is fixed: it has put something out, or it was waited for long enough. */
export interface Generation {
  readonly model: ModelSpec
  /** The next parts. The last of all is a `finish`; an upstream that ends without one is a failure. */
  readonly pull: Effect.Effect<ReadonlyArray<GenerationPart>, ModelFailure>
}

/** What the waiting request and the attempts tell each other. */
interface Progress {
  attempt: Attempt
  /** Set when the stream has begun: no other model may take over from then on. */
  fixed: boolean
}

/** The first parts of one attempt. Its stream lives in a scope of its own, closed at once when it fails. */
const openFlow = Effect.fnUntraced(function* (attempt: Attempt, options: CallOptions, scope: Scope.Scope) {
  const own = yield* Scope.fork(scope)
  const record = yield* Scope.provide(recordCall(attempt.model, attempt.request.maxOutputTokens), own)
  // Stream.toPull would merge the whole context at every pull.
  const pull = yield* Channel.toPullScoped(Stream.toChannel(attempt.stream(attempt.request, options)), own)
  return yield* (record.span === null ? pull : Effect.withParentSpan(pull, record.span)).pipe(
    Effect.map((first): Flow => ({ first, pull, record, close: Scope.close(own, Exit.void) })),
    Pull.catchDone(() =>
      Effect.fail(failureOf(attempt.model, "no_finish", "the stream ended before any output"))
    ),
    Effect.tapError(({ reason }) => Effect.sync(() => record.failed(reason))),
    Effect.onError((cause) => Scope.close(own, Exit.failCause(cause)))
  )
})

/** The first attempt that puts something out. They are tried in order until the stream has begun. */
const firstFlow = (
  attempts: ReadonlyArray<Attempt>,
  scope: Scope.Scope,
  progress: Progress
): Effect.Effect<Flow, ModelFailure> =>
  openFlow(
    progress.attempt,
    { hasFallback: () => !progress.fixed && attempts.some(({ coolingDown }) => !coolingDown) },
    scope
  ).pipe(
    Effect.catch((failure) => {
      if (failure.reason === "context_length") {
        const shorter = progress.attempt.shorter(failure.contextTokens ?? null)
        if (shorter !== null) {
          // Once for each model: what is too long again has to be shortened by the client.
          progress.attempt = { ...shorter, shorter: never }
          return Effect.logInfo("A model found a prompt too long; sending it a shorter one.").pipe(
            Effect.annotateLogs({ model: failure.model, promptTokens: shorter.promptTokens }),
            Effect.andThen(firstFlow(attempts, scope, progress))
          )
        }
      }
      const [next, ...rest] = attempts
      if (next === undefined || progress.fixed) return Effect.fail(failure)
      const failed = progress.attempt
      progress.attempt = next
      // That a provider is left alone was told when it began.
      const level = failed.coolingDown ? "Debug" : "Warn"
      return Effect.logWithLevel(level)("A model failed before its first output; trying the next.").pipe(
        Effect.annotateLogs({
          provider: failure.provider,
          model: failure.model,
          reason: failure.reason,
          detail: failure.detail,
          ...(adviceOn(failure) === null ? {} : { advice: adviceOn(failure) })
        }),
        Effect.andThen(firstFlow(rest, scope, progress))
      )
    })
  )

/**
 * Starts a generation. Succeeds at the first output of a model, or after `beginSeconds` of silence with the model that
 * is being tried then. Until it succeeds a failing model is replaced by the next attempt, and the last one's failure is
 * the result; afterwards the model is fixed. Tools are run by `belt`, and rounds after them are bounded by `budget`.
 * Everything upstream ends with the scope.
 */
export const generate = Effect.fn("Generation.generate")(function* (
  attempts: Arr.NonEmptyReadonlyArray<Attempt>,
  beginSeconds: number,
  belt: ToolBelt,
  budget: Budget = unlimited
): Effect.fn.Return<Generation, ModelFailure, Scope.Scope> {
  const scope = yield* Effect.scope
  const [first, ...rest] = attempts
  const progress: Progress = { attempt: first, fixed: false }
  const fiber = yield* Effect.forkIn(firstFlow(rest, scope, progress), scope, { startImmediately: true })
  const flow = yield* Fiber.join(fiber).pipe(Effect.timeoutOption(Duration.seconds(beginSeconds)))
  progress.fixed = true
  const pull = pullRounds({
    // What a shorter prompt would be made from is needed no longer.
    attempt: { ...progress.attempt, shorter: never },
    flow: Option.isSome(flow) ? Effect.succeed(flow.value) : Fiber.join(fiber),
    open: (attempt) => openFlow(attempt, alone, scope),
    belt,
    budget,
    scope
  })
  return {
    model: progress.attempt.model,
    pull
  }
})
