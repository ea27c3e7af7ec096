import { setTimeout as sleep } from "node:timers/promises"
import { type Directive, directive } from "./directive.ts"
import type { Loader } from "./loader.ts"
import type { Counts, Load } from "./messages.ts"
import { openFilesMax } from "./procfs.ts"
import type { Meters, Server } from "./server.ts"
import { median } from "./statistics.ts"

/** What is measured, and how. One experiment is one load on one server and yields one or two figures. */

export interface Figure {
  readonly id: string
  readonly title: string
  readonly unit: string
  /** Bounds on the ratio to raw, or on the value itself. */
  readonly must: number
  readonly aim: number
  readonly bound: "ratio" | "value"
}

/** What one experiment measured once. The database's part is reported beside the server's own, never added to it. */
export interface Measured {
  readonly value: number
  readonly children?: number
}

export interface Scale {
  readonly pacedStreams: number
  readonly windowSeconds: number
  readonly firstTokens: number
  readonly shortStreams: number
  readonly longStreams: number
  readonly documents: number
  readonly documentTokens: number
  readonly connections: number
  readonly heldStreams: number
  readonly warmUpStreams: number
}

export const fullScale: Scale = {
  pacedStreams: 500,
  windowSeconds: 6,
  firstTokens: 150,
  shortStreams: 800,
  longStreams: 200,
  documents: 5000,
  documentTokens: 100,
  connections: 16,
  heldStreams: 5000,
  // V8 goes on compiling what every request runs until some ten thousand of them.
  warmUpStreams: 3000
}

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
  windowSeconds: 3,
  firstTokens: 60,
  shortStreams: 300,
  longStreams: 80,
  documents: 1200
}

/** The plain translators: `raw` answers JSON from one document of the model's, `fold` from its stream, as the service does. */
export type ReferenceName = "raw" | "fold"

export interface Experiment {
  readonly id: string
  readonly reference: ReferenceName
  readonly figures: ReadonlyArray<Figure>
  readonly measure: (server: Server, loader: Loader, scale: Scale) => Promise<ReadonlyArray<Measured>>
}

const gapMs = 50
const rampSecondsMax = 20
const pendingMax = 32
const settleMs = 200
/** For a server to notice that many clients have gone, and to clear up after them. */
const closeMs = 1500

const load = (
  server: Server,
  wanted: Partial<Directive> & { readonly tokens: number },
  stream = true
): Load => ({
  target: server.target,
  stream,
  prompt: `Tell me a story. ${directive(wanted)}`,
  deltas: wanted.tokens
})

const demandWhole = (counts: Counts): Counts => {
  const broken = Object.entries(counts.broken).map(([reason, count]) => `${count} × ${reason}`)
  if (broken.length > 0) throw new Error(`${broken.join("; ")} (${counts.whole} were whole)`)
  return counts
}

const spent = (before: Meters, after: Meters, units: number): Measured => ({
  value: ((after.cpuSeconds - before.cpuSeconds) * 1000) / units,
  children: ((after.childrenCpuSeconds - before.childrenCpuSeconds) * 1000) / units
})

/** Compiles what will be hot, fills pools and connections; without it the first figure pays for all. */
export const warmUp = async (server: Server, loader: Loader, scale: Scale): Promise<void> => {
  const { connections, warmUpStreams: total, documentTokens } = scale
  const streams = load(server, { tokens: 100 })
  demandWhole(await loader.ask({ type: "run", load: streams, connections, total, pauseMs: 0 }))
  const documents = load(server, { tokens: documentTokens }, false)
  demandWhole(await loader.ask({ type: "run", load: documents, connections, total: total * 2, pauseMs: 0 }))
  await sleep(settleMs)
}

const paced: Experiment["measure"] = async (server, loader, scale) => {
  const count = scale.pacedStreams
  const tokens = (1000 / gapMs) * (rampSecondsMax + scale.windowSeconds + 1)
  const wanted = load(server, { tokens, gap: gapMs })
  const ramp = demandWhole(await loader.ask({ type: "open", load: wanted, count, pendingMax }))
  await sleep(settleMs)
  await loader.ask({ type: "mark" })
  const before = server.meters()
  await sleep(scale.windowSeconds * 1000)
  const after = server.meters()
  const counts = demandWhole(await loader.ask({ type: "mark" }))
  // The streams are checked as far as they got; whole ones are what the other experiments are made of.
  await loader.ask({ type: "drop" })
  await sleep(closeMs)
  if (counts.open < count) throw new Error(`opening ${count} streams took ${ramp.seconds.toFixed(1)} s`)
  return [spent(before, after, counts.deltas / 1000), { value: counts.gap.p99 }]
}

