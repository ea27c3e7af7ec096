import { randomBytes, randomUUID } from "node:crypto"
import { NodeCrypto } from "@effect/platform-node"
import { Context, Effect, FileSystem, Layer, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { makeS3Blobs } from "../../../src/files/blobs/S3Blobs.ts"
import type { BucketLimits } from "../../../src/files/blobs/S3Bucket.ts"
import { BlobStore } from "../../../src/files/BlobStore.ts"
import { AppConfig } from "../../../src/settings/AppConfig.ts"
import type { Settings } from "../../../src/settings/AppConfig.ts"
import { S3Server } from "../../support/S3Server.ts"
import { testConfig } from "../../support/TestConfig.ts"
import { SqlFaults, TestDatabase } from "../../support/TestDatabase.ts"
import { FileSystemFaults } from "./FileSystemFaults.ts"

/** The content and the faults of a store, accessed by other means than the store's own. */
export class Ground extends Context.Service<
  Ground,
  {
    /** The numbers of blobs and of the leftovers of unfinished puts. */
    readonly look: Effect.Effect<{ readonly blobs: number; readonly leftovers: number }>
    /** Makes everything older. */
    readonly age: (hours: number) => Effect.Effect<void>
    /** Leaves the remains of a process that was killed in the middle of a put. */
    readonly leaveHalf: Effect.Effect<void>
    /** Ways in which the n-th step may fail. */
    readonly faults: ReadonlyArray<{
      readonly name: string
      readonly failStep: (n: number) => Effect.Effect<void>
    }>
    readonly off: Effect.Effect<void>
    /** True if a step was made to fail. */
    readonly failed: Effect.Effect<boolean>
  }
>()("parley/test/Ground") {}

export const hourMillis = 3_600_000

const temporaryDirectory = Effect.flatMap(FileSystem.FileSystem, (fs) =>
  fs.makeTempDirectoryScoped({ prefix: "parley-blobs-" })
).pipe(Effect.orDie)

const configured = (files: Partial<Settings["files"]>) =>
  Layer.effect(
    AppConfig,
    Effect.map(temporaryDirectory, (dataDir) => testConfig({ dataDir, files }))
  )

/** Every file below the two directories of the directory store. */
const filesBelow = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  const names = yield* fs.readDirectory(directory, { recursive: true })
  const paths = names.map((name) => `${directory}/${name}`)
  return yield* Effect.filter(paths, (path) => Effect.map(fs.stat(path), ({ type }) => type === "File"))
})

const directoryGround = Layer.effect(
  Ground,
  Effect.gen(function* () {
    const context = yield* Effect.context<FileSystem.FileSystem>()
    const fs = yield* FileSystem.FileSystem
    const faults = yield* FileSystemFaults
    const { dataDir } = yield* AppConfig
    const root = `${dataDir}/files`
    const there = <A, E>(effect: Effect.Effect<A, E, FileSystem.FileSystem>) =>
      effect.pipe(Effect.provideContext(context), Effect.orDie)
    return {
      look: there(
        Effect.gen(function* () {
          const all = yield* filesBelow(root)
          const blobs = all.filter((path) => path.startsWith(`${root}/blobs/`)).length
          // The directory's identity is the only other file.
          return { blobs, leftovers: all.length - blobs - 1 }
        })
      ),
      age: (hours) =>
        there(
          Effect.gen(function* () {
            // Equal blobs are one file, so it is set and not moved.
            const time = new Date(Date.now() - hours * hourMillis)
            for (const path of yield* filesBelow(root)) yield* fs.utimes(path, time, time)
          })
        ),
      leaveHalf: there(Effect.suspend(() => fs.writeFile(`${root}/drafts/${randomUUID()}`, randomBytes(10)))),
      faults: (["ENOSPC", "EACCES", "EIO"] as const).map((code) => ({
        name: code,
        failStep: (n) => faults.failOperation(n, code)
      })),
      off: faults.off,
      failed: Effect.map(faults.seen, ({ failed }) => failed)
    }
  })
)

const Counts = Schema.Tuple([Schema.Struct({ blobs: Schema.Int, leftovers: Schema.Int })])

