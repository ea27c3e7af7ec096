import { Console, DateTime, Effect } from "effect"

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
