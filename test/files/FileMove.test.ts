import { randomBytes, randomUUID } from "node:crypto"
import { readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Schema, Scope, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { FileId, UserId } from "../../src/domain/Ids.ts"
import { BlobStore, makeBlobs } from "../../src/files/BlobStore.ts"
import { type Advance, makeFileMove } from "../../src/files/FileMove.ts"
import { FileStore } from "../../src/files/FileStore.ts"
import { makeStoreBinding } from "../../src/files/StoreBinding.ts"
import { AppConfig, type Settings } from "../../src/settings/AppConfig.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { S3Server } from "../support/S3Server.ts"
import { testConfig } from "../support/TestConfig.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import { bytesOf, contentOf, filesOver, someUser, upload } from "./fixtures.ts"

const newDatabase = Layer.build(Layer.fresh(TestDatabase.layerFailing))
type Database = Effect.Success<typeof newDatabase>
type Store = Settings["files"]["store"]

/** A new installation, its settings with the files in one store, and the settings of a move to another. */
const ground = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const { bucket } = yield* S3Server
  const s3 = { ...bucket, prefix: `${randomUUID()}/` }
  const dataDir = yield* fs.makeTempDirectoryScoped({ prefix: "parley-move-" })
  const files = (given: Partial<Settings["files"]>) => testConfig({ dataDir, files: { s3, ...given } })
  return {
    dataDir,
    database: yield* newDatabase,
    inStore: (store: Store) => files({ store }),
    moving: (store: Store, moveTo: Store) => files({ store, moveTo })
  }
})

/** Runs a service with these settings for as long as `use` takes. */
const serving = <A, E, R>(settings: Settings, database: Database, use: Effect.Effect<A, E, R>) =>
  Layer.build(Layer.fresh(filesOver)).pipe(
    Effect.provideService(AppConfig, settings),
    Effect.provideContext(database),
    Effect.flatMap((service) => Effect.provideContext(use, Context.merge(database, service))),
    Effect.scoped
  )

/** Starts the store of a service and ends it. */
const startStore = (settings: Settings, database: Database) =>
  Layer.build(Layer.fresh(BlobStore.layer)).pipe(
    Effect.provideService(AppConfig, settings),
    Effect.provideContext(database),
    Effect.scoped
  )

const withSettings = <A, E, R>(effect: Effect.Effect<A, E, R>, settings: Settings, database: Database) =>
  effect.pipe(
    Effect.provideService(AppConfig, settings),
    Effect.provide(SecureRandom.layerWebCrypto),
    Effect.provideContext(database),
    Effect.scoped
  )

const silently: Advance = () => Effect.void

/** Moves the files as the command line does. Returns the numbers of copied and of moved files. */
const move = (settings: Settings, database: Database, advance = silently) =>
  withSettings(
    Effect.gen(function* () {
      const { begin } = yield* makeFileMove
      const { files, run } = yield* begin
      return { copied: files, moved: yield* run(advance) }
    }),
    settings,
    database
  )

const eraseOld = (settings: Settings, database: Database) =>
  withSettings(
    Effect.gen(function* () {
      const { countOld, eraseOld } = yield* makeFileMove
      return { counted: yield* countOld, erased: yield* eraseOld(silently) }
    }),
    settings,
    database
  )

/** Every key that the store of the settings holds. */
const keysIn = (settings: Settings, database: Database) =>
  withSettings(
    Effect.flatMap(makeBlobs, (blobs) => Stream.runCollect(blobs.olderThan(0))),
    settings,
    database
  )

interface Uploaded {
  readonly user: UserId
  readonly id: FileId
  readonly bytes: Buffer
}

const uploadSome = Effect.fnUntraced(function* (count: number) {
  const user = yield* someUser
  return yield* Effect.forEach(Array.from({ length: count }), (_, n) => {
    const bytes = randomBytes(n * 40_000)
    return Effect.map(upload(user, [bytes]), ({ id }): Uploaded => ({ user, id, bytes }))
  })
})

/** The database knows these files and no other, and each has the bytes that were uploaded. */
const assertWhole = Effect.fnUntraced(function* (files: ReadonlyArray<Uploaded>) {
  const rows = yield* (yield* SqlClient.SqlClient)`SELECT id FROM files`
  assert.lengthOf(rows, files.length)
  for (const { bytes, id, user } of files) assert.isTrue(bytes.equals(yield* contentOf(user, id)))
})

/** The store of the settings is the database's, and holds the bytes of each of these files. */
const assertStored = (settings: Settings, database: Database, files: ReadonlyArray<Uploaded>) =>
  withSettings(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const blobs = yield* makeBlobs
      yield* (yield* makeStoreBinding(blobs)).verify
      for (const { bytes, id } of files) {
        const [row] = yield* sql<{ storageKey: string }>`SELECT storage_key FROM files WHERE id = ${id}::uuid`
        const stored = yield* Stream.runCollect(blobs.get(row!.storageKey))
        assert.isTrue(bytes.equals(Buffer.concat(stored)))
      }
    }),
    settings,
    database
  )

