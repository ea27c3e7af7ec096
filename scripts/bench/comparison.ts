import { type Experiment, experiments, type Measured, type Scale, warmUp } from "./figures.ts"
import type { Loader } from "./loader.ts"
import { resultOf, type Result } from "./report.ts"
import type { Server } from "./server.ts"

/** Runs the experiments on two servers in turn, so that what disturbs the machine disturbs both. */

export interface Comparison {
  readonly measured: Server
  readonly reference: Server
  readonly loader: Loader
  readonly scale: Scale
  readonly runs: number
  readonly only: ReadonlyArray<string>
  readonly say: (line: string) => void
}

const compareOne = async (comparison: Comparison, experiment: Experiment): Promise<ReadonlyArray<Result>> => {
  const { loader, measured, reference, runs, scale } = comparison
  const samples = new Map<Server, Array<ReadonlyArray<Measured>>>([
    [measured, []],
    [reference, []]
  ])
  let failure: string | null = null
  try {
    for (let run = 0; run < runs; run++) {
      // The order alternates, or else the second would always find the machine as the first left it.
      for (const server of run % 2 === 0 ? [reference, measured] : [measured, reference]) {
        const values = await experiment.measure(server, loader, scale)
        samples.get(server)?.push(values)
        const said = values
          .map((m, n) => `${m.value.toFixed(3)} ${experiment.figures[n]?.unit ?? ""}`)
          .join(", ")
        comparison.say(`${experiment.id} ${run + 1}/${runs} ${server.name}: ${said}`)
      }
    }
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error)
    comparison.say(`${experiment.id} failed: ${failure}`)
    await loader.ask({ type: "drop" })
  }
  const column = (server: Server, figure: number): ReadonlyArray<Measured> =>
    (samples.get(server) ?? []).flatMap((values) => values[figure] ?? [])
  return experiment.figures.map((figure, n) =>
    resultOf({ figure, measured: column(measured, n), reference: column(reference, n), failure })
  )
}

/** Both servers must be up. */
export const compare = async (comparison: Comparison): Promise<ReadonlyArray<Result>> => {
  const { loader, measured, reference, scale } = comparison
  for (const server of [reference, measured]) await warmUp(server, loader, scale)
  const results: Array<Result> = []
  for (const experiment of experiments) {
    if (!comparison.only.includes(experiment.id)) continue
    results.push(...(await compareOne(comparison, experiment)))
  }
  return results
}
