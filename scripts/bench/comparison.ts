import {
  type Experiment,
  experiments,
  type Measured,
  type ReferenceName,
  type Scale,
  warmUp
} from "./figures.ts"
import type { Loader } from "./load.ts"
import { othersMax, type Quiet } from "./quiet.ts"
import { resultOf, type Result } from "./report.ts"
import type { Server } from "./server.ts"
import { median } from "./statistics.ts"

/** Runs the experiments on two servers in turn, so that what disturbs the machine disturbs both. */

export interface Comparison {
  readonly measured: Server
  /** Which of them a figure is compared with, its experiment says. */
  readonly references: Readonly<Record<ReferenceName, Server>>
  readonly loader: Loader
  readonly scale: Scale
  readonly runs: number
  readonly only: ReadonlyArray<string>
  readonly quiet: Quiet
  /** A measurement that others disturbed is made again at most so often; the quietest one counts. */
  readonly repeatsMax: number
  readonly say: (line: string) => void
}

/** How often a measurement that others disturbed is made again, unless the comparison says otherwise. */
export const usualRepeatsMax = 2

interface Sample {
  readonly values: ReadonlyArray<Measured>
  /** Processors that others kept busy meanwhile. */
  readonly others: number
}

const sampleOf = async (
  comparison: Comparison,
  experiment: Experiment,
  server: Server,
  run: number
): Promise<Sample> => {
  const { loader, quiet, repeatsMax, runs, say, scale } = comparison
  let best: Sample | null = null
  for (let repeat = 0; repeat <= repeatsMax; repeat++) {
    await quiet.wait()
    const watched = quiet.watch()
    const values = await experiment.measure(server, loader, scale)
    const sample = { values, others: watched() }
    const said = values.map((m, n) => `${m.value.toFixed(3)} ${experiment.figures[n]?.unit ?? ""}`).join(", ")
    say(
      `${experiment.id} ${run + 1}/${runs} ${server.name}: ${said} (others: ${sample.others.toFixed(2)} processors)`
    )
    if (best === null || sample.others < best.others) best = sample
    if (best.others <= othersMax) return best
  }
  return best ?? { values: [], others: Number.NaN }
}

const compareOne = async (comparison: Comparison, experiment: Experiment): Promise<ReadonlyArray<Result>> => {
  const { loader, measured, runs } = comparison
  const reference = comparison.references[experiment.reference]
  const samples = new Map<Server, Array<Sample>>([
    [measured, []],
    [reference, []]
  ])
  let failure: string | null = null
  try {
    for (let run = 0; run < runs; run++) {
      // The order alternates, or else the second would always find the machine as the first left it.
      for (const server of run % 2 === 0 ? [reference, measured] : [measured, reference]) {
        samples.get(server)?.push(await sampleOf(comparison, experiment, server, run))
      }
    }
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error)
    comparison.say(`${experiment.id} failed: ${failure}`)
    loader.drop()
  }
  const column = (server: Server, figure: number): ReadonlyArray<Measured> =>
    (samples.get(server) ?? []).flatMap((sample) => sample.values[figure] ?? [])
  const others = median([...samples.values()].flat().map((sample) => sample.others))
  return experiment.figures.map((figure, n) =>
    resultOf({ figure, measured: column(measured, n), reference: column(reference, n), others, failure })
  )
}

/** All servers must be up. */
export const compare = async (comparison: Comparison): Promise<ReadonlyArray<Result>> => {
  const { loader, measured, only, references, scale } = comparison
  const chosen = experiments.filter(({ id }) => only.includes(id))
  const compared = new Set(chosen.map(({ reference }) => references[reference]))
  for (const server of [...compared, measured]) await warmUp(server, loader, scale)
  const results: Array<Result> = []
  for (const experiment of chosen) {
    results.push(...(await compareOne(comparison, experiment)))
  }
  return results
}
