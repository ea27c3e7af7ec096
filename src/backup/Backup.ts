import { DateTime, Effect, Option, Schema, Stream } from "effect"
import { Hex } from "effect/encoding"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { Blobs } from "../files/blobs/Blobs.ts"
import { makeBlobs } from "../files/BlobStore.ts"
import { makeStoreBinding } from "../files/StoreBinding.ts"
import { counted } from "../runtime/counted.ts"
import { failureReason } from "../runtime/failureReason.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { thisBuild } from "../settings/Build.ts"
import { type CopySession, openCopySession } from "../sql/CopySession.ts"
import { Database } from "../sql/Database.ts"
import { holdDeletedBytes, MaintenanceBusy } from "../sql/MaintenanceLock.ts"
import { newestKnown, refuseUnfinished } from "../sql/Migrations.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import {
  type CopiedTable,
  inRows,
  inTransaction,
  neverCopied,
  readTable,
  rowsIn,
  sequencesOf,
  tablesOf
} from "../sql/TableCopy.ts"
import { BackupFailed, fileMember, formatVersion, type Header, tableMember } from "./ArchiveFormat.ts"
import { type ArchiveWriter, type WrittenArchive, makeArchive } from "./ArchiveWriter.ts"
import { hasKeyFor, packingOf, sumOfFile } from "./Encryption.ts"
import type { Progress } from "./Progress.ts"
import { verifyBackup } from "./Verification.ts"

/** Bytes of a table that are in memory at once, unless one row is longer. */
const pieceBytes = 4 * 1024 * 1024
/** Files whose names are in memory at once. */
const filesPerPage = 500

/**
 * Tables that a backup leaves out: bytes are copied as files, stores are bound anew, and people sign in
 * again.
 */
export const leftOut: ReadonlyArray<string> = [
  ...neverCopied,
  "file_blobs",
  "file_blob_pieces",
  "file_store_binding",
  "file_copies",
  "sessions",
  "key_minutes"
]

const failed = (what: string) => (error: unknown) =>
  error instanceof BackupFailed ? error : new BackupFailed({ message: `${what}: ${failureReason(error)}` })

const Facts = Schema.Tuple([
  Schema.Struct({
    postgres: Schema.String,
    schema: Schema.Int,
    databaseId: Schema.NullOr(Schema.String),
    files: Schema.NumberFromString,
    bytes: Schema.NumberFromString
  })
])

const factsQuery = `SELECT current_setting('server_version') AS postgres, (SELECT max(migration_id) FROM effect_sql_migrations) AS schema,
  (SELECT database_id FROM file_store_binding) AS "databaseId",
  count(*)::text AS files, coalesce(sum(bytes), 0)::text AS bytes FROM files`

const factsOf = (session: CopySession) =>
  session.run(factsQuery).pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(Facts)),
    Effect.map(([facts]) => facts)
  )

/** A table in pieces of whole rows, because the length of a member stands before its bytes. */
const addTable = Effect.fnUntraced(function* (
  session: CopySession,
  archive: ArchiveWriter,
  table: CopiedTable
) {
  let [rows, bytes, pieces] = [0, 0, 0]
  yield* readTable(session, table).pipe(
    inRows(pieceBytes),
    Stream.runForEach((piece) => {
      rows += rowsIn(piece)
      bytes += piece.length
      pieces++
      return archive.add(tableMember(table.name, pieces), piece.length, Stream.make(piece))
    })
  )
  return { name: table.name, rows, bytes }
})

const FileRows = Schema.Array(
  Schema.Struct({
    id: Schema.String,
    key: Schema.String,
    bytes: Schema.NumberFromString,
    sha256: Schema.String
  })
)
type FileRow = (typeof FileRows.Type)[number]

/** The files of the snapshot, in pages. */
const filesOf = (session: CopySession) =>
  Stream.paginate("00000000-0000-0000-0000-000000000000", (after: string) =>
    session
      .run(
        `SELECT id::text, storage_key AS key, bytes::text, encode(sha256, 'hex') AS sha256
        FROM files WHERE id > $1::uuid ORDER BY id LIMIT ${filesPerPage}`,
        [after]
      )
      .pipe(
        Effect.flatMap(Schema.decodeUnknownEffect(FileRows)),
        Effect.map((page) => {
          const last = page.length < filesPerPage ? undefined : page.at(-1)
          return [page, Option.fromUndefinedOr(last?.id)] as const
        })
      )
  )

/** The state in which the bytes of a file reached the backup. */
type Kept = "whole" | "missing" | "damaged"

const addFile = Effect.fnUntraced(function* (
  archive: ArchiveWriter,
  blobs: Blobs,
  { bytes, id, key, sha256 }: FileRow,
  advance: (amount: number) => Effect.Effect<void>
) {
  const unread = failed(
    `The bytes of the file ${id} can't be read from ${blobs.place}; restore them there, or delete the file`
  )
  if (!(yield* blobs.has(key).pipe(Effect.mapError(unread)))) return "missing" satisfies Kept
  const body = blobs.get(key, { start: 0, end: bytes }).pipe(
    Stream.mapError(unread),
    Stream.tap((piece) => advance(piece.length))
  )
  const sum = yield* archive.add(fileMember(id), bytes, body)
  return Hex.encode(sum) === sha256 ? ("whole" satisfies Kept) : ("damaged" satisfies Kept)
})

