import { NodeFileSystem } from "@effect/platform-node"
import { PgClient } from "@effect/sql-pg"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Exit, FileSystem, Layer, Queue } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { Database, orUnavailable } from "../../src/sql/Database.ts"
import { startEmbeddedPostgres } from "../../src/sql/EmbeddedPostgres.ts"
import type { EmbeddedPostgresAddress } from "../../src/sql/EmbeddedPostgres.ts"

const ground = Layer.mergeAll(NodeFileSystem.layer, Reactivity.layer)

const dataDirectory = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const directory = yield* fs.makeTempDirectoryScoped({ prefix: "parley-embedded-" })
  yield* fs.chmod(directory, 0o711)
  return directory
})

const start = (dataDir: string) => startEmbeddedPostgres({ dataDir, connectionsMax: 5, durable: false })

const query = Effect.fnUntraced(function* (
  { database, path, username }: EmbeddedPostgresAddress,
  text: string
) {
  const client = yield* PgClient.makeClient({ path, database, username })
  return yield* client.unsafe(text)
}, Effect.scoped)

const serverPid = (dataDir: string): number =>
  Number(readFileSync(`${dataDir}/postgres/data/postmaster.pid`, "utf8").split("\n")[0])

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const untilGone = Effect.fnUntraced(function* (pid: number) {
  while (isAlive(pid)) yield* Effect.sleep(10)
})

/** Starts another process that owns the server, in a process group of its own as a terminal would. */
const startOwner = Effect.fnUntraced(function* (dataDir: string) {
  const lines = yield* Queue.unbounded<string>()
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [`${import.meta.dirname}/embeddedOwner.ts`, dataDir], {
        detached: true,
        stdio: ["ignore", "pipe", "inherit"]
      })
    ),
    (owner) => Effect.sync(() => owner.kill("SIGKILL"))
  )
  child.stdout.on("data", (chunk: Buffer) => {
    for (const line of chunk.toString().trim().split("\n")) Queue.offerUnsafe(lines, line)
  })
  const pid = child.pid
  if (pid === undefined) return yield* Effect.die(new Error("The owner did not start"))
  return { pid, line: Queue.take(lines) }
})

/** The processes whose parent is `pid`. */
const childrenOf = (pid: number): ReadonlyArray<number> =>
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

const parentOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[1])

