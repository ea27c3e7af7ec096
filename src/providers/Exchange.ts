import type * as Undici from "@effect/platform-node/Undici"
import { Array as Arr, Cause, Effect } from "effect"
import type { ModelPart } from "../domain/ModelCall.ts"
import { decodeErrorBody } from "./Protocol.ts"
import type { AnswerReader } from "./AnswerReader.ts"
import { type Fault, refined, statusReason, transportFault } from "./Fault.ts"

/** So much may be read ahead of the consumer; beyond it the socket isn't read, and TCP holds the server back. */
const readAheadBytes = 64 * 1024

/** Of the body of a refusal no more than this is looked at. */
const refusalBytesMax = 16 * 1024

/** After everything was said the connection has this long to end the body, so that it can be used again. */
const lingerSeconds = 2
const lingerBytesMax = 64 * 1024

/** After a finish reason the usage has this long to arrive. */
const usageSeconds = 5

export interface Patience {
  readonly firstTokenSeconds: number
  readonly idleSeconds: number
}

export type Parts = Arr.NonEmptyReadonlyArray<ModelPart>
export type Pull<E> = Effect.Effect<Parts, E | Cause.Done<void>>

/**
 * One request to a model server and its answer, as undici's handler on the one side and as a pull on the other.
 *
 * Reading and decoding happen as the bytes come in; what they held is handed over once per read of the socket, not once per
 * event, because undici calls back for each piece of a read, and the hand-over waits for the microtask after the last.
 */
export class Exchange<E> implements Undici.Dispatcher.DispatchHandler {
  private readonly reader: AnswerReader
  private readonly patience: Patience
  /** What to do about a fault: fail, or answer with another exchange's pull. */
  private readonly recover: (fault: Fault) => Pull<E>
  /** The last parts, where the server left out the usage. */
  private readonly count: (reader: AnswerReader) => Effect.Effect<Parts>

  private controller: Undici.Dispatcher.DispatchController | null = null
  private waiting: ((effect: Pull<E>) => void) | null = null
  private delivered = false
  private flushing = false
  private fault: Fault | null = null
  private refusal: { readonly fault: Fault; readonly body: Array<Buffer>; bytes: number } | null = null
  private answerBegun = false
  private ended = false
  private aborted = false
  private lingering = false
  private unreadBytes = 0
  private quietSeconds = 0
  private progressSeen = 0

  constructor(options: {
    readonly reader: AnswerReader
    readonly patience: Patience
    readonly recover: (fault: Fault) => Pull<E>
    readonly count: (reader: AnswerReader) => Effect.Effect<Parts>
  }) {
    this.reader = options.reader
    this.patience = options.patience
    this.recover = options.recover
    this.count = options.count
  }

  // ---- the consumer's side

  /** Gives all parts that are at hand, else the next that come; what it returns is to be run if nobody waits any more. */
  next(resume: (effect: Pull<E>) => void): Effect.Effect<void> | undefined {
    const outcome = this.outcome()
    if (outcome === undefined) {
      this.waiting = resume
      return this.closing
    }
    resume(outcome)
    return undefined
  }

  private readonly closing = Effect.sync(() => this.close())

  /** The consumer needs nothing more. An answer that isn't over is cut off at once. */
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

  /** Whether the consumer has got anything of the answer: from then on it can't be asked for anew. */
  get hasDelivered(): boolean {
    return this.delivered
  }

  /** Whether the model said all that it had to say. */
  get isFinished(): boolean {
    return this.reader.finish !== null && this.fault === null
  }

  private outcome(): Pull<E> | undefined {
    if (this.reader.hasParts) {
      const parts = this.reader.take()
      if (Arr.isReadonlyArrayNonEmpty(parts)) {
        this.unreadBytes = 0
        this.delivered = true
        if (this.controller?.paused === true) this.controller.resume()
        return Effect.succeed(parts)
      }
    }
    if (this.reader.state === "over") return Cause.done()
    if (this.reader.state === "uncounted") return this.count(this.reader)
    return this.fault === null ? undefined : this.recover(this.fault)
  }

