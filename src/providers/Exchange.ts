import type * as Undici from "@effect/platform-node/Undici"
import { Array as Arr, Cause, Effect } from "effect"
import type { ModelFailure } from "../domain/Errors.ts"
import type { ModelPart } from "../domain/ModelCall.ts"
import type { AnswerReader } from "./AnswerReader.ts"
import { AnswerMalformed, type Fault, FirstTokenTimeout, IdleTimeout, type RetryAfter } from "./Fault.ts"
import { statusFault, transportFault } from "./FaultCause.ts"
import { decodeErrorBody } from "./ServerError.ts"

/** Bytes read ahead of the consumer. Beyond them the socket isn't read, and TCP holds the server back. */
const readAheadBytes = 64 * 1024

/** The rest of the body of an error is not read. */
const refusalBytesMax = 16 * 1024

/** After a complete answer the body has this long to end, so that the connection can be reused. */
const lingerSeconds = 2
const lingerBytesMax = 64 * 1024

/** Timeout for the usage after a finish reason. */
const usageSeconds = 5

export type Parts = Arr.NonEmptyReadonlyArray<ModelPart>
type Pull = Effect.Effect<Parts, ModelFailure | Cause.Done<void>>

/** An answer whose status is an error. */
interface Refusal {
  readonly status: number
  readonly retryAfter: RetryAfter
  readonly body: Array<Buffer>
  bytes: number
}

export interface ExchangeOptions {
  readonly timeouts: { readonly firstTokenSeconds: () => number; readonly idleSeconds: number }
  /** Counts the usage that the server left out, and returns the last parts. */
  readonly count: () => Effect.Effect<Parts>
  /** Handles a fault after the first output. */
  readonly giveUp: (fault: Fault) => Effect.Effect<never, ModelFailure>
}

/**
 * One request to a model server and its answer: undici's handler on the one side and a pull on the other.
 *
 * The state is mutable, and no stream lies between the two sides, to save processor time
 * (docs/decisions/speed.md). Bytes are read and decoded as they come in. Parts are handed over once per read
 * of the socket and not once per event. Undici calls back for each piece of a read, and the hand-over waits
 * for the microtask after the last.
 */
export class Exchange implements Undici.Dispatcher.DispatchHandler {
  private readonly reader: AnswerReader
  private readonly options: ExchangeOptions

  private controller: Undici.Dispatcher.DispatchController | null = null
  private waiting: (() => void) | null = null
  private flushing = false
  private fault: Fault | null = null
  private refusal: Refusal | null = null
  private answerBegun = false
  private ended = false
  private aborted = false
  private lingering = false
  private unreadBytes = 0
  private quietSeconds = 0
  private progressSeen = 0

  constructor(reader: AnswerReader, options: ExchangeOptions) {
    this.reader = reader
    this.options = options
  }

  // ---- called by the consumer

  /** Waits for the first output. */
  readonly opened: Effect.Effect<void, Fault> = Effect.callback((resume) =>
    this.whenReady(() =>
      resume(this.fault === null || this.reader.hasParts ? Effect.void : Effect.fail(this.fault))
    )
  )

  /** All available parts, else the next that arrive. */
  readonly pull: Pull = Effect.callback((resume) => this.whenReady(() => resume(this.outcome())))

  private whenReady(notify: () => void): Effect.Effect<void> | undefined {
    if (!this.isReady) {
      this.waiting = notify
      return this.closing
    }
    notify()
    return undefined
  }

  private get isReady(): boolean {
    const { hasParts, state } = this.reader
    return hasParts || state === "over" || state === "uncounted" || this.fault !== null
  }

  private readonly closing = Effect.sync(() => this.close())

  /** Ends the exchange. An incomplete answer is aborted at once. */
  close(): void {
    this.waiting = null
    if (this.ended) return
    if (this.reader.state === "over" || this.reader.state === "uncounted") {
      this.lingering = true
      this.quietSeconds = 0
      this.unreadBytes = 0
      this.controller?.resume()
    } else this.abort()
  }

  /** True once undici has ended the response or failed. */
  get hasEnded(): boolean {
    return this.ended
  }

  /** True if the answer is complete. */
  get isFinished(): boolean {
    return this.reader.finish !== null && this.fault === null
  }

  private outcome(): Pull {
    const parts = this.reader.take()
    if (Arr.isReadonlyArrayNonEmpty(parts)) {
      this.taken()
      return Effect.succeed(parts)
    }
    if (this.reader.state === "uncounted") return this.options.count()
    return this.fault === null ? Cause.done() : this.options.giveUp(this.fault)
  }

