import { Clock, Effect, Predicate, Record } from "effect"
import type { ResponseJob } from "../conversations/ResponseJobs.ts"
import { type AccessEntry, CurrentAccess, newAccessEntry } from "../domain/AccessEntry.ts"
import { secondsBetween } from "../domain/Monotonic.ts"
import { AppConfig } from "../settings/AppConfig.ts"

const millisPerSecond = 1_000

/** The fields of the line, as those of a request; unknown ones are left out. */
const annotationsOf = (
  { background, responseId, runs, userId }: ResponseJob,
  { beganNanos, caller, conversationId, embeddings, errorCode, response }: AccessEntry,
  endNanos: bigint
): Readonly<Record<string, string | number | boolean>> =>
  Record.filter(
    {
      background,
      runs,
      durationMillis: Math.round(secondsBetween(beganNanos, endNanos) * millisPerSecond),
      outcome: response?.outcome ?? embeddings?.outcome ?? (errorCode === null ? "abandoned" : "failed"),
      errorCode,
      user: userId,
      key: caller?.keyId,
      organization: caller?.organizationId,
      conversation: conversationId,
      responseId,
      model: response?.model.id ?? embeddings?.model,
      provider: response?.model.provider ?? embeddings?.provider,
      inputTokens: response?.usage.inputTokens ?? embeddings?.inputTokens,
      outputTokens: response?.usage.outputTokens,
      usageSource: response?.usage.source,
      toolCalls: response?.toolCalls
    },
    Predicate.isNotNullish
  )

/**
 * Writes one log line for each run of a response that is made apart from its request, when the run has ended.
 */
export const makeJobLine = Effect.gen(function* () {
  const { accessLog } = (yield* AppConfig).observability

  return (job: ResponseJob) =>
    <A, E, R>(run: Effect.Effect<A, E, R>) =>
      Effect.gen(function* () {
        const entry = newAccessEntry(yield* Clock.monotonicTimeNanos)
        const line = Effect.flatMap(Clock.monotonicTimeNanos, (endNanos) =>
          Effect.annotateLogs(Effect.logInfo("job"), annotationsOf(job, entry, endNanos))
        )
        return yield* run.pipe(
          Effect.provideService(CurrentAccess, entry),
          Effect.ensuring(accessLog ? line : Effect.void)
        )
      })
})
