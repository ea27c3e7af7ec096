import { Exchange, milliseconds, type Observer } from "./exchange.ts"
import type { Command, Counts, Load } from "./messages.ts"
import { Samples } from "./statistics.ts"

/** The load generator: a process of its own that does what the orchestrator says and counts what comes back. */

const streamSecondsMax = 120
const reasonsMax = 8

class Tally implements Observer {
  onFirstDelta: () => void = () => {}
  onDone: (exchange: Exchange) => void = () => {}
  open = 0
  private whole = 0
  private broken: Record<string, number> = {}
  private deltaCount = 0
  private eventCount = 0
  private byteCount = 0
  private readonly firstDelta = new Samples()
  private readonly addedTimes = new Samples()
  private readonly gaps = new Samples()
  private since = milliseconds()
  private cpu = process.cpuUsage()

  bytes(count: number): void {
    this.byteCount += count
  }
  event(): void {
    this.eventCount++
  }
  delta(first: boolean, sinceBefore: number): void {
    this.deltaCount++
    if (!first) return this.gaps.add(sinceBefore)
    this.firstDelta.add(sinceBefore)
    this.onFirstDelta()
  }
  added(time: number): void {
    this.addedTimes.add(time)
  }
  done(exchange: Exchange, broken: string | null): void {
    this.open--
    if (broken === null) this.whole++
    else {
      const known = broken in this.broken || Object.keys(this.broken).length < reasonsMax
      const reason = known ? broken : "other reasons"
      this.broken[reason] = (this.broken[reason] ?? 0) + 1
    }
    this.onDone(exchange)
  }

  take(): Counts {
    const now = milliseconds()
    const cpu = process.cpuUsage(this.cpu)
    const counts: Counts = {
      whole: this.whole,
      broken: this.broken,
      open: this.open,
      deltas: this.deltaCount,
      events: this.eventCount,
      bytes: this.byteCount,
      firstDelta: this.firstDelta.summary(),
      added: this.addedTimes.summary(),
      gap: this.gaps.summary(),
      seconds: (now - this.since) / 1000,
      loaderCpuSeconds: (cpu.user + cpu.system) / 1e6
    }
    this.whole = this.deltaCount = this.eventCount = this.byteCount = 0
    this.broken = {}
    for (const samples of [this.firstDelta, this.addedTimes, this.gaps]) samples.clear()
    this.since = now
    this.cpu = process.cpuUsage()
    return counts
  }
}

const tally = new Tally()
let held: Array<Exchange> = []
let running: Array<Exchange> = []

const begin = (exchange: Exchange, load: Load): void => {
  tally.open++
  exchange.start(load)
}

const run = (command: Extract<Command, { type: "run" }>): Promise<void> =>
  new Promise((resolve) => {
    let left = command.total
    tally.take()
    const next = (exchange: Exchange): void => {
      if (left > 0) {
        left--
        begin(exchange, command.load)
      } else if (tally.open === 0) {
        for (const other of running) other.drop()
        running = []
        resolve()
      }
    }
    tally.onFirstDelta = () => {}
    tally.onDone = (exchange) => {
      if (command.pauseMs > 0) setTimeout(next, command.pauseMs, exchange)
      else setImmediate(next, exchange)
    }
    running = Array.from({ length: Math.min(command.connections, command.total) }, () => new Exchange(tally))
    for (const exchange of running) next(exchange)
  })

const open = (command: Extract<Command, { type: "open" }>): Promise<void> =>
  new Promise((resolve) => {
    let begun = 0
    let pending = 0
    tally.take()
    held = []
    const more = (): void => {
      while (begun < command.count && pending < command.pendingMax) {
        begun++
        pending++
        const exchange = new Exchange(tally)
        held.push(exchange)
        begin(exchange, command.load)
      }
      if (begun === command.count && pending === 0) resolve()
    }
    tally.onFirstDelta = () => {
      pending--
      setImmediate(more)
    }
    // A stream that ends before its first delta would be waited for forever.
    tally.onDone = (exchange) => {
      if (exchange.answered) return
      pending--
      setImmediate(more)
    }
    more()
  })

const finish = (): Promise<void> =>
  new Promise((resolve) => {
    const look = (): void => {
      if (tally.open === 0) {
        for (const exchange of held) exchange.drop()
        held = []
        resolve()
      } else setTimeout(look, 20)
    }
    look()
  })

const drop = (): void => {
  for (const exchange of held) exchange.drop()
  held = []
  tally.open = 0
}

const perform = async (command: Command): Promise<void> => {
  if (command.type === "run") await run(command)
  else if (command.type === "open") await open(command)
  else if (command.type === "finish") await finish()
  else if (command.type === "drop") drop()
  process.send?.({ type: "counts", counts: tally.take() })
}

setInterval(() => {
  const latest = milliseconds() - streamSecondsMax * 1000
  for (const exchange of [...held, ...running])
    if (exchange.open && exchange.startedAt < latest) exchange.giveUp()
}, 1000).unref()

process.on("message", (command: Command) => void perform(command))
process.on("disconnect", () => process.exit(0))
process.send?.({ type: "ready" })
