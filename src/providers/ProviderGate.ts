import { Duration, Effect, Option, type Scope } from "effect"
import { type ModelHealth, unknownHealth, type ProviderHealth } from "../domain/Model.ts"
import type { CallOptions } from "../domain/ModelCall.ts"
import { FairPermits } from "../runtime/FairPermits.ts"
import { monotonicSeconds } from "../runtime/Monotonic.ts"
import { CircuitOpen, classify, type Fault, PermitTimeout } from "./Fault.ts"
import { ModelRecord } from "./ModelRecord.ts"
import { ProviderCircuit, type ProviderCircuits } from "./ProviderCircuit.ts"

/** Seconds for which the last answer or failure of a server indicates its health. */
const knownSeconds = 600

/** Requests that wait for one server; more are refused, because a fallback answers sooner. */
const waitersMax = 10_000

/** Models of one server whose record is kept. */
const recordsMax = 1_000

export interface GateLimits {
  /** Requests at once; the others wait for their turn. */
  readonly concurrentMax: number
  readonly queueSeconds: number
}

/**
 * Admits all requests to one model server. A fixed number run at once, and users take turns. While the server
 * fails, requests with a fallback go there first.
 */
export class ProviderGate {
  private readonly permits: FairPermits
  private readonly limits: GateLimits
  private readonly circuit: ProviderCircuit
  readonly provider: string
  private lastFailure: { readonly text: string; readonly atSeconds: number } | null = null
  private answeredSeconds = Number.NEGATIVE_INFINITY
  private readonly records = new Map<string, ModelRecord>()

  constructor(provider: string, limits: GateLimits, circuits: ProviderCircuits) {
    this.provider = provider
    this.limits = limits
    this.circuit = new ProviderCircuit(provider, circuits)
    this.permits = new FairPermits({ totalMax: limits.concurrentMax })
  }

  recordOf(model: string): ModelRecord {
    const known = this.records.get(model)
    if (known !== undefined) return known
    const [oldest] = this.records.keys()
    if (oldest !== undefined && this.records.size >= recordsMax) this.records.delete(oldest)
    const record = new ModelRecord()
    this.records.set(model, record)
    return record
  }

  /** The models are asked in full again: what their server takes may have changed with its settings. */
  forgetLearned(): void {
    for (const { learned } of this.records.values()) learned.forget()
  }

  /** Waits for the user's turn, and lets the request through until the scope closes. */
  acquire({ user = "" }: CallOptions): Effect.Effect<void, Fault, Scope.Scope> {
    return Effect.suspend(() =>
      this.permits.all.waiting >= waitersMax
        ? Effect.fail(busy(this.limits))
        : Effect.flatMap(
            this.permits.acquireWithin(user, 1, Duration.seconds(this.limits.queueSeconds)),
            (permits) => (Option.isSome(permits) ? Effect.void : Effect.fail(busy(this.limits)))
          )
    )
  }

  readonly modelHealth: Effect.Effect<(model: string) => ModelHealth> = Effect.suspend(() =>
    Effect.zipWith(monotonicSeconds, this.circuit.openSeconds, (now, openSeconds) => (model) => {
      const record = this.records.get(model)
      const seen = record?.seen(now) ?? unknownHealth
      return { ...seen, coolingDown: openSeconds > 0 || record?.isCoolingDown(now) === true }
    })
  )

  /**
   * Asks the server for the first output, or fails at once while the circuit is open and there is a fallback.
   */
  guard<A, R>(options: CallOptions, ask: Effect.Effect<A, Fault, R>): Effect.Effect<A, Fault, R> {
    return this.circuit.guard(
      options,
      ask,
      Effect.flatMap(Effect.zip(monotonicSeconds, this.circuit.openSeconds), ([now, seconds]) =>
        Effect.fail(circuitOpen(seconds, this.failure(now)))
      )
    )
  }

  /** The last request failed. */
  failed(fault: Fault, now: number): void {
    const { isRequestAtFault, reason } = classify(fault)
    if (isRequestAtFault) return
    const text = fault.status === undefined ? reason : `${reason} (HTTP ${fault.status})`
    this.lastFailure = { text, atSeconds: now }
  }

  /** A user's request was answered to its end. */
  answered(user: string, now: number): void {
    this.lastFailure = null
    this.answeredSeconds = now
    this.circuit.seen(user, now)
  }

  /** The reason of the last failure; null if there was none lately. */
  private failure(now: number): string | null {
    const { atSeconds, text } = this.lastFailure ?? unfailed
    return now - atSeconds < knownSeconds ? text : null
  }

  readonly health: Effect.Effect<ProviderHealth> = Effect.suspend(() =>
    Effect.zipWith(monotonicSeconds, this.circuit.openSeconds, (now, openSeconds) => {
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

const circuitOpen = (seconds: number, failure: string | null): Fault =>
  new CircuitOpen({
    detail: `circuit open for ${Math.ceil(seconds)} s more after failures, the last: ${failure ?? "unknown"}`,
    retryAfter: { seconds: String(Math.ceil(seconds)), milliseconds: undefined }
  })

const busy = ({ concurrentMax, queueSeconds }: GateLimits): Fault =>
  new PermitTimeout({
    detail: `no turn within ${queueSeconds} s: it has its ${concurrentMax} requests at once`
  })
