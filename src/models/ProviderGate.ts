import { Effect, Schedule } from "effect"
import type { ModelFailureReason } from "../domain/Errors.ts"
import { alone, type CallOptions } from "../domain/ModelCall.ts"
import { type ModelHealth, unknownHealth } from "../domain/ModelHealth.ts"
import type { ProviderHealth } from "../domain/ProviderHealth.ts"
import { monotonicSeconds } from "../Monotonic.ts"
import { CircuitBreaker } from "./CircuitBreaker.ts"
import type { Fault } from "./Fault.ts"
import { ModelRecord } from "./ModelRecord.ts"
import { TurnQueue, type Waiter } from "./TurnQueue.ts"

/** Nothing is known any more of a server that failed so long ago and wasn't asked since. */
const failureSeconds = 600

/** More than this don't wait for one server: the next model answers sooner. */
const waitersMax = 10_000

/** Of so many models of one server it is remembered how they fared; of others it is forgotten. */
const recordsMax = 1_000

/** How often those who wait for the outcome of a trial look for it. */
const trialPollMillis = 50

export interface GateLimits {
  /** Requests that a server works at, at once; the others wait for their turn. */
  readonly concurrentMax: number
  readonly queueSeconds: number
}

/** Whoever refuses like this is well: what a request did wrong says nothing of it, and neither does a limit that it keeps to. */
const refusals: ReadonlySet<ModelFailureReason> = new Set(["bad_request", "unauthorized", "rate_limited"])

/** A key that isn't valid and a model that is gone: the next request is refused as well. */
const lastingStatuses: ReadonlySet<number | undefined> = new Set([401, 404])

/**
 * Whether a failure says that another model is better asked first. A limit passes, and what one request did wrong must not
 * turn others away from the model.
 */
export const isBlamed = ({ reason, status }: Fault): boolean =>
  !refusals.has(reason) || lastingStatuses.has(status)

/** Where all requests to one model server pass: so many at once, users taking turns, and none while it is out of order. */
export class ProviderGate {
  readonly breaker = new CircuitBreaker()
  readonly queue: TurnQueue
  readonly limits: GateLimits
  private lastFailure: { readonly text: string; readonly atSeconds: number } | null = null
  private readonly provider: string
  private readonly records = new Map<string, ModelRecord>()

  constructor(provider: string, limits: GateLimits) {
    this.provider = provider
    this.limits = limits
    this.queue = new TurnQueue(limits.concurrentMax)
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

  modelHealth(model: string, now: number): ModelHealth {
    const record = this.records.get(model)
    const seen = record?.seen(now) ?? unknownHealth
    return { ...seen, leftAlone: this.breaker.waitSeconds(now) > 0 || record?.isToBeSpared(now) === true }
  }

  /** The last request failed. */
  failed({ reason, status }: Fault, now: number): void {
    this.lastFailure = { text: status === undefined ? reason : `${reason} (HTTP ${status})`, atSeconds: now }
  }

  succeeded(): void {
    // While it is left alone, it is known why.
    if (!this.breaker.isOpen) this.lastFailure = null
  }

  /** Why the last request failed; null where none did of late. */
  failure(now: number): string | null {
    const { atSeconds, text } = this.lastFailure ?? unfailed
    return now - atSeconds < failureSeconds ? text : null
  }

  readonly health: Effect.Effect<ProviderHealth> = Effect.map(monotonicSeconds, (now) => {
    const waitSeconds = this.breaker.waitSeconds(now)
    const failure = this.failure(now)
    return {
      provider: this.provider,
      state: waitSeconds > 0 ? "open" : failure === null ? "ok" : "failing",
      running: this.queue.takenPlaces,
      waiting: this.queue.waiting,
      concurrentMax: this.limits.concurrentMax,
      failure,
      openSeconds: waitSeconds > 0 ? Math.ceil(waitSeconds) : null
    }
  })
}

/**
 * One request's way through the gate. `leave` must be called at the end, whatever happened, also while it waits; everything
 * else is said as it happens.
 */
export class Pass implements Waiter {
  readonly user: string
  private readonly hasFallback: () => boolean
  private readonly gate: ProviderGate
  private state: "outside" | "waiting" | "inside" = "outside"
  private isTrial = false
  private resume: ((entered: Effect.Effect<void>) => void) | null = null

