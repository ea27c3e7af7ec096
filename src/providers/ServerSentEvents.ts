/** One event longer than this is no model's delta: the stream is given up as malformed. */
export const eventBytesMax = 1024 * 1024

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const SPACE = 0x20
const LOWER_D = 0x64

/**
 * Takes a server-sent event stream apart, however its bytes were cut: inside a character, between CR and LF, anywhere.
 * Only `data` matters to a model's stream, so comments and the other fields are passed over.
 *
 * Whole lines are decoded together and everything after the last line end is kept as bytes, so that no character is ever
 * cut and the usual read, which ends with its event, is decoded by one native call without a copy.
 */
export class ServerSentEvents {
  private readonly onData: (data: string) => void
  /** The bytes of the line that isn't whole yet. */
  private rest: Array<Buffer> = []
  private restBytes = 0
  /** The data lines of the event that isn't whole yet. */
  private data: string | null = null
  private first = true
  /** The last line ended in CR at the very end of a read: an LF that follows belongs to it. */
  private afterCr = false

  constructor(onData: (data: string) => void) {
    this.onData = onData
  }

  /** False where an event outgrew its limit. */
  write(bytes: Buffer): boolean {
    const end = bytes[bytes.length - 1] === LF ? bytes.length : lineEnd(bytes)
    if (end > 0) this.lines(this.decode(bytes, end))
    if (end < bytes.length) this.keep(bytes.subarray(end))
    return this.restBytes + (this.data?.length ?? 0) <= eventBytesMax
  }

  /** The body is over: a last line or a last event without its line end counts. */
  end(): void {
    if (this.restBytes > 0) this.lines(this.decode(Buffer.from("\n"), 1))
    this.dispatch()
  }

  /** Keeps a copy: a part of the read would hold the socket's whole buffer. */
  private keep(bytes: Buffer): void {
    this.rest.push(Buffer.from(bytes))
    this.restBytes += bytes.length
  }

  private decode(bytes: Buffer, end: number): string {
    let text: string
    if (this.restBytes === 0) {
      text = bytes.toString("utf8", 0, end)
    } else {
      this.rest.push(bytes.subarray(0, end))
      text = Buffer.concat(this.rest).toString("utf8")
      this.rest = []
      this.restBytes = 0
    }
    if (this.first) {
      this.first = false
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1)
    }
    return this.afterCr || text.includes("\r") ? this.withoutCr(text) : text
  }

  private withoutCr(text: string): string {
    const start = this.afterCr && text.charCodeAt(0) === LF ? 1 : 0
    this.afterCr = text.charCodeAt(text.length - 1) === CR
    return text.slice(start).replaceAll(/\r\n?/g, "\n")
  }

  /** `text` is whole lines, each ended by LF. */
  private lines(text: string): void {
    let at = 0
    while (at < text.length) {
      const end = text.indexOf("\n", at)
      if (end === at) this.dispatch()
      else if (text.charCodeAt(at) === LOWER_D && text.startsWith("data", at)) this.field(text, at + 4, end)
      at = end + 1
    }
  }

  private field(text: string, at: number, end: number): void {
    let value: string
    if (at === end) value = ""
    else if (text.charCodeAt(at) === COLON) {
      value = text.slice(text.charCodeAt(at + 1) === SPACE ? at + 2 : at + 1, end)
    } else return
    this.data = this.data === null ? value : `${this.data}\n${value}`
  }

  private dispatch(): void {
    if (this.data === null) return
    const data = this.data
    this.data = null
    this.onData(data)
  }
}

/** Where the last line end of a read ends; 0 where it has none. */
const lineEnd = (bytes: Buffer): number => Math.max(bytes.lastIndexOf(LF), bytes.lastIndexOf(CR)) + 1
