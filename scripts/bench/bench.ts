import { writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { parseArgs } from "node:util"
import { compare } from "./comparison.ts"
import { experiments, fullScale, quickScale } from "./figures.ts"
import { startServers } from "./recipes.ts"
import { table } from "./report.ts"
import { asProgram, type Rig, say, withRig } from "./rig.ts"

/** The benchmark: starts the servers, drives the load, says how they compare, and leaves nothing running. */

const ids = experiments.map(({ id }) => id)

const help = `Measures Parley beside a plain node:http translator (raw), in one run. Linux only.

  npm run bench                        everything, medians of 5: about ten minutes
  npm run bench -- --quick             shorter loads, medians of 3

  --runs N          runs of each figure on each side (5)
  --only A,B        of ${ids.join(", ")}
  --streams N       open streams for the memory figure (${fullScale.heldStreams})
  --out FILE        writes all samples as JSON
  --wait SECONDS    before each run, for others on this machine to become quiet, at most (20)
  --strict          exit code 1 also when a figure misses its bound
  --entry FILE      the program to measure, instead of building dist/main.js
  --profile DIR     writes a V8 processor profile of that program there (not for figures: it costs time)`

const wholeNumber = (name: string, text: string): number => {
  const number = Number(text)
  if (Number.isInteger(number) && number >= 1) return number
  throw new Error(`--${name} takes a whole number above 0, not ${text}`)
}

const readOptions = () => {
  const { values } = parseArgs({
    options: {
      help: { type: "boolean", short: "h", default: false },
      runs: { type: "string" },
      quick: { type: "boolean", default: false },
      only: { type: "string", default: ids.join(",") },
      streams: { type: "string" },
      out: { type: "string" },
      wait: { type: "string", default: "20" },
      strict: { type: "boolean", default: false },
      entry: { type: "string" },
      profile: { type: "string" }
    }
  })
  const only = values.only.split(",")
  const unknown = only.filter((id) => !ids.includes(id))
  if (unknown.length > 0) throw new Error(`--only knows ${ids.join(", ")}, but not ${unknown.join(", ")}`)
  const scale = values.quick ? quickScale : fullScale
  const heldStreams = wholeNumber("streams", values.streams ?? String(scale.heldStreams))
  return {
    ...values,
    only,
    runs: wholeNumber("runs", values.runs ?? (values.quick ? "3" : "5")),
    waitSeconds: wholeNumber("wait", values.wait),
    scale: { ...scale, heldStreams }
  }
}

const benchmark = async (rig: Rig, options: ReturnType<typeof readOptions>): Promise<boolean> => {
  const { only, out, profile, runs, scale, strict, waitSeconds } = options
  const results = await compare({ ...(await startServers(rig, profile)), scale, runs, only, waitSeconds })
  say(table(results))
  if (out !== undefined) {
    const processors = cpus().map(({ model }) => model)
    const machine = { processors, pinned: rig.fleet.cores }
    const report = { at: new Date().toISOString(), node: process.version, machine, runs, scale, results }
    writeFileSync(out, `${JSON.stringify(report, null, 2)}\n`)
  }
  return !results.some(({ verdict }) => verdict === "failed" || (strict && verdict === "missed"))
}

await asProgram(async () => {
  const options = readOptions()
  if (!options.help) return withRig({ pins: true, ...options }, (rig) => benchmark(rig, options))
  say(help)
  return true
})
