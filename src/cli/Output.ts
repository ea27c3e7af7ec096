import { Console, DateTime, Effect, Stdio, Stream } from "effect"
import { counted } from "../runtime/counted.ts"
import { Table } from "./Table.ts"

/**
 * A list as a command prints it: a line for each item, and its column's text for each heading; `none` says
 * that it is empty.
 */
export const listed = <Item>(
  items: ReadonlyArray<Item>,
  columns: Readonly<Record<string, (item: Item) => string>>,
  none = "None."
): { readonly value: ReadonlyArray<Item>; readonly text: Table | string } => ({
  value: items,
  text:
    items.length === 0
      ? none
      : new Table(
          Object.keys(columns),
          items.map((item) => Object.values(columns).map((textOf) => textOf(item)))
        )
})

/** The time to the minute, in UTC; a dash if there is none. */
export const shortTime = (time: DateTime.Utc | null): string =>
  time === null ? "-" : `${DateTime.formatIso(time).slice(0, 16).replace("T", " ")} UTC`

/** The names that are allowed; a dash where nothing bounds them. */
export const listText = (names: ReadonlyArray<string> | undefined): string => {
  if (names === undefined) return "-"
  return names.length === 0 ? "none" : names.join(", ")
}

/** Something that takes a while. */
interface Work {
  /** A verb and its object, such as the name of a file; printable. */
  readonly title: string
  readonly total: number
  readonly unit: "byte" | "file" | "blob" | "table"
  /** Printed when all of it is done. */
  readonly done: string
}

/** The upload of a file, or of several. */
export const uploading = (name: string, bytes: number): Work => ({
  title: `Uploading ${name}`,
  total: bytes,
  unit: "byte",
  done: `Sent ${bytes} bytes.`
})

/** Adds to what is done. */
export type Advance = (amount: number) => Effect.Effect<void>

/** One line that is written again and again: at most once for each percent. */
const onTerminal = (stdio: Stdio.Stdio, { title, total, unit }: Work) => {
  let done = 0
  let shown = -1
  // The work goes on when the standard error can't be written to.
  const write = (text: string) => Effect.ignore(Stream.run(Stream.succeed(text), stdio.stderr()))
  const show = Effect.suspend(() => {
    const percent = Math.floor((done / total) * 100)
    if (percent === shown) return Effect.void
    shown = percent
    return write(`\r${title}: ${done} of ${counted(total, unit)}, ${percent}%`)
  })
  const advance: Advance = (amount) => {
    done += amount
    return show
  }
  // The terminal is left at the beginning of a line.
  return { start: show, advance, close: write("\n") }
}

/** A line at the start, and one at the end. */
const inLog = ({ done: end, title, total, unit }: Work) => {
  let done = 0
  const advance: Advance = (amount) => {
    done += amount
    return amount > 0 && done === total ? Console.error(end) : Effect.void
  }
  return { start: Console.error(`${title} (${counted(total, unit)}).`), advance, close: Effect.void }
}

/** Shows on the standard error how far some work is, in the way that suits where that goes. */
export const withProgress = Effect.fnUntraced(function* <A, E, R>(
  work: Work,
  run: (advance: Advance) => Effect.Effect<A, E, R>
) {
  const stdio = yield* Stdio.Stdio
  const { advance, close, start } = (yield* stdio.stderrIsTerminal) ? onTerminal(stdio, work) : inLog(work)
  yield* start
  return yield* Effect.ensuring(run(advance), close)
})