const firstToken: Experiment["measure"] = async (server, loader, scale) => {
  const wanted = load(server, { tokens: 5, stamp: true })
  const counts = await loader.ask({
    type: "run",
    load: wanted,
    connections: 1,
    total: scale.firstTokens,
    pauseMs: 10
  })
  return [{ value: demandWhole(counts).added.p50 }]
}

/** CPU per answer, with the model server writing as fast as it can. */
const perAnswer = async (
  server: Server,
  loader: Loader,
  connections: number,
  wanted: Load,
  total: number
) => {
  await loader.ask({ type: "run", load: wanted, connections, total: Math.ceil(total / 10), pauseMs: 0 })
  await sleep(settleMs)
  const before = server.meters()
  demandWhole(await loader.ask({ type: "run", load: wanted, connections, total, pauseMs: 0 }))
  // What a server puts off until after the answer is part of the price.
  await sleep(settleMs)
  return [spent(before, server.meters(), total)]
}

const documents: Experiment["measure"] = (server, loader, scale) => {
  const wanted = load(server, { tokens: scale.documentTokens }, false)
  return perAnswer(server, loader, scale.connections, wanted, scale.documents)
}

/** How many streams can be held, given that a server needs two files for each of them. */
export const holdable = (wanted: number): number => Math.min(wanted, Math.floor((openFilesMax() - 500) / 2))

const memory: Experiment["measure"] = async (server, loader, scale) => {
  // Memory that was once taken is not released, so each measurement begins with a new process.
  await server.restart()
  await warmUp(server, loader, scale)
  await sleep(closeMs)
  const before = server.residentKibibytes()
  const count = holdable(scale.heldStreams)
  demandWhole(
    await loader.ask({ type: "open", load: load(server, { tokens: 2, hold: true }), count, pendingMax })
  )
  const samples: Array<number> = []
  for (let n = 0; n < 8; n++) {
    await sleep(500)
    samples.push(server.residentKibibytes())
  }
  const counts = demandWhole(await loader.ask({ type: "mark" }))
  if (counts.open < count) throw new Error(`${count - counts.open} of ${count} held streams ended`)
  await loader.ask({ type: "drop" })
  await sleep(closeMs)
  return [{ value: (median(samples) - before) / count }]
}

const ratio = (id: string, title: string, unit: string, must: number, aim: number): Figure => ({
  id,
  title,
  unit,
  must,
  aim,
  bound: "ratio"
})

export const experiments: ReadonlyArray<Experiment> = [
  // Before the loads: what they leave behind makes the start of any process slower for a while.
  {
    id: "start",
    reference: "raw",
    figures: [
      {
        id: "start",
        title: "cold start to ready, database up",
        unit: "s",
        must: 0.6,
        aim: 0.4,
        bound: "value"
      }
    ],
    measure: async (server) => [{ value: await server.coldStart() }]
  },
  {
    id: "paced",
    reference: "raw",
    figures: [
      ratio("cpu-paced", "CPU per 1,000 deltas, paced streams × 20/s", "ms", 1.7, 1.2),
      ratio("gap", "p99 gap between tokens, paced streams", "ms", 1.3, 1.1)
    ],
    measure: paced
  },
  {
    id: "first",
    reference: "raw",
    figures: [ratio("first", "added time to first token, idle", "ms", 2.8, 2)],
    measure: firstToken
  },
  {
    id: "short",
    reference: "raw",
    figures: [ratio("short", "CPU per 100-delta stream, full speed", "ms", 1.8, 1.3)],
    measure: (server, loader, scale) =>
      perAnswer(server, loader, scale.connections, load(server, { tokens: 100 }), scale.shortStreams)
  },
  {
    id: "long",
    reference: "raw",
    figures: [ratio("long", "CPU per 500-delta stream, full speed", "ms", 1.2, 1)],
    measure: (server, loader, scale) =>
      perAnswer(server, loader, scale.connections, load(server, { tokens: 500 }), scale.longStreams)
  },
  {
    id: "json",
    reference: "raw",
    figures: [ratio("json", "CPU per JSON request, raw's from a document", "ms", 22, 7)],
    measure: documents
  },
  {
    id: "json-fold",
    reference: "fold",
    figures: [ratio("json-fold", "CPU per JSON request, raw's from a stream", "ms", 3, 2)],
    measure: documents
  },
  {
    id: "memory",
    reference: "raw",
    figures: [ratio("memory", "memory per open stream", "KiB", 1.3, 1)],
    measure: memory
  }
]
