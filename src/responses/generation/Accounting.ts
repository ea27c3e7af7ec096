import { Array as Arr, Clock, Context, Effect, Layer, Metric, Schedule, type Scope, Semaphore } from "effect"
import { type AccessEntry, CurrentAccess } from "../../domain/AccessEntry.ts"
import type { Caller } from "../../domain/Account.ts"
import type { DatabaseUnavailable, UsageLimitExceeded } from "../../domain/Errors.ts"
import type { ResponseId } from "../../domain/Ids.ts"
import type { ModelSpec } from "../../domain/Model.ts"
import { type ModelUsage, nothingSpent } from "../../domain/ModelCall.ts"
import { countPromptTokens, countTokens, type Prompt } from "../../providers/Tokenizer.ts"
import { allowanceRefusals } from "../../telemetry/Instruments.ts"
import { makeUsualOutput } from "../../usage/Admission.ts"
import { type Grant, ownersOf, type TokenRequest } from "../../usage/TokenCounters.ts"
import { type Outcome, Usage } from "../../usage/Usage.ts"
import { makeRecord } from "../../usage/UsageRecording.ts"
import type { Attempt } from "../Attempts.ts"
import { type Budget, unlimited } from "./AnswerBound.ts"

/** A user with any tokens left gets an answer of up to this many tokens, even beyond the limit. */
const answerTokensMin = 16

/** A growing answer reserves at least this many more tokens, or as many as it has. */
const moreTokensMin = 512

/**
 * Seconds for which an answer waits while other requests have reserved all that is left, and the interval of
 * its attempts.
 */
const pauseSeconds = 2
const pauseSchedule = Schedule.spaced("250 millis").pipe(
  Schedule.upTo({ duration: `${pauseSeconds} seconds` })
)

/**
 * The spending of a response so far. The functions below update it, and it is recorded when the response
 * ends.
 */
export interface Meter {
  /** The model that was called last. */
  model: ModelSpec
  /** The prompt of the answer that is being written; null between two calls. */
  prompt: Prompt | null
  /** The text that the model has written. */
  text: () => string
  /** The usage of finished calls. */
  usage: ModelUsage
  toolCalls: number
  outcome: Outcome
}

const noText = () => ""

export const newMeter = (model: ModelSpec): Meter => ({
  model,
  prompt: null,
  text: noText,
  usage: nothingSpent,
  toolCalls: 0,
  outcome: "abandoned"
})

/** A model is called: the first one, the next after a failed one, or the same in a later round. */
export const beginCall = (meter: Meter, model: ModelSpec, prompt: Prompt): void => {
  Object.assign(meter, { model, prompt, text: noText })
}

/** The text of the call that has begun is counted by its bound. */
export const readTextOf = (meter: Meter, { text }: Pick<Meter, "text">): void => {
  meter.text = text
}

export const countToolCalls = (meter: Meter, calls: number): void => {
  meter.toolCalls += calls
}

/** Notes how the response ends. It counts as abandoned until then. */
export const noteOutcome = (meter: Meter, outcome: Outcome): Effect.Effect<void> =>
  Effect.sync(() => {
    meter.outcome = outcome
  })

export const finishCall = (meter: Meter, usage: ModelUsage): void => {
  Object.assign(meter, { prompt: null, text: noText, usage: sumOf(meter.usage, usage) })
}

const sumOf = (one: ModelUsage, other: ModelUsage): ModelUsage => ({
  inputTokens: one.inputTokens + other.inputTokens,
  cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
  cacheWriteInputTokens: one.cacheWriteInputTokens + other.cacheWriteInputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
  reasoningTokens: one.reasoningTokens + other.reasoningTokens,
  source: one.source === "provider" ? other.source : "tokenizer"
})

const outcomesByWeight = ["failed", "abandoned", "completed"] as const