  constructor(gate: ProviderGate, options: CallOptions = alone) {
    this.gate = gate
    this.user = options.user ?? ""
    this.hasFallback = options.hasFallback
  }

  /** Waits for the turn. */
  readonly enter: Effect.Effect<void, Fault> = Effect.suspend(() => this.mayAsk).pipe(
    Effect.andThen(Effect.suspend(() => this.turn)),
    Effect.andThen(Effect.suspend(() => this.asks))
  )

  /** The first output has come. */
  answering(): void {
    // A server that has failed is well again; one that hasn't is judged by whole answers.
    if (this.isTrial) this.succeeded()
  }

  /** The whole answer has come. */
  finished(): void {
    this.succeeded()
  }

  readonly failed = (fault: Fault): Effect.Effect<void> =>
    Effect.map(monotonicSeconds, (now) => {
      this.gate.failed(fault, now)
      if (!refusals.has(fault.reason)) this.gate.breaker.failed(this.isTrial, now)
      else if (this.isTrial) this.gate.breaker.succeeded(true)
      this.isTrial = false
    })

  private succeeded(): void {
    this.gate.breaker.succeeded(this.isTrial)
    this.isTrial = false
    this.gate.succeeded()
  }

  leave(): void {
    if (this.state === "waiting") this.gate.queue.forget(this)
    if (this.state === "inside") this.gate.queue.release()
    if (this.isTrial) this.gate.breaker.gaveUp()
    this.isTrial = false
    this.state = "outside"
    this.resume = null
  }

  granted(): void {
    this.state = "inside"
    this.resume?.(Effect.void)
    this.resume = null
  }

  private get mayAsk(): Effect.Effect<void, Fault> {
    return this.patiently(
      Effect.flatMap(monotonicSeconds, (now) => {
        const wait = Math.ceil(this.gate.breaker.waitSeconds(now))
        return wait === 0 ? Effect.void : Effect.fail(leftAlone(wait, this.gate.failure(now)))
      })
    )
  }

  /** In one step, so that there is only one trial. */
  private get asks(): Effect.Effect<void, Fault> {
    return this.patiently(
      Effect.flatMap(monotonicSeconds, (now) => {
        const wait = Math.ceil(this.gate.breaker.waitSeconds(now))
        if (wait > 0) return Effect.fail(leftAlone(wait, this.gate.failure(now)))
        this.isTrial = this.gate.breaker.enter()
        return Effect.void
      })
    )
  }

  /** Who has nowhere else to go waits for the outcome of a trial that another request makes. */
  private patiently(ask: Effect.Effect<void, Fault>): Effect.Effect<void, Fault> {
    const mayWait = () => this.gate.breaker.isTrying && !this.hasFallback()
    return Effect.catch(ask, (fault) => {
      if (!mayWait()) return Effect.fail(fault)
      const schedule = Schedule.spaced(`${trialPollMillis} millis`)
      const duration = `${this.gate.limits.queueSeconds} seconds` as const
      return Effect.retry(ask, { while: mayWait, schedule: Schedule.upTo(schedule, { duration }) })
    })
  }

  private get turn(): Effect.Effect<void, Fault> {
    const { limits, queue } = this.gate
    if (queue.take()) {
      this.state = "inside"
      return Effect.void
    }
    if (queue.waiting >= waitersMax) return Effect.fail(busy(limits))
    return Effect.callback<void>((resume) => {
      this.state = "waiting"
      this.resume = resume
      queue.wait(this)
    }).pipe(
      Effect.timeoutOrElse({
        duration: `${limits.queueSeconds} seconds`,
        orElse: () => Effect.fail(busy(limits))
      })
    )
  }
}

const unfailed = { text: "", atSeconds: Number.NEGATIVE_INFINITY }

const leftAlone = (seconds: number, failure: string | null): Fault => ({
  reason: "refused",
  detail: `left alone for ${seconds} s more after failures, the last: ${failure ?? "unknown"}`,
  retryAfter: { seconds: String(seconds), milliseconds: undefined }
})

const busy = ({ concurrentMax, queueSeconds }: GateLimits): Fault => ({
  reason: "refused",
  detail: `no turn within ${queueSeconds} s: it has its ${concurrentMax} requests at once`
})
