import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { FileId, UserId } from "../domain/Ids.ts"
import { storable } from "../domain/storable.ts"
import type { StoredFile } from "../domain/StoredFile.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import type { StoredBlob } from "./blobs/Blobs.ts"

/** A file with the key of its bytes, which only this room uses. */
export interface KeptFile extends StoredFile {
  readonly storageKey: string
}

/** The most files and bytes that a user may have. */
export interface Quota {
  readonly filesMax: number
  readonly bytesMax: number
}

/** A file that is to be stored. */
export interface NewFile {
  readonly id: FileId
  readonly userId: UserId
  readonly filename: string
  readonly purpose: string
  readonly blob: StoredBlob
  readonly createdAt: DateTime.Utc
  readonly expiresAt: DateTime.Utc | null
}

/** The query of a list. */
export interface ListFiles {
  readonly purpose?: string
  /** The file after which the list continues. */
  readonly after?: FileId
  readonly limit: number
  /** The order of the times of upload. */
  readonly order: "asc" | "desc"
}

/** A file, and the number of characters of its text to read. */
export interface WantedText {
  readonly id: FileId
  readonly charactersMax: number
}

/** The text of a file. */
interface FileText {
  readonly text: string
  readonly truncated: boolean
  /** The offset in `text` at which each page starts; null for a file without pages. */
  readonly pages: ReadonlyArray<number> | null
}

const FileStatus = Schema.Literals(["uploaded", "processed", "error"])

const FileRow = Schema.Struct({
  id: FileId,
  userId: UserId,
  filename: Schema.String,
  purpose: Schema.String,
  bytes: Schema.Int,
  sha256: Schema.Uint8Array,
  storageKey: Schema.String,
  status: FileStatus,
  statusDetails: Schema.NullOr(Schema.String),
  createdAt: Schema.DateTimeUtcFromDate,
  expiresAt: Schema.NullOr(Schema.DateTimeUtcFromDate)
})

/** A summary of a file's text, made without reading it. */
const TextSummary = Schema.Struct({
  id: FileId,
  filename: Schema.String,
  status: FileStatus,
  statusDetails: Schema.NullOr(Schema.String),
  /** UTF-8 bytes of the text; null if there is none. */
  textBytes: Schema.NullOr(Schema.Int),
  /** True if the text is only the beginning of the file's. */
  truncated: Schema.NullOr(Schema.Boolean)
})
export type TextSummary = typeof TextSummary.Type

/** The beginning of a file's text; `bytes` are those of its UTF-8. */
const TextBeginning = Schema.Struct({ id: FileId, text: Schema.String, bytes: Schema.Int })
export type TextBeginning = typeof TextBeginning.Type

const TextRow = Schema.Struct({
  text: Schema.String,
  truncated: Schema.Boolean,
  pages: Schema.NullOr(Schema.Array(Schema.Int))
})

const Usage = Schema.Struct({ files: Schema.Int, bytes: Schema.Int })
const StoredRow = Schema.Struct({ ...FileRow.fields, isNew: Schema.Boolean })
const RemovedRow = Schema.Struct({ storageKey: Schema.String, filename: Schema.String })

