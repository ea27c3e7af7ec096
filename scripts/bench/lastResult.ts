import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { Option, Schema } from "effect"
import type { Result } from "./report.ts"

/** What the last run on this machine measured, by figures. It isn't committed: another machine has other values. */

const Kept = Schema.Struct({
  /** When it was measured, as an ISO date. */
  at: Schema.String,
  measured: Schema.Finite,
  /** null for a figure without a reference. */
  ratio: Schema.NullOr(Schema.Finite)
})
const LastResult = Schema.fromJsonString(Schema.Record(Schema.String, Kept))
export type LastResult = Readonly<Record<string, typeof Kept.Type>>

/** Empty where there is none, or it can't be read. */
export const readLast = (file: string): LastResult => {
  try {
    return Option.getOrElse(Schema.decodeOption(LastResult)(readFileSync(file, "utf8")), () => ({}))
  } catch {
    return {}
  }
}

/** Figures that weren't measured, or whose measurement says nothing, stay as they were. */
export const lastAfter = (last: LastResult, results: ReadonlyArray<Result>, at: string): LastResult => {
  const measured = results.filter(({ measured, verdict }) => isTelling(verdict) && Number.isFinite(measured))
  return {
    ...last,
    ...Object.fromEntries(
      measured.map(({ id, measured, ratio }) => [
        id,
        { at, measured, ratio: Number.isFinite(ratio) ? ratio : null }
      ])
    )
  }
}

export const keepLast = (file: string, last: LastResult): void => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(last, null, 2)}\n`)
}

const isTelling = (verdict: Result["verdict"]): boolean => verdict !== "failed" && verdict !== "disturbed"

const percent = new Intl.NumberFormat("en", {
  style: "percent",
  signDisplay: "exceptZero",
  maximumFractionDigits: 0
})

/** A line for each figure that was measured before: what it is compared by is the ratio, where it has one. */
export const changes = (last: LastResult, results: ReadonlyArray<Result>): ReadonlyArray<string> =>
  results.flatMap((result) => {
    const before = last[result.id]
    if (before === undefined || !isTelling(result.verdict)) return []
    const isRatio = before.ratio !== null && Number.isFinite(result.ratio)
    const [was, is] = isRatio ? [before.ratio, result.ratio] : [before.measured, result.measured]
    if (was === null || was === 0 || !Number.isFinite(is)) return []
    const unit = isRatio ? "× raw" : result.unit
    const change = percent.format(is / was - 1)
    return [`${result.title}: ${was.toFixed(2)} → ${is.toFixed(2)} ${unit} (${change}) since ${before.at}`]
  })