const addFiles = Effect.fnUntraced(function* (
  session: CopySession,
  archive: ArchiveWriter,
  blobs: Blobs,
  advance: (amount: number) => Effect.Effect<void>
) {
  const files = { count: 0, bytes: 0, missing: new Array<string>(), damaged: new Array<string>() }
  yield* Stream.runForEach(
    filesOf(session),
    Effect.fnUntraced(function* (file: FileRow) {
      const kept = yield* addFile(archive, blobs, file, advance)
      if (kept !== "whole") files[kept].push(file.id)
      if (kept === "missing") return yield* advance(file.bytes)
      files.count++
      files.bytes += file.bytes
    })
  )
  return files
})

/** Everything as of one moment: the tables by a snapshot, and the bytes of the files that it names. */
const writeSnapshot = Effect.fnUntraced(function* (
  session: CopySession,
  path: string,
  progress: Progress,
  blobs: Blobs,
  createdAt: DateTime.Utc
) {
  const { bytes, files: fileCount, ...facts } = yield* factsOf(session)
  const tables = yield* tablesOf(session, leftOut)
  const header: Header = { format: formatVersion, createdAt, ...thisBuild, ...facts, tables }
  const { backup } = yield* AppConfig
  const archive = yield* makeArchive(path, header, backup)
  const copied = yield* progress(
    { title: "Copying the database", total: tables.length, unit: "table", done: "The database is copied." },
    (advance) =>
      Effect.forEach(tables, (table) => Effect.tap(addTable(session, archive, table), () => advance(1)))
  )
  const sequences = yield* sequencesOf(session)
  const files = yield* progress(
    { title: "Copying the files", total: bytes, unit: "byte", done: `${counted(fileCount, "file")} copied.` },
    (advance) => addFiles(session, archive, blobs, advance)
  )
  const written = yield* archive.finish({ tables: copied, sequences, files })
  return { written, tables: copied, files }
}, Effect.scoped)

/**
 * Fails if the file on the disk differs from the written bytes. Without a key that can read it, only the
 * bytes are compared.
 */
const checkWritten = Effect.fnUntraced(function* (path: string, written: WrittenArchive, progress: Progress) {
  const keys = (yield* AppConfig).backup
  const sha256 = yield* Effect.tryPromise({ try: () => sumOfFile(path), catch: failed(path) })
  if (sha256 !== written.sha256) {
    return yield* new BackupFailed({
      message: `${path} is not what was written to it: check the disk, and take another backup.`
    })
  }
  const packing = yield* Effect.tryPromise({ try: () => packingOf(path), catch: failed(path) })
  if (!hasKeyFor(packing, keys)) return
  yield* verifyBackup(path, keys, progress)
})

/** A backup that was made. */
export interface MadeBackup {
  readonly path: string
  readonly createdAt: DateTime.Utc
  readonly bytes: number
  readonly encrypted: boolean
  readonly rows: number
  readonly files: number
  readonly fileBytes: number
  readonly missing: ReadonlyArray<string>
  readonly damaged: ReadonlyArray<string>
}

/**
 * Makes a backup of the database and of the store that the settings name, while the service runs or not, and
 * verifies it. Nothing lies at `path` until it is whole; a file that exists there is not replaced.
 */
export const createBackup = Effect.fn("Backup.create")(
  function* (path: string, progress: Progress) {
    const { address } = yield* Database
    const blobs = yield* makeBlobs
    const audit = yield* makeAuditRecorder
    const made = yield* Effect.gen(function* () {
      const session = yield* openCopySession(address)
      yield* holdDeletedBytes(session, "parley backup")
      yield* orUnavailable(refuseUnfinished)
      const { files, schema } = yield* factsOf(session)
      const isCurrent = schema === newestKnown
      // Tables of another version are only copied: this one's statements may not fit them.
      if (isCurrent && files > 0) yield* (yield* makeStoreBinding(blobs)).verify
      const createdAt = yield* DateTime.now
      return {
        ...(yield* inTransaction(
          session,
          "READ ONLY",
          writeSnapshot(session, path, progress, blobs, createdAt)
        )),
        createdAt,
        isCurrent
      }
    }).pipe(Effect.scoped)
    yield* checkWritten(path, made.written, progress)
    const { backup } = yield* AppConfig
    const done: MadeBackup = {
      path,
      createdAt: made.createdAt,
      bytes: made.written.bytes,
      encrypted: backup.passphrase !== null || backup.recipients !== null,
      rows: made.tables.reduce((sum, { rows }) => sum + rows, 0),
      files: made.files.count,
      fileBytes: made.files.bytes,
      missing: made.files.missing,
      damaged: made.files.damaged
    }
    const { bytes, encrypted, fileBytes, files, rows } = done
    if (!made.isCurrent) return done
    yield* orUnavailable(
      audit.record({
        action: "backup.create",
        target: { id: null, name: path },
        organization: null,
        details: { bytes, encrypted, rows, files, fileBytes, at: DateTime.formatIso(made.createdAt) }
      })
    )
    return done
  },
  Effect.mapError((error) => (error instanceof MaintenanceBusy ? error : failed("The backup failed")(error)))
)
