import { Clock, Effect, Exit, Metric, type Scope, type Tracer } from "effect"
import type { FinishReason, ModelUsage } from "../domain/ModelCall.ts"
import type { ModelSpec } from "../domain/Model.ts"
import { secondsBetween } from "../domain/Monotonic.ts"
import { operationDuration } from "../telemetry/Instruments.ts"

/** What is noted of one call of a model while it lasts: nothing for each piece of its answer. */
export interface CallRecord {
  /** Null where the request isn't traced. The model's server is told of it. */
  readonly span: Tracer.Span | null
  /** The model has said all. */
  readonly finished: (reason: FinishReason, usage: ModelUsage) => void
  /** The call has failed; the first time counts. */
  readonly failed: (errorType: string) => void
}

/**
 * Records a call until its scope closes, in the metrics and as a span. A call that neither finishes nor fails was not
 * wanted to its end. Source: OpenTelemetry semantic conventions, generative AI spans, inference.
 */
export const recordCall = Effect.fnUntraced(function* (
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
