import { Cause, Duration, Effect, Exit, Option, type Scope } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { ModelFailure, type ModelFailureReason } from "../domain/Errors.ts"
import type { CallOptions } from "../domain/ModelCall.ts"
import { type ModelHealth, unknownHealth, type ProviderHealth } from "../domain/Model.ts"
import { FairPermits } from "../domain/FairPermits.ts"
import { monotonicSeconds } from "../domain/Monotonic.ts"
import { Blame } from "./Blame.ts"
import type { Circuits } from "./Circuits.ts"
import type { Fault } from "./Fault.ts"
import { ModelRecord } from "./ModelRecord.ts"

/** Nothing is known any more of a server that answered or failed so long ago and wasn't asked since. */
const knownSeconds = 600

/** More than this don't wait for one server: the next model answers sooner. */
const waitersMax = 10_000

/** Of so many models of one server it is remembered how they fared; of others it is forgotten. */
const recordsMax = 1_000

/** While another request probes an open circuit, it is asked again after this. */
const probeSeconds = 1

export interface GateLimits {
  /** Requests that a server works at, at once; the others wait for their turn. */
  readonly concurrentMax: number
  readonly queueSeconds: number
}

/** What is wrong with a request says nothing of the server. */
const requestFaults: ReadonlySet<ModelFailureReason> = new Set([
  "bad_request",
  "context_length",
  "content_refused"
])

/** A server that answers like this works, and neither does a limit say that it doesn't. */
const refusals: ReadonlySet<ModelFailureReason> = new Set([
  ...requestFaults,
  "unauthorized",
  "misconfigured",
  "rate_limited"
])

/**
 * Whether a failure says that another model is better asked first. A limit passes, and what one request did wrong must not
 * turn others away from the model; but where a key isn't valid or a model is gone, the next request is refused as well.
 */
export const isBlamed = ({ reason, status }: Pick<Fault, "reason" | "status">): boolean =>
  !refusals.has(reason) || reason === "misconfigured" || status === 401

/** Where all requests to one model server pass: so many at once, users taking turns, and other models first while it fails. */
export class ProviderGate {
  private readonly permits: FairPermits
  private readonly limits: GateLimits
  private readonly blame = new Blame()
  private readonly circuits: Circuits
  readonly provider: string
  private lastFailure: { readonly text: string; readonly atSeconds: number } | null = null
  private answeredSeconds = Number.NEGATIVE_INFINITY
  private readonly records = new Map<string, ModelRecord>()

  constructor(provider: string, limits: GateLimits, circuits: Circuits) {
    this.provider = provider
    this.limits = limits
    this.circuits = circuits
    this.permits = new FairPermits({ totalMax: limits.concurrentMax })
  }

  /** Where to write down how a model fares. */
  recordOf(model: string): ModelRecord {
    const known = this.records.get(model)
    if (known !== undefined) return known
    const [oldest] = this.records.keys()
    if (oldest !== undefined && this.records.size >= recordsMax) this.records.delete(oldest)
    const record = new ModelRecord()
    this.records.set(model, record)
    return record
  }

  /** Waits for the user's turn, and lets the request through until the scope closes. */
  acquire({ user = "" }: CallOptions): Effect.Effect<void, Fault, Scope.Scope> {
    return Effect.suspend(() =>
      this.permits.all.waiting >= waitersMax
        ? Effect.fail(busy(this.limits))
        : this.permits.acquire(user).pipe(
            Effect.asVoid,
            Effect.timeoutOrElse({
              duration: `${this.limits.queueSeconds} seconds`,
              orElse: () => Effect.fail(busy(this.limits))
            })
          )
    )
  }

  /** How each of this server's models fared lately. */
  readonly modelHealth: Effect.Effect<(model: string) => ModelHealth> = Effect.suspend(() =>
    Effect.zipWith(monotonicSeconds, this.openSeconds, (now, openSeconds) => (model) => {
      const record = this.records.get(model)
      const seen = record?.seen(now) ?? unknownHealth
      return { ...seen, coolingDown: openSeconds > 0 || record?.isToBeSpared(now) === true }
    })
  )

  /** For how long other models are asked first; 0 while the circuit is closed, and when a probe may be made. */
  private readonly openSeconds: Effect.Effect<number> = Effect.suspend(() =>
    Effect.map(this.state, (state) =>
      state._tag === "Open"
        ? Duration.toSeconds(state.retryAfter)
        : state._tag === "HalfOpen" && state.probing
          ? probeSeconds
          : 0
    )
  )

