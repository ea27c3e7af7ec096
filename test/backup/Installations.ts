import { createHash, randomBytes, randomUUID } from "node:crypto"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { assert } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import type { Progress } from "../../src/backup/Progress.ts"
import type { DatabaseUnavailable, StorageFailed } from "../../src/domain/Errors.ts"
import type { StoredBlob } from "../../src/files/blobs/Blobs.ts"
import { BlobStore } from "../../src/files/BlobStore.ts"
import { AppConfig, type Settings } from "../../src/settings/AppConfig.ts"
import { Database } from "../../src/sql/Database.ts"
import type { DatabaseAddress } from "../../src/sql/DatabaseClient.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { testConfig } from "../support/TestConfig.ts"

/** Nobody looks. */
export const silently: Progress = (_, run) => run(() => Effect.void)

/** A directory of the test's own. */
export const scratch = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-backup-"))),
  (directory) => Effect.sync(() => removeDirectory(directory))
)

/** The settings of an installation whose files are in a new directory. */
export const newSettings = (
  files: Partial<Settings["files"]> = {},
  backup: Partial<Settings["backup"]> = {}
) => Effect.map(scratch, (dataDir) => testConfig({ dataDir, files, backup }))

/**
 * The services that work on an installation, with its settings and its database at the address that other
 * processes use.
 */
export const installation = (settings: Settings, address: DatabaseAddress) =>
  Layer.mergeAll(
    Layer.succeed(AppConfig, settings),
    NodeServices.layer,
    NodeCrypto.layer,
    Database.layerAddress(address, { connectionsMax: 3, connectSeconds: 5, statementSeconds: 15 })
  )

const uuid = (number: number) => `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`

/** A user, and a store that belongs to the database. */
export const beginInstallation = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO organizations (id, name) VALUES (${uuid(1)}::uuid, ${"one\n\t\\ 'ü'"})`
  yield* sql`INSERT INTO users (id, organization_id, email) VALUES (${uuid(2)}::uuid, ${uuid(1)}::uuid, 'one@example.com')`
  yield* sql`INSERT INTO file_usage (user_id) VALUES (${uuid(2)}::uuid)`
  yield* sql`INSERT INTO sessions (id, hash, user_id, method, created_at, last_seen_at)
    VALUES (${randomUUID()}::uuid, '\\x00', ${uuid(2)}::uuid, 'password', now(), now())`
})

/** A store, bound or not. */
interface UploadStore {
  readonly put: (
    bytes: Stream.Stream<Uint8Array>
  ) => Effect.Effect<StoredBlob, DatabaseUnavailable | StorageFailed>
}

/** Uploads a file: its bytes, then its row and its count in one transaction. */
export const uploadTo = Effect.fnUntraced(function* (store: UploadStore, bytes: Uint8Array) {
  const sql = yield* SqlClient.SqlClient
  const { key, sha256, ...blob } = yield* store.put(Stream.make(bytes))
  const id = randomUUID()
  yield* sql`INSERT INTO files (id, user_id, filename, purpose, bytes, sha256, storage_key, status, created_at)
    VALUES (${id}::uuid, ${uuid(2)}::uuid, 'a file', 'assistants', ${blob.bytes}, ${sha256}, ${key}, 'uploaded', now())`.pipe(
    Effect.andThen(sql`UPDATE file_usage SET files = files + 1, bytes = bytes + ${blob.bytes}`),
    sql.withTransaction
  )
  return { id, key }
})

export const upload = (bytes: Uint8Array) => Effect.flatMap(BlobStore, (blobs) => uploadTo(blobs, bytes))

/** Deletes a file as its user does: the row and the count first, then the bytes. */
export const remove = Effect.fnUntraced(function* ({
  id,
  key
}: {
  readonly id: string
  readonly key: string
}) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE file_usage SET files = files - 1, bytes = file_usage.bytes - files.bytes FROM files WHERE id = ${id}::uuid`.pipe(
    Effect.andThen(sql`DELETE FROM files WHERE id = ${id}::uuid`),
    sql.withTransaction
  )
  yield* (yield* BlobStore).remove(key)
})

export const someBytes = (length: number) => new Uint8Array(randomBytes(length))

/**
 * Every row of every table that a backup holds; of a file without the key of its bytes, which is another one
 * in another store.
 */
export const rowsOf = Effect.fnUntraced(function* (except: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ name: string }>`SELECT relname AS name FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname <> ALL (${except}::text[]) ORDER BY 1`
  return yield* Effect.forEach(tables, ({ name }) =>
    Effect.map(
      sql`SELECT (to_jsonb(t) - 'storage_key')::text AS row FROM ${sql(name)} t ORDER BY 1`,
      (rows) => [name, rows.map((row) => String(row["row"]))] as const
    )
  )
})

/** Runs on an installation, with its store of files. */
export const on =
  (settings: Settings, address: DatabaseAddress) =>
  <A, E, R>(work: Effect.Effect<A, E, R>) =>
    work.pipe(
      Effect.provide(
        Layer.provideMerge(Layer.fresh(BlobStore.layer), Layer.fresh(installation(settings, address)))
      ),
      Effect.scoped
    )

/** Runs without a store, as the command line does. */
export const at =
  (settings: Settings, address: DatabaseAddress) =>
  <A, E, R>(work: Effect.Effect<A, E, R>) =>
    work.pipe(Effect.provide(Layer.fresh(installation(settings, address))), Effect.scoped)

/** The files of the database whose bytes in the store are those that were uploaded. */
export const wholeFiles = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const blobs = yield* BlobStore
  const files = yield* sql<{
    id: string
    storageKey: string
    sha256: Uint8Array
  }>`SELECT id, storage_key, sha256 FROM files ORDER BY id`
  return yield* Effect.forEach(files, ({ id, sha256, storageKey }) =>
    Effect.map(Stream.runCollect(blobs.get(storageKey)), (pieces) => {
      const sum = createHash("sha256").update(Buffer.concat(pieces)).digest()
      assert.isTrue(sum.equals(Buffer.from(sha256)), `the bytes of ${id}`)
      return id
    })
  )
})
