import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Option } from "effect"
import { chownTree, type PostgresAccount, runProgram } from "../../src/postgres/PostgresBinaries.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { Database } from "../../src/sql/Database.ts"
import { testConfig } from "../support/TestConfig.ts"
import {
  addressIn,
  childrenOf,
  dataDirectory,
  ground,
  isAlive,
  parentOf,
  query,
  serverPid,
  start,
  startOwner,
  untilGone
} from "./embeddedServer.ts"

const isRoot = process.getuid?.() === 0
const namelessUid = 54_321
/** True if an account without rights may read this directory at all. */
const namelessMayStart =
  isRoot && spawnSync(process.execPath, ["--version"], { uid: namelessUid, gid: namelessUid }).status === 0

const ownerOf = (path: string) =>
  Effect.gen(function* () {
    const stat = yield* (yield* FileSystem.FileSystem).stat(path)
    return { uid: Option.getOrThrow(stat.uid), gid: Option.getOrThrow(stat.gid) }
  })

layer(ground, { excludeTestServices: true })("The embedded server", (it) => {
  it.effect("the embedded server keeps its data over a restart, and never runs as root", () =>
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

  it.effect("the embedded server has left nothing running when its scope has closed", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const pid = yield* Effect.scoped(Effect.map(start(dataDir), () => serverPid(dataDir)))
      assert.isFalse(isAlive(pid))
    })
  )

  it.effect.runIf(process.getuid?.() === 0)("root's server lives where its account can reach it", () =>
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

  it.effect.runIf(isRoot)("root's server can't be reached by another process of the account nobody", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const { path } = yield* start(dataDir)
      // The kernel lets a process connect to a socket if it may pass through the directories and write to
      // the socket.
      const mayConnect = (account: PostgresAccount) =>
        Effect.map(runProgram("/bin/sh", ["-c", `[ -w "${path}" ]`], { account }), ({ code }) => code === 0)
      assert.isTrue(yield* mayConnect(yield* ownerOf(path)))
      assert.isFalse(yield* mayConnect({ uid: 65_534, gid: 65_534 }))
    })
  )

  it.effect.runIf(isRoot)("root's server takes over data that an earlier version gave to nobody", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      yield* Effect.scoped(
        Effect.flatMap(start(dataDir), (address) =>
          query(address, "CREATE TABLE kept AS SELECT 42 AS answer")
        )
      )
      yield* chownTree(`${dataDir}/postgres`, { uid: 65_534, gid: 65_534 })
      const address = yield* start(dataDir)
      assert.deepStrictEqual(yield* query(address, "SELECT answer FROM kept"), [{ answer: 42 }])
      const owners = yield* Effect.forEach(
        [dataDir + "/postgres", address.path, `${dataDir}/postgres/data/PG_VERSION`],
        ownerOf
      )
      assert.strictEqual(new Set(owners.map(({ uid }) => uid)).size, 1)
      assert.notStrictEqual(owners[0]?.uid, 65_534)
    })
  )

  it.effect.runIf(namelessMayStart)("the server names the remedy for an account without a name", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const dataDir = yield* dataDirectory
      yield* fs.chown(dataDir, namelessUid, namelessUid)
      const owner = yield* startOwner(dataDir, namelessUid)
      assert.match(yield* owner.line, /uid 54321 has no entry in \/etc\/passwd.*DATABASE_URL/)
    })
  )

  it.effect("the embedded server is a command's own only where the command has started it", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const isOwn = Layer.build(Layer.fresh(Database.layerBeside)).pipe(
        Effect.map((context) => Context.get(context, Database).isEmbedded),
        Effect.provideService(AppConfig, testConfig({ dataDir })),
        Effect.scoped
      )
      assert.isTrue(yield* isOwn)
      const owner = yield* startOwner(dataDir)
      assert.strictEqual(yield* owner.line, "ready")
      assert.isFalse(yield* isOwn)
    })
  )

  it.effect("the embedded server refuses a second owner, in this process or in another", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const address = yield* start(dataDir)
      assert.strictEqual((yield* Effect.flip(Effect.scoped(start(dataDir))))._tag, "DataDirectoryInUse")
      const other = yield* startOwner(dataDir)
      assert.match(yield* other.line, /is in use by another running process/)
      yield* query(address, "SELECT 1")
    })
  )

  it.effect("the embedded server has one owner of several that start together", () =>
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

  it.effect("the embedded server takes a long path, and leaves nothing behind elsewhere", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const dataDir = `${yield* dataDirectory}/${"long".repeat(25)}`
      const host = yield* Effect.scoped(
        Effect.gen(function* () {
          const address = yield* start(dataDir)
          assert.isAtMost(Buffer.byteLength(address.path), 103)
          yield* query(address, "SELECT 1")
          return address.host
        })
      )
      assert.isFalse(yield* fs.exists(host))
    })
  )

  it.effect("the embedded server says why it could not start", () =>
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

  it.effect("the embedded server names both versions where another major version wrote the data", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const dataDir = yield* dataDirectory
      yield* Effect.scoped(start(dataDir))
      yield* fs.writeFileString(`${dataDir}/postgres/data/PG_VERSION`, "17\n")
      const error = yield* Effect.flip(Effect.scoped(start(dataDir)))
      assert.match(
        error.message,
        /^PostgreSQL 17 wrote the data .* contains PostgreSQL 18.* `parley backup .* `parley restore /
      )
    })
  )

  it.effect("the embedded server starts where an earlier attempt was cut off while creating the data", () =>
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
      const address = addressIn(dataDir)
      yield* query(address, "CREATE TABLE kept AS SELECT 42 AS answer")
      const pid = serverPid(dataDir)
      process.kill(owner.pid, "SIGKILL")
      // Without waiting: the next owner may come while the server is still going down.
      assert.deepStrictEqual(yield* query(yield* start(dataDir), "SELECT answer FROM kept"), [{ answer: 42 }])
      assert.isFalse(isAlive(pid))
    })
  )

  it.effect("together with the server, what was committed a moment before is there", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const owner = yield* startOwner(dataDir)
      assert.strictEqual(yield* owner.line, "ready")
      const pid = serverPid(dataDir)
      yield* query(addressIn(dataDir), "CREATE TABLE kept AS SELECT 42 AS answer")
      process.kill(owner.pid, "SIGKILL")
      process.kill(pid, "SIGKILL")
      assert.deepStrictEqual(yield* query(yield* start(dataDir), "SELECT answer FROM kept"), [{ answer: 42 }])
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

  it.effect("a program that has the number of a killed server is left alone", () =>
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
    it.effect("the terminal's Ctrl-C reaches the owner and not the server", () =>
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
