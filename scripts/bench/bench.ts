import { writeFileSync } from "node:fs"
import { availableParallelism, cpus } from "node:os"
import { fileURLToPath } from "node:url"
import { compare, type Comparison } from "./comparison.ts"
import { fullScale, holdable, quickScale, type Scale } from "./figures.ts"
import { coresToUse, type Fleet } from "./fleet.ts"
import { changes, keepLast, lastAfter, readLast } from "./lastResult.ts"
import { Loader } from "./loader.ts"
import { help, type Options, readOptions } from "./options.ts"
import { build, parleyRecipe } from "./parley.ts"
import { quietOf } from "./quiet.ts"
import { table, type Result } from "./report.ts"
import { type Check, evenChecks, handicapChecks, handicaps } from "./selfCheck.ts"
import { OtherServer, OwnServer, type Recipe } from "./server.ts"
import { setUp } from "./workplace.ts"

/** The benchmark: starts the servers, drives the load, says how they compare, and leaves nothing running. */

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const note = (line: string): void => void process.stderr.write(`${line}\n`)
const program = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

const scaleOf = (options: Options): Scale => {
  const base = options.quick ? quickScale : fullScale
  const wanted = options.streams ?? base.heldStreams
  const heldStreams = holdable(wanted)
  if (heldStreams < wanted) {
    say(`note: ${heldStreams} streams are held, not ${wanted}: no process may have more files open here`)
  }
  return { ...base, heldStreams }
}

const rawRecipe = (name: string, upstreamPort: number, words: ReadonlyArray<string>): Recipe => ({
  name,
  args: [program("raw.ts"), String(upstreamPort), ...words],
  environment: {},
  readyPath: "/readyz",
  path: "/v1/responses",
  key: null
})

const startUpstream = async (fleet: Fleet, port: number): Promise<number> => {
  const started = fleet.start("upstream", [program("upstream.ts"), String(port)], process.env, "others")
  const said = await fleet.message(started)
  if (typeof said !== "object" || said === null || !("port" in said) || typeof said.port !== "number") {
    throw new Error("the mock model server did not say where it listens")
  }
  return said.port
}

interface Bench {
  readonly options: Options
  readonly fleet: Fleet
  readonly loader: Loader
  readonly upstreamPort: number
  readonly directory: string
  readonly scale: Scale
}

const comparison = (
  bench: Bench,
  measured: Comparison["measured"],
  reference: Comparison["reference"]
): Comparison => ({
  measured,
  reference,
  loader: bench.loader,
  scale: bench.scale,
  runs: bench.options.runs,
  only: bench.options.only,
  quiet: quietOf(bench.fleet, bench.options.waitSeconds),
  say: note
})

const selfCheck = async (bench: Bench): Promise<boolean> => {
  const { fleet, upstreamPort } = bench
  const reference = new OwnServer(fleet, rawRecipe("raw", upstreamPort, []))
  const same = new OwnServer(fleet, rawRecipe("raw-again", upstreamPort, []))
  const slow = new OwnServer(fleet, rawRecipe("raw-slowed", upstreamPort, handicaps))
  for (const server of [reference, same, slow]) await server.start()
  const even = await compare(comparison(bench, same, reference))
  const worse = await compare(comparison(bench, slow, reference))
  say(`${table(even, "raw again", "raw")}\n\n${table(worse, "raw slowed", "raw")}\n`)
  const checks: ReadonlyArray<Check> = [...evenChecks(even), ...handicapChecks(worse)]
  for (const check of checks) say(`${check.held ? "ok  " : "FAIL"}  ${check.text}`)
  writeOut(bench, [...even, ...worse])
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
  const { fleet, options, upstreamPort } = bench
  const reference = new OwnServer(fleet, rawRecipe("raw", upstreamPort, options.raw))
  await reference.start()
  const measured = await measuredServer(bench)
  const results = await compare(comparison(bench, measured, reference))
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

const main = async (options: Options): Promise<boolean> => {
  const { directory, fleet } = setUp("parley-bench-", coresToUse(options.pin))
  try {
    const upstreamPort = await startUpstream(fleet, options.upstreamPort)
    const loader = await Loader.start(fleet)
    const bench: Bench = { options, fleet, loader, upstreamPort, directory, scale: scaleOf(options) }
    return await (options.selfCheck ? selfCheck(bench) : benchmark(bench))
  } finally {
    await fleet.stopAll()
  }
}

if (process.platform !== "linux") {
  say("the benchmark reads the meters of /proc, so it runs on Linux only")
  process.exit(1)
}
try {
  const options = readOptions(process.argv.slice(2))
  if (options === null) say(help)
  else process.exitCode = (await main(options)) ? 0 : 1
} catch (error) {
  note(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
