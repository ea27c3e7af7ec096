import { randomUUID } from "node:crypto"
import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, layer } from "@effect/vitest"
import { Array as Arr, Effect, FileSystem, Layer, Logger, References, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { BlobStore } from "../../src/files/BlobStore.ts"
import { sweepOnce, sweptAtOnceMax } from "../../src/files/FileSweep.ts"
import { AppConfig, type Settings } from "../../src/settings/AppConfig.ts"
import { S3Server } from "../support/S3Server.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { BlobFaults, bytesOf, contentOf, filesConfig, filesOver, someUser, upload } from "./fixtures.ts"

const hourMillis = 3_600_000

/** Lines of the log: what was said, and not what came with it. */
const logged: Array<unknown> = []
const Log = Logger.layer([Logger.make(({ message }) => void logged.push(message))])
const said = Effect.sync(() => logged.splice(0).flat().map(String).join("\n"))

const bucketConfig = Layer.effect(
  AppConfig,
  Effect.map(S3Server, ({ bucket }) => testConfig({ files: { store: "s3", s3: bucket } }))
)

/** Makes all that is in the store, and in its trash, so much older. */
const age = Effect.fnUntraced(function* (hours: number) {
  const { dataDir, files }: Settings = yield* AppConfig
  const sql = yield* SqlClient.SqlClient
  if (files.store === "s3") return yield* (yield* S3Server).age(hours * hourMillis)
  if (files.store === "postgres") {
    return yield* sql`UPDATE file_blobs SET touched_at = touched_at - make_interval(hours => ${hours}),
      trashed_at = trashed_at - make_interval(hours => ${hours})`
  }
  const fs = yield* FileSystem.FileSystem
  for (const name of yield* fs.readDirectory(`${dataDir}/files`, { recursive: true })) {
    const path = `${dataDir}/files/${name}`
    const { mtime, type } = yield* fs.stat(path)
    if (type !== "File" || mtime._tag === "None") continue
    const time = new Date(mtime.value.getTime() - hours * hourMillis)
    yield* fs.utimes(path, time, time)
  }
})

const stores: ReadonlyArray<{
  readonly name: Settings["files"]["store"]
  readonly config: Layer.Layer<AppConfig, never, S3Server>
}> = [
  { name: "directory", config: filesConfig({ store: "directory" }) },
  { name: "postgres", config: filesConfig({ store: "postgres" }) },
  { name: "s3", config: bucketConfig }
]

const installation = (config: Layer.Layer<AppConfig, never, S3Server>) =>
  Layer.fresh(filesOver).pipe(
    Layer.provideMerge(config),
    Layer.provideMerge(
      Layer.mergeAll(Layer.fresh(TestDatabase.layer), Layer.fresh(S3Server.layer()), NodeFileSystem.layer)
    ),
    Layer.provideMerge(Log)
  )

/** One sweep whose log is heard. */
const sweep = sweepOnce.pipe(Effect.provideService(References.MinimumLogLevel, "Info"))

const orphans = (count: number) =>
  Effect.gen(function* () {
    const blobs = yield* BlobStore
    return yield* Effect.forEach(Arr.range(1, count), (n) =>
      Effect.map(blobs.put(Stream.make(bytesOf(`orphan ${n} ${randomUUID()}`))), ({ key }) => key)
    )
  })

const inTrash = Effect.flatMap(BlobStore, ({ trash }) =>
  Effect.map(Stream.runCollect(trash.list), (found) => found.map(({ key }) => key))
)

const files = (count: number) =>
  Effect.gen(function* () {
    const user = yield* someUser
    const kept = yield* Effect.forEach(Arr.range(1, count), (n) => upload(user, `file ${n} ${randomUUID()}`))
    return { user, kept }
  })

describe.each(stores)("The sweep of the store: $name", ({ config, name }) => {
  layer(installation(config), { excludeTestServices: true })((it) => {
    it.effect(
      "the sweep puts old bytes of no file into the trash, and removes them after the retention",
      () =>
        Effect.gen(function* () {
          const blobs = yield* BlobStore
          const { trashSeconds } = (yield* AppConfig).files
          const { kept, user } = yield* files(2)
          const [old = ""] = yield* orphans(1)
          yield* age(3)
          const [young = ""] = yield* orphans(1)
          yield* said
          yield* sweep
          assert.deepStrictEqual(yield* inTrash, [old])
          assert.include(yield* said, "1 put into the trash, 0 restored from it, 0 removed, 0 failed")
          assert.isTrue(yield* blobs.has(old))
          yield* age(trashSeconds / 3_600 - 1)
          yield* sweep
          assert.isTrue(yield* blobs.has(old))
          yield* age(2)
          yield* said
          yield* sweep
          assert.isFalse(yield* blobs.has(old))
          assert.deepStrictEqual(yield* inTrash, [young])
          assert.include(yield* said, "1 removed")
          for (const { id } of kept) assert.match(String(yield* contentOf(user, id)), /^file/)
          yield* blobs.remove(young)
          yield* blobs.trash.take(young)
        })
    )

    it.effect("the sweep logs nothing when there is nothing to do", () =>
      Effect.gen(function* () {
        yield* said
        yield* sweep
        assert.strictEqual(yield* said, "")
      })
    )

    it.effect(
      "the sweep takes files out of the trash that the database knows again, also after the retention",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const { kept, user } = yield* files(3)
          yield* age(3)
          // The database is restored to a time before the uploads, and a week later to a newer one.
          yield* sql`CREATE TABLE newer AS SELECT * FROM files`
          yield* sql`DELETE FROM files WHERE user_id = ${user}::uuid`
          yield* sweep
          assert.strictEqual((yield* inTrash).length, 3)
          yield* age(24 * 8)
          yield* sql`INSERT INTO files SELECT * FROM newer WHERE user_id = ${user}::uuid`
          yield* sql`DROP TABLE newer`
          // It is read while it is still in the trash.
          assert.match(String(yield* contentOf(user, kept[0]!.id)), /^file 1/)
          yield* said
          yield* sweep
          assert.isEmpty(yield* inTrash)
          assert.include(yield* said, "3 restored")
          for (const { id } of kept) assert.match(String(yield* contentOf(user, id)), /^file/)
        })
    )

    it.effect("the sweep gives up no more than a tenth of the store at once, and warns of more", () =>
      Effect.gen(function* () {
        const blobs = yield* BlobStore
        const held = (yield* Stream.runCollect(blobs.olderThan(0))).length
        const lost = yield* orphans(40 - held)
        yield* age(3)
        yield* said
        yield* sweep
        assert.strictEqual((yield* inTrash).length, 4)
        assert.include(yield* said, "restore the newest")
        yield* age(24 * 8)
        yield* sweep
        assert.strictEqual((yield* inTrash).length, 8)
        for (const key of lost) assert.isTrue(yield* blobs.has(key))
        yield* Effect.forEach(yield* inTrash, blobs.trash.take)
        yield* Effect.forEach(lost, blobs.remove)
      })
    )

    // The store in the database is bound to it by nature.
    if (name === "postgres") return
    it.effect("the sweep keeps every blob once another database has adopted the store", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* orphans(1)
        yield* age(3)
        yield* sql`UPDATE file_store_binding SET database_id = gen_random_uuid()`
        yield* said
        yield* sweep
        assert.include(yield* said, "is not bound to")
        assert.isEmpty(yield* inTrash)
      })
    )
  })
})

