import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { FileAttributes } from "../domain/FileAttributes.ts"
import { type FileBatchId, FileId, type ProjectId, UserId } from "../domain/Ids.ts"
import { type CorpusKey, CorpusStatus } from "../domain/Project.ts"
import { firstId, pageRowsAsked, type Stretch, stretchClauses, stretchOf } from "../sql/Paging.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { visible } from "../sql/visible.ts"

const CorpusRow = Schema.Struct({
  fileId: FileId,
  filename: Schema.String,
  bytes: Schema.Int,
  ownerId: UserId,
  owner: Schema.String,
  status: CorpusStatus,
  statusDetails: Schema.NullOr(Schema.String),
  chunks: Schema.NullOr(Schema.Int),
  attributes: FileAttributes,
  addedAt: Schema.DateTimeUtcFromDate
})

const AddedRow = Schema.Struct({ fileId: FileId, filename: Schema.String, owner: Schema.String })
const RemovedRow = Schema.Struct({ filename: Schema.String })

const FilePlace = Schema.Struct({
  project: Schema.Boolean,
  file: Schema.Boolean,
  sameOrganization: Schema.Boolean
})

/** The table `project_files`, joined with the data of its files in other tables. */
export const makeCorpusTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ofKey = ({ fileId, projectId }: CorpusKey) =>
    sql`project_id = ${projectId}::uuid AND file_id = ${fileId}::uuid`

  /** An expired file is treated as missing, also before its row is deleted. */
  const isKept = sql.literal("(f.expires_at IS NULL OR f.expires_at > now())")

  const selectRows = sql`
    SELECT p.file_id, f.filename, f.bytes::float8 AS bytes, f.user_id AS owner_id, u.email AS owner, p.status, p.status_details, p.chunks, p.attributes, p.added_at
    FROM project_files p JOIN files f ON f.id = p.file_id AND ${isKept} JOIN users u ON u.id = f.user_id`

  /** Files in the order of upload; one row more than a page has. */
  const page = (projectId: ProjectId, status: CorpusStatus | null, after?: FileId) =>
    sql`${selectRows} WHERE p.project_id = ${projectId}::uuid AND p.file_id > ${after ?? firstId}::uuid
      ${status === null ? sql.literal("") : sql`AND p.status = ${status}`}
      ORDER BY p.file_id LIMIT ${pageRowsAsked}`.pipe(rowsAs(CorpusRow))

  const list = (
    projectId: ProjectId,
    {
      batch,
      status,
      ...stretch
    }: Stretch<FileId> & {
      readonly status: CorpusStatus | null
      readonly batch: FileBatchId | null
    }
  ) => {
    const { conditions, order } = stretchClauses(sql, "p.file_id", stretch)
    return sql`${selectRows} WHERE p.project_id = ${projectId}::uuid ${conditions}
      ${status === null ? sql.literal("") : sql`AND p.status = ${status}`}
      ${
        batch === null
          ? sql.literal("")
          : sql`AND p.file_id IN (SELECT file_id FROM file_batch_files WHERE batch_id = ${batch}::uuid)`
      } ${order}`.pipe(
      rowsAs(CorpusRow),
      Effect.map((rows) => stretchOf(rows, stretch))
    )
  }

  /** A file of a project is one of the project's organization. */
  const find = Effect.fnUntraced(function* ({ fileId, projectId }: CorpusKey) {
    return yield* sql`${selectRows} WHERE p.project_id = ${projectId}::uuid AND p.file_id = ${fileId}::uuid
      ${yield* visible(sql, "u.organization_id")}`.pipe(rowAs(CorpusRow))
  })

  /** Adds a file of the project's organization; false where there is none, or where it was added before. */
  const insert = Effect.fnUntraced(function* ({ fileId, projectId }: CorpusKey) {
    const rows = yield* sql`INSERT INTO project_files (project_id, file_id)
      SELECT p.id, f.id
      FROM projects p, files f JOIN users u ON u.id = f.user_id
      WHERE p.id = ${projectId}::uuid AND f.id = ${fileId}::uuid AND ${isKept} AND u.organization_id = p.organization_id
        ${yield* visible(sql, "p.organization_id")}
      ON CONFLICT (project_id, file_id) DO NOTHING RETURNING file_id`
    return rows.length > 0
  })

  /** Adds files of the project's organization; the answer is those that it didn't have. */
  const insertAll = Effect.fnUntraced(function* (projectId: ProjectId, fileIds: ReadonlyArray<FileId>) {
    return yield* sql`WITH added AS (
        INSERT INTO project_files (project_id, file_id)
        SELECT p.id, f.id
        FROM projects p, files f JOIN users u ON u.id = f.user_id
        WHERE p.id = ${projectId}::uuid AND f.id = ANY (${fileIds}::uuid[]) AND ${isKept}
          AND u.organization_id = p.organization_id ${yield* visible(sql, "p.organization_id")}
        ON CONFLICT (project_id, file_id) DO NOTHING RETURNING file_id
      )
      SELECT f.id AS file_id, f.filename, u.email AS owner
      FROM added JOIN files f ON f.id = added.file_id JOIN users u ON u.id = f.user_id ORDER BY f.id`.pipe(
      rowsAs(AddedRow)
    )
  })

  /** Finds out if the project or the file of a failed `insert` is missing. */
  const place = Effect.fnUntraced(function* ({ fileId, projectId }: CorpusKey) {
    const [row] = yield* sql`SELECT p.id IS NOT NULL AS project, u.id IS NOT NULL AS file,
        coalesce(u.organization_id = p.organization_id, false) AS same_organization
      FROM (SELECT ${projectId}::uuid AS project_id, ${fileId}::uuid AS file_id) AS named
      LEFT JOIN projects p ON p.id = named.project_id AND p.deleted_at IS NULL
        ${yield* visible(sql, "p.organization_id")}
      LEFT JOIN files f ON f.id = named.file_id AND ${isKept}
      LEFT JOIN users u ON u.id = f.user_id ${yield* visible(sql, "u.organization_id")}`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Schema.Tuple([FilePlace])))
    )
    return row
  })

  /**
   * Removes the row, and with it its passages in the index. Undefined if the project doesn't have the file.
   */
  const remove = Effect.fnUntraced(function* (key: CorpusKey) {
    return yield* sql`DELETE FROM project_files USING projects p, files f
      WHERE ${ofKey(key)} AND p.id = project_id AND f.id = file_id ${yield* visible(sql, "p.organization_id")}
      RETURNING f.filename`.pipe(rowAs(RemovedRow))
  })

  return { page, list, find, insert, insertAll, place, remove }
})
