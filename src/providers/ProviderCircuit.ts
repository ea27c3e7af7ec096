import { Duration, Effect, Exit, Option, type Scope, Stream } from "effect"
import { CircuitBreaker } from "effect/persistence"
import type { CallOptions } from "../domain/ModelCall.ts"
import { makeCircuits } from "../runtime/Circuits.ts"
import { monotonicSeconds } from "../runtime/Monotonic.ts"
import { classify, type Fault } from "./Fault.ts"

/** A circuit opens after this many counted failures in a row. */
export const failuresMax = 5

export const openSecondsMin = 5
export const openSecondsMax = 60

/**
 * While other users send requests, at most this many failures in a row of one user count against a provider.
 */
export const failuresPerUserMax = 3

/** A user is alone when no other user has sent a request for this long. */
export const aloneSeconds = 60

/** While a probe runs, the retry delay of other requests. */
const probeSeconds = 1

export type ProviderCircuits = CircuitBreaker.CircuitBreaker

/** One circuit for each provider's id. Logs when a circuit opens or closes. */
export const makeProviderCircuits: Effect.Effect<ProviderCircuits, never, Scope.Scope> = Effect.gen(
  function* () {
    const circuits = yield* makeCircuits({ failuresMax, openSecondsMin, openSecondsMax })
    yield* circuits.transitions.pipe(
      Stream.filter(({ to }) => to !== "HalfOpen"),
      Stream.runForEach(({ key, to }) =>
        Effect.logWarning(
          to === "Open"
            ? "The circuit of a model server opened: other models are asked first."
            : "The circuit of a model server closed: it answers again."
        ).pipe(Effect.annotateLogs({ provider: key }))
      ),
      Effect.forkScoped({ startImmediately: true })
    )
    return circuits
  }
)

/**
 * The circuit of one provider. While it is open, requests that have a fallback are rejected, except one probe
 * at a time.
 */
export class ProviderCircuit {
  private readonly provider: string
  private readonly circuits: ProviderCircuits
  private readonly failures = new CountedFailures()

  constructor(provider: string, circuits: ProviderCircuits) {
    this.provider = provider
    this.circuits = circuits
  }

  /** Seconds for which requests are rejected; 0 while the circuit is closed, and when a probe may run. */
  readonly openSeconds: Effect.Effect<number> = Effect.suspend(() =>
    Effect.map(this.state, (state) => {
      if (state._tag === "Open") return Duration.toSeconds(state.retryAfter)
      return state._tag === "HalfOpen" && state.probing ? probeSeconds : 0
    })
  )

  // The state is in memory, where reading it can't fail.
  private readonly state = Effect.suspend(() => Effect.orDie(this.circuits.state(this.provider)))

  seen(user: string, now: number): void {
    this.failures.seen(user, now)
  }

  /**
   * Runs a request, or `rejected` in its place while the circuit is open. A request without a fallback always
   * runs.
   */
  guard<A, R>(
    { hasFallback, user = "" }: CallOptions,
    request: Effect.Effect<A, Fault, R>,
    rejected: Effect.Effect<A, Fault, R>
  ): Effect.Effect<A, Fault, R> {
    const open = Effect.suspend(() => (hasFallback() ? rejected : request))
    const executed = this.circuits
      .execute(request, { key: this.provider, classify: (exit) => this.outcomeOf(exit, user) })
      .pipe(Effect.catchTag("CircuitBreakerError", () => open))
    return Effect.flatMap(monotonicSeconds, (now) => {
      this.failures.seen(user, now)
      return this.failures.othersProbe(user, now)
        ? Effect.flatMap(this.state, ({ _tag }) => (_tag === "Closed" ? executed : open))
        : executed
    })
  }

  private outcomeOf(exit: Exit.Exit<unknown, Fault>, user: string): Effect.Effect<CircuitBreaker.Outcome> {
    return Effect.map(monotonicSeconds, (now) => {
      if (Exit.isSuccess(exit)) {
        this.failures.succeeded()
        return CircuitBreaker.success
      }
      const isCounted = Option.exists(
        Exit.findErrorOption(exit),
        (fault) => classify(fault).countsAgainstServer && this.failures.failed(user, now)
      )
      return isCounted ? CircuitBreaker.failure() : CircuitBreaker.ignored
    })
  }
}

/**
 * Decides which failures count against a provider. While requests of other users succeed, the prompt is the
 * likely cause, so one user never opens the circuit for others. Times are monotonic, in seconds.
 */
class CountedFailures {
  private last: { readonly user: string; readonly seconds: number } | null = null
  /** When a user other than the last one was seen. */
  private otherSeconds = Number.NEGATIVE_INFINITY
  /** Counted failures in a row by user; emptied when they open the circuit. */
  private readonly counts = new Map<string, number>()
  private total = 0
  private failedLast: string | null = null

  /** A request of the user began or was answered. */
  seen(user: string, now: number): void {
    if (this.last !== null && this.last.user !== user) this.otherSeconds = this.last.seconds
    this.last = { user, seconds: now }
  }

  succeeded(): void {
    this.reset()
    this.failedLast = null
  }

  /** Records a user's failure. True if it counts. */
  failed(user: string, now: number): boolean {
    const before = this.counts.get(user) ?? 0
    if (before >= failuresPerUserMax && !this.isAlone(user, now)) return false
    this.failedLast = user
    this.counts.set(user, before + 1)
    this.total++
    if (this.total >= failuresMax) this.reset()
    return true
  }

  /** True if the next probe is left to other users, because the last failed request was this user's. */
  othersProbe(user: string, now: number): boolean {
    return this.failedLast === user && !this.isAlone(user, now)
  }

  private reset(): void {
    this.counts.clear()
    this.total = 0
  }

  private isAlone(user: string, now: number): boolean {
    const seconds = this.last !== null && this.last.user !== user ? this.last.seconds : this.otherSeconds
    return now - seconds >= aloneSeconds
  }
}
