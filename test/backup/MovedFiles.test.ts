import { randomUUID } from "node:crypto"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { createBackup } from "../../src/backup/Backup.ts"
import type { Progress } from "../../src/backup/Progress.ts"
import { restoreBackup } from "../../src/backup/Restore.ts"
import { makeFileMove } from "../../src/files/FileMove.ts"
import { emptyDatabase } from "../support/EmptyDatabase.ts"
import { S3Server } from "../support/S3Server.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import {
  at,
  beginInstallation,
  newSettings,
  on,
  remove,
  scratch,
  silently,
  someBytes,
  upload,
  wholeFiles
} from "./Installations.ts"

const filesCount = 8
/** Files that a move copies at once: as many are copied when it is interrupted after the first of each. */
const copied = 4

/** The key of an object that holds the bytes of a file. */
const isBlob = /^[0-9a-f-]{36}$/

const bucketOf = Effect.map(S3Server, ({ bucket }) => ({ ...bucket, prefix: `${randomUUID()}/` }))

/** Begins a move and ends it once some files are copied, as when its process is killed. */
const interruptedMove = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { begin } = yield* makeFileMove
  const { files, run } = yield* begin
  assert.strictEqual(files, filesCount)
  const rows = sql`SELECT FROM file_copies`
  const hanging = run(() => Effect.never)
  yield* Effect.raceFirst(hanging, until(Effect.map(rows, ({ length }) => length === copied)))
}).pipe(Effect.scoped)

const filesThere = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ id: string; key: string }>`SELECT id, storage_key AS key FROM files ORDER BY id`
)

layer(S3Server.layer(), { excludeTestServices: true })("The files of an installation", (it) => {
  it.effect(
    "the files of an installation whose move is unfinished are all in a backup, also those that are deleted while it is made",
    () =>
      Effect.gen(function* () {
        const s3 = yield* bucketOf
        const settings = yield* newSettings({ store: "directory", moveTo: "s3", s3 })
        const { url } = yield* TestDatabase
        const path = join(yield* scratch, "a.backup")
        const { objects } = yield* S3Server
        const blobsIn = () => ({
          directory: readdirSync(join(settings.dataDir, "files/blobs"), { recursive: true }).filter(
            (name) => String(name).length > 60
          ).length,
          bucket: [...objects.keys()].filter((name) => isBlob.test(name.split(s3.prefix)[1] ?? "")).length
        })
        yield* on(settings, { url })(
          Effect.gen(function* () {
            yield* beginInstallation
            for (let n = 0; n < filesCount; n++) yield* upload(someBytes(1_000 * n))
          })
        )
        yield* at(settings, { url })(interruptedMove)
        assert.deepStrictEqual(blobsIn(), { directory: filesCount, bucket: copied })
        yield* on(settings, { url })(
          Effect.gen(function* () {
            const context = yield* Effect.context<SqlClient.SqlClient>()
            const files = yield* filesThere
            const last = files.at(-1)!
            const deleting = Effect.forEach(files.slice(0, -1), remove)
            const services = yield* Effect.context<Effect.Services<typeof deleting>>()
            const whileDeleting: Progress = (work, run) =>
              work.title === "Copying the files"
                ? Effect.andThen(
                    Effect.orDie(Effect.provide(deleting, services)),
                    run(() => Effect.void)
                  )
                : run(() => Effect.void)
            const made = yield* createBackup(path, whileDeleting)
            assert.deepStrictEqual([made.files, made.missing, made.damaged], [filesCount, [], []])
            assert.lengthOf(yield* Effect.provide(filesThere, context), 1)
            assert.deepStrictEqual(blobsIn(), { directory: filesCount, bucket: copied })

            // After the backup the bytes of a deleted file go at once.
            yield* remove(last)
            assert.deepStrictEqual(blobsIn(), { directory: filesCount - 1, bucket: copied })
          })
        )

        // All of them come back, into a bucket and from there into a directory.
        const [one, other] = [yield* emptyDatabase, yield* emptyDatabase]
        const bucket = yield* newSettings({ store: "s3", s3: yield* bucketOf })
        yield* at(bucket, one.address)(restoreBackup(path, silently))
        assert.lengthOf(yield* on(bucket, one.address)(wholeFiles), filesCount)
        yield* at(bucket, one.address)(createBackup(`${path}.2`, silently))
        const directory = yield* newSettings()
        yield* at(directory, other.address)(restoreBackup(`${path}.2`, silently))
        assert.lengthOf(yield* on(directory, other.address)(wholeFiles), filesCount)
      }).pipe(Effect.provide(TestDatabase.clone))
  )
})
