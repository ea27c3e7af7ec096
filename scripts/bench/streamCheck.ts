import { stampLength } from "./directive.ts"

const typeStart = 'data: {"type":"'
const sequenceStart = '"sequence_number":'
const sequenceDigitsMax = 12
const deltaStart = '"delta":"'
const deltaType = "response.output_text.delta"
const terminalTypes = new Set(["response.completed", "response.failed", "response.incomplete", "error"])

/**
 * Checks an event stream against the contract: `response.created` first, numbers from 0 without a gap,
 * exactly one terminal event, last, and as many deltas as were asked for. It searches the text of each frame:
 * to parse it would take a quarter more of the load generator's processor time.
 */
export class StreamCheck {
  deltas = 0
  /** The beginning of the first delta. */
  stamp = ""
  private rest = ""
  private events = 0
  private terminalType = ""
  private problem: string | null = null

  read(text: string): void {
    const frames = this.rest + text
    let at = 0
    for (let end = frames.indexOf("\n\n"); end >= 0; end = frames.indexOf("\n\n", at)) {
      // Comment lines keep a silent stream alive; they are no events.
      if (frames[at] !== ":") this.frame(frames.slice(at, end))
      at = end + 2
    }
    this.rest = frames.slice(at)
  }

  /** The reason why the stream, now ended, is broken; null for a whole one. */
  verdict(deltasWanted: number): string | null {
    if (this.problem !== null) return this.problem
    if (this.terminalType !== "response.completed")
      return `ended with ${this.terminalType || "no terminal event"}`
    if (this.rest !== "") return "ended within a frame"
    return this.deltas === deltasWanted ? null : `${this.deltas} deltas in place of ${deltasWanted}`
  }

  private frame(frame: string): void {
    const start = frame.indexOf(typeStart) + typeStart.length
    const type = frame.slice(start, frame.indexOf('"', start))
    const numberAt = frame.indexOf(sequenceStart, start) + sequenceStart.length
    const number = Number.parseInt(frame.slice(numberAt, numberAt + sequenceDigitsMax), 10)
    if (start < typeStart.length || number !== this.events)
      this.problem ??= `event ${this.events} has another number`
    if ((this.events === 0) !== (type === "response.created"))
      this.problem ??= `event ${this.events} is ${type}`
    if (this.terminalType !== "") this.problem ??= `${type} after ${this.terminalType}`
    this.events++
    if (type !== deltaType) {
      if (terminalTypes.has(type)) this.terminalType = type
    } else if (this.deltas++ === 0) {
      const at = frame.indexOf(deltaStart, start) + deltaStart.length
      this.stamp = frame.slice(at, at + stampLength)
    }
  }
}
