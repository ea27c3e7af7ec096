import { stampLength } from "./directive.ts"

/**
 * Whether an event stream is what the contract says: `response.created` first, numbers from 0 without a gap, exactly one
 * terminal event, last, and as many deltas as were asked for. It searches the text of each frame instead of parsing it,
 * and parses every frame of every `parsedEvery`-th stream.
 */

const parsedEvery = 32
const dataStart = "data: "
const typeStart = '{"type":"'
const sequenceStart = '"sequence_number":'
const deltaStart = '"delta":"'
const deltaType = "response.output_text.delta"
const terminal: ReadonlySet<string> = new Set([
  "response.completed",
  "response.failed",
  "response.incomplete",
  "error"
])

export interface Heard {
  event(): void
  stamped(stamp: string): void
}
interface ParsedEvent {
  readonly type: string
  readonly delta?: string
  readonly response?: { readonly output_text?: string }
}
const parse: (json: string) => ParsedEvent = JSON.parse

let checks = 0

export class StreamCheck {
  /** Deltas that were read and not yet counted by the reader. */
  deltasNew = 0
  private readonly deltasWanted: number
  private readonly numbered: boolean
  private readonly parses = checks++ % parsedEvery === 0
  private pending = ""
  private deltas = 0
  private events = 0
  private terminalType = ""
  private text = ""
  private problem: string | null = null

  constructor(deltasWanted: number, numbered: boolean) {
    this.deltasWanted = deltasWanted
    this.numbered = numbered
  }

  fail(problem: string): void {
    this.problem ??= problem
  }

  read(text: string, heard: Heard): void {
    const frames = this.pending === "" ? text : this.pending + text
    let at = 0
    for (;;) {
      const end = frames.indexOf("\n\n", at)
      if (end < 0) break
      this.frame(frames, at, end, heard)
      at = end + 2
    }
    this.pending = at === 0 ? frames : frames.slice(at)
  }

  /** The reason why the stream, now ended, is broken; null for a whole one. */
  verdict(): string | null {
    if (this.problem !== null) return this.problem
    if (this.terminalType === "") return "no terminal event"
    if (this.terminalType !== "response.completed") return `ended with ${this.terminalType}`
    if (this.pending !== "") return "ended within a frame"
    if (this.deltas !== this.deltasWanted) return `${this.deltas} deltas in place of ${this.deltasWanted}`
    return null
  }

  private frame(frames: string, from: number, end: number, heard: Heard): void {
    // Comment lines keep a silent stream alive; they are no events.
    if (frames.charCodeAt(from) === 58) return
    const data = frames.startsWith(dataStart, from) ? from : frames.indexOf(`\n${dataStart}`, from) + 1
    if (data === 0 && from !== 0) return this.fail("frame without data")
    const start = data + dataStart.length
    if (start > end) return this.fail("frame without data")
    if (!this.numbered && frames.startsWith("[DONE]", start)) return
    const type = this.typeOf(frames, start, end)
    if (this.terminalType !== "") this.fail(`${type} after the terminal event`)
    if (this.events === 0 && type !== "response.created") this.fail(`${type} came first`)
    if (this.numbered) this.number(frames, start, end)
    this.events++
    heard.event()
    if (type === deltaType) this.delta(frames, start, heard)
    else if (terminal.has(type)) this.terminalType = type
    if (this.parses) this.parsed(frames.slice(start, end))
  }

  private typeOf(frames: string, start: number, end: number): string {
    if (frames.startsWith(typeStart, start)) {
      const from = start + typeStart.length
      return frames.slice(from, frames.indexOf('"', from))
    }
    // Another server may put other fields first.
    try {
      return parse(frames.slice(start, end)).type
    } catch {
      this.fail("malformed JSON")
      return ""
    }
  }

  private number(frames: string, start: number, end: number): void {
    const at = frames.indexOf(sequenceStart, start) + sequenceStart.length
    if (
      at < start + sequenceStart.length ||
      at > end ||
      Number.parseInt(frames.slice(at, at + 12), 10) !== this.events
    ) {
      this.fail(`event ${this.events} does not bear its number`)
    }
  }

  private delta(frames: string, start: number, heard: Heard): void {
    this.deltas++
    this.deltasNew++
    if (this.deltas > 1) return
    const text = frames.indexOf(deltaStart, start) + deltaStart.length
    if (frames.charCodeAt(text) === 64) heard.stamped(frames.slice(text, text + stampLength))
  }

  private parsed(latin1: string): void {
    try {
      const event = parse(Buffer.from(latin1, "latin1").toString())
      if (event.type === deltaType) this.text += event.delta ?? ""
      const whole = event.response?.output_text
      if (event.type === "response.completed" && whole !== undefined && whole !== this.text) {
        this.fail("output_text is not the deltas")
      }
    } catch {
      this.fail("malformed JSON")
    }
  }
}
