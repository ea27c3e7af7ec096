import * as net from "node:net"
import { stampLength } from "./directive.ts"
import type { Load } from "./messages.ts"
import { StreamCheck } from "./streamCheck.ts"

/**
 * One connection of the load generator: HTTP/1.1 on a raw socket, one request at a time. It reads just enough of the
 * answer to tell a whole one from a broken one, because its own processor time is taken from the same machine.
 */

export interface Observer {
  bytes(count: number): void
  delta(first: boolean, sinceBefore: number): void
  added(milliseconds: number): void
  event(): void
  done(exchange: Exchange, broken: string | null): void
}

const LineFeed = 10
type Phase = "head" | "size" | "data" | "afterData" | "trailer" | "length" | "over"

export const milliseconds = (): number => performance.now()
/** The clock of `stampNow`, as milliseconds; 16 digits of microseconds are within what a number holds exactly. */
const sharedMilliseconds = (): number => Number(process.hrtime.bigint() / 1000n) / 1000

const requestBytes = (load: Load): Buffer => {
  const { target } = load
  const body = JSON.stringify({ model: "auto", input: load.prompt, stream: load.stream })
  const key = target.key === null ? "" : `Authorization: Bearer ${target.key}\r\n`
  return Buffer.from(
    `POST ${target.path} HTTP/1.1\r\nHost: ${target.host}:${target.port}\r\n${key}Content-Type: application/json\r\n` +
      `Accept: ${load.stream ? "text/event-stream" : "application/json"}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}
const requests = new WeakMap<Load, Buffer>()
const requestFor = (load: Load): Buffer => {
  let bytes = requests.get(load)
  if (bytes === undefined) requests.set(load, (bytes = requestBytes(load)))
  return bytes
}

export class Exchange {
  startedAt = 0
  open = false
  private readonly observer: Observer
  private load: Load | null = null
  private socket: net.Socket | null = null
  private check: StreamCheck | null = null
  private phase: Phase = "over"
  private head = ""
  private remaining = 0
  private line = 0
  private status = 0
  private body = ""
  private lastDeltaAt = 0
  private sentAt = 0

  constructor(observer: Observer) {
    this.observer = observer
  }

  start(load: Load): void {
    this.load = load
    this.open = true
    this.phase = "head"
    this.head = ""
    this.body = ""
    this.status = 0
    this.check = load.stream ? new StreamCheck(load.deltas, load.target.numbered) : null
    this.lastDeltaAt = 0
    this.startedAt = milliseconds()
    this.sentAt = sharedMilliseconds()
    this.socket ??= this.connect(load)
    this.socket.write(requestFor(load))
  }

  /** Whether the answer that runs, or ran last, had a delta yet. */
  get answered(): boolean {
    return this.lastDeltaAt !== 0
  }

  /** Leaves as a client does that was closed. Nothing is reported. */
  drop(): void {
    this.open = false
    this.socket?.destroy()
    this.socket = null
  }

  giveUp(): void {
    this.finish("no end within the time limit")
  }

  private connect(load: Load): net.Socket {
    const socket = net.connect({ host: load.target.host, port: load.target.port, noDelay: true })
    socket.on("data", (bytes) => {
      if (this.socket === socket && this.open) this.read(bytes)
    })
    socket.on("error", () => {})
    socket.on("close", () => {
      if (this.socket !== socket) return
      this.socket = null
      if (this.open) this.finish(this.status === 0 ? "closed before the answer" : "closed within the answer")
    })
    return socket
  }

  private read(bytes: Buffer): void {
    this.observer.bytes(bytes.length)
    const now = milliseconds()
    let at = 0
    if (this.phase === "head") {
      const before = this.head.length
      this.head += bytes.toString("latin1", 0, bytes.length)
      const end = this.head.indexOf("\r\n\r\n")
      if (end < 0) return
      at = end + 4 - before
      this.readHead(this.head.slice(0, end).toLowerCase())
    }
    if (this.phase === "length") this.readLength(bytes, at, now)
    else this.readChunks(bytes, at, now)
  }

  private readHead(head: string): void {
    this.status = Number(head.slice(9, 12))
    const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1]
    this.phase = length === undefined ? "size" : "length"
    this.remaining = length === undefined ? 0 : Number(length)
    this.line = 0
    const kind = this.load?.stream === true ? "text/event-stream" : "application/json"
    if (this.status !== 200) this.check = null
    else if (!head.includes(`content-type: ${kind}`)) this.check?.fail(`not ${kind}`)
  }

  private readLength(bytes: Buffer, at: number, now: number): void {
    this.payload(bytes.toString("latin1", at, bytes.length), now)
    this.remaining -= bytes.length - at
    if (this.remaining <= 0) this.whole()
  }

  private readChunks(bytes: Buffer, from: number, now: number): void {
    let at = from
    while (at < bytes.length && this.phase !== "over") {
      if (this.phase === "data") {
        const end = Math.min(bytes.length, at + this.remaining)
        this.payload(bytes.toString("latin1", at, end), now)
        this.remaining -= end - at
        at = end
        if (this.remaining === 0) this.phase = "afterData"
        continue
      }
      const byte = bytes[at++] ?? 0
      if (byte === LineFeed) this.lineEnd()
      else if (byte > 32) {
        this.line++
        if (this.phase === "size")
          this.remaining = this.remaining * 16 + Number.parseInt(String.fromCharCode(byte), 16)
      }
    }
    if (this.phase === "over" && this.open) this.whole()
  }

  private lineEnd(): void {
    if (this.phase === "afterData") {
      this.phase = "size"
      this.remaining = 0
    } else if (this.phase === "size") this.phase = this.remaining === 0 ? "trailer" : "data"
    else if (this.line === 0) this.phase = "over"
    this.line = 0
  }

  private payload(text: string, now: number): void {
    const check = this.check
    if (check === null) {
      this.body += text
      return
    }
    check.read(text, this)
    if (check.deltasNew === 0) return
    for (; check.deltasNew > 0; check.deltasNew--) {
      const first = this.lastDeltaAt === 0
      this.observer.delta(first, now - (first ? this.startedAt : this.lastDeltaAt))
      this.lastDeltaAt = now
    }
  }

  /** Called by the check for every event, and for the first delta when it bears a stamp. */
  event(): void {
    this.observer.event()
  }

  stamped(stamp: string): void {
    const cameIn = Number(stamp.slice(1, 17)) / 1000
    const wentOut = Number(stamp.slice(17, stampLength - 1)) / 1000
    this.observer.added(cameIn - this.sentAt + (sharedMilliseconds() - wentOut))
  }

  private whole(): void {
    if (this.check !== null) return this.finish(this.check.verdict())
    if (this.status !== 200) return this.finish(`HTTP ${this.status}: ${this.body.slice(0, 200)}`)
    const text = Buffer.from(this.body, "latin1").toString()
    this.finish(
      /"status":\s*"completed"/.test(text) && /"output_text":\s*"[^"]/.test(text)
        ? null
        : "not a completed response"
    )
  }

  private finish(broken: string | null): void {
    if (!this.open) return
    this.open = false
    this.phase = "over"
    if (broken !== null) {
      this.socket?.destroy()
      this.socket = null
    }
    this.observer.done(this, broken)
  }
}
