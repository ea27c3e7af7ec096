import { Context, Effect, type FileSystem, Layer, type Path, Schedule, Stream } from "effect"
import type { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { StorageFailed } from "../domain/Errors.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { isFree } from "../sql/AdvisoryLock.ts"
import type { Blobs } from "./blobs/Blobs.ts"
import { makeDirectoryBlobs } from "./blobs/DirectoryBlobs.ts"
import { makePostgresBlobs } from "./blobs/PostgresBlobs.ts"
import { makeS3Blobs } from "./blobs/S3Blobs.ts"
import {
  type BoundDatabase,
  makeStoreBinding,
  type StoreMismatch,
  type StoreNotShared
} from "./StoreBinding.ts"

/**
 * Seconds between two checks that the store is bound to the database, and between two attempts to bind it.
 */
const bindAgainSeconds = 5

/** A store of the given kind, before it is bound to a database. */
export const makeBlobsOf = (kind: Settings["files"]["store"]) => {
  switch (kind) {
    case "directory":
      return makeDirectoryBlobs
    case "postgres":
      return makePostgresBlobs
    case "s3":
      return makeS3Blobs()
  }
}

/** The store in the settings. */
export const makeBlobs = Effect.gen(function* () {
  const { store } = (yield* AppConfig).files
  const blobs: Blobs = yield* makeBlobsOf(store)
  return blobs
})

/**
 * Stores the bytes of files in a directory, PostgreSQL or a bucket, as the settings define. A store is bound
 * to one database. Before that it stores and removes nothing.
 */
export class BlobStore extends Context.Service<
  BlobStore,
  Omit<Blobs, "mark"> & {
    /** The place and the id of the database; fails unless the store is bound to it now. */
    readonly verify: Effect.Effect<BoundDatabase, StorageFailed | StoreMismatch>
    /**
     * True while a backup of the database runs: then `remove` only puts bytes into the trash, for the sweep
     * to remove later.
     */
    readonly isHeld: Effect.Effect<boolean, StorageFailed>
  }
>()("parley/files/BlobStore") {
  static readonly layer: Layer.Layer<
    BlobStore,
    StorageFailed | StoreMismatch | StoreNotShared,
    AppConfig | FileSystem.FileSystem | Path.Path | SqlClient.SqlClient | SecureRandom.SecureRandom
  > = Layer.effect(
    BlobStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const blobs = yield* makeBlobs
      const bound = yield* boundTo(blobs)
      // Checked after the deletion of a file was committed. A backup that begins later no longer names the
      // file.
      const isHeld = Effect.map(isFree(sql, "backup"), (free) => !free).pipe(
        Effect.mapError((cause) => new StorageFailed({ operation: "remove", cause }))
      )
      const remove = (key: string) =>
        bound.check.pipe(
          Effect.andThen(isHeld),
          Effect.flatMap((held) => (held ? blobs.trash.add(key) : blobs.remove(key))),
          Effect.withSpan("BlobStore.remove")
        )
      return {
        place: blobs.place,
        put: (bytes) => Effect.withSpan(Effect.andThen(bound.check, blobs.put(bytes)), "BlobStore.put"),
        get: (key, range) => Stream.withSpan(blobs.get(key, range), "BlobStore.get"),
        has: blobs.has,
        remove,
        olderThan: (age) => Stream.withSpan(blobs.olderThan(age), "BlobStore.olderThan"),
        sweepLeftovers: (age) => Effect.withSpan(blobs.sweepLeftovers(age), "BlobStore.sweepLeftovers"),
        trash: blobs.trash,
        check: Effect.withSpan(Effect.andThen(blobs.check, bound.check), "BlobStore.check"),
        verify: Effect.andThen(bound.check, bound.verify),
        isHeld
      }
    })
  )
}

/**
 * Binds the store to the database. A remote store that is unavailable at the start is bound as soon as it
 * answers. `check` fails until the store is bound, and while it is bound to the database of another
 * installation.
 */
const boundTo = Effect.fnUntraced(function* (blobs: Blobs) {
  const { files } = yield* AppConfig
  const { bind, verify } = yield* makeStoreBinding(blobs)
  let problem: StorageFailed | null = null
  const unbound = (cause: unknown) =>
    Effect.sync(() => {
      problem = new StorageFailed({ operation: "start", cause })
    })
  const check = Effect.suspend(() => (problem === null ? Effect.void : Effect.fail(problem)))

  /** Logs each new reason once. */
  const refuse = (error: StoreMismatch | StoreNotShared) =>
    Effect.suspend(() =>
      problem?.message === error.message
        ? Effect.void
        : Effect.andThen(unbound(error), Effect.logError(error.message))
    )
  const accept = Effect.suspend(() => {
    if (problem === null) return Effect.void
    problem = null
    return Effect.logInfo(`Files can be uploaded again: ${blobs.place} is bound to this database.`)
  })

  /** The binding stays as it is while the store or the database is unavailable. */
  const watch = verify.pipe(
    Effect.andThen(accept),
    Effect.catchTags({ StoreMismatch: refuse, StorageFailed: () => Effect.void }),
    Effect.catchDefect(() => Effect.void),
    Effect.andThen(Effect.sleep(`${bindAgainSeconds} seconds`)),
    Effect.forever
  )

  const bindLater = bind.pipe(
    Effect.tapError((error) => (error._tag === "StorageFailed" ? unbound(error.cause) : refuse(error))),
    Effect.retry({
      schedule: Schedule.spaced(`${bindAgainSeconds} seconds`),
      while: (error) => error._tag !== "StoreNotShared"
    }),
    Effect.andThen(accept)
  )

  const isBound = yield* bind.pipe(
    Effect.as(true),
    Effect.catchIf(
      (error): error is StorageFailed => files.store === "s3" && error._tag === "StorageFailed",
      (error) =>
        unbound(error.cause).pipe(
          Effect.andThen(
            Effect.logError(`No file can be uploaded, because ${blobs.place} can't be used: ${error.message}`)
          ),
          Effect.as(false)
        )
    )
  )
  yield* (isBound ? Effect.void : Effect.delay(bindLater, `${bindAgainSeconds} seconds`)).pipe(
    Effect.andThen(Effect.delay(watch, `${bindAgainSeconds} seconds`)),
    Effect.ignore,
    Effect.forkScoped
  )
  return { check, verify }
})
