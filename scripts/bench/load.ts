import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises"
import { type Directive, directive } from "./directive.ts"
import { Exchange, type Load } from "./exchange.ts"
import { type Counts, Tally } from "./tally.ts"

const streamSecondsMax = 120
/** Streams without a first delta at a time. */
const pendingMax = 32

/** A load of requests to that server, whose model answers them as the directive says. */
export const loadOf = (
  { key, port }: { readonly key: string | null; readonly port: number },
  wanted: Partial<Directive> & { readonly tokens: number },
  stream = true
): Load => {
  const body = JSON.stringify({ model: "auto", input: `Tell me a story. ${directive(wanted)}`, stream })
  const lines = [
    "POST /v1/responses HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
    "Content-Type: application/json",
    `Accept: ${stream ? "text/event-stream" : "application/json"}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "",
    body
  ]
  return { port, request: lines.join("\r\n"), stream, deltas: wanted.tokens }
}

/** The load generator. It is a part of the benchmark's process, which does nothing else while a load runs. */
export class Loader {
  /** Counts since the last command. */
  tally = new Tally()
  private exchanges: Array<Exchange> = []

  /** Asks for one answer after another on so many connections, `total` in all. */
  async run(load: Load, connections: number, total: number, pauseMs = 0): Promise<Counts> {
    this.begin()
    let left = total
    const work = async (): Promise<void> => {
      const exchange = this.add()
      while (left > 0) {
        left--
        await exchange.start(load).ended
        await (pauseMs > 0 ? sleep(pauseMs) : turn())
      }
      exchange.drop()
    }
    return this.finish(Array.from({ length: Math.min(connections, total) }, work))
  }

  /** Opens so many streams; returns when each has its first delta, or has ended. */
  async open(load: Load, count: number): Promise<Counts> {
    this.begin()
    const work = async (): Promise<void> => {
      while (this.exchanges.length < count) {
        await this.add().start(load).answered
        await turn()
      }
    }
    return this.finish(Array.from({ length: pendingMax }, work))
  }

  /** Counts since the last command, and the number of open streams. */
  mark(): Counts & { readonly open: number } {
    const counts = this.tally.counts()
    this.tally = new Tally()
    return { ...counts, open: this.exchanges.filter(({ open }) => open).length }
  }

  /** Closes every open stream from the client's side. */
  drop(): void {
    for (const exchange of this.exchanges) exchange.drop()
    this.exchanges = []
  }

  private begin(): void {
    this.drop()
    this.tally = new Tally()
  }

  /** Gives up what takes too long. */
  private async finish(work: ReadonlyArray<Promise<void>>): Promise<Counts> {
    const sweep = setInterval(() => {
      const latest = performance.now() - streamSecondsMax * 1000
      for (const exchange of this.exchanges) if (exchange.startedAt < latest) exchange.giveUp()
    }, 1000)
    await Promise.all(work)
    clearInterval(sweep)
    return this.tally.counts()
  }

  private add(): Exchange {
    const exchange = new Exchange(this)
    this.exchanges.push(exchange)
    return exchange
  }
}