const postgresGround = Layer.effect(
  Ground,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const faults = yield* SqlFaults
    return {
      look: sql`SELECT
          (SELECT count(*)::int FROM file_blobs WHERE complete) AS blobs,
          (SELECT count(*)::int FROM file_blobs WHERE NOT complete) AS leftovers`.pipe(
        Effect.flatMap(Schema.decodeUnknownEffect(Counts)),
        Effect.map(([counts]) => counts),
        Effect.orDie
      ),
      age: (hours) =>
        Effect.orDie(sql`UPDATE file_blobs SET touched_at = now() - make_interval(hours => ${hours})`),
      leaveHalf: Effect.gen(function* () {
        const key = randomUUID()
        yield* sql`INSERT INTO file_blobs (key, bytes) VALUES (${key}, 0)`
        yield* sql`INSERT INTO file_blob_pieces (key, position, data) VALUES (${key}, 0, ${randomBytes(10)})`
      }).pipe(Effect.orDie),
      faults: (["before", "after"] as const).map((when) => ({
        name: `the connection breaks ${when} it`,
        failStep: (n) => faults.failStatement(n, when)
      })),
      off: faults.off,
      failed: Effect.map(faults.seen, ({ failed }) => failed)
    }
  })
)

const s3Ground = Layer.effect(
  Ground,
  Effect.gen(function* () {
    const server = yield* S3Server
    return {
      look: Effect.sync(() => ({ blobs: server.objects.size, leftovers: server.uploads.size })),
      age: (hours) => server.age(hours * hourMillis),
      leaveHalf: Effect.suspend(() => server.begin(`${server.bucket.prefix}${randomUUID()}`)),
      faults: (["500", "SlowDown", "cut before", "cut after", "cut within", "error in 200"] as const).flatMap(
        (fault) => [
          { name: `${fault}, once`, failStep: (n) => server.failRequest(n, fault) },
          // The fault repeats for as many attempts as a request has, and no longer.
          {
            name: `${fault}, for a while`,
            failStep: (n) => server.failRequest(n, fault, quickLimits.retriesMax + 1)
          }
        ]
      ),
      off: server.off,
      failed: Effect.map(server.seen, ({ failed }) => failed)
    }
  })
)

/** Patience and parts that a test has. */
export const quickLimits: BucketLimits = {
  requestSeconds: 2,
  uploadSeconds: 5,
  idleSeconds: 2,
  retrySeconds: 30,
  retriesMax: 2,
  backoffMillis: 5,
  backoffMillisMax: 10,
  partBytes: 65_536
}

/** The store in a bucket with less patience; everything else is the service's own. */
export const quickS3 = Layer.effect(
  BlobStore,
  Effect.map(makeS3Blobs(quickLimits), (blobs) => ({
    ...blobs,
    verify: Effect.succeed({ database: "the database", databaseId: randomUUID() }),
    isHeld: Effect.succeed(false)
  }))
)

export const directoryStore = Layer.provideMerge(BlobStore.layer, directoryGround).pipe(
  Layer.provideMerge(configured({ store: "directory" })),
  Layer.provideMerge(Layer.mergeAll(FileSystemFaults.layer, TestDatabase.layer, NodeCrypto.layer)),
  Layer.orDie
)

export const postgresStore = Layer.provideMerge(BlobStore.layer, postgresGround).pipe(
  Layer.provideMerge(configured({ store: "postgres" })),
  Layer.provideMerge(Layer.mergeAll(FileSystemFaults.layer, TestDatabase.layerFailing, NodeCrypto.layer)),
  Layer.orDie
)

const bucketConfigured = Layer.unwrap(
  Effect.map(S3Server, ({ bucket }) => configured({ store: "s3", s3: bucket }))
)

export const s3Store = Layer.provideMerge(quickS3, s3Ground).pipe(
  Layer.provideMerge(bucketConfigured),
  Layer.provideMerge(
    Layer.mergeAll(FileSystemFaults.layer, S3Server.layer(quickLimits.partBytes), NodeCrypto.layer)
  ),
  Layer.orDie
)

// ---- bytes

/** Bytes in chunks, whose sizes are given. */
export const chunksOf = (bytes: Uint8Array, sizes: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const chunks: Array<Uint8Array> = []
  let from = 0
  for (const size of sizes) {
    chunks.push(bytes.subarray(from, from + size))
    from += size
  }
  return [...chunks, bytes.subarray(from)]
}

/** The bytes as a stream of chunks, like those of a request's body. */
export const streamOf = (bytes: Uint8Array, chunkBytes = 65_536): Stream.Stream<Uint8Array> =>
  Stream.fromIterable(
    chunksOf(
      bytes,
      Array.from({ length: Math.floor(bytes.length / chunkBytes) }, () => chunkBytes)
    )
  ).pipe(Stream.rechunk(1))

export const read = <E>(bytes: Stream.Stream<Uint8Array, E>) =>
  Effect.map(Stream.runCollect(bytes), Buffer.concat)
