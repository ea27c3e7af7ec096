import { randomBytes, randomUUID } from "node:crypto"
import { readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Schema, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { BlobStore } from "../../src/files/BlobStore.ts"
import { makeFileMove } from "../../src/files/FileMove.ts"
import { FileStore } from "../../src/files/FileStore.ts"
import { AppConfig, type Settings } from "../../src/settings/AppConfig.ts"
import { S3Server } from "../support/S3Server.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { bytesOf, contentOf, filesOver, someUser, upload } from "./fixtures.ts"

const newDatabase = Layer.build(Layer.fresh(TestDatabase.layer))
type Database = Effect.Success<typeof newDatabase>

const ground = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const { bucket } = yield* S3Server
  const prefix = `${randomUUID()}/`
  const dataDir = yield* fs.makeTempDirectoryScoped({ prefix: "parley-move-" })
  const files = (given: Partial<Settings["files"]>) =>
    testConfig({ dataDir, files: { s3: { ...bucket, prefix }, ...given } })
  return {
    dataDir,
    database: yield* newDatabase,
    before: files({ store: "directory" }),
    during: files({ store: "directory", moveTo: "s3" }),
    after: files({ store: "s3" })
  }
})

/** One process with these settings, for as long as the scope is open. */
const start = (settings: Settings, database: Database) =>
  Layer.build(Layer.fresh(filesOver)).pipe(
    Effect.provideService(AppConfig, settings),
    Effect.provideContext(database)
  )

const startStore = (settings: Settings, database: Database) =>
  Layer.build(Layer.fresh(BlobStore.layer)).pipe(
    Effect.provideService(AppConfig, settings),
    Effect.provideContext(database),
    Effect.scoped
  )

/** The move, as the command line makes it. */
const openMove = (settings: Settings, database: Database) =>
  makeFileMove.pipe(
    Effect.provideService(AppConfig, settings),
    Effect.provide(SecureRandom.layerWebCrypto),
    Effect.provideContext(database)
  )
const used = <A, E, R>(effect: Effect.Effect<A, E, R>, settings: Settings, database: Database) =>
  effect.pipe(
    Effect.provideService(AppConfig, settings),
    Effect.provide(SecureRandom.layerWebCrypto),
    Effect.provideContext(database)
  )

const Rows = Schema.Array(Schema.Struct({ storageKey: Schema.String, storeGeneration: Schema.Int }))
const rowsOf = (database: Database) =>
  Effect.suspend(
    () => Context.get(database, SqlClient.SqlClient)`SELECT storage_key, store_generation FROM files`
  ).pipe(Effect.flatMap(Schema.decodeUnknownEffect(Rows)))

const noProgress = () => Effect.void

