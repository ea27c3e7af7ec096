import { parseArgs } from "node:util"
import { experiments } from "./figures.ts"

/** The command line of the benchmark. */

export interface Options {
  readonly runs: number
  readonly quick: boolean
  readonly only: ReadonlyArray<string>
  readonly out: string | null
  readonly pin: boolean
  readonly strict: boolean
  readonly waitSeconds: number
  readonly selfCheck: boolean
  /** The program to measure; null builds and measures the one of this checkout. */
  readonly entry: string | null
  readonly profile: string | null
  readonly streams: number | null
  readonly target: URL | null
  readonly path: string
  readonly key: string | null
  readonly pid: number
  readonly upstreamPort: number
}

const names = experiments.map((experiment) => experiment.id)

export const help = `Measures Parley beside a plain node:http translator (raw), in one run. Linux only.

  npm run bench                        everything, medians of 5: about ten minutes
  npm run bench -- --quick             shorter loads, medians of 3
  npm run bench -- --self-check        raw against itself, and against itself with known handicaps

  --runs N          runs of each figure on each side (5)
  --only A,B        of ${names.join(", ")}
  --streams N       open streams for the memory figure (5000)
  --out FILE        writes all samples as JSON
  --wait SECONDS    before each run, for others on this machine to become quiet, at most (20)
  --strict          exit code 1 also when a figure misses its bound
  --entry FILE      the program to measure, instead of building dist/main.js
  --profile DIR     writes a V8 processor profile of that program there (not for figures: it costs time)
  --no-pin          leave the servers on all processors, even where taskset exists
  --target URL      measure a server that runs already, which asks the mock model server
  --path PATH       its endpoint (/v1/responses)
  --key KEY         its key
  --pid PID         its process, for processor time and memory
  --upstream PORT   where the mock model server listens then (9100)`

const wholeNumber = (name: string, text: string): number => {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1)
    throw new Error(`--${name} takes a whole number above 0, not ${text}`)
  return number
}

/** What was asked for; null when that was help. */
export const readOptions = (args: ReadonlyArray<string>): Options | null => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: "boolean", short: "h", default: false },
      runs: { type: "string" },
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      out: { type: "string" },
      "no-pin": { type: "boolean", default: false },
      strict: { type: "boolean", default: false },
      wait: { type: "string" },
      "self-check": { type: "boolean", default: false },
      entry: { type: "string" },
      profile: { type: "string" },
      streams: { type: "string" },
      target: { type: "string" },
      path: { type: "string", default: "/v1/responses" },
      key: { type: "string" },
      pid: { type: "string" },
      upstream: { type: "string" }
    }
  })
  if (values.help) return null
  const only = values.only?.split(",") ?? names
  const unknown = only.filter((name) => !names.includes(name))
  if (unknown.length > 0) throw new Error(`--only knows ${names.join(", ")}, but not ${unknown.join(", ")}`)
  const target = values.target === undefined ? null : new URL(values.target)
  const upstreamDefault = target === null ? 0 : 9100
  return {
    runs: values.runs === undefined ? (values.quick ? 3 : 5) : wholeNumber("runs", values.runs),
    quick: values.quick,
    only,
    out: values.out ?? null,
    pin: !values["no-pin"],
    strict: values.strict,
    waitSeconds: values.wait === undefined ? 20 : wholeNumber("wait", values.wait),
    selfCheck: values["self-check"],
    entry: values.entry ?? null,
    profile: values.profile ?? null,
    streams: values.streams === undefined ? null : wholeNumber("streams", values.streams),
    target,
    path: values.path,
    key: values.key ?? null,
    pid: values.pid === undefined ? Number.NaN : wholeNumber("pid", values.pid),
    upstreamPort: values.upstream === undefined ? upstreamDefault : wholeNumber("upstream", values.upstream)
  }
}
