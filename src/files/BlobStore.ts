import { Context, type Duration, Effect, type FileSystem, Layer, type Path, Stream } from "effect"
import type { SecureRandom } from "effect/crypto"
import type { SqlClient } from "effect/sql"
import { AppConfig } from "../AppConfig.ts"
import { StorageFailed } from "../domain/Errors.ts"
import { makeDirectoryBlobs } from "./blobs/DirectoryBlobs.ts"
import type { DirectoryNotShared } from "./blobs/DirectoryReplicas.ts"
import type { ByteRange } from "./blobs/Pieces.ts"
import { makePostgresBlobs } from "./blobs/PostgresBlobs.ts"
import { makeS3Blobs } from "./blobs/S3Blobs.ts"

/** What was put. No two puts have the same key, also where their bytes are the same. */
export interface StoredBlob {
  readonly key: string
  readonly bytes: number
  /** 32 bytes. */
  readonly sha256: Uint8Array
}

/** Where the bytes of files lie: a directory, PostgreSQL, or a bucket, as the settings say. */
export class BlobStore extends Context.Service<
  BlobStore,
  {
    /**
     * Streams bytes to storage; memory stays flat. Nothing is left behind when the stream fails or is interrupted. The bytes
     * are durable when it succeeds.
     */
    readonly put: <E, R>(
      bytes: Stream.Stream<Uint8Array, E, R>
    ) => Effect.Effect<StoredBlob, E | StorageFailed, R>
    /** The bytes, or a part of them; it fails when the store holds fewer. */
    readonly get: (key: string, range?: ByteRange) => Stream.Stream<Uint8Array, StorageFailed>
    /** Removing what isn't there is fine. */
    readonly remove: (key: string) => Effect.Effect<void, StorageFailed>
    /** The keys whose bytes were put so long ago or longer. */
    readonly olderThan: (age: Duration.Input) => Stream.Stream<string, StorageFailed>
    /** Removes what puts that broke off so long ago have left; `age` must be beyond the longest upload. */
    readonly sweepLeftovers: (age: Duration.Input) => Effect.Effect<void, StorageFailed>
  }
>()("parley/files/BlobStore") {
  static readonly layer: Layer.Layer<
    BlobStore,
    StorageFailed | DirectoryNotShared,
    AppConfig | FileSystem.FileSystem | Path.Path | SqlClient.SqlClient | SecureRandom.SecureRandom
  > = Layer.effect(
    BlobStore,
    Effect.gen(function* () {
      const { files } = yield* AppConfig
      const blobs = yield* files.store === "directory"
        ? makeDirectoryBlobs
        : files.store === "postgres"
          ? makePostgresBlobs
          : makeS3Blobs()
      return {
        put: (bytes) => Effect.withSpan(blobs.put(bytes), "BlobStore.put"),
        get: (key, range) => Stream.withSpan(blobs.get(key, range), "BlobStore.get"),
        remove: (key) => Effect.withSpan(blobs.remove(key), "BlobStore.remove"),
        olderThan: (age) => Stream.withSpan(blobs.olderThan(age), "BlobStore.olderThan"),
        sweepLeftovers: (age) => Effect.withSpan(blobs.sweepLeftovers(age), "BlobStore.sweepLeftovers")
      }
    })
  )
}
