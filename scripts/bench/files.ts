import { spawnSync } from "node:child_process"
import * as http from "node:http"
import { join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { fileURLToPath } from "node:url"
import { readOptions } from "./options.ts"
import { build, parleyRecipe } from "./parley.ts"
import { quietOf } from "./quiet.ts"
import { OwnServer } from "./server.ts"
import { median } from "./statistics.ts"
import { setUp } from "./workplace.ts"

/**
 * Uploads and downloads of large files, beside the plain file server of rawFiles.ts: throughput, processor time and peak
 * memory, in one run, in turn. Both servers fsync an upload before they answer, and what either left to be written is on the disk
 * before the next one begins.
 *
 *     npm run bench -- files [--runs N] [--quick | --mebibytes N] [--wait SECONDS] [--strict]
 */

const mebibyte = 1024 * 1024
const pieceBytes = 256 * 1024
/** A server that is silent for so long won't answer any more. */
const silenceSecondsMax = 60
/** Single transfers vary by a factor of two on a machine that has other work. */
const runsMin = 5
/** Nothing listens there: no model is asked. */
const noUpstreamPort = 9

/** Bytes that no reader takes for text, so that what is measured is the storing of them. */
const piece = Buffer.alloc(
  pieceBytes,
  Uint8Array.from({ length: 251 }, (_, index) => (index * 7) % 256)
)
const boundary = "parleybench"

function* bodyOf(bytes: number): Generator<Buffer> {
  yield Buffer.from(
    `--${boundary}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nassistants\r\n--${boundary}\r\n` +
      'content-disposition: form-data; name="file"; filename="bench.bin"\r\n\r\n'
  )
  for (let sent = 0; sent < bytes; sent += pieceBytes) yield piece
  yield Buffer.from(`\r\n--${boundary}--\r\n`)
}

const headersOf = ({ target: { key } }: OwnServer): Record<string, string> =>
  key === null ? {} : { authorization: `Bearer ${key}` }

/** Without this, a server that hangs would hang the benchmark. */
const endSilence = (server: OwnServer, request: http.ClientRequest): void => {
  request.setTimeout(silenceSecondsMax * 1000, () =>
    request.destroy(new Error(`${server.name} was silent for ${silenceSecondsMax} seconds`))
  )
}

const upload = (server: OwnServer, bytes: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const { host, port } = server.target
    const request = http.request({
      host,
      port,
      method: "POST",
      path: "/v1/files",
      headers: { ...headersOf(server), "content-type": `multipart/form-data; boundary=${boundary}` }
    })
    endSilence(server, request)
    request.on("error", reject)
    request.on("response", (response) => {
      response
        .setEncoding("utf8")
        .toArray()
        .then((parts) => {
          const id = /"id":"([0-9a-f-]{36})"/.exec(parts.join(""))?.[1]
          if (response.statusCode === 200 && id !== undefined) return id
          throw new Error(`${server.name} answered ${response.statusCode}: ${parts.join("").slice(0, 300)}`)
        })
        .then(resolve, reject)
    })
    pipeline(Readable.from(bodyOf(bytes)), request).catch(reject)
  })

const download = (server: OwnServer, id: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const { host, port } = server.target
    const request = http.get({ host, port, path: `/v1/files/${id}/content`, headers: headersOf(server) })
    endSilence(server, request)
    request.on("error", reject)
    request.on("response", (response) => {
      let bytes = 0
      response.on("data", (chunk: Buffer) => (bytes += chunk.length))
      response.on("end", () => resolve(bytes))
      response.on("error", reject)
    })
  })

const remove = (server: OwnServer, id: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const { host, port } = server.target
    const path = `/v1/files/${id}`
    const request = http.request({ host, port, method: "DELETE", path, headers: headersOf(server) })
    endSilence(server, request)
    request.on("error", reject)
    request.on("response", (response) => {
      response.resume().on("end", () => {
        if (response.statusCode === 200) resolve()
        else reject(new Error(`${server.name} answered ${response.statusCode} to a removal`))
      })
    })
    request.end()
  })

interface Sample {
  readonly mebibytesPerSecond: number
  readonly cpuSecondsPerGibibyte: number
  readonly peakMebibytes: number
}

interface Sides {
  readonly measured: Array<Sample>
  readonly reference: Array<Sample>
}
interface Samples {
  readonly upload: Sides
  readonly download: Sides
}

/** Runs one transfer and reads the server's meters around it. */
const measure = async (
  server: OwnServer,
  bytes: number,
  transfer: () => Promise<unknown>
): Promise<Sample> => {
  let peak = server.residentKibibytes()
  const watch = setInterval(() => (peak = Math.max(peak, server.residentKibibytes())), 20)
  const cpu = server.meters().cpuSeconds
  const begun = performance.now()
  try {
    await transfer()
  } finally {
    clearInterval(watch)
  }
  const seconds = (performance.now() - begun) / 1000
  return {
    mebibytesPerSecond: bytes / mebibyte / seconds,
    cpuSecondsPerGibibyte: ((server.meters().cpuSeconds - cpu) * 1024 * mebibyte) / bytes,
    peakMebibytes: peak / 1024
  }
}