layer(ground, { excludeTestServices: true })("The embedded server", (it) => {
  it.effect("keeps its data over a restart, and never runs as root", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      yield* Effect.scoped(
        Effect.gen(function* () {
          const address = yield* start(dataDir)
          yield* query(address, "CREATE TABLE kept AS SELECT 42 AS answer")
        })
      )
      const address = yield* start(dataDir)
      assert.deepStrictEqual(yield* query(address, "SELECT answer FROM kept"), [{ answer: 42 }])
      const fs = yield* FileSystem.FileSystem
      const stat = yield* fs.stat(`${dataDir}/postgres/data`)
      assert.strictEqual(stat.mode & 0o777, 0o700)
      assert.notDeepEqual(stat.uid._tag === "Some" && stat.uid.value, 0)
    })
  )

  it.effect("has left nothing running when its scope has closed", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const pid = yield* Effect.scoped(Effect.map(start(dataDir), () => serverPid(dataDir)))
      assert.isFalse(isAlive(pid))
    })
  )

  it.effect.runIf(process.getuid?.() === 0)("of root lives where its account can reach it", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const closed = yield* dataDirectory
      yield* fs.chmod(closed, 0o700)
      const dataDir = `${closed}/data`
      const elsewhere = yield* Effect.acquireRelease(
        Effect.scoped(
          Effect.gen(function* () {
            yield* query(yield* start(dataDir), "CREATE TABLE kept AS SELECT 42 AS answer")
            return yield* fs.realPath(`${dataDir}/postgres`)
          })
        ),
        (directory) => Effect.orDie(fs.remove(directory, { recursive: true }))
      )
      assert.isFalse(elsewhere.startsWith(closed))
      assert.deepStrictEqual(yield* query(yield* start(dataDir), "SELECT answer FROM kept"), [{ answer: 42 }])
    })
  )

  it.effect("refuses a second owner, in this process or in another", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const address = yield* start(dataDir)
      assert.strictEqual((yield* Effect.flip(Effect.scoped(start(dataDir))))._tag, "DataDirectoryInUse")
      const other = yield* startOwner(dataDir)
      assert.match(yield* other.line, /is in use by another running process/)
      yield* query(address, "SELECT 1")
    })
  )

  it.effect("makes only one of several that start together its owner", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const owners = yield* Effect.all([startOwner(dataDir), startOwner(dataDir), startOwner(dataDir)])
      const lines = yield* Effect.all(
        owners.map((owner) => owner.line),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(lines.filter((line) => line === "ready").length, 1, lines.join("\n"))
    })
  )

  it.effect("takes a long path", () =>
    Effect.gen(function* () {
      const address = yield* start(`${yield* dataDirectory}/${"long".repeat(25)}`)
      assert.isAtMost(Buffer.byteLength(address.path), 103)
      yield* query(address, "SELECT 1")
    })
  )

  it.effect("says why it could not start", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const dataDir = yield* dataDirectory
      yield* Effect.scoped(start(dataDir))
      yield* fs.writeFileString(`${dataDir}/postgres/data/postgresql.conf`, "nonsense = = 1")
      const error = yield* Effect.flip(Effect.scoped(start(dataDir)))
      assert.strictEqual(error._tag, "EmbeddedPostgresFailed")
      assert.match(error.message, /syntax error in file .*postgresql.conf/)
    })
  )

  it.effect("starts where an earlier attempt was cut off while creating the data", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const dataDir = yield* dataDirectory
      yield* Effect.scoped(start(dataDir))
      yield* fs.rename(`${dataDir}/postgres/data`, `${dataDir}/postgres/data.half`)
      yield* fs.remove(`${dataDir}/postgres/data.half/PG_VERSION`)
      yield* query(yield* start(dataDir), "SELECT 1")
    })
  )
})

layer(ground, { excludeTestServices: true })("When its owner is killed", (it) => {
  it.effect("the server stops by itself, and the next owner finds its data", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const owner = yield* startOwner(dataDir)
      assert.strictEqual(yield* owner.line, "ready")
      const pid = serverPid(dataDir)
      process.kill(owner.pid, "SIGKILL")
      // Without waiting: the next owner may come while the server is still going down.
      yield* query(yield* start(dataDir), "SELECT 1")
      assert.isFalse(isAlive(pid))
    })
  )

  it.effect("nothing lingers even if nobody comes after it", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const owner = yield* startOwner(dataDir)
      assert.strictEqual(yield* owner.line, "ready")
      const pid = serverPid(dataDir)
      const supervisor = parentOf(pid)
      process.kill(owner.pid, "SIGKILL")
      yield* untilGone(pid)
      yield* untilGone(supervisor)
    })
  )

  it.effect("together with everything that watches the server, the next owner stops the orphan", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const owner = yield* startOwner(dataDir)
      assert.strictEqual(yield* owner.line, "ready")
      const pid = serverPid(dataDir)
      const supervisor = parentOf(pid)
      for (const watcher of childrenOf(supervisor).filter((child) => child !== pid))
        process.kill(watcher, "SIGKILL")
      process.kill(supervisor, "SIGKILL")
      process.kill(owner.pid, "SIGKILL")
      assert.isTrue(isAlive(pid))
      yield* query(yield* start(dataDir), "SELECT 1")
      assert.isFalse(isAlive(pid))
    })
  )

  it.effect("and another program has got the server's number meanwhile, that program is left alone", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const dataDir = yield* dataDirectory
      yield* Effect.scoped(start(dataDir))
      yield* fs.writeFileString(`${dataDir}/postgres/data/postmaster.pid`, `${process.pid}\n/elsewhere\n1\n`)
      yield* query(yield* start(dataDir), "SELECT 1")
    })
  )
})

