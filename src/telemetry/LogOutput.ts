import { fstatSync, write, writeSync } from "node:fs"
import { isatty } from "node:tty"
import { Effect } from "effect"

/** Most characters that wait while others are being written; further lines are lost. */
export const waitingCharactersMax = 1_048_576

/** A destination of text. */
export interface Sink {
  /** Writes the text, and calls back once: with the bytes that were written, and whether those are all. */
  readonly write: (text: string, done: (bytes: number, isWhole: boolean) => void) => void
  /** Writes at once what it can, since the process ends. */
  readonly writeLast: (text: string) => void
}

/** Lines that are written as they can be: writing never throws, and nothing waits for it. */
export interface LogOutput {
  /**
   * Writes a line, or loses it: where the sink fails, or while more than 1,048,576 characters wait for it.
   */
  readonly write: (line: string) => void
  /** Writes a line about those that were lost, if any were since the last such line. */
  readonly reportLost: (lineOf: (count: number) => string) => void
  /** The number of lines that were lost. */
  readonly lost: () => number
  /** Succeeds when no line waits. */
  readonly idle: Effect.Effect<void>
  /** Writes at once the lines that wait, since the process ends. */
  readonly close: () => void
}

interface WaitingLine {
  readonly text: string
  /** The lines that the log lacks without this one; a line about lost lines stands for them. */
  readonly standsFor: number
  readonly isReport: boolean
}

const textOf = (lines: ReadonlyArray<WaitingLine>): string => lines.map(({ text }) => text).join("")

/**
 * The lines that were not written whole, when so many bytes of them were, and whether the last one was cut.
 */
const lossOf = (lines: ReadonlyArray<WaitingLine>, bytes: number, wasCut: boolean) => {
  const missing: Array<WaitingLine> = []
  let end = wasCut ? 1 : 0
  let isCut = bytes > 0 ? bytes !== end : wasCut
  for (const line of lines) {
    end += Buffer.byteLength(line.text)
    if (end > bytes) missing.push(line)
    if (end === bytes) isCut = false
  }
  return { missing, isCut }
}

/** Writes one piece after the other, each with all lines that came meanwhile. */
export const makeLogOutput = (sink: Sink): LogOutput => {
  let waiting: Array<WaitingLine> = []
  let characters = 0
  let isWriting = false
  /** True if the last line was cut: the next one begins on a line of its own. */
  let isCut = false
  let lost = 0
  let unreported = 0
  const listeners = new Set<() => void>()

  const lose = ({ isReport, standsFor }: WaitingLine) => {
    unreported += standsFor
    if (!isReport) lost++
  }

  const next = () => {
    if (isWriting) return
    if (waiting.length === 0) {
      listeners.forEach((listener) => listener())
      return listeners.clear()
    }
    const lines = waiting
    waiting = []
    characters = 0
    isWriting = true
    sink.write((isCut ? "\n" : "") + textOf(lines), (bytes, isWhole) => {
      isWriting = false
      const loss = isWhole ? { missing: [], isCut: false } : lossOf(lines, bytes, isCut)
      loss.missing.forEach(lose)
      isCut = loss.isCut
      next()
    })
  }

  const add = (line: WaitingLine) => {
    if (characters + line.text.length > waitingCharactersMax) return lose(line)
    waiting.push(line)
    characters += line.text.length
    next()
  }

  return {
    write: (line) => add({ text: `${line}\n`, standsFor: 1, isReport: false }),
    reportLost: (lineOf) => {
      if (unreported === 0) return
      const standsFor = unreported
      unreported = 0
      add({ text: `${lineOf(standsFor)}\n`, standsFor, isReport: true })
    },
    lost: () => lost,
    idle: Effect.callback((resume) => {
      if (!isWriting && waiting.length === 0) return resume(Effect.void)
      const listener = () => resume(Effect.void)
      listeners.add(listener)
      return Effect.sync(() => listeners.delete(listener))
    }),
    close: () => {
      if (waiting.length > 0) sink.writeLast(textOf(waiting))
      waiting = []
      characters = 0
    }
  }
}

/** A pipe, a socket or a terminal, which Node's own stream writes to without waiting for the reader. */
const streamSink = (stream: NodeJS.WriteStream): Sink => ({
  write: (text, done) => {
    // A stream that failed once has no reader any more.
    stream.write(text, (error) => done(0, error == null))
  },
  writeLast: (text) => void stream.write(text)
})

/**
 * A file or a device. Node's own stream writes to it while all else waits, and gives up after the first
 * failure.
 */
const fileSink = (file: number): Sink => ({
  write: (text, done) => {
    const bytes = Buffer.from(text)
    const from = (start: number) =>
      write(file, bytes, start, bytes.length - start, null, (error, written) => {
        const end = start + written
        if (error !== null) done(start, false)
        else if (end < bytes.length) from(end)
        else done(end, true)
      })
    from(0)
  },
  writeLast: (text) => {
    try {
      writeSync(file, text)
    } catch {
      // Nobody is left to hear of it.
    }
  }
})

/** The standard output (1) or error (2) of the process, whatever it leads to. */
export const standardSink = (file: 1 | 2): Sink => {
  const stream = file === 1 ? process.stdout : process.stderr
  // Without a listener the failure of a write would be an uncaught exception.
  stream.on("error", () => {})
  const kind = fstatSync(file)
  return kind.isFIFO() || kind.isSocket() || isatty(file) ? streamSink(stream) : fileSink(file)
}
