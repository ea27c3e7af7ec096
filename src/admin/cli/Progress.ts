import { Console, Effect, Stdio, Stream } from "effect"
import { printable } from "./Output.ts"

/** Tells on the standard error how far the sending of a file has come. */
export interface Progress {
  readonly start: Effect.Effect<void>
  /** So many bytes more were sent. */
  readonly advance: (bytes: number) => Effect.Effect<void>
  /** Leaves the terminal at the beginning of a line, however the sending ended. */
  readonly close: Effect.Effect<void>
}

/** One line that is written again and again: at most once for each percent. */
const lively = (stdio: Stdio.Stdio, name: string, total: number): Progress => {
  let sent = 0
  let shown = -1
  // A standard error that nobody takes in is no reason to end the upload.
  const write = (text: string) => Effect.ignore(Stream.run(Stream.succeed(text), stdio.stderr()))
  const show = Effect.suspend(() => {
    const percent = Math.floor((sent / total) * 100)
    if (percent === shown) return Effect.void
    shown = percent
    return write(`\rUploading ${name}: ${sent} of ${total} bytes, ${percent}%`)
  })
  return {
    start: show,
    advance: (bytes) => {
      sent += bytes
      return show
    },
    close: write("\n")
  }
}

/** A line at the start, and one at the end. */
const plain = (name: string, total: number): Progress => {
  let sent = 0
  return {
    start: Console.error(`Uploading ${name} (${total} bytes).`),
    advance: (bytes) => {
      sent += bytes
      return sent === total ? Console.error(`Sent ${total} bytes.`) : Effect.void
    },
    close: Effect.void
  }
}

/** The progress of a file of `total` bytes, in the way that suits where the standard error goes. */
export const makeProgress = Effect.fnUntraced(function* (file: {
  readonly name: string
  readonly size: number
}) {
  const stdio = yield* Stdio.Stdio
  const name = printable(file.name)
  return (yield* stdio.stderrIsTerminal) ? lively(stdio, name, file.size) : plain(name, file.size)
})