/** The least share of the plain server's throughput that an upload must reach. */
const uploadShareMin = 0.6

const row = (figure: string, measured: number, reference: number): string =>
  `${figure.padEnd(40)} ${measured.toFixed(2).padStart(10)} ${reference.toFixed(2).padStart(10)} ${(measured / reference).toFixed(2).padStart(8)}`

const spread = (samples: ReadonlyArray<Sample>): string => {
  const speeds = samples.map((sample) => sample.mebibytesPerSecond)
  return `${Math.min(...speeds).toFixed(0)} to ${Math.max(...speeds).toFixed(0)}`
}

const report = (name: keyof Samples, { measured, reference }: Sides, shareMin: number | null): boolean => {
  const of = (samples: ReadonlyArray<Sample>, figure: keyof Sample) =>
    median(samples.map((sample) => sample[figure]))
  const share = of(measured, "mebibytesPerSecond") / of(reference, "mebibytesPerSecond")
  const isMet = shareMin === null || share >= shareMin
  const verdict = shareMin === null ? "" : `  ≥ ${shareMin} ×  ${isMet ? "must" : "missed"}`
  const line = (text: string, figure: keyof Sample, said = "") =>
    console.log(`${row(`${name}: ${text}`, of(measured, figure), of(reference, figure))}${said}`)
  line("MiB per second", "mebibytesPerSecond", verdict)
  console.log(`  of single runs: ${spread(measured)}, and ${spread(reference)}`)
  line("processor seconds per GiB", "cpuSecondsPerGibibyte")
  line("peak memory, MiB", "peakMebibytes")
  return isMet
}

/** Writes what is in memory only of files near `directory` to the disk, so that no server pays for another. */
const settle = (directory: string): void => {
  const { status } = spawnSync("sync", ["--file-system", directory])
  if (status !== 0) throw new Error("sync failed")
}

interface Round {
  readonly server: OwnServer
  readonly bytes: number
  readonly directory: string
}

/**
 * One file up and down again. Then it is removed, so that the next upload finds the memory of the page cache in the same state: a
 * service that keeps equal bytes once would leave its own to the other server.
 */
const measureRound = async ({ bytes, directory, server }: Round) => {
  let id = ""
  settle(directory)
  const up = await measure(server, bytes, async () => (id = await upload(server, bytes)))
  const down = await measure(server, bytes, async () => {
    const received = await download(server, id)
    if (received < bytes) throw new Error(`${server.name} sent ${received} of ${bytes} bytes`)
  })
  await remove(server, id)
  return { up, down }
}

const run = async (): Promise<void> => {
  const options = readOptions(process.argv.slice(2))
  if (options === null) return
  const bytes = (options.mebibytes ?? (options.quick ? 64 : 512)) * mebibyte
  const runs = Math.max(runsMin, options.runs)
  const { directory, fleet } = setUp("parley-files-bench-", null)
  const entry = options.entry ?? build()
  const { profile } = options
  const parley = new OwnServer(
    fleet,
    parleyRecipe({ entry, profile, upstreamPort: noUpstreamPort, directory })
  )
  const raw = new OwnServer(fleet, {
    name: "raw",
    args: [fileURLToPath(new URL("rawFiles.ts", import.meta.url)), join(directory, "raw")],
    environment: {},
    readyPath: "/readyz",
    path: "/v1/files",
    key: null
  })
  const quiet = quietOf(fleet, options.waitSeconds)
  try {
    await Promise.all([parley.start(), raw.start()])
    const samples: Samples = {
      upload: { measured: [], reference: [] },
      download: { measured: [], reference: [] }
    }
    // The first round only warms up.
    for (let round = 0; round <= runs; round++) {
      await quiet.wait()
      for (const [side, server] of [
        ["measured", parley],
        ["reference", raw]
      ] as const) {
        const { down, up } = await measureRound({ server, bytes, directory })
        if (round === 0) continue
        samples.upload[side].push(up)
        samples.download[side].push(down)
      }
    }
    console.log(`${bytes / mebibyte} MiB, medians of ${runs}`)
    console.log(`${"".padEnd(40)} ${"parley".padStart(10)} ${"raw".padStart(10)} ${"ratio".padStart(8)}`)
    const isMet = report("upload", samples.upload, uploadShareMin)
    report("download", samples.download, null)
    if (options.strict && !isMet) process.exitCode = 1
  } finally {
    await fleet.stopAll()
  }
}

await run()