describe("The terminal's Ctrl-C", () => {
  layer(ground, { excludeTestServices: true })((it) => {
    it.effect("reaches the owner and not the server", () =>
      Effect.gen(function* () {
        const dataDir = yield* dataDirectory
        const owner = yield* startOwner(dataDir)
        assert.strictEqual(yield* owner.line, "ready")
        const pid = serverPid(dataDir)
        process.kill(-owner.pid, "SIGINT")
        assert.strictEqual(yield* owner.line, "interrupted")
        assert.isTrue(isAlive(pid))
        assert.notInclude(readFileSync(`${dataDir}/postgres/postgres.log`, "utf8"), "shutdown request")
      })
    )
  })
})

layer(ground, { excludeTestServices: true })("A pool of connections", (it) => {
  const limits = { connectionsMax: 4, connectSeconds: 2, statementSeconds: 1 }

  const startWithPool = Effect.gen(function* () {
    const dataDir = yield* dataDirectory
    const address = yield* start(dataDir)
    const context = yield* Layer.build(Database.layerAddress(address, limits))
    return { dataDir, context }
  })

  const busy = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* Effect.all(
      Array.from({ length: 12 }, () => sql`SELECT pg_sleep(0.05)`),
      { concurrency: "unbounded" }
    )
  })

  it.effect("recovers by itself when the server is killed and comes back", () =>
    Effect.gen(function* () {
      const { context, dataDir } = yield* startWithPool
      yield* Effect.gen(function* () {
        yield* busy
        const pid = serverPid(dataDir)
        process.kill(pid, "SIGKILL")
        const failed = yield* Effect.flip(orUnavailable(Effect.forever(busy)))
        assert.strictEqual(failed._tag, "DatabaseUnavailable")
        while (Exit.isFailure(yield* Effect.exit(orUnavailable(busy)))) yield* Effect.sleep(50)
        assert.notStrictEqual(serverPid(dataDir), pid)
        // Every connection of the pool works again, not only the first.
        for (let n = 0; n < 5; n++) yield* busy
      }).pipe(Effect.provideContext(context))
    })
  )

  it.effect("recovers by itself when the server ends every session", () =>
    Effect.gen(function* () {
      const { context } = yield* startWithPool
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* busy
        yield* Effect.exit(
          sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'parley'`
        )
        while (Exit.isFailure(yield* Effect.exit(orUnavailable(busy)))) yield* Effect.sleep(50)
        for (let n = 0; n < 5; n++) yield* busy
      }).pipe(Effect.provideContext(context))
    })
  )

  it.effect("doesn't wait without end for a server that hangs", () =>
    Effect.gen(function* () {
      const { context, dataDir } = yield* startWithPool
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const database = yield* Database
        yield* busy
        const pid = serverPid(dataDir)
        const all = [pid, ...childrenOf(pid)]
        const failures = yield* Effect.acquireUseRelease(
          Effect.sync(() => all.forEach((each) => process.kill(each, "SIGSTOP"))),
          () =>
            Effect.all([Effect.flip(orUnavailable(sql`SELECT 1`)), Effect.flip(database.ping)], {
              concurrency: "unbounded"
            }),
          () => Effect.sync(() => all.forEach((each) => process.kill(each, "SIGCONT")))
        )
        assert.deepStrictEqual(
          failures.map(({ _tag }) => _tag),
          ["DatabaseUnavailable", "DatabaseUnavailable"]
        )
        while (Exit.isFailure(yield* Effect.exit(orUnavailable(busy)))) yield* Effect.sleep(50)
        yield* database.ping
      }).pipe(Effect.provideContext(context))
    })
  )
})
