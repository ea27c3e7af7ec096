import { randomUUID } from "node:crypto"
import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Exit, FileSystem, Layer, Redacted, Scope, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { BlobStore, makeBlobs } from "../../src/files/BlobStore.ts"
import { makeStoreBinding } from "../../src/files/StoreBinding.ts"
import { AppConfig, type Settings } from "../../src/settings/AppConfig.ts"
import { S3Server } from "../support/S3Server.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import { bytesOf, someUser } from "./fixtures.ts"

const newDirectory = Effect.flatMap(FileSystem.FileSystem, (fs) =>
  fs.makeTempDirectoryScoped({ prefix: "parley-binding-" })
)

/** A store that nobody has used, as settings name it. */
const stores: ReadonlyArray<{
  readonly name: string
  readonly newStore: Effect.Effect<Settings, unknown, FileSystem.FileSystem | S3Server | Scope.Scope>
}> = [
  { name: "a directory", newStore: Effect.map(newDirectory, (dataDir) => testConfig({ dataDir })) },
  {
    name: "a bucket",
    newStore: Effect.gen(function* () {
      const { bucket } = yield* S3Server
      const s3 = { ...bucket, prefix: `${randomUUID()}/` }
      return testConfig({ dataDir: yield* newDirectory, files: { store: "s3", s3 } })
    })
  }
]

/** A database that no test has used. */
const newDatabase = Layer.build(Layer.fresh(TestDatabase.layer))
type Database = Effect.Success<typeof newDatabase>

/** Starts one process's store, which ends with the scope. */
const start = (settings: Settings, database: Database) =>
  Layer.build(Layer.fresh(BlobStore.layer)).pipe(
    Effect.provideService(AppConfig, settings),
    Effect.provideContext(database),
    Effect.map((context) => Context.get(context, BlobStore))
  )

/** Starts it and ends it. */
const startOnce = (settings: Settings, database: Database) => Effect.scoped(start(settings, database))

const refused = Effect.fnUntraced(function* (settings: Settings, database: Database) {
  const error = yield* Effect.flip(startOnce(settings, database))
  assert.strictEqual(error._tag, "StoreMismatch", error.message)
  assert.include(error.message, "parley file adopt-store")
  assert.include(error.message, settings.files.s3 === null ? settings.dataDir : settings.files.s3.bucket)
  assert.include(error.message, "the embedded database")
  return error.message
})

/** Stores a blob as an installation does whose store was never bound. */
const putUnbound = (settings: Settings, database: Database) =>
  Effect.gen(function* () {
    const blobs = yield* makeBlobs
    return yield* blobs.put(Stream.make(bytesOf("content")))
  }).pipe(Effect.provideService(AppConfig, settings), Effect.provideContext(database))

/** Removes the bytes and leaves what else is in the store. */
const lose = (settings: Settings, database: Database, key: string) =>
  Effect.flatMap(makeBlobs, (blobs) => blobs.remove(key)).pipe(
    Effect.provideService(AppConfig, settings),
    Effect.provideContext(database)
  )

/** Makes the database know a file with these bytes. */
const know = (database: Database, key: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const user = yield* someUser
    yield* sql`INSERT INTO files (id, user_id, filename, purpose, bytes, sha256, storage_key, status, created_at)
      VALUES (${randomUUID()}::uuid, ${user}::uuid, 'a', 'assistants', 7, ''::bytea, ${key}, 'processed', now())`
  }).pipe(Effect.provideContext(database))

