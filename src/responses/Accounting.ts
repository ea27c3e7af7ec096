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
import type { Caller } from "../domain/CurrentUser.ts"
import type { DatabaseUnavailable, UsageLimitExceeded } from "../domain/Errors.ts"
import type { ResponseId } from "../domain/Ids.ts"
import { allowanceRefusals } from "../observability/Instruments.ts"
import { type Spending, Usage } from "../usage/Usage.ts"
import type { Attempt } from "./Generation.ts"
import * as Meter from "./Meter.ts"
import type { Budget } from "./Rounds.ts"

/** Times that a record of usage is tried again while the database is away, over about six seconds. */
const settleRetriesMax = 7
const settleSchedule = Schedule.exponential("50 millis").pipe(Schedule.upTo({ times: settleRetriesMax }))

/** After that it is tried again beside everything else, for so long, and for so many records at once. */
const lateSchedule = Schedule.spaced("2 seconds").pipe(Schedule.upTo({ duration: "10 minutes" }))
const lateRecordsMax = 10_000

/** Room for an answer that seldom is too little, where the client didn't say how long it may be. */
const answerTokensUsual = 4_096
/** Who has any tokens left gets an answer of so many, though it may overspend. */
const answerTokensLeast = 16

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

/** What calls of these costs ask for. */
const needsOf = (costs: ReadonlyArray<Costs>, isBounded: boolean) => {
  const largest = (outputTokensMax: number) =>
    Math.max(
      ...costs.map(({ outputTokens, promptTokens }) => promptTokens + Math.min(outputTokens, outputTokensMax))
    )
  const most = largest(Number.POSITIVE_INFINITY)
  return { most, usual: isBounded ? most : largest(answerTokensUsual), least: largest(answerTokensLeast) }
}

const costsOf = ({ promptTokens, request }: Attempt): Costs => ({
  promptTokens,
  outputTokens: request.maxOutputTokens
})

const bounded =
  (granted: number) =>
  (attempt: Attempt): Attempt => {
    const { promptTokens, request } = attempt
    const maxOutputTokens = Math.max(1, Math.min(request.maxOutputTokens, granted - promptTokens))
    return { ...attempt, request: { ...request, maxOutputTokens } }
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

  /** The rounds after the first ask for more when what was granted so far may not do. */
  const budgetOf = (caller: Caller, responseId: ResponseId, granted: number, isBounded: boolean): Budget => {
    let held = granted
    let part = 0
    return {
      nextRound: Effect.fnUntraced(function* ({ outputTokens, promptTokens, spent }) {
        const room = () => held - spent.inputTokens - spent.outputTokens - promptTokens
        if (room() >= outputTokens) return outputTokens
        const needs = needsOf([{ promptTokens, outputTokens }], isBounded)
        const missing = (tokens: number) => Math.max(0, tokens - room() - promptTokens)
        const more = yield* usage
          .reserve({
            responseId,
            part: ++part,
            userId: caller.userId,
            most: missing(needs.most),
            usual: missing(needs.usual),
            least: missing(needs.least)
          })
          // With the database away the answer goes on with what it has, and its end will tell.
          .pipe(Effect.catch(() => Effect.succeed(0)))
        held += more
        return Math.max(0, Math.min(outputTokens, room()))
      }, Effect.uninterruptible)
    }
  }

  const open = Effect.fnUntraced(function* (
    responseId: ResponseId,
    caller: Caller,
    options: {
      readonly tries: Arr.NonEmptyReadonlyArray<Attempt>
      /** Whether the client said how long the answer may be. */
      readonly isBounded: boolean
    }
  ): Effect.fn.Return<Account, UsageLimitExceeded | DatabaseUnavailable, Scope.Scope> {
    const { isBounded, tries } = options
    const meter = yield* Ref.make(Meter.started(tries[0].model))
    const sinceNanos = yield* Clock.monotonicTimeNanos
    const needs = needsOf(tries.map(costsOf), isBounded)
    const access = yield* CurrentAccess
    const granted = yield* Effect.acquireRelease(
      usage.reserve({ responseId, part: 0, userId: caller.userId, ...needs }),
      () => settle(responseId, caller, meter, sinceNanos, access)
    ).pipe(
      Effect.tapErrorTag("UsageLimitExceeded", ({ window }) => Metric.update(allowanceRefusals.of(window), 1))
    )
    return {
      meter,
      tries: Arr.map(granted >= needs.most ? tries : Arr.map(tries, bounded(granted)), metered(meter)),
      budget: budgetOf(caller, responseId, granted, isBounded)
    }
  })

  return { prepare: (caller: Caller) => usage.prepare(caller.userId), open }
})