  private readonly state: Effect.Effect<CircuitBreaker.State> = Effect.suspend(() =>
    // The state is kept in memory, where reading it can't fail.
    Effect.orDie(this.circuits.state(this.provider))
  )

  /**
   * Asks the server for the first output: `ask`, with its retries, is one request of a user. Where the circuit is open and
   * another model can answer, fails at once, except for one probe at a time. Where none can, the server is asked all the same.
   */
  guard<A, R>(
    { hasFallback, user = "" }: CallOptions,
    ask: Effect.Effect<A, ModelFailure | Cause.Done<void>, R>,
    rejected: (fault: Fault) => Effect.Effect<A, ModelFailure | Cause.Done<void>, R>
  ): Effect.Effect<A, ModelFailure | Cause.Done<void>, R> {
    const elsewhere = Effect.suspend(() =>
      hasFallback()
        ? Effect.flatMap(Effect.zip(monotonicSeconds, this.openSeconds), ([now, seconds]) =>
            rejected(circuitOpen(seconds, this.failure(now)))
          )
        : ask
    )
    return Effect.gen({ self: this }, function* () {
      const now = yield* monotonicSeconds
      this.blame.seen(user, now)
      if (this.blame.isTurnOfOthers(user, now) && (yield* this.state)._tag !== "Closed")
        return yield* elsewhere
      return yield* this.circuits
        .execute(ask, { key: this.provider, classify: (exit) => this.outcomeOf(exit, user) })
        .pipe(Effect.catchTag("CircuitBreakerError", () => elsewhere))
    })
  }

  private outcomeOf(
    exit: Exit.Exit<unknown, ModelFailure | Cause.Done<void>>,
    user: string
  ): Effect.Effect<CircuitBreaker.Outcome> {
    return Effect.map(monotonicSeconds, (now) => {
      if (Exit.isSuccess(exit)) {
        this.blame.succeeded()
        return CircuitBreaker.success
      }
      const error = Cause.findErrorOption(exit.cause)
      const isCounted =
        Option.isSome(error) &&
        error.value instanceof ModelFailure &&
        !refusals.has(error.value.reason) &&
        this.blame.failed(user, now)
      return isCounted ? CircuitBreaker.failure() : CircuitBreaker.ignored
    })
  }

  /** The last request failed. */
  failed({ reason, status }: Fault, now: number): void {
    if (requestFaults.has(reason)) return
    this.lastFailure = { text: status === undefined ? reason : `${reason} (HTTP ${status})`, atSeconds: now }
  }

  /** A user's request was answered to its end. */
  answered(user: string, now: number): void {
    this.lastFailure = null
    this.answeredSeconds = now
    this.blame.seen(user, now)
  }

  /** Why the last request failed; null where none did of late. */
  private failure(now: number): string | null {
    const { atSeconds, text } = this.lastFailure ?? unfailed
    return now - atSeconds < knownSeconds ? text : null
  }

  readonly health: Effect.Effect<ProviderHealth> = Effect.suspend(() =>
    Effect.zipWith(monotonicSeconds, this.openSeconds, (now, openSeconds) => {
      const failure = this.failure(now)
      return {
        provider: this.provider,
        state:
          openSeconds > 0
            ? "open"
            : failure !== null
              ? "failing"
              : now - this.answeredSeconds < knownSeconds
                ? "ok"
                : "unknown",
        running: this.permits.all.held,
        waiting: this.permits.all.waiting,
        concurrentMax: this.limits.concurrentMax,
        failure,
        openSeconds: openSeconds > 0 ? Math.ceil(openSeconds) : null
      }
    })
  )
}

const unfailed = { text: "", atSeconds: Number.NEGATIVE_INFINITY }

const circuitOpen = (seconds: number, failure: string | null): Fault => ({
  reason: "refused",
  detail: `circuit open for ${Math.ceil(seconds)} s more after failures, the last: ${failure ?? "unknown"}`,
  retryAfter: { seconds: String(Math.ceil(seconds)), milliseconds: undefined }
})

const busy = ({ concurrentMax, queueSeconds }: GateLimits): Fault => ({
  reason: "refused",
  detail: `no turn within ${queueSeconds} s: it has its ${concurrentMax} requests at once`
})