/** Adds up the answers of one request, which are several with `n`. The worst outcome is that of all. */
const withEarlier = (
  one: NonNullable<AccessEntry["response"]>,
  earlier: AccessEntry["response"]
): NonNullable<AccessEntry["response"]> =>
  earlier === null
    ? one
    : {
        ...one,
        usage: sumOf(earlier.usage, one.usage),
        toolCalls: earlier.toolCalls + one.toolCalls,
        outcome:
          outcomesByWeight.find((outcome) => outcome === earlier.outcome || outcome === one.outcome) ??
          one.outcome
      }

/**
 * The tokens to record. The tokenizer counts an unfinished call. A call that failed before any text cost
 * nothing.
 */
export const costOf = Effect.fnUntraced(function* ({ outcome, prompt, text, usage }: Meter) {
  const written = text()
  if (prompt === null || (written === "" && outcome === "failed")) return usage
  const cost: ModelUsage = {
    ...usage,
    inputTokens: usage.inputTokens + (yield* countPromptTokens(prompt)),
    outputTokens: usage.outputTokens + (yield* countTokens(written)),
    source: "tokenizer"
  }
  return cost
})

interface ResponseAccount {
  readonly meter: Meter
  readonly budget: Budget
  /** The attempts, with their answers bounded by the remaining token limits. */
  readonly attempts: Arr.NonEmptyReadonlyArray<Attempt>
}

/** Reserves tokens for a response, and records its cost. */
export class Accounting extends Context.Service<
  Accounting,
  {
    /** Starts to read the caller's limits, so that `open` need not wait for them. */
    readonly prepare: (caller: Caller) => Effect.Effect<void>
    /**
     * Reserves tokens. Fails if the allowance is used up. Records the cost when the scope closes, however the
     * response ended.
     */
    readonly open: (
      responseId: ResponseId,
      caller: Caller,
      attempts: Arr.NonEmptyReadonlyArray<Attempt>
    ) => Effect.Effect<ResponseAccount, UsageLimitExceeded | DatabaseUnavailable, Scope.Scope>
  }
>()("parley/responses/generation/Accounting") {
  static readonly layer = Layer.effect(
    Accounting,
    Effect.gen(function* () {
      const usage = yield* Usage
      const record = yield* makeRecord
      const usualOutput = makeUsualOutput()
      // Prompts are counted one at a time when many clients disconnect at once, so that other streams
      // continue in between.
      const counting = yield* Semaphore.make(1)

      const settle = Effect.fnUntraced(function* (
        responseId: ResponseId,
        caller: Caller,
        meter: Meter,
        beganNanos: bigint,
        access: AccessEntry | null
      ) {
        const endedNanos = yield* Clock.monotonicTimeNanos
        const cost = meter.prompt === null ? meter.usage : yield* counting.withPermits(1)(costOf(meter))
        const { model, outcome, toolCalls } = meter
        if (outcome === "completed") usualOutput.note(caller.userId, cost.outputTokens)
        if (access !== null) {
          access.endedNanos = endedNanos
          access.response = withEarlier(
            { responseId, model, usage: cost, toolCalls, outcome },
            access.response
          )
        }
        const latencyMillis = Number(endedNanos - beganNanos) / 1_000_000
        const spending = {
          responseId,
          caller,
          model: model.id,
          usage: cost,
          toolCalls,
          latencyMillis,
          outcome
        }
        yield* record(spending)
      })

      const open: Accounting["Service"]["open"] = Effect.fnUntraced(
        function* (responseId, caller, attempts) {
          const meter = newMeter(attempts[0].model)
          const beganNanos = yield* Clock.monotonicTimeNanos
          const access = yield* CurrentAccess
          const usualTokens = () => usualOutput.of(caller.userId)
          const calls = attempts.map(({ promptTokens, request }) => ({
            promptTokens,
            outputTokens: request.maxOutputTokens
          }))
          const needs = needsOf(calls, usualTokens())
          const owners = ownersOf(caller)
          const grant = yield* Effect.acquireRelease(
            usage.admit({ responseId, part: 0, ...owners, ...needs }),
            () => settle(responseId, caller, meter, beganNanos, access)
          )
          let part = 0
          const reserve = (more: Needs) =>
            Effect.suspend(() => usage.reserve({ responseId, part: ++part, ...owners, ...more }))
          return {
            meter,
            budget:
              grant.tokens === Number.POSITIVE_INFINITY
                ? unlimited
                : budgetOf(meter, grant, reserve, usualTokens),
            attempts: Arr.map(attempts, (attempt) => bounded(attempt, grant))
          }
        },
        Effect.tapErrorTag("UsageLimitExceeded", ({ window }) =>
          Metric.update(allowanceRefusals.of(window), 1)
        )
      )

      return Accounting.of({ prepare: (caller) => usage.prepare(caller.userId), open })
    })
  )
}

