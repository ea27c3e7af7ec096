import { spawn } from "node:child_process"
import { existsSync, statSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Deferred, Effect, Fiber, Redacted, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { makeArchive } from "../../src/backup/ArchiveWriter.ts"
import { createBackup, leftOut } from "../../src/backup/Backup.ts"
import { lastBackup } from "../../src/backup/LastBackup.ts"
import type { Progress } from "../../src/backup/Progress.ts"
import { restoreBackup } from "../../src/backup/Restore.ts"
import { BlobStore, makeBlobs } from "../../src/files/BlobStore.ts"
import { AppConfig, type Settings } from "../../src/settings/AppConfig.ts"
import type { DatabaseAddress } from "../../src/sql/DatabaseClient.ts"
import { migrate, migrateRestored, newestKnown } from "../../src/sql/Migrations.ts"
import { childEnvironment } from "../support/childEnvironment.ts"
import { emptyDatabase } from "../support/EmptyDatabase.ts"
import { commandLine } from "../support/ServiceProcess.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import {
  at,
  beginInstallation,
  newSettings,
  on,
  remove,
  rowsOf,
  scratch,
  silently,
  someBytes,
  upload,
  uploadTo,
  wholeFiles
} from "./Installations.ts"

/** Tables that a backup leaves out, or to which its end adds an entry. */
const notCompared = [...leftOut, "audit_log"]

/** A migrated database that nobody has used. */
const migratedDatabase = Effect.gen(function* () {
  const { url } = yield* TestDatabase
  return { url } satisfies DatabaseAddress
})

const counted = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] =
    yield* sql`SELECT (SELECT files FROM file_usage) AS counted, (SELECT count(*)::int FROM files) AS there,
    (SELECT bytes::float8 FROM file_usage) AS counted_bytes, (SELECT sum(bytes)::float8 FROM files) AS bytes`
  return row
})

/** Runs the command line on an installation, as a process of its own. */
const run = (settings: Settings, address: DatabaseAddress, args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(process.execPath, [commandLine, ...args], {
        env: {
          ...childEnvironment,
          PARLEY_DATA_DIR: settings.dataDir,
          DATABASE_URL: "url" in address ? Redacted.value(address.url) : ""
        },
        stdio: ["ignore", "pipe", "pipe"]
      })
      let output = ""
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (text: Buffer) => (output += text.toString()))
      const ended = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)))
      return { child, ended: Effect.promise(() => ended), output: () => output }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  )

