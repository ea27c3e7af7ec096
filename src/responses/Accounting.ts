import {
  Array as Arr,
  Channel,
  Clock,
  Effect,
  Metric,
  Ref,
  Schedule,
  type Scope,
  Semaphore,
  Stream
} from "effect"
import { type AccessEntry, CurrentAccess } from "../domain/AccessEntry.ts"
import type { Caller } from "../domain/Account.ts"
import type { DatabaseUnavailable, UsageLimitExceeded } from "../domain/Errors.ts"
import type { ResponseId } from "../domain/Ids.ts"
import { allowanceRefusals } from "../telemetry/Instruments.ts"
import type { Ask, Grant } from "../usage/TokenCounters.ts"
import { type Spending, Usage } from "../usage/Usage.ts"
import { makeUsualOutput } from "../usage/Admission.ts"
import type { Attempt } from "./Attempts.ts"
import * as Meter from "./Meter.ts"
import { type Budget, type RoundCosts, unlimited } from "./AnswerBound.ts"

/** Times that a record of usage is tried again while the database is away, over about six seconds. */
const settleRetriesMax = 7
const settleSchedule = Schedule.exponential("50 millis").pipe(Schedule.upTo({ times: settleRetriesMax }))

/** After that it is tried again beside everything else, for so long, and for so many records at once. */
const lateSchedule = Schedule.spaced("2 seconds").pipe(Schedule.upTo({ duration: "10 minutes" }))
const lateRecordsMax = 10_000

/** Who has any tokens left gets an answer of so many, though it may overspend. */
const answerTokensLeast = 16

/** An answer that goes on asks for at least so many more, or for as many as it has. */
const moreTokensLeast = 512

/** How long an answer pauses where other requests hold all that is left, and how often it asks again. */
const pauseSeconds = 2
const pauseSchedule = Schedule.spaced("250 millis").pipe(
  Schedule.upTo({ duration: `${pauseSeconds} seconds` })
)

/** The account of one response. */
export interface Account {
  readonly meter: Ref.Ref<Meter.Meter>
  /** The same attempts, each with no more room for its answer than the allowance leaves. */
  readonly tries: Arr.NonEmptyReadonlyArray<Attempt>
  readonly budget: Budget
}

interface Costs {
  readonly promptTokens: number
  readonly outputTokens: number
}

/** What calls of these costs ask for, where an answer usually has so many tokens. */
const needsOf = (costs: ReadonlyArray<Costs>, usualTokens: number) => {
  const largest = (outputTokensMax: number) =>
    Math.max(
      ...costs.map(({ outputTokens, promptTokens }) => promptTokens + Math.min(outputTokens, outputTokensMax))
    )
  return {
    most: largest(Number.POSITIVE_INFINITY),
    usual: largest(usualTokens),
    least: largest(answerTokensLeast)
  }
}

const costsOf = ({ promptTokens, request }: Attempt): Costs => ({
  promptTokens,
  outputTokens: request.maxOutputTokens
})

/** The attempt with no more room for its answer than a token limit leaves: what is held for it, and what nobody holds. */
const bounded =
  ({ left, tokens }: Grant) =>
  (attempt: Attempt): Attempt => {
    const { promptTokens, request } = attempt
    const maxOutputTokens = Math.max(1, Math.min(request.maxOutputTokens, tokens + left - promptTokens))
    const isLimited = maxOutputTokens < request.maxOutputTokens
    return { ...attempt, isLimited, request: { ...request, maxOutputTokens } }
  }

/** The attempt, which says on the meter what it asks whenever it asks. A call has no further cost by it. */
const metered =
  (meter: Ref.Ref<Meter.Meter>) =>
  (attempt: Attempt): Attempt => ({
    ...attempt,
    stream: (...args) =>
      Stream.fromChannel(
        Channel.fromTransform((upstream, scope) =>
          Effect.andThen(
            Ref.update(meter, Meter.asking(attempt.model, args[0])),
            Channel.toTransform(Stream.toChannel(attempt.stream(...args)))(upstream, scope)
          )
        )
      )
  })