layer(installation(bucketConfig), { excludeTestServices: true })("The sweep of a bucket", (it) => {
  it.effect("the sweep of a bucket goes on when the server can't list uploads that were broken off", () =>
    Effect.gen(function* () {
      const server = yield* S3Server
      yield* server.refuse("uploads", "NotImplemented")
      const [old = ""] = yield* orphans(1)
      yield* files(1)
      yield* age(3)
      yield* said
      yield* sweep
      assert.match(yield* said, /uploads that were broken off failed: .*501/)
      assert.deepStrictEqual(yield* inTrash, [old])
    })
  )

  it.effect("the sweep of a bucket goes on when bytes can't be removed", () =>
    Effect.gen(function* () {
      const { trashSeconds } = (yield* AppConfig).files
      yield* age(trashSeconds / 3_600 + 1)
      const faults = yield* BlobFaults
      yield* faults.failOperation(1)
      yield* said
      yield* sweep
      yield* faults.off
      assert.include(yield* said, "0 removed, 1 failed")
      assert.strictEqual((yield* inTrash).length, 1)
      yield* sweep
      assert.isEmpty(yield* inTrash)
    })
  )
})

layer(Layer.empty)("The share of a store that one sweep gives up", (it) => {
  it.effect(
    "the share of a store that one sweep gives up is all of a small store, a tenth of a larger one, and bounded",
    () =>
      Effect.sync(() => {
        assert.deepStrictEqual(
          [0, 1, 20, 21, 40, 1_000, 10_000_000].map(sweptAtOnceMax),
          [0, 1, 20, 2, 4, 100, 10_000]
        )
      })
  )
})
