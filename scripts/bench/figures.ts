import { setTimeout as sleep } from "node:timers/promises"
import { type Loader, loadOf } from "./load.ts"
import { openFilesMax } from "./procfs.ts"
import { note } from "./rig.ts"
import type { Meters, Server } from "./server.ts"
import { median } from "./statistics.ts"

/** The experiments. One experiment is one load on one server and yields one or two figures. */

export interface Figure {
  readonly id: string
  readonly title: string
  readonly unit: string
  /** Bounds on the ratio to raw, or on the value itself. */
  readonly must: number
  readonly aim: number
  readonly bound: "ratio" | "value"
}

/**
 * The result of one experiment. The database's part is reported beside the server's own, never added to it.
 */
export interface Measured {
  readonly value: number
  readonly children?: number
}

export const fullScale = {
  pacedStreams: 500,
  windowSeconds: 6,
  firstTokens: 150,
  shortStreams: 800,
  longStreams: 200,
  documents: 5000,
  connections: 16,
  heldStreams: 5000,
  // V8 goes on compiling what every request runs until some ten thousand of them.
  warmUpStreams: 3000
}
export type Scale = Readonly<typeof fullScale>

export const quickScale: Scale = {
  ...fullScale,
  windowSeconds: 3,
  firstTokens: 80,
  shortStreams: 500,
  longStreams: 120,
  documents: 2500,
  heldStreams: 1500
}

/** Two minutes for everything but memory and the cold start, with the build and the starts. */
export const ciScale: Scale = {
  ...quickScale,
  pacedStreams: 150,
  firstTokens: 60,
  shortStreams: 300,
  longStreams: 80,
  documents: 1200
}

/**
 * The plain translators: `raw` answers JSON from one document of the model's, `fold` from its stream, as the
 * service does.
 */
export type ReferenceName = "raw" | "fold"

export interface Experiment {
  readonly id: string
  readonly reference: ReferenceName
  readonly figures: ReadonlyArray<Figure>
  readonly measure: (server: Server, loader: Loader, scale: Scale) => Promise<ReadonlyArray<Measured>>
}

const gapMs = 50
const rampSecondsMax = 20
const settleMs = 200
/** Time for a server to notice that many clients have gone, and to clear up after them. */
const closeMs = 1500

const spent = (before: Meters, after: Meters, units: number): Measured => ({
  value: ((after.cpuSeconds - before.cpuSeconds) * 1000) / units,
  children: ((after.childrenCpuSeconds - before.childrenCpuSeconds) * 1000) / units
})

/** Compiles what will be hot, fills pools and connections; without it the first figure pays for all. */
export const warmUp = async (server: Server, loader: Loader, scale: Scale): Promise<void> => {
  const { connections, warmUpStreams } = scale
  await loader.run(loadOf(server, { tokens: 100 }), connections, warmUpStreams)
  await loader.run(loadOf(server, { tokens: 100 }, false), connections, warmUpStreams * 2)
  await sleep(settleMs)
}

const paced: Experiment["measure"] = async (server, loader, scale) => {
  const count = scale.pacedStreams
  const tokens = (1000 / gapMs) * (rampSecondsMax + scale.windowSeconds + 1)
  const ramp = await loader.open(loadOf(server, { tokens, gap: gapMs }), count)
  await sleep(settleMs)
  loader.mark()
  const before = server.meters()
  await sleep(scale.windowSeconds * 1000)
  const after = server.meters()
  const counts = loader.mark()
  // The streams are checked as far as they got; whole ones are what the other experiments are made of.
  loader.drop()
  await sleep(closeMs)
  if (counts.open < count) throw new Error(`opening ${count} streams took ${ramp.seconds.toFixed(1)} s`)
  return [spent(before, after, counts.deltas / 1000), { value: counts.gapMs }]
}

const firstToken: Experiment["measure"] = async (server, loader, scale) => {
  const counts = await loader.run(loadOf(server, { tokens: 5, stamp: true }), 1, scale.firstTokens, 10)
  return [{ value: counts.addedMs }]
}

/** CPU per answer, with the model server writing as fast as it can. */
const perAnswer =
  (answers: "shortStreams" | "longStreams" | "documents", tokens: number): Experiment["measure"] =>
  async (server, loader, { connections, [answers]: total }) => {
    const load = loadOf(server, { tokens }, answers !== "documents")
    await loader.run(load, connections, Math.ceil(total / 10))
    await sleep(settleMs)
    const before = server.meters()
    await loader.run(load, connections, total)
    // Work that a server puts off until after the answer is part of the price.
    await sleep(settleMs)
    return [spent(before, server.meters(), total)]
  }

const memory: Experiment["measure"] = async (server, loader, scale) => {
  // Memory that was once taken is not released, so each measurement begins with a new process.
  await server.restart()
  await warmUp(server, loader, scale)
  await sleep(closeMs)
  const before = server.residentKibibytes()
  // A server needs two files for each stream, and some besides.
  const count = Math.min(scale.heldStreams, Math.floor((openFilesMax() - 500) / 2))
  if (count < scale.heldStreams) note(`${count} streams are held: no process may have more files open here`)
  await loader.open(loadOf(server, { tokens: 2, hold: true }), count)
  const samples: Array<number> = []
  for (let n = 0; n < 8; n++) {
    await sleep(500)
    samples.push(server.residentKibibytes())
  }
  const counts = loader.mark()
  if (counts.open < count) throw new Error(`${count - counts.open} of ${count} held streams ended`)
  loader.drop()
  await sleep(closeMs)
  return [{ value: (median(samples) - before) / count }]
}

const ratio = (id: string, title: string, unit: string, must: number, aim: number): Figure => {
  return { id, title, unit, must, aim, bound: "ratio" }
}

/** An experiment of one figure, which has its name. */
const experiment = (
  figure: Figure,
  measure: Experiment["measure"],
  reference: ReferenceName = "raw"
): Experiment => {
  return { id: figure.id, figures: [figure], measure, reference }
}

export const experiments: ReadonlyArray<Experiment> = [
  // Before the loads: what they leave behind makes the start of any process slower for a while.
  experiment(
    { ...ratio("start", "cold start to ready, database up", "s", 0.6, 0.4), bound: "value" },
    async (server) => [{ value: await server.coldStart() }]
  ),
  {
    id: "paced",
    figures: [
      ratio("cpu-paced", "CPU per 1,000 deltas, paced streams × 20/s", "ms", 1.7, 1.2),
      ratio("gap", "p99 gap between tokens, paced streams", "ms", 1.3, 1.1)
    ],
    measure: paced,
    reference: "raw"
  },
  experiment(ratio("first", "added time to first token, idle", "ms", 2.8, 2), firstToken),
  experiment(
    ratio("short", "CPU per 100-delta stream, full speed", "ms", 1.8, 1.3),
    perAnswer("shortStreams", 100)
  ),
  experiment(
    ratio("long", "CPU per 500-delta stream, full speed", "ms", 1.2, 1),
    perAnswer("longStreams", 500)
  ),
  experiment(
    ratio("json", "CPU per JSON request, raw's from a document", "ms", 22, 7),
    perAnswer("documents", 100)
  ),
  experiment(
    ratio("json-fold", "CPU per JSON request, raw's from a stream", "ms", 3, 2),
    perAnswer("documents", 100),
    "fold"
  ),
  experiment(ratio("memory", "memory per open stream", "KiB", 1.3, 1), memory)
]
