import { readFileSync, writeFileSync } from "node:fs"
import { Schema } from "effect"
import type { Result } from "./report.ts"

/** The ratios of the repository, which a change may not make much worse. */

/** By figures. Ratios alone: times of one machine say nothing on another. */
export type FiguresOfRecord = Readonly<Record<string, number>>

/** How many times the recorded ratio a ratio may be. */
export const worseningMax = 1.5

const Positive = Schema.Finite.check(Schema.isGreaterThan(0))
const OfFile = Schema.fromJsonString(Schema.Record(Schema.String, Positive))

/** Fails if the file is missing or damaged: without it, nothing would be compared. */
export const readFiguresOfRecord = (file: string): FiguresOfRecord =>
  Schema.decodeSync(OfFile)(readFileSync(file, "utf8"))

const digits = 3

/** What isn't measured stays as it is; a failed figure can't be recorded. */
export const recordAfter = (record: FiguresOfRecord, results: ReadonlyArray<Result>): FiguresOfRecord => {
  const failed = results.filter(({ failure, ratio }) => failure !== null || !Number.isFinite(ratio))
  if (failed.length > 0) throw new Error(`not recorded: ${failed.map(({ id }) => id).join(", ")} failed`)
  return { ...record, ...Object.fromEntries(results.map(({ id, ratio }) => [id, +ratio.toFixed(digits)])) }
}

export const writeFiguresOfRecord = (file: string, record: FiguresOfRecord): void =>
  writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`)

export interface Judged {
  readonly id: string
  readonly recorded: number
  /** NaN where the figure wasn't measured, or failed. */
  readonly ratio: number
  readonly held: boolean
}

/** One for each recorded figure: also those that weren't measured, which count as worsened. */
export const judge = (record: FiguresOfRecord, results: ReadonlyArray<Result>): ReadonlyArray<Judged> =>
  Object.entries(record).map(([id, recorded]) => {
    const result = results.find((one) => one.id === id)
    const ratio = result === undefined || result.failure !== null ? Number.NaN : result.ratio
    return { id, recorded, ratio, held: ratio <= recorded * worseningMax }
  })

/** The better of both measurements counts: what disturbs the machine makes a figure worse, and hardly ever better. */
export const bestOf = (first: ReadonlyArray<Judged>, again: ReadonlyArray<Judged>): ReadonlyArray<Judged> =>
  first.map((one) => (one.held ? one : (again.find(({ held, id }) => held && id === one.id) ?? one)))

export const lineOf = ({ held, id, ratio, recorded }: Judged): string =>
  `${held ? "ok  " : "FAIL"}  ${id}: ${ratio.toFixed(2)} × raw, recorded ${recorded.toFixed(2)}, ` +
  `allowed ${(recorded * worseningMax).toFixed(2)}`
