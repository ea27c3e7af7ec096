import { spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { NodeFileSystem } from "@effect/platform-node"
import { PgClient } from "@effect/sql-pg"
import { Effect, FileSystem, Layer, Queue } from "effect"
import { Reactivity } from "effect/reactivity"
import { startEmbeddedPostgres } from "../../src/postgres/EmbeddedPostgres.ts"
import type { EmbeddedPostgresAddress } from "../../src/postgres/EmbeddedPostgres.ts"
import { until } from "../support/until.ts"

export const ground = Layer.mergeAll(NodeFileSystem.layer, Reactivity.layer)

export const dataDirectory = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const directory = yield* fs.makeTempDirectoryScoped({ prefix: "parley-embedded-" })
  yield* fs.chmod(directory, 0o711)
  return directory
})

export const start = (dataDir: string) => startEmbeddedPostgres({ dataDir, connectionsMax: 5, durable: true })

/** The address of a server that another process owns. */
export const addressIn = (dataDir: string): EmbeddedPostgresAddress => ({
  host: `${dataDir}/postgres/run`,
  path: `${dataDir}/postgres/run/.s.PGSQL.5432`,
  username: "parley",
  database: "postgres"
})

export const query = Effect.fnUntraced(function* (
  { database, path, username }: EmbeddedPostgresAddress,
  text: string
) {
  const client = yield* PgClient.makeClient({ path, database, username })
  return yield* client.unsafe(text)
}, Effect.scoped)

export const serverPid = (dataDir: string): number =>
  Number(readFileSync(`${dataDir}/postgres/data/postmaster.pid`, "utf8").split("\n")[0])

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

export const untilGone = (pid: number) => until(Effect.sync(() => !isAlive(pid)))

/** Starts another process that owns the server, in a process group of its own as a terminal would. */
export const startOwner = Effect.fnUntraced(function* (dataDir: string, uid?: number) {
  const lines = yield* Queue.unbounded<string>()
  let server = 0
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [`${import.meta.dirname}/embeddedOwner.ts`, dataDir], {
        detached: true,
        ...(uid === undefined ? {} : { uid, gid: uid }),
        stdio: ["ignore", "pipe", "inherit"]
      })
    ),
    (owner) =>
      Effect.suspend(() => {
        owner.kill("SIGKILL")
        return server === 0 ? Effect.void : untilGone(server)
      })
  )
  child.stdout.on("data", (chunk: Buffer) => {
    for (const line of chunk.toString().trim().split("\n")) {
      if (line === "ready") server = serverPid(dataDir)
      Queue.offerUnsafe(lines, line)
    }
  })
  const pid = child.pid
  if (pid === undefined) return yield* Effect.die(new Error("The owner did not start"))
  return { pid, line: Queue.take(lines) }
})

/** The processes whose parent is `pid`. */
export const childrenOf = (pid: number): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/stat`, "utf8").split(") ")[1]?.split(" ")[1] === String(pid)
      } catch {
        return false
      }
    })
    .map(Number)

export const parentOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[1])
