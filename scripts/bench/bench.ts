import { writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { parseArgs } from "node:util"
import { compare, usualRepeatsMax } from "./comparison.ts"
import { experiments, fullScale, quickScale } from "./figures.ts"
import { build, parleyRecipe } from "./parley.ts"
import { quietOf } from "./quiet.ts"
import { type Result, table } from "./report.ts"
import { asProgram, note, type Rig, say, startReferences, withRig } from "./rig.ts"
import { Server } from "./server.ts"

/** The benchmark: starts the servers, drives the load, says how they compare, and leaves nothing running. */

const ids = experiments.map(({ id }) => id)

const help = `Measures Parley beside a plain node:http translator (raw), in one run. Linux only.

  npm run bench                        everything, medians of 5: about ten minutes
  npm run bench -- --quick             shorter loads, medians of 3

  --runs N          runs of each figure on each side (5)
  --only A,B        of ${ids.join(", ")}
  --streams N       open streams for the memory figure (5000)
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
type Options = ReturnType<typeof readOptions>

const benchmark = async (rig: Rig, options: Options): Promise<boolean> => {
  const { directory, fleet, loader, upstreamPort } = rig
  const references = await startReferences(rig)
  const entry = options.entry ?? build()
  const measured = new Server(
    fleet,
    parleyRecipe({ entry, profile: options.profile ?? null, upstreamPort, directory })
  )
  await measured.start()
  const results = await compare({
    measured,
    references,
    loader,
    scale: options.scale,
    runs: options.runs,
    only: options.only,
    quiet: quietOf(fleet, options.waitSeconds),
    repeatsMax: usualRepeatsMax,
    say: note
  })
  say(table(results))
  if (options.out !== undefined) writeOut(options.out, rig, options, results)
  const bad = options.strict ? ["failed", "missed"] : ["failed"]
  return results.every((result) => !bad.includes(result.verdict))
}

const writeOut = (
  file: string,
  { fleet }: Rig,
  { runs, scale }: Options,
  results: ReadonlyArray<Result>
): void => {
  const machine = { processors: cpus().map(({ model }) => model), pinned: fleet.cores }
  const report = { at: new Date().toISOString(), node: process.version, machine, runs, scale, results }
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`)
}

await asProgram(async () => {
  const options = readOptions()
  if (options.help) {
    say(help)
    return true
  }
  return withRig(true, (rig) => benchmark(rig, options))
})
