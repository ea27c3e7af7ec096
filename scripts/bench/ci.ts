import { parseArgs } from "node:util"
import { compare, type Comparison } from "./comparison.ts"
import { ciScale, experiments } from "./figures.ts"
import { build, parleyRecipe } from "./parley.ts"
import { quietOf } from "./quiet.ts"
import { bestOf, judge, lineOf, readFiguresOfRecord, recordAfter, writeFiguresOfRecord } from "./record.ts"
import { type Result, table } from "./report.ts"
import { asProgram, note, program, type Rig, say, startReferences, withRig } from "./rig.ts"
import { Server } from "./server.ts"

/**
 * The main ratios in two minutes, beside those in the repository: fails when one is worse by `worseningMax`.
 *
 *     npm run bench -- ci [--record]
 */

const { values } = parseArgs({
  options: {
    /** Writes what was measured as the figures of record, in place of comparing with them. */
    record: { type: "boolean", default: false }
  }
})

const file = program("figures-of-record.json")
const runs = 3
/** A machine of tests is seldom quiet; waiting for it would take the two minutes. */
const quietSecondsMax = 0
/** Waiting for others decides this one, so that it says little on a machine of tests. */
const unrecorded = "gap"
const measuredIds = ["paced", "first", "short", "long", "json", "json-fold"]

const recorded = (results: ReadonlyArray<Result>): ReadonlyArray<Result> =>
  results.filter(({ id }) => id !== unrecorded)

const measure = async (comparison: Comparison): Promise<ReadonlyArray<Result>> => {
  const results = await compare(comparison)
  say(table(results, comparison.measured.name, "raw"))
  return recorded(results)
}

/** Figures that are worse are measured a second time before they count. */
const holds = async (comparison: Comparison): Promise<boolean> => {
  const record = readFiguresOfRecord(file)
  const first = judge(record, await measure(comparison))
  const worse = first.filter(({ held }) => !held).map(({ id }) => id)
  if (worse.length > 0) say(`\nMeasured again: ${worse.join(", ")}`)
  const again = experiments.filter(({ figures }) => figures.some(({ id }) => worse.includes(id)))
  const judged =
    again.length === 0
      ? first
      : bestOf(first, judge(record, await measure({ ...comparison, only: again.map(({ id }) => id) })))
  say(`\n${judged.map(lineOf).join("\n")}`)
  return judged.every(({ held }) => held)
}

const run = async (rig: Rig): Promise<boolean> => {
  const { directory, fleet, loader, upstreamPort } = rig
  const recipe = parleyRecipe({ entry: build(), profile: null, upstreamPort, directory })
  const measured = new Server(fleet, recipe)
  await measured.start()
  const comparison: Comparison = {
    measured,
    references: await startReferences(rig),
    loader,
    scale: ciScale,
    runs,
    only: measuredIds,
    quiet: quietOf(fleet, quietSecondsMax),
    repeatsMax: 0,
    say: note
  }
  if (!values.record) return holds(comparison)
  writeFiguresOfRecord(file, recordAfter({}, await measure(comparison)))
  return true
}

await asProgram(() => withRig(true, run))
