import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { FileId, ProjectId } from "../domain/Ids.ts"
import { CorpusStatus } from "../domain/Project.ts"
import { firstId, pageRowsAsked } from "../sql/Paging.ts"

/** A file of a project. */
export const CorpusKey = Schema.Struct({ projectId: ProjectId, fileId: FileId })
export type CorpusKey = typeof CorpusKey.Type

/** The one job that may change a row. */
export const CorpusJob = Schema.Struct({ ...CorpusKey.fields, job: Schema.String })
export type CorpusJob = typeof CorpusJob.Type

const CorpusRow = Schema.Struct({
  fileId: FileId,
  filename: Schema.String,
  bytes: Schema.Int,
  owner: Schema.String,
  status: CorpusStatus,
  statusDetails: Schema.NullOr(Schema.String),
  chunks: Schema.NullOr(Schema.Int),
  addedAt: Schema.DateTimeUtcFromDate
})

const Place = Schema.Struct({
  project: Schema.Boolean,
  file: Schema.Boolean,
  sameOrganization: Schema.Boolean
})
const first = <A>(rows: ReadonlyArray<A>): A | undefined => rows[0]

/** The table `project_files`, as people see it: with what the other tables tell of the files that it names. */
export const makeCorpusTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ofKey = ({ fileId, projectId }: CorpusKey) =>
    sql`project_id = ${projectId}::uuid AND file_id = ${fileId}::uuid`

  /** A file whose time is over is like none, also before its row is deleted. */
  const isKept = sql.literal("(f.expires_at IS NULL OR f.expires_at > now())")

  const selectRows = sql`
    SELECT p.file_id, f.filename, f.bytes::float8 AS bytes, u.email AS owner, p.status, p.status_details, p.chunks, p.added_at
    FROM project_files p JOIN files f ON f.id = p.file_id AND ${isKept} JOIN users u ON u.id = f.user_id`

  /** In the order of upload; one row more than a page has. */
  const page = (projectId: ProjectId, status: CorpusStatus | null, after?: FileId) =>
    sql`${selectRows} WHERE p.project_id = ${projectId}::uuid AND p.file_id > ${after ?? firstId}::uuid
      ${status === null ? sql.literal("") : sql`AND p.status = ${status}`}
      ORDER BY p.file_id LIMIT ${pageRowsAsked}`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Schema.Array(CorpusRow)))
    )

  const find = ({ fileId, projectId }: CorpusKey) =>
    sql`${selectRows} WHERE p.project_id = ${projectId}::uuid AND p.file_id = ${fileId}::uuid`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Schema.Array(CorpusRow))),
      Effect.map(first)
    )

  /** Adds a file of the project's organization; nothing where there is none, or where it was added before. */
  const insert = ({ fileId, projectId }: CorpusKey) =>
    sql`INSERT INTO project_files (project_id, file_id, added_by)
      SELECT p.id, f.id, u.id
      FROM projects p, files f JOIN users u ON u.id = f.user_id
      WHERE p.id = ${projectId}::uuid AND f.id = ${fileId}::uuid AND ${isKept} AND u.organization_id = p.organization_id
      ON CONFLICT (project_id, file_id) DO NOTHING`

  /** What there is of what an `insert` named. */
  const place = ({ fileId, projectId }: CorpusKey) =>
    sql`SELECT p.id IS NOT NULL AS project, f.id IS NOT NULL AS file,
        coalesce(u.organization_id = p.organization_id, false) AS same_organization
      FROM (SELECT ${projectId}::uuid AS project_id, ${fileId}::uuid AS file_id) AS named
      LEFT JOIN projects p ON p.id = named.project_id
      LEFT JOIN files f ON f.id = named.file_id AND ${isKept} LEFT JOIN users u ON u.id = f.user_id`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Schema.Tuple([Place]))),
      Effect.map(([row]) => row)
    )

  /** What the index has of the file goes with its row. */
  const remove = (key: CorpusKey) =>
    sql`DELETE FROM project_files WHERE ${ofKey(key)} RETURNING file_id`.pipe(
      Effect.map((rows) => rows.length > 0)
    )

  return { page, find, insert, place, remove }
})

export type CorpusTable = Effect.Success<typeof makeCorpusTable>
