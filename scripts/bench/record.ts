import { readFileSync } from "node:fs"
import { Schema } from "effect"
import type { Result } from "./report.ts"

/** Ratios by figures: times of one machine say nothing on another. */
export type Ratios = Readonly<Record<string, number>>

/** The factor by which a ratio may exceed the recorded one. */
export const worseningMax = 1.4

const digits = 3
/** Waiting for other work decides this one, so that it says little on a machine of tests. */
const unrecorded = "gap"

const Positive = Schema.Finite.check(Schema.isGreaterThan(0))
const FiguresOfRecord = Schema.fromJsonString(Schema.Record(Schema.String, Positive))

/**
 * The ratios of the repository. Fails if the file is missing or damaged: without it, nothing would be
 * compared.
 */
export const readFiguresOfRecord = (file: string): Ratios =>
  Schema.decodeSync(FiguresOfRecord)(readFileSync(file, "utf8"))

/** Measured ratios in the digits of the record; NaN for a figure that failed. */
export const ratiosOf = (results: ReadonlyArray<Result>): Ratios =>
  Object.fromEntries(
    results
      .filter(({ id }) => id !== unrecorded)
      .map(({ failure, id, ratio }) => [id, failure === null ? Number(ratio.toFixed(digits)) : Number.NaN])
  )

/** The recorded figures that are worse than they may be, or weren't measured. */
export const worsened = (record: Ratios, ratios: Ratios): ReadonlyArray<string> =>
  Object.entries(record).flatMap(([id, recorded]) =>
    (ratios[id] ?? Number.NaN) <= recorded * worseningMax ? [] : [id]
  )

export const lineOf = (id: string, record: Ratios, ratios: Ratios): string => {
  const [recorded, ratio] = [record[id] ?? Number.NaN, ratios[id] ?? Number.NaN]
  const allowed = recorded * worseningMax
  const [said, wanted, most] = [ratio, recorded, allowed].map((one) => one.toFixed(2))
  return `${ratio <= allowed ? "ok  " : "FAIL"}  ${id}: ${said} × raw, recorded ${wanted}, allowed ${most}`
}