describe("A backup", () => {
  it.effect("a backup holds everything as of one moment, though files come and go meanwhile", () =>
    Effect.gen(function* () {
      const address = yield* migratedDatabase
      const settings = yield* newSettings()
      const path = join(yield* scratch, "a.backup")
      yield* on(
        settings,
        address
      )(
        Effect.gen(function* () {
          yield* beginInstallation
          const files = yield* Effect.forEach([...Array(12).keys()], (n) => upload(someBytes(n * 9_999)))
          const loading = yield* Effect.forkChild(
            Effect.forever(Effect.flatMap(upload(someBytes(500)), remove))
          )
          // All files of the snapshot are deleted after it, and before their bytes are copied.
          const deleting: Progress = (work, run) =>
            work.title === "Copying the files"
              ? Effect.andThen(
                  Effect.orDie(Effect.forEach(files, remove).pipe(Effect.provide(context))),
                  run(() => Effect.void)
                )
              : run(() => Effect.void)
          const context = yield* Effect.context<SqlClient.SqlClient | BlobStore>()
          const made = yield* createBackup(path, deleting)
          yield* Fiber.interrupt(loading)
          assert.isAtLeast(made.files, 12)
          assert.deepStrictEqual([made.missing, made.damaged], [[], []])
          const trashed = yield* Stream.runCollect((yield* BlobStore).trash.list)
          assert.includeMembers(
            trashed.map(({ key }) => key),
            files.map(({ key }) => key)
          )
          const last = yield* lastBackup
          assert.strictEqual(last?.path, path)
        })
      )
      const target = yield* emptyDatabase
      // The bytes go to a store of another kind.
      const elsewhere = yield* newSettings({ store: "postgres" })
      yield* at(elsewhere, target.address)(restoreBackup(path, silently))
      yield* on(
        elsewhere,
        target.address
      )(
        Effect.gen(function* () {
          assert.isAtLeast((yield* wholeFiles).length, 12)
          const row = yield* counted
          assert.deepStrictEqual([row?.["counted"], row?.["countedBytes"]], [row?.["there"], row?.["bytes"]])
          const sql = yield* SqlClient.SqlClient
          assert.deepStrictEqual(yield* sql`SELECT 1 FROM sessions`, [])
        })
      )
    }).pipe(Effect.provide(TestDatabase.clone))
  )

  it.effect("a backup of older tables is restored row by row and brought up to date", () =>
    Effect.gen(function* () {
      const from = yield* emptyDatabase
      const settings = yield* newSettings()
      const path = join(yield* scratch, "a.backup")
      yield* migrateRestored(from.address, 18)
      yield* at(
        settings,
        from.address
      )(
        Effect.gen(function* () {
          yield* beginInstallation
          yield* uploadTo(yield* makeBlobs, someBytes(70_000))
          const sql = yield* SqlClient.SqlClient
          yield* sql`INSERT INTO projects (id, organization_id, name) SELECT gen_random_uuid(), id, 'p' FROM organizations`
          yield* sql`INSERT INTO retrieval_indexes (project_id) SELECT id FROM projects`
          yield* createBackup(path, silently)
        })
      )
      const target = yield* emptyDatabase
      const elsewhere = yield* newSettings()
      const { header } = yield* at(elsewhere, target.address)(restoreBackup(path, silently))
      assert.strictEqual(header.schema, 18)
      yield* migrateRestored(from.address)
      const rows = rowsOf(notCompared)
      assert.deepStrictEqual(
        yield* on(elsewhere, target.address)(Effect.andThen(wholeFiles, rows)),
        yield* at(settings, from.address)(rows)
      )
      const next = Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`SELECT nextval('retrieval_indexes_id_seq')`
      )
      assert.deepStrictEqual(
        yield* at(elsewhere, target.address)(next),
        yield* at(settings, from.address)(next)
      )
      yield* migrate(target.address)
    })
  )

  it.effect(
    "a backup is restored neither over data nor over files, nor by a version that doesn't know its tables",
    () =>
      Effect.gen(function* () {
        const address = yield* migratedDatabase
        const settings = yield* newSettings()
        const directory = yield* scratch
        const path = join(directory, "a.backup")
        yield* on(settings, address)(Effect.andThen(beginInstallation, upload(someBytes(10))))
        yield* at(settings, address)(createBackup(path, silently))
        const refusal = (to: Settings, of: DatabaseAddress, file = path) =>
          Effect.map(Effect.flip(at(to, of)(restoreBackup(file, silently))), String)
        assert.match(yield* refusal(settings, address), /The database is not empty.*nothing was changed/)
        yield* migrate(address)
        const target = yield* emptyDatabase
        assert.match(
          yield* refusal(settings, target.address),
          /belongs to another database.*nothing was changed/s
        )
        const newer = join(directory, "newer.backup")
        yield* Effect.scoped(
          Effect.gen(function* () {
            const header = {
              format: 1,
              createdAt: yield* DateTime.now,
              version: "9.8.7",
              schema: newestKnown + 1,
              databaseId: null,
              postgres: "18.4",
              tables: []
            }
            const archive = yield* makeArchive(newer, header, settings.backup)
            const files = { count: 0, bytes: 0, missing: [], damaged: [] }
            yield* archive.finish({ tables: [], sequences: [], files })
          })
        )
        assert.match(yield* refusal(yield* newSettings(), target.address, newer), /written by parley 9\.8\.7/)
        // Nothing of the refused restores is in the way.
        yield* at(yield* newSettings(), target.address)(restoreBackup(path, silently))
      }).pipe(Effect.provide(TestDatabase.clone))
  )

  it.effect("a backup that starts beside another one is refused", () =>
    Effect.gen(function* () {
      const address = yield* migratedDatabase
      const settings = yield* newSettings()
      const directory = yield* scratch
      yield* on(settings, address)(beginInstallation)
      const reached = yield* Deferred.make<void>()
      const hanging: Progress = () => Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
      const first = yield* Effect.forkChild(
        at(settings, address)(createBackup(join(directory, "1"), hanging))
      )
      yield* Deferred.await(reached)
      const error = yield* Effect.flip(at(settings, address)(createBackup(join(directory, "2"), silently)))
      assert.match(error.message, /^`parley backup` has been running/)
      yield* Fiber.interrupt(first)
      assert.isFalse(existsSync(join(directory, "1.partial")))
      yield* at(settings, address)(createBackup(join(directory, "2"), silently))
    }).pipe(Effect.provide(TestDatabase.clone))
  )

  it.effect("a killed backup and a killed restore leave nothing that blocks the next one", () =>
    Effect.gen(function* () {
      const address = yield* migratedDatabase
      const settings = yield* newSettings()
      const path = join(yield* scratch, "a.backup")
      yield* on(
        settings,
        address
      )(
        Effect.andThen(
          beginInstallation,
          Effect.forEach([16_000_000, 5, 0], (length) => upload(someBytes(length)))
        )
      )
      const backup = yield* run(settings, address, ["backup", path])
      yield* until(
        Effect.sync(() => existsSync(`${path}.partial`) && statSync(`${path}.partial`).size > 1_000_000)
      )
      backup.child.kill("SIGKILL")
      yield* backup.ended
      assert.isFalse(existsSync(path))
      yield* at(settings, address)(createBackup(path, silently))

      const target = yield* emptyDatabase
      const elsewhere = yield* newSettings()
      const cut = yield* run(elsewhere, target.address, ["restore", path])
      const isFilling = Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.map(sql`SELECT count(*)::int AS files FROM files`, ([row]) => Number(row?.["files"]) > 0)
      ).pipe(Effect.catch(() => Effect.succeed(false)))
      yield* at(elsewhere, target.address)(until(isFilling))
      cut.child.kill("SIGKILL")
      yield* cut.ended
      assert.match((yield* Effect.flip(migrate(target.address))).message, /run `parley restore FILE` again/)
      assert.match(
        (yield* Effect.flip(at(elsewhere, target.address)(createBackup(`${path}.2`, silently)))).message,
        /A restore into the database is still running, or was cut off/
      )
      const again = yield* run(elsewhere, target.address, ["restore", path])
      assert.strictEqual(yield* again.ended, 0, again.output())
      yield* migrate(target.address)
      assert.deepStrictEqual(
        yield* on(elsewhere, target.address)(Effect.andThen(wholeFiles, rowsOf(notCompared))),
        yield* at(settings, address)(rowsOf(notCompared))
      )
    }).pipe(Effect.provide(TestDatabase.clone))
  )

  it.effect("a backup goes on without the bytes that the store has lost, and names their files", () =>
    Effect.gen(function* () {
      const address = yield* migratedDatabase
      const settings = yield* newSettings()
      const path = join(yield* scratch, "a.backup")
      const [lost = "", altered = ""] = yield* on(
        settings,
        address
      )(
        Effect.gen(function* () {
          yield* beginInstallation
          const files = yield* Effect.forEach([20, 21, 22], (length) => upload(someBytes(length)))
          const key = files[1]!.key
          yield* (yield* BlobStore).remove(files[0]!.key)
          const { dataDir } = yield* AppConfig
          const file = join(dataDir, "files/blobs", key.slice(0, 2), key.slice(2, 4), key)
          yield* Effect.promise(() => writeFile(file, someBytes(21)))
          return files.map(({ id }) => id)
        })
      )
      const made = yield* at(settings, address)(createBackup(path, silently))
      assert.deepStrictEqual([made.missing, made.damaged, made.files], [[lost], [altered], 2])
      const target = yield* emptyDatabase
      const { manifest } = yield* at(yield* newSettings(), target.address)(restoreBackup(path, silently))
      assert.deepStrictEqual(manifest.files.missing, [lost])
    }).pipe(Effect.provide(TestDatabase.clone))
  )
})