const forget = (database: Database) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE file_store_binding SET store_id = NULL`).pipe(
    Effect.provideContext(database)
  )

const adopt = (settings: Settings, database: Database) =>
  Effect.flatMap(Effect.flatMap(makeBlobs, makeStoreBinding), (binding) => binding.adopt).pipe(
    Effect.scoped,
    Effect.provideService(AppConfig, settings),
    Effect.provideContext(database)
  )

const ground = Layer.mergeAll(S3Server.layer(), NodeServices.layer, NodeCrypto.layer)

describe.each(stores)("The binding of a database and $name", ({ newStore }) => {
  layer(ground, { excludeTestServices: true })((it) => {
    it.effect("the binding of a database and a store is made at the first start, and holds at the next", () =>
      Effect.gen(function* () {
        const settings = yield* newStore
        const database = yield* newDatabase
        const { key } = yield* Effect.scoped(
          Effect.flatMap(start(settings, database), (store) => store.put(Stream.make(bytesOf("content"))))
        )
        yield* know(database, key)
        const store = yield* start(settings, database)
        yield* store.verify
        assert.isTrue(yield* store.has(key))
      }).pipe(Effect.scoped)
    )

    it.effect(
      "the binding of a database and a store is made for an installation whose database knows a file of the store",
      () =>
        Effect.gen(function* () {
          const settings = yield* newStore
          const database = yield* newDatabase
          const { key } = yield* putUnbound(settings, database)
          yield* putUnbound(settings, database)
          yield* know(database, "the key of lost bytes")
          yield* know(database, key)
          yield* startOnce(settings, database)
          yield* refused(settings, yield* newDatabase)
        }).pipe(Effect.scoped)
    )

    it.effect(
      "the binding of a database and a store is refused to a second database, also when that is empty, until it adopts the store",
      () =>
        Effect.gen(function* () {
          const settings = yield* newStore
          const owner = yield* newDatabase
          const other = yield* newDatabase
          yield* startOnce(settings, owner)
          assert.include(yield* refused(settings, other), "another database")
          const { previousDatabaseId } = yield* adopt(settings, other)
          assert.isNotNull(previousDatabaseId)
          yield* startOnce(settings, other)
          yield* refused(settings, owner)
        }).pipe(Effect.scoped)
    )

    it.effect(
      "the binding of a database and a store is refused to a database without files where the store has some",
      () =>
        Effect.gen(function* () {
          const settings = yield* newStore
          const database = yield* newDatabase
          yield* putUnbound(settings, database)
          assert.include(yield* refused(settings, database), "knows of none")
          yield* adopt(settings, database)
          yield* startOnce(settings, database)
        }).pipe(Effect.scoped)
    )

    it.effect(
      "the binding of a database and a store is refused to an empty store where the database has files, and both places are named",
      () =>
        Effect.gen(function* () {
          const usual = yield* newStore
          const empty = yield* newStore
          const database = yield* newDatabase
          yield* startOnce(usual, database)
          yield* know(database, "the key of bytes elsewhere")
          const message = yield* refused(empty, database)
          assert.include(message, usual.files.s3?.prefix ?? usual.dataDir)
          assert.include(message, empty.files.s3?.prefix ?? empty.dataDir)
          assert.isFalse((yield* adopt(empty, database)).isWhole)
          yield* startOnce(empty, database)
          // The store that was left still says that it is the database's.
          assert.include(yield* refused(usual, database), empty.files.s3?.prefix ?? empty.dataDir)
        }).pipe(Effect.scoped)
    )

    it.effect(
      "the binding of a database and a store is refused when its store has lost the bytes of all files, until the loss is accepted",
      () =>
        Effect.gen(function* () {
          const settings = yield* newStore
          const database = yield* newDatabase
          yield* startOnce(settings, database)
          const { key } = yield* putUnbound(settings, database)
          yield* know(database, key)
          yield* startOnce(settings, database)
          yield* lose(settings, database, key)
          assert.include(yield* refused(settings, database), "holds none of the files")
          assert.isFalse((yield* adopt(settings, database)).isWhole)
          yield* startOnce(settings, database)
          yield* know(database, "the key of bytes that were lost later")
          yield* refused(settings, database)
        }).pipe(Effect.scoped)
    )

    it.effect(
      "the binding of a database and a store goes to another empty store as long as the database has no files",
      () =>
        Effect.gen(function* () {
          const database = yield* newDatabase
          const [one, other] = [yield* newStore, yield* newStore]
          for (const settings of [one, other, one]) yield* startOnce(settings, database)
        }).pipe(Effect.scoped)
    )

    it.effect(
      "the binding of a database and a store is the same for all processes that start at once on a new store",
      () =>
        Effect.gen(function* () {
          const settings = yield* newStore
          const database = yield* newDatabase
          const started = yield* Effect.forEach([1, 2, 3, 4, 5], () => start(settings, database), {
            concurrency: "unbounded"
          })
          yield* Effect.forEach(started, ({ verify }) => verify)
        }).pipe(Effect.scoped)
    )

    it.effect("the binding of a database and a store is completed after a crash between the two ids", () =>
      Effect.gen(function* () {
        const settings = yield* newStore
        const database = yield* newDatabase
        yield* startOnce(settings, database)
        yield* forget(database)
        const store = yield* start(settings, database)
        yield* store.verify
      }).pipe(Effect.scoped)
    )

    it.effect(
      "the binding of a database and a store is not verified any more once another database adopts the store",
      () =>
        Effect.gen(function* () {
          const settings = yield* newStore
          const store = yield* start(settings, yield* newDatabase)
          yield* adopt(settings, yield* newDatabase)
          assert.strictEqual((yield* Effect.flip(store.verify))._tag, "StoreMismatch")
        }).pipe(Effect.scoped)
    )

    it.effect(
      "the binding of a database and a store is lost by a running process, which takes in no file until its database adopts the store again",
      () =>
        Effect.gen(function* () {
          const settings = yield* newStore
          const [own, other] = [yield* newDatabase, yield* newDatabase]
          const store = yield* start(settings, own)
          const put = Effect.exit(store.put(Stream.make(bytesOf("content"))))
          yield* adopt(settings, other)
          yield* until(Effect.map(Effect.exit(store.check), Exit.isFailure))
          assert.include((yield* Effect.flip(store.check)).message, "is not bound to")
          assert.isTrue(Exit.isFailure(yield* put))
          yield* adopt(settings, own)
          yield* until(Effect.map(Effect.exit(store.check), Exit.isSuccess))
          assert.isTrue(Exit.isSuccess(yield* put))
        }).pipe(Effect.scoped)
    )

    it.effect(
      "the binding of a database and a store is refused while another process of the database keeps its files elsewhere",
      () =>
        Effect.gen(function* () {
          const settings = yield* newStore
          const database = yield* newDatabase
          yield* start(settings, database)
          const elsewhere = testConfig({ dataDir: yield* newDirectory, files: { store: "postgres" } })
          const error = yield* Effect.flip(startOnce(elsewhere, database))
          assert.strictEqual(error._tag, "StoreNotShared")
          assert.include(error.message, settings.files.s3?.bucket ?? settings.dataDir)
          assert.include(error.message, "the database")
          assert.notInclude(
            error.message,
            Redacted.value(settings.files.s3?.secretAccessKey ?? Redacted.make("?secret?"))
          )
        }).pipe(Effect.scoped)
    )
  })
})