  private flushSoon(): void {
    if (this.waiting === null || this.flushing) return
    this.flushing = true
    queueMicrotask(this.flush)
  }

  private readonly flush = (): void => {
    this.flushing = false
    const waiting = this.waiting
    if (waiting === null) return
    const outcome = this.outcome()
    if (outcome === undefined) return
    this.waiting = null
    waiting(outcome)
  }

  private fail(fault: Fault): void {
    this.fault ??= fault
    this.flushSoon()
  }

  private abort(): void {
    this.aborted = true
    this.controller?.abort(new Error("The answer is no longer needed"))
  }

  // ---- the clock's side

  get isOpen(): boolean {
    return !this.ended
  }

  /**
   * Called now and then while the exchange is open, instead of a timer of its own. Only silence counts: neither what the
   * consumer leaves unread, nor a stream of comments.
   */
  tick(seconds: number): void {
    const moved = this.reader.progress !== this.progressSeen
    this.progressSeen = this.reader.progress
    this.quietSeconds = moved || this.controller?.paused === true ? 0 : this.quietSeconds + seconds
    if (this.lingering) {
      if (this.quietSeconds >= lingerSeconds) this.abort()
    } else if (this.reader.finish !== null) {
      if (this.quietSeconds >= Math.min(usageSeconds, this.patience.idleSeconds)) this.settle()
    } else if (this.reader.progress === 0) {
      if (this.quietSeconds >= this.patience.firstTokenSeconds) this.timeOut("first_token_timeout")
    } else if (this.quietSeconds >= this.patience.idleSeconds) this.timeOut("idle_timeout")
  }

  private timeOut(reason: "first_token_timeout" | "idle_timeout"): void {
    const limit = reason === "idle_timeout" ? this.patience.idleSeconds : this.patience.firstTokenSeconds
    this.fail(this.refusal?.fault ?? { reason, detail: `nothing came for ${limit} seconds` })
    this.abort()
  }

  /** How it ended is known; whatever became of the connection since then doesn't matter. */
  private settle(): void {
    this.reader.abandon()
    this.flushSoon()
    this.abort()
  }

  // ---- the connection's side

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
    const encoding = headers["content-encoding"]
    if (status < 300 && (encoding === undefined || encoding === "identity")) return
    const fault: Fault =
      status < 300
        ? { reason: "malformed", detail: "an encoded body that nobody asked for" }
        : {
            reason: statusReason(status),
            status,
            detail: `HTTP ${status}`,
            retryAfter: {
              seconds: text(headers["retry-after"]),
              milliseconds: text(headers["retry-after-ms"])
            }
          }
    this.refusal = { fault, body: [], bytes: 0 }
  }

  onResponseData(controller: Undici.Dispatcher.DispatchController, bytes: Buffer): void {
    this.unreadBytes += bytes.length
    if (this.lingering) {
      if (this.unreadBytes > lingerBytesMax) this.abort()
      return
    }
    if (this.refusal !== null) return this.readRefusal(bytes)
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
    if (this.refusal !== null) return this.refused()
    this.reader.end()
    if (this.reader.fault !== null) this.fail(this.reader.fault)
    this.flushSoon()
  }

  onResponseError(_controller: Undici.Dispatcher.DispatchController | null, error: Error): void {
    this.ended = true
    if (this.aborted) return
    if (this.refusal !== null) return this.refused()
    if (this.reader.finish !== null) return this.settle()
    this.fail(transportFault(error, this.answerBegun))
  }

  private readRefusal(bytes: Buffer): void {
    if (this.refusal === null) return
    this.refusal.body.push(Buffer.from(bytes))
    this.refusal.bytes += bytes.length
    if (this.refusal.bytes < refusalBytesMax) return
    this.refused()
    this.abort()
  }

  private refused(): void {
    if (this.refusal === null) return
    const { body, fault } = this.refusal
    const { label, message } = decodeErrorBody(Buffer.concat(body).toString("utf8", 0, refusalBytesMax))
    this.fail(refined({ ...fault, detail: `${fault.detail} ${label}`, message }))
  }
}

const text = (header: string | Array<string> | undefined): string | undefined =>
  typeof header === "string" ? header : header?.[0]
