import * as net from "node:net"
import { StreamCheck } from "./streamCheck.ts"
import type { Tally } from "./tally.ts"

/** The requests of a load, and the form of their answers. */
export interface Load {
  readonly port: number
  readonly request: string
  readonly stream: boolean
  /** Deltas of a whole stream. The text of a JSON answer is only checked to be there. */
  readonly deltas: number
}

/**
 * The clock of `stampNow`, as milliseconds; 16 digits of microseconds are within what a number holds exactly.
 */
const sharedMilliseconds = (): number => Number(process.hrtime.bigint() / 1000n) / 1000

/**
 * One connection of the load generator: HTTP/1.1 on a raw socket, one request at a time. Its processor time
 * is taken from the same machine: undici's client takes a fifth to two thirds more of it, and adds .2 ms to a
 * first token.
 */
export class Exchange {
  open = false
  startedAt = 0
  private readonly owner: { readonly tally: Tally }
  private socket: net.Socket | null = null
  private load: Load | null = null
  private check: StreamCheck | null = null
  /** In lower case; empty until all of it is there. */
  private head = ""
  private contentLength: number | null = null
  /** Received text that is not yet taken, as latin1. */
  private pending = ""
  private body = ""
  private lastDeltaAt: number | null = null
  private sentAt = 0
  private answered = Promise.withResolvers<void>()
  private ended = Promise.withResolvers<void>()

  constructor(owner: { readonly tally: Tally }) {
    this.owner = owner
  }

  /**
   * Sends a request. `ended` resolves with the end of the answer, whole or not, `answered` with the first
   * delta or the end.
   */
  start(load: Load): { readonly answered: Promise<void>; readonly ended: Promise<void> } {
    this.load = load
    this.open = true
    this.head = this.pending = this.body = ""
    this.check = load.stream ? new StreamCheck() : null
    this.lastDeltaAt = null
    this.answered = Promise.withResolvers()
    this.ended = Promise.withResolvers()
    this.startedAt = performance.now()
    this.sentAt = sharedMilliseconds()
    this.socket ??= this.connect(load.port)
    this.socket.write(load.request)
    return { answered: this.answered.promise, ended: this.ended.promise }
  }

  /** Leaves as a client does that was closed. Nothing is counted. */
  drop(): void {
    this.open = false
    this.socket?.destroy()
    this.socket = null
  }

  giveUp(): void {
    this.finish("no end within the time limit")
  }

  private connect(port: number): net.Socket {
    const socket = net.connect({ host: "127.0.0.1", port, noDelay: true }).setEncoding("latin1")
    socket.on("data", (text: string) => {
      if (this.socket === socket && this.open) this.read(text)
    })
    socket.on("error", () => {})
    socket.on("close", () => {
      if (this.socket !== socket) return
      this.socket = null
      this.finish(this.head === "" ? "closed before the answer" : "closed within the answer")
    })
    return socket
  }

  private read(text: string): void {
    this.pending += text
    if (this.head === "") {
      const end = this.pending.indexOf("\r\n\r\n")
      if (end < 0) return
      this.head = this.pending.slice(0, end).toLowerCase()
      this.pending = this.pending.slice(end + 4)
      const length = /\r\ncontent-length: (\d+)/.exec(this.head)?.[1]
      this.contentLength = length === undefined ? null : Number(length)
    }
    if (this.contentLength === null) this.readChunks()
    else if (this.pending.length >= this.contentLength) {
      this.body = this.pending
      this.whole()
    }
  }

  /** Neither server ends its chunks with a trailer. */
  private readChunks(): void {
    let at = 0
    for (;;) {
      const sizeEnd = this.pending.indexOf("\r\n", at)
      const start = sizeEnd + 2
      const end = start + Number.parseInt(this.pending.slice(at, sizeEnd), 16)
      if (sizeEnd < 0 || end + 2 > this.pending.length) break
      if (start === end) return this.whole()
      this.payload(this.pending.slice(start, end))
      at = end + 2
    }
    this.pending = this.pending.slice(at)
  }

  private payload(text: string): void {
    const { check } = this
    if (check === null) {
      this.body += text
      return
    }
    const now = performance.now()
    const before = check.deltas
    check.read(text)
    for (let delta = before; delta < check.deltas; delta++) {
      this.owner.tally.delta(this.lastDeltaAt === null ? null : now - this.lastDeltaAt)
      this.lastDeltaAt = now
    }
    if (before > 0 || check.deltas === 0) return
    this.answered.resolve()
    if (check.stamp.startsWith("@")) this.stamped(check.stamp)
  }

  private stamped(stamp: string): void {
    const cameIn = Number(stamp.slice(1, 17)) / 1000
    const wentOut = Number(stamp.slice(17, 33)) / 1000
    this.owner.tally.stamped(cameIn - this.sentAt + (sharedMilliseconds() - wentOut))
  }

  private whole(): void {
    const { body, check, head, load } = this
    const kind = load?.stream === true ? "text/event-stream" : "application/json"
    if (!head.startsWith("http/1.1 200")) return this.finish(`${head.slice(0, 12)}: ${body.slice(0, 200)}`)
    if (!head.includes(`content-type: ${kind}`)) return this.finish(`not ${kind}`)
    if (check !== null) return this.finish(check.verdict(load?.deltas ?? 0))
    const isCompleted = /"status":\s*"completed"/.test(body) && /"output_text":\s*"[^"]/.test(body)
    this.finish(isCompleted ? null : "not a completed response")
  }

  private finish(problem: string | null): void {
    if (!this.open) return
    if (problem !== null) this.drop()
    this.open = false
    this.owner.tally.end(problem)
    this.answered.resolve()
    this.ended.resolve()
  }
}
