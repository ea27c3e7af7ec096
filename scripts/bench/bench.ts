import { writeFileSync } from "node:fs"
import { availableParallelism, cpus } from "node:os"
import { fileURLToPath } from "node:url"
import { compare, type Comparison, usualRepeatsMax } from "./comparison.ts"
import { experiments, fullScale, holdable, quickScale, type ReferenceName, type Scale } from "./figures.ts"
import { coresToUse } from "./fleet.ts"
import { changes, keepLast, lastAfter, readLast } from "./lastResult.ts"
import { help, type Options, readOptions } from "./options.ts"
import { build, parleyRecipe } from "./parley.ts"
import { quietOf } from "./quiet.ts"
import { table, type Result } from "./report.ts"
import { asProgram, note, type Rig, say, startRaw, startReferences, withRig } from "./rig.ts"
import { type Check, evenChecks, handicapChecks, handicaps } from "./selfCheck.ts"
import { OtherServer, OwnServer } from "./server.ts"

/** The benchmark: starts the servers, drives the load, says how they compare, and leaves nothing running. */

const scaleOf = (options: Options): Scale => {
  const base = options.quick ? quickScale : fullScale
  const wanted = options.streams ?? base.heldStreams
  const heldStreams = holdable(wanted)
  if (heldStreams < wanted) {
    say(`note: ${heldStreams} streams are held, not ${wanted}: no process may have more files open here`)
  }
  return { ...base, heldStreams }
}

interface Bench extends Rig {
  readonly options: Options
  readonly scale: Scale
}

const comparison = (
  bench: Bench,
  measured: Comparison["measured"],
  references: Comparison["references"]
): Comparison => ({
  measured,
  references,
  loader: bench.loader,
  scale: bench.scale,
  runs: bench.options.runs,
  only: bench.options.only,
  quiet: quietOf(bench.fleet, bench.options.waitSeconds),
  repeatsMax: usualRepeatsMax,
  say: note
})

/** Each translator against another of its own kind, and against one with handicaps. */
const selfCheck = async (bench: Bench): Promise<boolean> => {
  const references = await startReferences(bench)
  const results: Array<Result> = []
  const checks: Array<Check> = []
  for (const kind of Object.keys(references) as ReadonlyArray<ReferenceName>) {
    const { name } = references[kind]
    const ofKind = experiments.filter(({ reference }) => reference === kind).map(({ id }) => id)
    const only = bench.options.only.filter((id) => ofKind.includes(id))
    if (only.length === 0) continue
    const same = await startRaw(bench, kind, `${name}-again`)
    const slow = await startRaw(bench, kind, `${name}-slowed`, handicaps)
    const even = await compare({ ...comparison(bench, same, references), only })
    const worse = await compare({ ...comparison(bench, slow, references), only })
    say(`${table(even, same.name, name)}\n\n${table(worse, slow.name, name)}\n`)
    checks.push(...evenChecks(even), ...handicapChecks(worse))
    results.push(...even, ...worse)
  }
  for (const check of checks) say(`${check.held ? "ok  " : "FAIL"}  ${check.text}`)
  writeOut(bench, results)
  return checks.every((check) => check.held)
}

const measuredServer = async (bench: Bench): Promise<OwnServer | OtherServer> => {
  const { directory, fleet, options, upstreamPort } = bench
  if (options.target !== null) {
    const { hostname, port } = options.target
    const target = {
      host: hostname,
      port: Number(port || 80),
      path: options.path,
      key: options.key,
      numbered: false
    }
    return new OtherServer(target, options.pid)
  }
  const entry = options.entry ?? build()
  const server = new OwnServer(
    fleet,
    parleyRecipe({ entry, profile: options.profile, upstreamPort, directory })
  )
  await server.start()
  return server
}

const benchmark = async (bench: Bench): Promise<boolean> => {
  const { options } = bench
  const references = await startReferences(bench)
  const measured = await measuredServer(bench)
  const results = await compare(comparison(bench, measured, references))
  say(table(results, measured.name, "raw"))
  writeOut(bench, results)
  if (options.target === null) compareWithLast(options, results)
  const bad = options.strict ? ["failed", "missed"] : ["failed"]
  return results.every((result) => !bad.includes(result.verdict))
}

/** The last results of each scale lie beside each other: shorter loads have other values. */
const compareWithLast = ({ quick }: Options, results: ReadonlyArray<Result>): void => {
  const file = fileURLToPath(new URL(`../../.bench/${quick ? "quick" : "full"}.json`, import.meta.url))
  const last = readLast(file)
  const lines = changes(last, results)
  if (lines.length > 0) say(`\nSince the last run here:\n${lines.join("\n")}`)
  keepLast(file, lastAfter(last, results, new Date().toISOString()))
}

const writeOut = (bench: Bench, results: ReadonlyArray<Result>): void => {
  const { fleet, options, scale } = bench
  if (options.out === null) return
  const machine = {
    processor: cpus()[0]?.model ?? "",
    processors: availableParallelism(),
    pinned: fleet.cores
  }
  const report = {
    at: new Date().toISOString(),
    node: process.version,
    machine,
    runs: options.runs,
    scale,
    results
  }
  writeFileSync(options.out, `${JSON.stringify(report, null, 2)}\n`)
}

await asProgram(async () => {
  const options = readOptions(process.argv.slice(2))
  if (options === null) {
    say(help)
    return true
  }
  return withRig(coresToUse(options.pin), options.upstreamPort, (rig) => {
    const bench: Bench = { ...rig, options, scale: scaleOf(options) }
    return options.selfCheck ? selfCheck(bench) : benchmark(bench)
  })
})
