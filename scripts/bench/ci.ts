import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { compare, type Comparison } from "./comparison.ts"
import { ciScale, experiments } from "./figures.ts"
import { startServers } from "./recipes.ts"
import { lineOf, type Ratios, ratiosOf, readFiguresOfRecord, worsened } from "./record.ts"
import { table } from "./report.ts"
import { asProgram, program, type Rig, say, withRig } from "./rig.ts"

/**
 * The main ratios in two minutes, beside those in the repository: fails when one is worse by `worseningMax`.
 *
 *     npm run bench -- ci [--record]
 */

const file = program("figures-of-record.json")

const measure = async (comparison: Comparison): Promise<Ratios> => {
  const results = await compare(comparison)
  say(table(results))
  return ratiosOf(results)
}

/** A figure counts as worse only if it is in each of so many measurements. */
const measurementsMax = 3

const holds = async (comparison: Comparison): Promise<boolean> => {
  const record = readFiguresOfRecord(file)
  const ratios = new Map(Object.entries(await measure(comparison)))
  for (let count = 2; count <= measurementsMax; count++) {
    const worse = worsened(record, Object.fromEntries(ratios))
    if (worse.length === 0) break
    say(`\nMeasured again: ${worse.join(", ")}`)
    const again = experiments.filter(({ figures }) => figures.some(({ id }) => worse.includes(id)))
    const repeated = await measure({ ...comparison, only: again.map(({ id }) => id) })
    for (const id of worse) ratios.set(id, repeated[id] ?? Number.NaN)
  }
  const measured = Object.fromEntries(ratios)
  say(
    `\n${Object.keys(record)
      .map((id) => lineOf(id, record, measured))
      .join("\n")}`
  )
  return worsened(record, measured).length === 0
}

const record = (ratios: Ratios): boolean => {
  if (Object.values(ratios).some(Number.isNaN)) throw new Error("not recorded: a figure failed")
  writeFileSync(file, `${JSON.stringify(ratios, null, 2)}\n`)
  return true
}

const run = async (rig: Rig): Promise<boolean> => {
  const { values } = parseArgs({
    options: {
      /** Writes what was measured as the figures of record, in place of comparing with them. */
      record: { type: "boolean", default: false }
    }
  })
  const comparison: Comparison = {
    ...(await startServers(rig)),
    scale: ciScale,
    runs: 3,
    only: ["paced", "first", "short", "long", "json", "json-fold"],
    // A machine of tests is seldom quiet; waiting for it would take the two minutes.
    waitSeconds: 0
  }
  return values.record ? record(await measure(comparison)) : holds(comparison)
}

await asProgram(() => withRig({ pins: true }, run))