/** Asks for the allowance before a response, and records what it cost after it, whatever became of it. */
export const makeAccounting = Effect.gen(function* () {
  const usage = yield* Usage
  // When many clients go at once their prompts are counted one after the other, so that streams get on between them.
  const counting = yield* Semaphore.make(1)

  const usual = makeUsualOutput()

  const scope = yield* Effect.scope
  let lateRecords = 0

  /** What was spent is not to be forgotten because the database was away for longer than a request can wait. */
  const recordLate = (spending: Spending) =>
    Effect.suspend(() => {
      if (lateRecords >= lateRecordsMax)
        return Effect.logError("Usage could not be recorded: too much waits.")
      lateRecords++
      return usage.record(spending).pipe(
        Effect.retry(lateSchedule),
        Effect.catch((error) => Effect.logError("Usage could not be recorded.", error)),
        Effect.ensuring(Effect.sync(() => lateRecords--)),
        Effect.forkIn(scope),
        Effect.andThen(Effect.logWarning("Usage could not be recorded yet."))
      )
    })

  /** The answer is out by now: a failure is only logged. */
  const settle = Effect.fnUntraced(function* (
    responseId: ResponseId,
    caller: Caller,
    meter: Ref.Ref<Meter.Meter>,
    sinceNanos: bigint,
    access: AccessEntry | null
  ) {
    const spent = yield* Ref.get(meter)
    const model = spent.model.id
    const endedNanos = yield* Clock.monotonicTimeNanos
    const latencyMillis = Number(endedNanos - sinceNanos) / 1_000_000
    const cost = spent.usage ?? (yield* counting.withPermits(1)(Meter.usageOf(spent)))
    const { outcome, toolCalls } = spent
    if (outcome === "completed") usual.note(caller.userId, cost.outputTokens)
    if (access !== null) {
      access.endedNanos = endedNanos
      access.response = { responseId, model: spent.model, usage: cost, toolCalls, outcome }
    }
    const spending = { responseId, caller, model, usage: cost, toolCalls, latencyMillis, outcome }
    yield* usage.record(spending).pipe(
      Effect.retry(settleSchedule),
      Effect.catch(() => recordLate(spending)),
      Effect.annotateLogs({ responseId, model, ...cost })
    )
  })

  /** Holds more as the answer grows, and for the rounds after the first. */
  const budgetOf = (caller: Caller, responseId: ResponseId, granted: Grant): Budget => {
    let { left, tokens: held } = granted
    let part = 0
    const roomAfter = ({ promptTokens, spent }: RoundCosts) =>
      held - spent.inputTokens - spent.outputTokens - promptTokens
    const hold = (needs: Pick<Ask, "most" | "usual" | "least">) =>
      Effect.suspend(() => usage.reserve({ responseId, part: ++part, userId: caller.userId, ...needs })).pipe(
        // The others end soon, and then there is more.
        Effect.retry({
          while: (error) => error._tag === "UsageLimitExceeded" && error.used < error.limit,
          schedule: pauseSchedule
        }),
        // With the database away the answer goes on with what it has, and its end will tell.
        Effect.catch(() => Effect.succeed<Grant>({ tokens: 0, left: 0 })),
        Effect.map((more) => {
          held += more.tokens
          left = more.left
        }),
        Effect.uninterruptible
      )
    return {
      room: roomAfter,
      more: Effect.fnUntraced(function* (round, outputTokens) {
        const usual = Math.max(moreTokensLeast, roomAfter(round))
        yield* hold({ most: Math.min(usual, Math.max(1, outputTokens - roomAfter(round))), usual, least: 0 })
      }),
      nextRound: Effect.fnUntraced(function* (round, outputTokens) {
        const needs = needsOf([{ promptTokens: round.promptTokens, outputTokens }], usual.of(caller.userId))
        const missing = (tokens: number) => Math.max(0, tokens - roomAfter(round) - round.promptTokens)
        if (missing(needs.usual) > 0) {
          yield* hold({
            most: missing(needs.most),
            usual: missing(needs.usual),
            least: missing(needs.least)
          })
        }
        return Math.max(0, Math.min(outputTokens, roomAfter(round) + left))
      })
    }
  }

  const open = Effect.fnUntraced(function* (
    responseId: ResponseId,
    caller: Caller,
    tries: Arr.NonEmptyReadonlyArray<Attempt>
  ): Effect.fn.Return<Account, UsageLimitExceeded | DatabaseUnavailable, Scope.Scope> {
    const meter = yield* Ref.make(Meter.started(tries[0].model))
    const sinceNanos = yield* Clock.monotonicTimeNanos
    const needs = needsOf(tries.map(costsOf), usual.of(caller.userId))
    const access = yield* CurrentAccess
    const granted = yield* Effect.acquireRelease(
      usage.admit({ responseId, part: 0, userId: caller.userId, ...needs }),
      () => settle(responseId, caller, meter, sinceNanos, access)
    ).pipe(
      Effect.tapErrorTag("UsageLimitExceeded", ({ window }) => Metric.update(allowanceRefusals.of(window), 1))
    )
    const prepared = (attempt: Attempt): Attempt => ({
      ...metered(meter)(bounded(granted)(attempt)),
      shorter: (contextTokens) => {
        const shorter = attempt.shorter(contextTokens)
        return shorter === null ? null : prepared(shorter)
      }
    })
    return {
      meter,
      tries: Arr.map(tries, prepared),
      budget: granted.tokens === Number.POSITIVE_INFINITY ? unlimited : budgetOf(caller, responseId, granted)
    }
  })

  return { prepare: (caller: Caller) => usage.prepare(caller.userId), open }
})
