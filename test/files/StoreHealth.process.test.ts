import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Redacted, References, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { storeCheck } from "../../src/admin/Doctor.ts"
import { BlobStore } from "../../src/files/BlobStore.ts"
import { StoreHealth } from "../../src/files/StoreHealth.ts"
import { AppConfig, type Settings } from "../../src/settings/AppConfig.ts"
import { childEnvironment } from "../support/childEnvironment.ts"
import { S3Server } from "../support/S3Server.ts"
import { commandLine, startService } from "../support/ServiceProcess.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import { call } from "../support/Wire.ts"
import { FileSystemFaults } from "./blobs/FileSystemFaults.ts"
import { bytesOf, someUser } from "./fixtures.ts"

const ground = Layer.mergeAll(
  S3Server.layer(),
  FileSystemFaults.layer,
  NodeCrypto.layer,
  // The tests provoke what would be logged.
  Layer.succeed(References.MinimumLogLevel, "None")
)

/** The store of one process on a database of its own. */
const started = Effect.fnUntraced(function* (settings: Settings) {
  const config = Layer.succeed(AppConfig, settings)
  return yield* Layer.build(
    Layer.fresh(StoreHealth.layer).pipe(
      Layer.provideMerge(Layer.fresh(BlobStore.layer)),
      Layer.provideMerge(Layer.fresh(TestDatabase.layer)),
      Layer.provideMerge(config)
    )
  )
})

const directoryConfig = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  return testConfig({ dataDir: yield* fs.makeTempDirectoryScoped({ prefix: "parley-health-" }) })
})

type Bucket = NonNullable<Settings["files"]["s3"]>

layer(ground, { excludeTestServices: true })("The check of the files' store", (it) => {
  const mistakes: ReadonlyArray<readonly [string, (bucket: Bucket) => Bucket, RegExp]> = [
    [
      "the secret is wrong",
      (bucket) => ({ ...bucket, secretAccessKey: Redacted.make("a wrong one") }),
      /403.*SignatureDoesNotMatch/
    ],
    ["the key id is wrong", (bucket) => ({ ...bucket, accessKeyId: "NOBODY" }), /InvalidAccessKeyId/],
    ["there is no such bucket", (bucket) => ({ ...bucket, bucket: "no-such-bucket" }), /404.*NoSuchBucket/]
  ]
  for (const [what, change, reason] of mistakes) {
    it.effect(
      `the check of the files' store names the place and the reason when ${what}, and no file is taken in`,
      () =>
        Effect.gen(function* () {
          const { bucket } = yield* S3Server
          const settings = testConfig({ files: { store: "s3", s3: change(bucket) } })
          const process = yield* started(settings)
          const { detail, status } = yield* Effect.provideContext(storeCheck, process)
          assert.strictEqual(status, "failed")
          assert.include(detail, change(bucket).bucket)
          assert.match(detail, reason)
          assert.notInclude(detail, "a wrong one")
          const error = yield* Effect.flip(
            Context.get(process, BlobStore).put(Stream.make(bytesOf("content")))
          )
          assert.strictEqual(error._tag, "StorageFailed")
        }).pipe(Effect.scoped)
    )
  }

  it.effect("the check of the files' store names the place and the reason when no server answers", () =>
    Effect.gen(function* () {
      const { bucket } = yield* S3Server
      const closed = yield* Effect.scoped(Layer.build(Layer.fresh(S3Server.layer())))
      const { endpoint } = Context.get(closed, S3Server).bucket
      const process = yield* started(testConfig({ files: { store: "s3", s3: { ...bucket, endpoint } } }))
      const { detail, status } = yield* Effect.provideContext(storeCheck, process)
      assert.strictEqual(status, "failed")
      assert.include(detail, new URL(endpoint).host)
      assert.include(detail, "ECONNREFUSED")
    }).pipe(Effect.scoped)
  )

  it.effect("the check of the files' store fails on a full disk", () =>
    Effect.gen(function* () {
      const faults = yield* FileSystemFaults
      const process = yield* started(yield* directoryConfig)
      yield* faults.failAll("writeAll", "ENOSPC")
      const error = yield* Effect.flip(Context.get(process, StoreHealth).check)
      yield* faults.off
      assert.include(error.message, "ENOSPC")
    }).pipe(Effect.scoped)
  )

  it.effect("the check of the files' store is made once for all who ask within some seconds", () =>
    Effect.gen(function* () {
      const server = yield* S3Server
      const process = yield* started(testConfig({ files: { store: "s3", s3: server.bucket } }))
      const { check } = Context.get(process, StoreHealth)
      yield* server.off
      yield* Effect.forEach(Array.from({ length: 20 }), () => check, { concurrency: "unbounded" })
      const { requests } = yield* server.seen
      assert.deepStrictEqual(
        requests.map((request) => request.split(" ")[0]),
        ["PUT", "GET", "DELETE"]
      )
    }).pipe(Effect.scoped)
  )

  it.effect("the check of the files' store tells the trash, the database and the files without bytes", () =>
    Effect.gen(function* () {
      const process = yield* started(yield* directoryConfig)
      const blobs = Context.get(process, BlobStore)
      const missing = randomUUID()
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const user = yield* someUser
        const { key } = yield* blobs.put(Stream.make(bytesOf("there")))
        for (const [id, name] of [
          [randomUUID(), key],
          [missing, "lost"]
        ] as const) {
          yield* sql`INSERT INTO files (id, user_id, filename, purpose, bytes, sha256, storage_key, status, created_at)
            VALUES (${id}::uuid, ${user}::uuid, 'a', 'assistants', 5, ''::bytea, ${name}, 'processed', now())`
        }
        const orphan = yield* blobs.put(Stream.make(bytesOf("orphan")))
        yield* blobs.trash.add(orphan.key)
        const { detail, status } = yield* storeCheck
        assert.strictEqual(status, "warning")
        assert.include(detail, "bound to the embedded database")
        assert.include(detail, "Blobs in the trash: 1.")
        assert.include(detail, `1 of the newest 2 files have no bytes there: ${missing}`)
      }).pipe(Effect.provideContext(process))
    }).pipe(Effect.scoped)
  )
})

