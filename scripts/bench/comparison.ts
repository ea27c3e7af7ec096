import {
  type Experiment,
  experiments,
  type Measured,
  type ReferenceName,
  type Scale,
  warmUp
} from "./figures.ts"
import { othersMax } from "./fleet.ts"
import { resultOf, type Result } from "./report.ts"
import { note, type Rig } from "./rig.ts"
import type { Server } from "./server.ts"
import { median } from "./statistics.ts"

export interface Comparison {
  readonly rig: Rig
  readonly measured: Server
  /** An experiment says with which of them its figures are compared. */
  readonly references: Readonly<Record<ReferenceName, Server>>
  readonly scale: Scale
  readonly runs: number
  readonly only: ReadonlyArray<string>
  /** The longest wait of each run for other work to end. A run that doesn't wait isn't repeated either. */
  readonly waitSeconds: number
}

/** A measurement that other work disturbed is made again at most so often; the quietest one counts. */
const repeatsMax = 2

interface Sample {
  readonly values: ReadonlyArray<Measured>
  /** Processors that other work kept busy meanwhile. */
  readonly others: number
}

const takeSample = async (
  { rig: { fleet, loader }, scale, waitSeconds }: Comparison,
  { figures, id, measure }: Experiment,
  server: Server
): Promise<Sample> => {
  let best: Sample = { values: [], others: Number.POSITIVE_INFINITY }
  for (let repeat = 0; repeat <= (waitSeconds > 0 ? repeatsMax : 0) && best.others > othersMax; repeat++) {
    await fleet.untilQuiet(waitSeconds)
    const watched = fleet.watchOthers()
    const values = await measure(server, loader, scale)
    const others = watched()
    const said = values.map(({ value }, n) => `${value.toFixed(3)} ${figures[n]?.unit ?? ""}`).join(", ")
    note(`${id} ${server.name}: ${said} (others: ${others.toFixed(2)} processors)`)
    if (others < best.others) best = { values, others }
  }
  return best
}

const compareOne = async (comparison: Comparison, experiment: Experiment): Promise<ReadonlyArray<Result>> => {
  const measured = { server: comparison.measured, samples: [] as Array<Sample> }
  const reference = { server: comparison.references[experiment.reference], samples: [] as Array<Sample> }
  let failure: string | null = null
  try {
    for (let run = 0; run < comparison.runs; run++) {
      // The order alternates, or else the second would always find the machine as the first left it.
      for (const { samples, server } of run % 2 === 0 ? [reference, measured] : [measured, reference]) {
        samples.push(await takeSample(comparison, experiment, server))
      }
    }
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error)
    note(`${experiment.id} failed: ${failure}`)
    comparison.rig.loader.drop()
  }
  const others = median([...measured.samples, ...reference.samples].map((sample) => sample.others))
  return experiment.figures.map((figure, n) => {
    const valuesOf = (side: typeof measured) => side.samples.flatMap(({ values }) => values[n] ?? [])
    return resultOf({ figure, others, failure, measured: valuesOf(measured), reference: valuesOf(reference) })
  })
}

/**
 * Runs the experiments on two servers in turn, so that what disturbs the machine disturbs both. All servers
 * must be up.
 */
export const compare = async (comparison: Comparison): Promise<ReadonlyArray<Result>> => {
  const { measured, only, references, rig, scale } = comparison
  const chosen = experiments.filter(({ id }) => only.includes(id))
  const servers = new Set([...chosen.map(({ reference }) => references[reference]), measured])
  for (const server of servers) await warmUp(server, rig.loader, scale)
  const results: Array<Result> = []
  for (const experiment of chosen) results.push(...(await compareOne(comparison, experiment)))
  return results
}