layer(Layer.mergeAll(NodeServices.layer, NodeCrypto.layer, S3Server.layer()), { excludeTestServices: true })(
  "The files of a service that are moved to a bucket",
  (it) => {
    it.effect(
      "moved files are there before, in and after the move, and the old store keeps its bytes until they are erased",
      () =>
        Effect.gen(function* () {
          const { after, dataDir, database, during } = yield* ground
          const s3 = yield* S3Server
          const service = yield* start(during, database)
          yield* Effect.gen(function* () {
            const user = yield* someUser
            const early = yield* upload(user, "early")
            const late = yield* upload(user, [randomBytes(700_000), randomBytes(5)])
            const bytes = yield* contentOf(user, late.id)
            const move = yield* openMove(during, database)
            assert.strictEqual(yield* used(move.begin, during, database), 2)
            // The move has begun, and nothing was copied: the old files are read from the directory, and new ones go to the bucket.
            const objects = s3.objects.size
            const between = yield* upload(user, "between")
            assert.strictEqual(s3.objects.size, objects + 1)
            assert.strictEqual((yield* contentOf(user, early.id)).toString(), "early")
            assert.strictEqual(yield* move.run(noProgress), 2)
            assert.deepStrictEqual(
              (yield* rowsOf(database)).map(({ storeGeneration }) => storeGeneration),
              [1, 1, 1]
            )
            const texts = yield* Effect.forEach([early, between], ({ id }) => contentOf(user, id))
            assert.deepStrictEqual(texts.map(String), ["early", "between"])
            assert.isTrue(bytes.equals(yield* contentOf(user, late.id)))

            const held = () =>
              readdirSync(join(dataDir, "files/blobs"), { recursive: true }).filter(
                (name) => String(name).length > 60
              )
            assert.strictEqual(held().length, 2)
            assert.strictEqual(yield* move.countOld, 2)
            assert.strictEqual(yield* move.eraseOld(noProgress), 2)
            assert.isEmpty(held())
            // A second run finds nothing to do.
            assert.strictEqual(yield* used(move.begin, during, database), 0)
            yield* startStore(after, database)
            const files = yield* start(after, database)
            assert.isTrue(bytes.equals(yield* Effect.provideContext(contentOf(user, late.id), files)))
          }).pipe(Effect.provideContext(Context.merge(database, service)))
        }).pipe(Effect.scoped)
    )

    it.effect("files that are uploaded while the move begins end in the bucket", () =>
      Effect.gen(function* () {
        const { database, during } = yield* ground
        const service = yield* start(during, database)
        yield* Effect.gen(function* () {
          const user = yield* someUser
          const move = yield* openMove(during, database)
          const store = yield* FileStore
          const begun = Stream.fromEffectDrain(used(move.begin, during, database))
          const file = yield* store.upload(user, {
            bytes: Stream.concat(
              Stream.make(bytesOf("half ")),
              Stream.concat(begun, Stream.make(bytesOf("and half")))
            ),
            about: Effect.succeed({ filename: "file.txt", purpose: "assistants" })
          })
          const [row] = yield* rowsOf(database)
          assert.strictEqual(row?.storeGeneration, 1)
          assert.lengthOf(row?.storageKey ?? "", 36)
          assert.strictEqual((yield* contentOf(user, file.id)).toString(), "half and half")
          assert.strictEqual(yield* move.run(noProgress), 0)
        }).pipe(Effect.provideContext(Context.merge(database, service)))
      }).pipe(Effect.scoped)
    )

    it.effect(
      "stay where they are when their bytes are not what was uploaded, and the message names them",
      () =>
        Effect.gen(function* () {
          const { after, dataDir, database, during } = yield* ground
          const service = yield* start(during, database)
          yield* Effect.gen(function* () {
            const user = yield* someUser
            const good = yield* upload(user, "good")
            const bad = yield* upload(user, "bad")
            const blobs = join(dataDir, "files/blobs")
            for (const name of readdirSync(blobs, { recursive: true }).map(String)) {
              if (name.includes((yield* rowsOf(database))[1]?.storageKey ?? "-"))
                writeFileSync(join(blobs, name), "???")
            }
            const move = yield* openMove(during, database)
            yield* used(move.begin, during, database)
            const refusal = yield* Effect.flip(move.run(noProgress))
            assert.include(refusal.message, `1 are left`)
            assert.include(refusal.message, bad.id)
            assert.strictEqual((yield* contentOf(user, good.id)).toString(), "good")
            // Without access to the old store, a process doesn't start.
            const unfinished = yield* Effect.flip(startStore(after, database))
            assert.match(
              unfinished.message,
              /are being moved from .* Set PARLEY_FILES_STORE and PARLEY_FILES_MOVE_TO/
            )
            yield* (yield* FileStore).delete(user, bad.id)
            assert.strictEqual(yield* move.run(noProgress), 0)
          }).pipe(Effect.provideContext(Context.merge(database, service)))
        }).pipe(Effect.scoped)
    )

    it.effect(
      "files are not moved while a process runs that could not read them afterwards, nor into another's bucket",
      () =>
        Effect.gen(function* () {
          const { before, database, during } = yield* ground
          yield* start(before, database)
          const refused = (settings: Settings) =>
            Effect.flip(
              Effect.flatMap(openMove(settings, database), ({ begin }) => used(begin, settings, database))
            ).pipe(Effect.scoped)
          assert.match((yield* refused(before)).message, /^PARLEY_FILES_MOVE_TO isn't set/)
          assert.match((yield* refused(during)).message, /doesn't have PARLEY_FILES_MOVE_TO=s3: restart it/)

          const other = yield* ground
          yield* startStore(other.after, other.database)
          const taken = { ...during, files: { ...during.files, s3: other.after.files.s3 } }
          assert.match((yield* refused(taken)).message, /holds the files of another database/)
        }).pipe(Effect.scoped)
    )
  }
)
