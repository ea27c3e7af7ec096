import type { Figure, Measured } from "./figures.ts"
import { othersMax } from "./quiet.ts"
import { median } from "./statistics.ts"

/** From the samples of both servers to one line that says how they compare. */

export interface Row {
  readonly figure: Figure
  readonly measured: ReadonlyArray<Measured>
  readonly reference: ReadonlyArray<Measured>
  /** Processors that others kept busy in a typical run. */
  readonly others: number
  /** Why the experiment could not be finished. */
  readonly failure: string | null
}

export interface Result {
  readonly id: string
  readonly title: string
  readonly unit: string
  readonly measured: number
  readonly reference: number
  readonly ratio: number
  /** The ratios of the single pairs of runs, smallest and largest: how far the noise reaches. */
  readonly ratioSpread: readonly [number, number]
  readonly databaseCpu: number | null
  readonly others: number
  readonly must: number
  readonly aim: number
  readonly bound: "ratio" | "value"
  /** `disturbed` when others kept the machine so busy that the figure says nothing. */
  readonly verdict: "aim" | "must" | "missed" | "disturbed" | "failed" | "unknown"
  readonly failure: string | null
  readonly samples: { readonly measured: ReadonlyArray<number>; readonly reference: ReadonlyArray<number> }
}

export const resultOf = (row: Row): Result => {
  const { figure } = row
  const measured = row.measured.map((m) => m.value)
  const reference = row.reference.map((m) => m.value)
  const ratio = median(measured) / median(reference)
  const pairs = measured.map((value, n) => value / (reference[n] ?? Number.NaN)).sort((a, b) => a - b)
  const judged = figure.bound === "ratio" ? ratio : median(measured)
  const databaseCpu = median(row.measured.flatMap((m) => (m.children === undefined ? [] : [m.children])))
  const verdict = (): Result["verdict"] => {
    if (row.failure !== null) return "failed"
    if (Number.isNaN(judged)) return "unknown"
    if (row.others > othersMax) return "disturbed"
    return judged <= figure.aim ? "aim" : judged <= figure.must ? "must" : "missed"
  }
  return {
    id: figure.id,
    title: figure.title,
    unit: figure.unit,
    measured: median(measured),
    reference: median(reference),
    ratio,
    ratioSpread: [pairs[0] ?? Number.NaN, pairs.at(-1) ?? Number.NaN],
    databaseCpu: Number.isNaN(databaseCpu) ? null : databaseCpu,
    others: row.others,
    must: figure.must,
    aim: figure.aim,
    bound: figure.bound,
    verdict: verdict(),
    failure: row.failure,
    samples: { measured, reference }
  }
}

const number = (value: number): string => {
  if (Number.isNaN(value)) return "–"
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** The table as it is printed: one line per figure, what failed at its end. */
export const table = (results: ReadonlyArray<Result>, name: string, reference: string): string => {
  const head = [
    "figure",
    "unit",
    name,
    reference,
    "ratio",
    "spread",
    "must",
    "aim",
    "",
    "database CPU",
    "others"
  ]
  const lines = results.map((result) => {
    const bound = result.bound === "ratio" ? "×" : result.unit
    return [
      result.title,
      result.unit,
      number(result.measured),
      number(result.reference),
      number(result.ratio),
      `${number(result.ratioSpread[0])}–${number(result.ratioSpread[1])}`,
      `≤ ${result.must} ${bound}`,
      `${result.aim} ${bound}`,
      result.verdict,
      result.databaseCpu === null ? "" : number(result.databaseCpu),
      number(result.others)
    ]
  })
  const widths = head.map((title, n) => Math.max(title.length, ...lines.map((line) => line[n]?.length ?? 0)))
  const failures = results.flatMap((r) => (r.failure === null ? [] : [`\n${r.title} failed: ${r.failure}`]))
  const text = [head, ...lines].map((line) =>
    line
      .map((cell, n) => (n === 0 || n === 8 ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0)))
      .join("  ")
      .trimEnd()
  )
  return [...text, ...failures].join("\n")
}