const Binding = Schema.Tuple([Schema.Struct({ place: Schema.String })])
/** The place of the files, as the database has it. */
const placeOf = (database: Database) =>
  Effect.suspend(
    () => Context.get(database, SqlClient.SqlClient)`SELECT store_place AS place FROM file_store_binding`
  ).pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(Binding)),
    Effect.map(([{ place }]) => place)
  )

const ambient = Layer.mergeAll(NodeServices.layer, NodeCrypto.layer, S3Server.layer())

layer(ambient, { excludeTestServices: true })("A move of the files to another store", (it) => {
  it.effect("a move of the files reaches every kind of store, and old bytes stay until they are erased", () =>
    Effect.gen(function* () {
      const { database, inStore, moving } = yield* ground
      const files = yield* serving(inStore("directory"), database, uploadSome(4))
      const route: ReadonlyArray<readonly [Store, Store]> = [
        ["directory", "s3"],
        ["s3", "postgres"],
        ["postgres", "directory"]
      ]
      for (const [from, to] of route) {
        const settings = moving(from, to)
        assert.deepStrictEqual(yield* move(settings, database), { copied: 4, moved: 4 })
        yield* serving(inStore(to), database, assertWhole(files))
        const refused = yield* Effect.flip(startStore(inStore(from), database))
        assert.strictEqual(refused._tag, "StoreMismatch")
        // The same command again finds nothing to do.
        assert.deepStrictEqual(yield* move(settings, database), { copied: 0, moved: 0 })
        assert.lengthOf(yield* keysIn(inStore(from), database), 4)
        const back = yield* Effect.flip(move(moving(to, from), database))
        assert.include(back.message, "The bytes of the last move are still in")
        assert.deepStrictEqual(yield* eraseOld(settings, database), { counted: 4, erased: 4 })
        assert.lengthOf(yield* keysIn(inStore(from), database), 0)
        assert.lengthOf(yield* keysIn(inStore(to), database), 4)
      }
    }).pipe(Effect.scoped)
  )

  it.effect(
    "a move of the files that fails at any statement leaves all of them in one store, and the next run finishes it",
    () =>
      Effect.gen(function* () {
        let failures = 0
        for (const when of ["before", "after"] as const) {
          for (let n = 1, failed = true; failed; n++) {
            const { database, inStore, moving } = yield* ground
            const faults = Context.get(database, SqlFaults)
            const files = yield* serving(inStore("directory"), database, uploadSome(2))
            const old = yield* placeOf(database)
            yield* faults.failStatement(n, when)
            const exit = yield* Effect.exit(move(moving("directory", "s3"), database))
            failed = (yield* faults.seen).failed
            yield* faults.off
            if (failed) failures++
            else assert.strictEqual(exit._tag, "Success")
            const hasMoved = (yield* placeOf(database)) !== old
            yield* assertStored(inStore(hasMoved ? "s3" : "directory"), database, files)
            yield* move(moving("directory", "s3"), database)
            yield* assertStored(inStore("s3"), database, files)
          }
        }
        assert.isAbove(failures, 20)
      }).pipe(Effect.scoped),
    120_000
  )

  it.effect(
    "a move of the files that was cut off keeps its copies, and what a service stored meanwhile is copied too",
    () =>
      Effect.gen(function* () {
        const { database, inStore, moving } = yield* ground
        const files = yield* serving(inStore("directory"), database, uploadSome(6))
        const copies = Context.get(database, SqlClient.SqlClient)`SELECT FROM file_copies`
        // Four files are copied at once, and each of them hangs once it is noted.
        yield* Effect.raceFirst(
          move(moving("directory", "s3"), database, () => Effect.never),
          until(Effect.map(copies, ({ length }) => length === 4))
        )
        const more = yield* serving(
          inStore("directory"),
          database,
          Effect.gen(function* () {
            yield* assertWhole(files)
            const [first] = files
            yield* (yield* FileStore).delete(first!.user, first!.id)
            return yield* uploadSome(2)
          })
        )
        const all = [...files.slice(1), ...more]
        const { copied, moved } = yield* move(moving("directory", "s3"), database)
        assert.strictEqual(moved, all.length)
        assert.isBelow(copied, all.length)
        yield* serving(inStore("s3"), database, assertWhole(all))
      }).pipe(Effect.scoped)
  )

  it.effect(
    "a move of the files copies again what was copied to another store, or to one that was emptied",
    () =>
      Effect.gen(function* () {
        const { dataDir, database, inStore, moving } = yield* ground
        const files = yield* serving(inStore("s3"), database, uploadSome(3))
        const copies = Context.get(database, SqlClient.SqlClient)`SELECT FROM file_copies`
        const cutOff = (to: Store) =>
          Effect.raceFirst(
            move(moving("s3", to), database, () => Effect.never),
            until(Effect.map(copies, ({ length }) => length === 3))
          )
        yield* cutOff("postgres")
        const settings = moving("s3", "directory")
        const { files: left } = yield* withSettings(
          Effect.flatMap(makeFileMove, ({ begin }) => begin),
          settings,
          database
        )
        assert.strictEqual(left, 3)
        yield* cutOff("directory")
        removeDirectory(join(dataDir, "files"))
        assert.deepStrictEqual(yield* move(settings, database), { copied: 3, moved: 3 })
        yield* serving(inStore("directory"), database, assertWhole(files))
      }).pipe(Effect.scoped)
  )

  it.effect(
    "a move of the files switches nothing when bytes are not what was uploaded, and names the file",
    () =>
      Effect.gen(function* () {
        const { dataDir, database, inStore, moving } = yield* ground
        const files = yield* serving(inStore("directory"), database, uploadSome(3))
        const [bad, ...good] = files
        const blobs = join(dataDir, "files/blobs")
        const empty = readdirSync(blobs, { recursive: true })
          .map(String)
          .find((name) => name.includes("e3b0c442"))
        writeFileSync(join(blobs, empty!), "???")
        const refusal = yield* Effect.flip(move(moving("directory", "s3"), database))
        assert.include(refusal.message, "1 files could not be copied, so the files stay in the directory")
        assert.include(refusal.message, bad!.id)
        yield* serving(
          inStore("directory"),
          database,
          Effect.gen(function* () {
            yield* (yield* FileStore).delete(bad!.user, bad!.id)
            yield* assertWhole(good)
          })
        )
        assert.deepStrictEqual(yield* move(moving("directory", "s3"), database), { copied: 0, moved: 2 })
        yield* serving(inStore("s3"), database, assertWhole(good))
      }).pipe(Effect.scoped)
  )

  it.effect("a move of the files is refused while a service runs, and copies nothing", () =>
    Effect.gen(function* () {
      const { database, inStore, moving } = yield* ground
      const settings = moving("directory", "s3")
      yield* serving(
        inStore("directory"),
        database,
        Effect.gen(function* () {
          yield* uploadSome(2)
          const { message } = yield* Effect.flip(move(settings, database))
          assert.match(
            message,
            /^A service runs on this database, with its files in the directory .* Stop every process/
          )
        })
      )
      assert.lengthOf(yield* keysIn(inStore("s3"), database), 0)
      assert.deepStrictEqual(yield* move(settings, database), { copied: 2, moved: 2 })
    }).pipe(Effect.scoped)
  )

  it.effect("a move of the files switches nothing when a service started since it began", () =>
    Effect.gen(function* () {
      const { database, inStore, moving } = yield* ground
      const settings = moving("directory", "s3")
      const files = yield* serving(inStore("directory"), database, uploadSome(2))
      const services = yield* Effect.context<Layer.Success<typeof ambient>>()
      const more: Array<Uploaded> = []
      // The service stores a file and ends before the switch.
      const briefly = yield* serving(inStore("directory"), database, uploadSome(1)).pipe(
        Effect.map((uploaded) => void more.push(...uploaded)),
        Effect.orDie,
        Effect.provideContext(services),
        Effect.cached
      )
      const missed = yield* Effect.flip(move(settings, database, () => briefly))
      assert.include(missed.message, "A service ran meanwhile and stored 1 files, so nothing was switched.")

      const scope = yield* Scope.Scope
      const forLong = yield* Layer.build(Layer.fresh(BlobStore.layer)).pipe(
        Effect.provideService(AppConfig, inStore("directory")),
        Effect.provideContext(database),
        Effect.asVoid,
        Effect.orDie,
        Effect.provideContext(services),
        Scope.provide(scope),
        Effect.cached
      )
      const { message } = yield* Effect.flip(move(settings, database, () => forLong))
      assert.include(message, "A service runs on this database")
      yield* serving(inStore("directory"), database, assertWhole([...files, ...more]))
    }).pipe(Effect.scoped)
  )

  it.effect("a move of the files is refused without a new store of its own", () =>
    Effect.gen(function* () {
      const { database, inStore, moving } = yield* ground
      const settings = moving("directory", "s3")
      const refused = (given: Settings) =>
        Effect.map(Effect.flip(move(given, database)), ({ message }) => message)
      assert.match(yield* refused(inStore("directory")), /^PARLEY_FILES_MOVE_TO isn't set/)
      assert.match(yield* refused(settings), /^No service has started on this database yet/)
      yield* startStore(inStore("directory"), database)

      const other = yield* ground
      yield* startStore(other.inStore("s3"), other.database)
      const taken = { ...settings, files: { ...settings.files, s3: other.inStore("s3").files.s3 } }
      assert.match(yield* refused(taken), /holds the files of another database/)
      const unfinished = yield* Effect.flip(eraseOld(settings, database))
      assert.include(unfinished.message, "No move of the files with these settings is finished")

      yield* withSettings(
        Effect.flatMap(makeBlobs, (blobs) => blobs.put(Stream.make(bytesOf("whose?")))),
        inStore("s3"),
        database
      )
      assert.match(yield* refused(settings), /already holds files of an unknown origin/)
    }).pipe(Effect.scoped)
  )
})