type Needs = Pick<TokenRequest, "most" | "usual" | "least">

interface CallTokens {
  readonly promptTokens: number
  readonly outputTokens: number
}

/** The tokens to reserve for any of these calls, if answers usually have `usualTokens`. */
const needsOf = (calls: ReadonlyArray<CallTokens>, usualTokens: number): Needs => {
  const largest = (outputTokensMax: number) =>
    Math.max(
      ...calls.map(({ outputTokens, promptTokens }) => promptTokens + Math.min(outputTokens, outputTokensMax))
    )
  return {
    most: largest(Number.POSITIVE_INFINITY),
    usual: largest(usualTokens),
    least: largest(answerTokensMin)
  }
}

/** The attempt, with its answer bounded by the reserved tokens and those that are still free. */
const bounded = (attempt: Attempt, grant: Grant): Attempt => {
  const { promptTokens, request } = attempt
  const allowed = grant.tokens + grant.left - promptTokens
  const maxOutputTokens = Math.max(1, Math.min(request.maxOutputTokens, allowed))
  return {
    ...attempt,
    isLimited: maxOutputTokens < request.maxOutputTokens,
    request: { ...request, maxOutputTokens },
    shorter: (contextTokens) => {
      const shorter = attempt.shorter(contextTokens)
      return shorter === null ? null : bounded(shorter, grant)
    }
  }
}

/** Reserves more tokens as the answer grows, and for the rounds after the first. */
const budgetOf = (
  meter: Meter,
  grant: Grant,
  reserve: (needs: Needs) => Effect.Effect<Grant, UsageLimitExceeded | DatabaseUnavailable>,
  usualTokens: () => number
): Budget => {
  let { left, tokens: reserved } = grant

  const room = (promptTokens: number) =>
    reserved - meter.usage.inputTokens - meter.usage.outputTokens - promptTokens

  const reserveMore = (needs: Needs) =>
    reserve(needs).pipe(
      // Other requests may end soon, and release tokens.
      Effect.retry({
        while: (error) => error._tag === "UsageLimitExceeded" && error.used < error.limit,
        schedule: pauseSchedule
      }),
      // While the database is unavailable, the answer continues with its reserved tokens.
      Effect.catch(() => Effect.succeed<Grant>({ tokens: 0, left: 0 })),
      Effect.map((more) => {
        reserved += more.tokens
        left = more.left
      }),
      Effect.uninterruptible
    )

  const more = (promptTokens: number, outputTokens: number) =>
    Effect.suspend(() => {
      const available = room(promptTokens)
      const usual = Math.max(moreTokensMin, available)
      return reserveMore({ most: Math.min(usual, Math.max(1, outputTokens - available)), usual, least: 0 })
    })

  const nextRound = (promptTokens: number, outputTokens: number) =>
    Effect.suspend(() => {
      const needs = needsOf([{ promptTokens, outputTokens }], usualTokens())
      const missing = (tokens: number) => Math.max(0, tokens - room(promptTokens) - promptTokens)
      const reserved =
        missing(needs.usual) > 0
          ? reserveMore({
              most: missing(needs.most),
              usual: missing(needs.usual),
              least: missing(needs.least)
            })
          : Effect.void
      return Effect.map(reserved, () => Math.max(0, Math.min(outputTokens, room(promptTokens) + left)))
    })

  return { room, more, nextRound }
}
