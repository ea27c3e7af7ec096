import { Console, DateTime, Effect, Stdio, Stream } from "effect"

/** Blanks between two columns. */
const gap = "  "

/** Some texts come from elsewhere, such as the ids of a provider's models; none may steer the terminal. */
export const printable = (text: string): string => text.replaceAll(/\p{Cc}/gu, "\u{fffd}")

/** Rows with their columns aligned, under their headings. */
export const table = (
  headings: ReadonlyArray<string>,
  contents: ReadonlyArray<ReadonlyArray<string>>
): string => {
  const rows = contents.map((row) => row.map(printable))
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0))
  )
  const line = (cells: ReadonlyArray<string>) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(gap)
      .trimEnd()
  return [line(headings), ...rows.map(line)].join("\n")
}

/** To the minute, in UTC; a dash where there is no time. */
export const shortTime = (time: DateTime.Utc | null): string =>
  time === null ? "-" : `${DateTime.formatIso(time).slice(0, 16).replace("T", " ")} UTC`

/** What is allowed of something; a dash where nothing bounds it. */
export const listText = (names: ReadonlyArray<string> | undefined): string => {
  if (names === undefined) return "-"
  return names.length === 0 ? "none" : names.join(", ")
}

/** The one thing that a command writes to the standard output: JSON for programs, or a text for people. */
export const print = (json: boolean, value: unknown, text: () => string): Effect.Effect<void> =>
  Console.log(json ? JSON.stringify(value, null, 2) : text())

/** Tells on the standard error how far something has come. */
export interface Progress {
  readonly start: Effect.Effect<void>
  /** So much more is done. */
  readonly advance: (amount: number) => Effect.Effect<void>
  /** Leaves the terminal at the beginning of a line, however the work ended. */
  readonly close: Effect.Effect<void>
}

/** What takes its time. */
interface Work {
  /** What is being done, and to what; printable. */
  readonly title: string
  readonly total: number
  readonly unit: "bytes" | "files"
  /** What is said once all of it is done. */
  readonly done: string
}

/** The sending of a file, or of some. */
export const sending = (name: string, bytes: number): Work => ({
  title: `Uploading ${name}`,
  total: bytes,
  unit: "bytes",
  done: `Sent ${bytes} bytes.`
})

/** One line that is written again and again: at most once for each percent. */
const lively = (stdio: Stdio.Stdio, { title, total, unit }: Work): Progress => {
  let done = 0
  let shown = -1
  // A standard error that nobody takes in is no reason to end the work.
  const write = (text: string) => Effect.ignore(Stream.run(Stream.succeed(text), stdio.stderr()))
  const show = Effect.suspend(() => {
    const percent = Math.floor((done / total) * 100)
    if (percent === shown) return Effect.void
    shown = percent
    return write(`\r${title}: ${done} of ${total} ${unit}, ${percent}%`)
  })
  return {
    start: show,
    advance: (amount) => {
      done += amount
      return show
    },
    close: write("\n")
  }
}

/** A line at the start, and one at the end. */
const plain = ({ done: end, title, total, unit }: Work): Progress => {
  let done = 0
  return {
    start: Console.error(`${title} (${total} ${unit}).`),
    advance: (amount) => {
      done += amount
      return amount > 0 && done === total ? Console.error(end) : Effect.void
    },
    close: Effect.void
  }
}

/** The progress of some work, in the way that suits where the standard error goes. */
export const makeProgress = Effect.fnUntraced(function* (work: Work) {
  const stdio = yield* Stdio.Stdio
  return (yield* stdio.stderrIsTerminal) ? lively(stdio, work) : plain(work)
})
