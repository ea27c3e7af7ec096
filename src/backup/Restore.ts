import { Effect, Option, Schema, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { Blobs } from "../files/blobs/Blobs.ts"
import { makeBlobsOf } from "../files/BlobStore.ts"
import { counted } from "../runtime/counted.ts"
import { failureReason } from "../runtime/failureReason.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { buildText, thisBuild } from "../settings/Build.ts"
import { type CopySession, openCopySession } from "../sql/CopySession.ts"
import { Database } from "../sql/Database.ts"
import { holdMaintenance, MaintenanceBusy } from "../sql/MaintenanceLock.ts"
import { migrateRestored, newestKnown, restoreTable } from "../sql/Migrations.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { addForeignKeys, clearTable, dropForeignKeys, setSequences, writeTable } from "../sql/TableCopy.ts"
import { BackupFailed, contentOf, type Header } from "./ArchiveFormat.ts"
import { readArchive, type ReadMember } from "./ArchiveReader.ts"
import type { Progress } from "./Progress.ts"
import { lengthOf, type VerifiedBackup, verifyBackup } from "./Verification.ts"

const MarkRows = Schema.Tuple([Schema.Struct({ databaseId: Schema.String, confirmed: Schema.Boolean })])

/** The row that stands in a database from the beginning of a restore to its end. */
interface RestoreMark {
  /** The id that the restored database gets. */
  readonly databaseId: string
  /**
   * True once the database and the store were found empty. All content from then on belongs to the restore.
   */
  readonly confirmed: boolean
}

/** Selects the objects of a catalog that no extension owns. */
const notOfExtension = (catalog: "pg_class" | "pg_proc") =>
  `NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = '${catalog}'::regclass AND d.objid = o.oid AND d.deptype = 'e')`

const relations = `SELECT quote_ident(relname) AS name, relkind AS kind FROM pg_class o
  WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
    AND relname <> '${restoreTable}' AND ${notOfExtension("pg_class")}
  ORDER BY relkind = 'S'`

const functions = `SELECT oid::regprocedure::text AS name FROM pg_proc o
  WHERE pronamespace = current_schema()::regnamespace AND proowner = current_user::regrole AND ${notOfExtension("pg_proc")}`

/** Marks the database, or finds the mark of a restore that was cut off. */
const markDatabase = Effect.fnUntraced(function* (session: CopySession, backup: string) {
  yield* session.run(`CREATE TABLE IF NOT EXISTS ${restoreTable} (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    database_id uuid NOT NULL,
    backup text NOT NULL,
    confirmed boolean NOT NULL DEFAULT false,
    started_at timestamptz NOT NULL DEFAULT now()
  )`)
  yield* session.run(
    `INSERT INTO ${restoreTable} (database_id, backup) VALUES (gen_random_uuid(), $1) ON CONFLICT DO NOTHING`,
    [backup]
  )
  const rows = yield* session.run(`SELECT database_id AS "databaseId", confirmed FROM ${restoreTable}`)
  const [mark] = yield* Effect.orDie(Schema.decodeUnknownEffect(MarkRows)(rows))
  return mark satisfies RestoreMark
})

const confirmMark = (session: CopySession) => session.run(`UPDATE ${restoreTable} SET confirmed = true`)

/** Removes the mark, which lets the service start. */
const removeMark = (session: CopySession) => session.run(`DROP TABLE ${restoreTable}`)

/** True if the schema holds nothing but the mark. */
const isDatabaseEmpty = (session: CopySession) =>
  Effect.map(session.run(`${relations} LIMIT 1`), (found) => found.length === 0)

/**
 * Removes everything in the schema except the mark, after an interrupted restore. Most sequences are removed
 * with their tables.
 */
const clearDatabase = Effect.fnUntraced(function* (session: CopySession) {
  const kinds: Readonly<Record<string, string>> = {
    v: "VIEW",
    m: "MATERIALIZED VIEW",
    S: "SEQUENCE",
    f: "FOREIGN TABLE"
  }
  for (const { kind, name } of yield* session.run(relations))
    yield* session.run(`DROP ${kinds[String(kind)] ?? "TABLE"} IF EXISTS ${name} CASCADE`)
  for (const { name } of yield* session.run(functions)) yield* session.run(`DROP FUNCTION ${name} CASCADE`)
})

const failed = (error: unknown) =>
  error instanceof BackupFailed
    ? error
    : new BackupFailed({
        message: `The restore failed: ${failureReason(error)}. Run it again once that is mended; it begins anew.`
      })

const readableBy = ({ build, schema, version }: Header): Effect.Effect<void, BackupFailed> =>
  schema <= newestKnown
    ? Effect.void
    : Effect.fail(
        new BackupFailed({
          message:
            `The backup has schema ${schema}, written by parley ${build === undefined ? version : buildText({ version, build })}, ` +
            `but this build, parley ${buildText(thisBuild)}, knows schemas up to ${newestKnown}: restore it with that build or a newer one.`
        })
      )

const notEmpty = (what: string, remedy: string) =>
  new BackupFailed({
    message: `${what} A backup is restored into an empty installation only, and nothing was changed: ${remedy}`
  })

const databaseRemedy = Effect.map(AppConfig, ({ database }) =>
  database.url === null
    ? "set PARLEY_DATA_DIR to a new directory, or move the old one away."
    : "name an empty database in DATABASE_URL, and leave the old one as it is."
)

/** True if a store was never used: it is empty, and belongs to no database. */
const isStoreUnused = Effect.fnUntraced(function* (blobs: Blobs) {
  const mark = blobs.mark === null ? null : yield* blobs.mark.read
  if (mark !== null && mark.database !== null) return false
  return Option.isNone(yield* Stream.runHead(blobs.olderThan(0)))
})

/** Gives the store to the restored database, and removes the files of an interrupted restore. */
const claimStore = Effect.fnUntraced(function* (blobs: Blobs, { databaseId }: RestoreMark) {
  if (blobs.mark === null) return databaseId
  const random = yield* SecureRandom.SecureRandom
  const found = yield* blobs.mark.read
  if (found.database === databaseId) yield* Stream.runForEach(blobs.olderThan(0), blobs.remove)
  else if (!(yield* isStoreUnused(blobs))) return yield* usedStore(blobs)
  const store = found.store ?? (yield* random.uuidV4())
  yield* blobs.mark.write({ store, database: databaseId })
  return store
})

const usedStore = (blobs: Blobs) =>
  notEmpty(
    `${blobs.place} is not empty, or belongs to another database.`,
    "set PARLEY_DATA_DIR to a new directory, or PARLEY_S3_PREFIX or PARLEY_S3_BUCKET to a new place."
  )

/** Makes sure that there is nothing that a restore could replace, and that no service starts meanwhile. */
const begin = Effect.fnUntraced(function* (session: CopySession, path: string) {
  const { files } = yield* AppConfig
  const mark = yield* markDatabase(session, path)
  if (mark.confirmed) {
    yield* clearDatabase(session)
    return mark
  }
  if (!(yield* isDatabaseEmpty(session))) {
    yield* removeMark(session)
    return yield* notEmpty("The database is not empty.", yield* databaseRemedy)
  }
  if (files.store !== "postgres") {
    const blobs = yield* makeBlobsOf(files.store)
    if (!(yield* isStoreUnused(blobs))) {
      yield* removeMark(session)
      return yield* usedStore(blobs)
    }
  }
  yield* confirmMark(session)
  return mark
})

/** Fills the tables in one transaction, which ends before the first file. */
const makeLoading = (session: CopySession, { header, manifest }: VerifiedBackup) => {
  const tables = new Map(header.tables.map((table) => [table.name, table]))
  let keys: Effect.Success<ReturnType<typeof dropForeignKeys>> | null = null
  let ended = false
  const start = Effect.gen(function* () {
    if (keys !== null) return
    yield* session.run("BEGIN")
    keys = yield* dropForeignKeys(session)
    for (const table of header.tables) yield* clearTable(session, table)
  })
  const end = Effect.gen(function* () {
    if (ended) return
    ended = true
    yield* start
    yield* addForeignKeys(session, keys ?? [])
    yield* setSequences(session, manifest.sequences)
    yield* session.run("COMMIT")
    // A crash may lose the following writes. The mark shows that, because it is removed durably at the end.
    yield* session.run("SET synchronous_commit = off")
  })
  const load = Effect.fnUntraced(function* (name: string, { body }: ReadMember) {
    yield* start
    const table = tables.get(name)
    if (table === undefined)
      return yield* new BackupFailed({
        message: `The backup holds a table ${name} that its header does not name.`
      })
    yield* writeTable(session, table, body)
  })
  return { load, end }
}

/** The bytes of a file get a new key of the store that they are in now. */
const loadFile = Effect.fnUntraced(function* (
  session: CopySession,
  blobs: Blobs,
  id: string,
  member: ReadMember
) {
  const { key } = yield* blobs.put(member.body)
  yield* session.run("UPDATE files SET storage_key = $2 WHERE id = $1::uuid", [id, key])
})

/** A restored backup. */
export interface RestoredBackup extends VerifiedBackup {
  readonly path: string
}

const fill = Effect.fnUntraced(function* (
  session: CopySession,
  path: string,
  verified: VerifiedBackup,
  mark: RestoreMark,
  progress: Progress
) {
  const { address } = yield* Database
  const settings = yield* AppConfig
  yield* migrateRestored(address, verified.header.schema)
  const blobs = yield* makeBlobsOf(settings.files.store)
  const store = yield* claimStore(blobs, mark)
  const { end, load } = makeLoading(session, verified)
  const total = yield* lengthOf(path)
  const done = `The database and ${counted(verified.manifest.files.count, "file")} restored.`
  const visit = (member: ReadMember) => {
    const content = contentOf(member.name)
    if (content === null || "sums" in content) return Effect.void
    return "table" in content
      ? load(content.table, member)
      : Effect.andThen(end, loadFile(session, blobs, content.file, member))
  }
  yield* progress({ title: "Restoring", total, unit: "byte", done }, (advance) =>
    readArchive(path, settings.backup, visit, advance)
  )
  yield* end
  yield* session.run(
    "INSERT INTO file_store_binding (database_id, store_id, store_place) VALUES ($1::uuid, $2::uuid, $3)",
    [mark.databaseId, store, blobs.place]
  )
  yield* migrateRestored(address)
})

/**
 * Restores a backup into an empty database and an empty store, while no service runs. All or nothing: until
 * the end, a mark in the database prevents the service from starting. The next restore removes the remains of
 * a marked one.
 */
export const restoreBackup = Effect.fn("Backup.restore")(
  function* (path: string, progress: Progress) {
    const { backup } = yield* AppConfig
    const { address } = yield* Database
    const audit = yield* makeAuditRecorder
    const verified = yield* verifyBackup(path, backup, progress)
    yield* readableBy(verified.header)
    const session = yield* openCopySession(address)
    yield* holdMaintenance(session, "parley restore")
    const mark = yield* begin(session, path)
    yield* fill(session, path, verified, mark, progress)
    const { header, manifest } = verified
    yield* orUnavailable(
      audit.record({
        action: "backup.restore",
        target: { id: null, name: path },
        organization: null,
        details: { version: header.version, files: manifest.files.count }
      })
    )
    yield* session.run("SET synchronous_commit = on")
    yield* removeMark(session)
    yield* Effect.ignore(session.run("ANALYZE"))
    return { path, ...verified } satisfies RestoredBackup
  },
  Effect.scoped,
  Effect.mapError((error) => (error instanceof MaintenanceBusy ? error : failed(error)))
)