/** The tables `files`, `file_usage` and `file_texts`. */
export const makeFileTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = sql.literal(
    "id, user_id, filename, purpose, bytes::float8 AS bytes, sha256, storage_key, status, status_details, created_at, expires_at"
  )
  /** An expired file is treated as missing, also before its row is deleted. */
  const isKept = sql.literal("(expires_at IS NULL OR expires_at > now())")

  /** The user's files and bytes; creates the row that counts them, which `insert` updates. */
  const usage = (userId: UserId) =>
    sql`WITH counted AS (
        INSERT INTO file_usage (user_id) VALUES (${userId}::uuid) ON CONFLICT (user_id) DO NOTHING
      )
      SELECT files, bytes::float8 AS bytes FROM file_usage WHERE user_id = ${userId}::uuid`.pipe(
      rowAs(Usage),
      Effect.map((row) => row ?? { files: 0, bytes: 0 })
    )

  /**
   * Stores the file and returns its row; returns nothing if the quota has no room. The count and the row
   * change in one statement, whose lock on the user's count serializes concurrent uploads.
   *
   * A repeated call after a lost answer returns the stored row. `isNew` distinguishes the two cases.
   */
  const insert = ({ blob, createdAt, expiresAt, ...file }: NewFile, quota: Quota) =>
    sql`WITH room AS (
        UPDATE file_usage SET files = files + 1, bytes = bytes + ${blob.bytes}::bigint
        WHERE user_id = ${file.userId}::uuid
          AND files < ${quota.filesMax}::bigint AND bytes + ${blob.bytes}::bigint <= ${quota.bytesMax}::bigint
          AND NOT EXISTS (SELECT FROM files WHERE id = ${file.id}::uuid)
        RETURNING user_id
      ), made AS (
        INSERT INTO files (id, user_id, filename, purpose, bytes, sha256, storage_key, status, created_at, expires_at)
        SELECT ${file.id}::uuid, user_id, ${file.filename}, ${file.purpose}, ${blob.bytes}::bigint, ${blob.sha256},
          ${blob.key}, 'uploaded', ${DateTime.toDateUtc(createdAt)},
          ${expiresAt === null ? null : DateTime.toDateUtc(expiresAt)}::timestamptz
        FROM room
        RETURNING *
      )
      SELECT ${columns}, true AS is_new FROM made
      UNION ALL SELECT ${columns}, false FROM files
      WHERE id = ${file.id}::uuid AND user_id = ${file.userId}::uuid`.pipe(rowAs(StoredRow))

  const find = (userId: UserId, id: FileId) =>
    sql`SELECT ${columns} FROM files
      WHERE id = ${id}::uuid AND user_id = ${userId}::uuid AND ${isKept}`.pipe(rowAs(FileRow))

  /** The query asks for one file more than `limit`, which shows that there is another page. */
  const page = (userId: UserId, { after, limit, order, purpose }: ListFiles) => {
    const isAfter = order === "asc" ? sql.literal(">") : sql.literal("<")
    const conditions = [
      sql`user_id = ${userId}::uuid`,
      isKept,
      ...(purpose === undefined ? [] : [sql`purpose = ${purpose}`]),
      ...(after === undefined ? [] : [sql`id ${isAfter} ${after}::uuid`])
    ]
    return sql`SELECT ${columns} FROM files WHERE ${sql.and(conditions)}
      ORDER BY id ${sql.literal(order)} LIMIT ${limit + 1}`.pipe(rowsAs(FileRow))
  }

  /** Deletes the row, its text and its share of the count. Returns the key of the bytes. */
  const remove = (userId: UserId, id: FileId) =>
    sql`WITH gone AS (
        DELETE FROM files WHERE id = ${id}::uuid AND user_id = ${userId}::uuid AND ${isKept}
        RETURNING bytes, storage_key, filename
      ), freed AS (
        UPDATE file_usage SET files = file_usage.files - 1, bytes = file_usage.bytes - gone.bytes
        FROM gone WHERE file_usage.user_id = ${userId}::uuid
      )
      SELECT storage_key, filename FROM gone`.pipe(rowAs(RemovedRow))

  /** The file, if its text must still be read. For the jobs: it doesn't check the user. */
  const unread = (id: FileId) =>
    sql`SELECT ${columns} FROM files WHERE id = ${id}::uuid AND status = 'uploaded' AND ${isKept}`.pipe(
      rowAs(FileRow)
    )

  /** Stores the text and marks the file as processed, unless the file was deleted or read before. */
  const keepText = (
    id: FileId,
    read: FileText & { readonly mediaType: string; readonly extractor: string }
  ) =>
    sql`WITH ready AS (
        UPDATE files SET status = 'processed', media_type = ${read.mediaType}
        WHERE id = ${id}::uuid AND status = 'uploaded' RETURNING id
      )
      INSERT INTO file_texts (file_id, extractor, text, truncated, pages)
      SELECT id, ${read.extractor}, ${storable(read.text)}, ${read.truncated}, ${read.pages}::int[] FROM ready`

  const keepFailure = (id: FileId, reason: string) =>
    sql`UPDATE files SET status = 'error', status_details = ${storable(reason)}
      WHERE id = ${id}::uuid AND status = 'uploaded'`

  /** Summaries of these files of the user; the length of a text is known without unpacking it. */
  const summaries = (userId: UserId, ids: ReadonlyArray<FileId>) =>
    sql`SELECT id, filename, status, status_details, octet_length(text) AS text_bytes, truncated
      FROM files LEFT JOIN file_texts ON file_id = id
      WHERE user_id = ${userId}::uuid AND id = ANY (${ids}::uuid[]) AND ${isKept}`.pipe(rowsAs(TextSummary))

  /** The beginnings of texts. The database unpacks no more of a text than that. */
  const beginnings = (userId: UserId, wanted: ReadonlyArray<WantedText>) =>
    sql`SELECT id, text, octet_length(text) AS bytes FROM (
        SELECT files.id, left(text, characters) AS text
        FROM unnest(
          ${wanted.map(({ id }) => id)}::uuid[], ${wanted.map(({ charactersMax }) => charactersMax)}::int[]
        ) AS wanted (id, characters)
        JOIN files ON files.id = wanted.id AND user_id = ${userId}::uuid AND ${isKept}
        JOIN file_texts ON file_id = files.id
      ) AS begun`.pipe(rowsAs(TextBeginning))

  /** The whole text of a file of the user, if it has one. */
  const text = (userId: UserId, id: FileId) =>
    sql`SELECT text, truncated, pages FROM files JOIN file_texts ON file_id = id
      WHERE id = ${id}::uuid AND user_id = ${userId}::uuid AND ${isKept}`.pipe(rowAs(TextRow))

  return { usage, text, insert, find, page, remove, unread, keepText, keepFailure, summaries, beginnings }
})

export type FileTable = Effect.Success<typeof makeFileTable>