  private taken(): void {
    this.unreadBytes = 0
    if (this.controller?.paused === true) this.controller.resume()
  }

  private flushSoon(): void {
    if (this.waiting === null || this.flushing) return
    this.flushing = true
    queueMicrotask(this.flush)
  }

  private readonly flush = (): void => {
    this.flushing = false
    if (this.waiting === null || !this.isReady) return
    const notify = this.waiting
    this.waiting = null
    notify()
  }

  private fail(fault: Fault): void {
    this.fault ??= fault
    this.flushSoon()
  }

  private abort(): void {
    this.aborted = true
    this.controller?.abort(new Error("The answer is no longer needed"))
  }

  // ---- called by the sweep

  /**
   * Checks the timeouts. The consumer's own time does not count, and comments of the server are no output.
   */
  tick(seconds: number): void {
    const moved = this.reader.progress !== this.progressSeen
    this.progressSeen = this.reader.progress
    this.quietSeconds = moved || this.controller?.paused === true ? 0 : this.quietSeconds + seconds
    if (this.lingering) {
      if (this.quietSeconds >= lingerSeconds) this.abort()
    } else if (this.reader.finish !== null) {
      if (this.quietSeconds >= Math.min(usageSeconds, this.options.timeouts.idleSeconds)) this.settle()
    } else {
      const limit =
        this.reader.progress === 0
          ? this.options.timeouts.firstTokenSeconds()
          : this.options.timeouts.idleSeconds
      if (this.quietSeconds >= limit) this.timeOut(`nothing came for ${limit} seconds`)
    }
  }

  private timeOut(detail: string): void {
    if (this.refusal !== null) this.refused(this.refusal)
    else this.fail(new (this.reader.progress === 0 ? FirstTokenTimeout : IdleTimeout)({ detail }))
    this.abort()
  }

  /** The answer is complete except for the usage. */
  private settle(): void {
    this.reader.abandon()
    this.flushSoon()
    this.abort()
  }

  // ---- called by undici

  onRequestStart(controller: Undici.Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.aborted) this.abort()
  }

  onResponseStart(
    _controller: Undici.Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | Array<string> | undefined>>
  ): void {
    if (status < 200) return
    this.answerBegun = true
    if (status >= 300) {
      const retryAfter = {
        seconds: text(headers["retry-after"]),
        milliseconds: text(headers["retry-after-ms"])
      }
      this.refusal = { status, retryAfter, body: [], bytes: 0 }
      return
    }
    const encoding = headers["content-encoding"]
    if (encoding === undefined || encoding === "identity") return
    this.fail(new AnswerMalformed({ detail: "a content encoding that was not requested" }))
    this.abort()
  }

  onResponseData(controller: Undici.Dispatcher.DispatchController, bytes: Buffer): void {
    this.unreadBytes += bytes.length
    if (this.lingering) {
      if (this.unreadBytes > lingerBytesMax) this.abort()
      return
    }
    if (this.refusal !== null) return this.readRefusal(this.refusal, bytes)
    this.reader.write(bytes)
    if (this.reader.fault !== null) {
      this.fail(this.reader.fault)
      this.abort()
      return
    }
    if (this.reader.hasParts || this.reader.state !== "reading") this.flushSoon()
    if (this.unreadBytes > readAheadBytes && this.reader.hasParts) controller.pause()
  }

  onResponseEnd(): void {
    this.ended = true
    if (this.refusal !== null) return this.refused(this.refusal)
    this.reader.end()
    if (this.reader.fault !== null) this.fail(this.reader.fault)
    this.flushSoon()
  }

  onResponseError(_controller: Undici.Dispatcher.DispatchController | null, error: Error): void {
    this.ended = true
    if (this.aborted) return
    if (this.refusal !== null) return this.refused(this.refusal)
    if (this.reader.finish !== null) return this.settle()
    this.fail(transportFault(error, this.answerBegun))
  }

  private readRefusal(refusal: Refusal, bytes: Buffer): void {
    refusal.body.push(Buffer.from(bytes))
    refusal.bytes += bytes.length
    if (refusal.bytes < refusalBytesMax) return
    this.refused(refusal)
    this.abort()
  }

  private refused({ body, retryAfter, status }: Refusal): void {
    const error = decodeErrorBody(Buffer.concat(body).toString("utf8", 0, refusalBytesMax))
    this.fail(statusFault(status, error, retryAfter))
  }
}

const text = (header: string | Array<string> | undefined): string | undefined =>
  typeof header === "string" ? header : header?.[0]
