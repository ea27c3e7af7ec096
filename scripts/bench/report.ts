import type { Figure, Measured } from "./figures.ts"
import { othersMax } from "./fleet.ts"
import { median } from "./statistics.ts"

/** The samples of one figure. */
export interface Samples {
  readonly figure: Figure
  readonly measured: ReadonlyArray<Measured>
  readonly reference: ReadonlyArray<Measured>
  /** Processors that other work kept busy in a typical run. */
  readonly others: number
  /** Why the experiment could not be finished. */
  readonly failure: string | null
}

/** The comparison of two servers by one figure. */
export interface Result extends Figure {
  readonly measured: number
  readonly reference: number
  readonly ratio: number
  /** The ratios of the single pairs of runs, smallest and largest: how far the noise reaches. */
  readonly ratioSpread: readonly [number, number]
  readonly databaseCpu: number | null
  readonly others: number
  /** `disturbed` when other work kept the machine so busy that the figure says nothing. */
  readonly verdict: "aim" | "must" | "missed" | "disturbed" | "failed" | "unknown"
  readonly failure: string | null
  readonly samples: { readonly measured: ReadonlyArray<number>; readonly reference: ReadonlyArray<number> }
}

export const resultOf = ({ failure, figure, others, ...sides }: Samples): Result => {
  const measured = sides.measured.map(({ value }) => value)
  const reference = sides.reference.map(({ value }) => value)
  const ratio = median(measured) / median(reference)
  const pairs = measured.map((value, n) => value / (reference[n] ?? Number.NaN)).sort((a, b) => a - b)
  const judged = figure.bound === "ratio" ? ratio : median(measured)
  const databaseCpu = median(sides.measured.flatMap(({ children }) => children ?? []))
  const verdict = (): Result["verdict"] => {
    if (failure !== null) return "failed"
    if (Number.isNaN(judged)) return "unknown"
    if (others > othersMax) return "disturbed"
    return judged <= figure.aim ? "aim" : judged <= figure.must ? "must" : "missed"
  }
  return {
    ...figure,
    measured: median(measured),
    reference: median(reference),
    ratio,
    ratioSpread: [pairs[0] ?? Number.NaN, pairs.at(-1) ?? Number.NaN],
    databaseCpu: Number.isNaN(databaseCpu) ? null : databaseCpu,
    others,
    verdict: verdict(),
    failure,
    samples: { measured, reference }
  }
}

const number = (value: number): string => {
  if (Number.isNaN(value)) return "–"
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** A column: its title, and its cell for an item. */
export type Column<A> = readonly [title: string, cell: (item: A) => string]

/** Lines of aligned columns. Only the first one begins at the left. */
export const textTable = <A>(columns: ReadonlyArray<Column<A>>, items: ReadonlyArray<A>): string => {
  const aligned = columns.map(([title, cell], n) => {
    const cells = [title, ...items.map(cell)]
    const width = Math.max(...cells.map(({ length }) => length))
    return cells.map((text) => (n === 0 ? text.padEnd(width) : text.padStart(width)))
  })
  return [undefined, ...items].map((_, line) => aligned.map((cells) => cells[line]).join("  ")).join("\n")
}

/** One line per figure, and what failed at the end. */
export const table = (results: ReadonlyArray<Result>): string => {
  const unitOf = ({ bound, unit }: Result) => (bound === "ratio" ? "×" : unit)
  const columns: ReadonlyArray<Column<Result>> = [
    ["figure", ({ title }) => title],
    ["unit", ({ unit }) => unit],
    ["parley", ({ measured }) => number(measured)],
    ["raw", ({ reference }) => number(reference)],
    ["ratio", ({ ratio }) => number(ratio)],
    ["spread", ({ ratioSpread }) => ratioSpread.map(number).join("–")],
    ["must", (result) => `≤ ${result.must} ${unitOf(result)}`],
    ["aim", (result) => `${result.aim} ${unitOf(result)}`],
    ["", ({ verdict }) => verdict],
    ["database CPU", ({ databaseCpu }) => (databaseCpu === null ? "" : number(databaseCpu))],
    ["others", ({ others }) => number(others)]
  ]
  const failures = results.flatMap(({ failure, title }) =>
    failure === null ? [] : [`\n${title} failed: ${failure}`]
  )
  return [textTable(columns, results), ...failures].join("\n")
}