/** The output of `parley doctor`, whatever its exit code. */
const doctor = (dataDir: string) =>
  Effect.promise(
    () =>
      new Promise<string>((resolve) => {
        const env = { ...childEnvironment, PARLEY_DATA_DIR: dataDir }
        execFile(process.execPath, [commandLine, "doctor"], { env }, (_, stdout) => resolve(stdout))
      })
  )

const processGround = Layer.mergeAll(S3Server.layer(), TestDatabase.clone, NodeServices.layer)

layer(processGround, { excludeTestServices: true })("A service whose bucket is away at its start", (it) => {
  it.effect(
    "a service whose bucket is away starts, is not ready and says why, and takes files in once the bucket answers",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const server = yield* S3Server
        const { url: database } = yield* TestDatabase
        const { bucket } = server
        const dataDir = yield* fs.makeTempDirectoryScoped({ prefix: "parley-away-" })
        yield* server.failRequest(1, "500", Infinity)
        const service = yield* startService({
          DATABASE_URL: Redacted.value(database),
          PARLEY_DATA_DIR: dataDir,
          PARLEY_FILES_STORE: "s3",
          PARLEY_S3_ENDPOINT: bucket.endpoint,
          PARLEY_S3_REGION: bucket.region,
          PARLEY_S3_BUCKET: bucket.bucket,
          PARLEY_S3_ACCESS_KEY_ID: bucket.accessKeyId,
          PARLEY_S3_SECRET_ACCESS_KEY: Redacted.value(bucket.secretAccessKey)
        })
        const url = yield* service.url
        const ready = call(`${url}/readyz`, {})
        const reply = yield* ready
        assert.strictEqual(reply.status, 503)
        assert.include(reply.text, '"files":false')
        assert.match(yield* doctor(dataDir), /files +failed .*InternalError/)
        yield* server.off
        yield* until(Effect.map(ready, ({ status }) => status === 200))
        assert.match(yield* doctor(dataDir), /files +ok .*is bound to/)
      }).pipe(Effect.scoped),
    120_000
  )
})
