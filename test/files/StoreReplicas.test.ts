import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, FileSystem, Layer, Logger, Schema, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { BlobStore } from "../../src/files/BlobStore.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { testConfig } from "../support/TestConfig.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"

const logged: Array<string> = []
const Log = Logger.layer([Logger.make(({ message }) => void logged.push(JSON.stringify(message)))])

const directory = Effect.flatMap(FileSystem.FileSystem, (fs) =>
  fs.makeTempDirectoryScoped({ prefix: "parley-replicas-" })
)

/** Starts one process's store and keeps it for as long as the scope is open. */
const start = (dataDir: string, directoryShared = false) =>
  Layer.build(
    Layer.fresh(BlobStore.layer).pipe(
      Layer.provide(Layer.succeed(AppConfig, testConfig({ dataDir, files: { directoryShared } })))
    )
  )

const Rows = Schema.Array(Schema.Struct({ location: Schema.String }))
const replicas = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.flatMap(sql`SELECT location FROM file_store_replicas ORDER BY id`, Schema.decodeUnknownEffect(Rows))
)

/** Moves the last report of every process back by so many seconds. */
const silence = (seconds: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`UPDATE file_store_replicas SET seen_at = seen_at - make_interval(secs => ${seconds})`
  )

const shared = Layer.mergeAll(TestDatabase.layerFailing, NodeServices.layer, NodeCrypto.layer, Log)

layer(shared, { excludeTestServices: true })("Processes with the directory store", (it) => {
  it.effect("processes with the directory store may share one directory, by whatever path", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const dataDir = yield* directory
      const link = `${yield* directory}/elsewhere`
      yield* fs.symlink(dataDir, link)
      yield* start(dataDir)
      yield* start(dataDir)
      yield* start(link)
      assert.deepStrictEqual(
        (yield* replicas).map(({ location }) => location),
        [dataDir, dataDir, link].map((path) => `the directory ${path}/files`)
      )
    }).pipe(Effect.scoped)
  )

  it.effect(
    "processes with the directory store don't start beside one with another directory, and say which",
    () =>
      Effect.gen(function* () {
        const one = yield* directory
        const other = yield* directory
        yield* start(one)
        const error = yield* Effect.flip(start(other))
        assert.strictEqual(error._tag, "StoreNotShared")
        assert.include(error.message, `${one}/files`)
        assert.include(error.message, "PARLEY_FILES_DIRECTORY_SHARED")
        assert.strictEqual((yield* replicas).length, 1)
      }).pipe(Effect.scoped)
  )

  it.effect("processes with the directory store start when they are told that the directory is shared", () =>
    Effect.gen(function* () {
      yield* start(yield* directory)
      yield* start(yield* directory, true)
      assert.strictEqual((yield* replicas).length, 2)
    }).pipe(Effect.scoped)
  )

  it.effect("processes with the directory store start once the other has ended, in order or silently", () =>
    Effect.gen(function* () {
      const one = yield* directory
      const other = yield* directory
      const stopped = yield* Scope.make()
      yield* Scope.provide(start(one), stopped)
      yield* Scope.close(stopped, Exit.void)
      assert.isEmpty(yield* replicas)
      yield* start(one)
      yield* silence(59)
      assert.strictEqual((yield* Effect.flip(start(other)))._tag, "StoreNotShared")
      yield* silence(2)
      yield* start(other)
      assert.strictEqual((yield* replicas).length, 1)
    }).pipe(Effect.scoped)
  )

  it.effect("processes with the directory store let exactly one of many start when all come at once", () =>
    Effect.gen(function* () {
      const directories = yield* Effect.all([directory, directory, directory, directory])
      const exits = yield* Effect.forEach(directories, (dataDir) => Effect.exit(start(dataDir)), {
        concurrency: "unbounded"
      })
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 1)
      assert.strictEqual((yield* replicas).length, 1)
    }).pipe(Effect.scoped)
  )

  it.effect(
    "processes with the directory store don't start without the database, or with a directory whose identity is lost",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const faults = yield* SqlFaults
        const dataDir = yield* directory
        yield* faults.outage
        assert.strictEqual((yield* Effect.flip(start(dataDir)))._tag, "StorageFailed")
        yield* faults.off
        yield* fs.writeFileString(`${dataDir}/files/identity`, "")
        assert.strictEqual((yield* Effect.flip(start(dataDir)))._tag, "StorageFailed")
      }).pipe(Effect.scoped)
  )
})

layer(shared)("A process with the directory store", (it) => {
  /** Lets the time pass in which a sign of life is due, until `condition` holds. */
  const untilSign = <E, R>(condition: Effect.Effect<boolean, E, R>) =>
    until(Effect.tap(condition, (holds) => (holds ? Effect.void : TestClock.adjust("10 seconds"))))

  it.effect("a process with the directory store renews its registration, also after that was deleted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* start(yield* directory)
      yield* sql`DELETE FROM file_store_replicas`
      yield* untilSign(Effect.map(replicas, (rows) => rows.length === 1))
      yield* silence(3_600)
      const isYoung = sql`SELECT 1 FROM file_store_replicas WHERE seen_at > now() - interval '1 minute'`
      yield* untilSign(Effect.map(isYoung, (rows) => rows.length === 1))
    }).pipe(Effect.scoped)
  )

  it.effect(
    "a process with the directory store logs that another one started on another store while it had no database",
    () =>
      Effect.gen(function* () {
        yield* start(yield* directory)
        yield* silence(3_600)
        const other = yield* directory
        yield* start(other)
        yield* untilSign(Effect.sync(() => logged.some((line) => line.includes(`${other}/files`))))
      }).pipe(Effect.scoped)
  )

  it.effect("a process with the directory store goes on while the database is away", () =>
    Effect.gen(function* () {
      const faults = yield* SqlFaults
      yield* start(yield* directory)
      yield* faults.outage
      yield* untilSign(Effect.sync(() => logged.some((line) => line.includes("could not be renewed"))))
      yield* faults.off
      yield* silence(3_600)
      const sql = yield* SqlClient.SqlClient
      const isYoung = sql`SELECT 1 FROM file_store_replicas WHERE seen_at > now() - interval '1 minute'`
      yield* untilSign(Effect.map(isYoung, (rows) => rows.length === 1))
    }).pipe(Effect.scoped)
  )
})
