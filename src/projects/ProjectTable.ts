import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { FileAttributes } from "../domain/FileAttributes.ts"
import { type FileBatchId, OrganizationId, ProjectId, UserId, FileId } from "../domain/Ids.ts"
import { type CorpusKey, ProjectRole, CorpusStatus } from "../domain/Project.ts"
import { firstId, pageRowsAsked, type Stretch, stretchClauses, stretchOf } from "../sql/Paging.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { visible } from "../sql/visible.ts"

const ProjectRow = Schema.Struct({
  id: ProjectId,
  name: Schema.String,
  organizationId: OrganizationId,
  organization: Schema.String,
  members: Schema.Int,
  files: Schema.Int,
  createdAt: Schema.DateTimeUtcFromDate
})

const LockedRow = Schema.Struct({
  id: ProjectId,
  name: Schema.String,
  organizationId: OrganizationId,
  organization: Schema.String
})

const MemberRow = Schema.Struct({
  userId: UserId,
  email: Schema.String,
  role: ProjectRole,
  addedAt: Schema.DateTimeUtcFromDate
})

const Place = Schema.Struct({
  project: Schema.Boolean,
  user: Schema.Boolean,
  sameOrganization: Schema.Boolean
})

const Owner = Schema.Struct({ email: Schema.String })

/** The owners of a project. */
const makeOwners = (sql: SqlClient.SqlClient) => {
  /** Who has owned the project for longest. */
  const owner = (projectId: ProjectId) =>
    sql`SELECT u.email FROM project_members m JOIN users u ON u.id = m.user_id
      WHERE m.project_id = ${projectId}::uuid AND m.role = 'owner' ORDER BY m.created_at, m.user_id LIMIT 1`.pipe(
      rowAs(Owner),
      Effect.map((row) => row?.email)
    )

  /** Whether the user is an owner of the project, and no other owner may sign in. */
  const isOnlyOwner = (projectId: ProjectId, email: string) =>
    Effect.map(
      sql`SELECT 1 FROM project_members m JOIN users u ON u.id = m.user_id
        WHERE m.project_id = ${projectId}::uuid AND m.role = 'owner'
        HAVING bool_or(lower(u.email) = lower(${email}))
          AND NOT bool_or(lower(u.email) <> lower(${email}) AND u.disabled_at IS NULL)`,
      (rows) => rows.length > 0
    )

  return { owner, isOnlyOwner }
}

/** The tables `projects` and `project_members`, as far as the actor sees them. */
export const makeProjectTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /** Inserts nothing where the name is taken or the organization doesn't exist. */
  const insert = Effect.fnUntraced(function* (id: ProjectId, name: string, organization: string) {
    return yield* sql`WITH created AS (
        INSERT INTO projects (id, organization_id, name)
        SELECT ${id}::uuid, id, ${name} FROM organizations
        WHERE name = ${organization} ${yield* visible(sql, "id")}
        ON CONFLICT (organization_id, lower(name)) DO NOTHING
        RETURNING id, organization_id, name, created_at
      )
      SELECT created.*, o.name AS organization, 0 AS members, 0 AS files
      FROM created JOIN organizations o ON o.id = created.organization_id`.pipe(rowAs(ProjectRow))
  })

  const hasOrganization = Effect.fnUntraced(function* (name: string) {
    const rows = yield* sql`SELECT 1 FROM organizations WHERE name = ${name} ${yield* visible(sql, "id")}`
    return rows.length > 0
  })

  const columns = sql.literal(`p.id, p.name, p.organization_id, o.name AS organization, p.created_at,
    (SELECT count(*)::int FROM project_members WHERE project_id = p.id) AS members,
    (SELECT count(*)::int FROM project_files WHERE project_id = p.id) AS files`)

  /** Oldest first; one row more than a page has. */
  const page = Effect.fnUntraced(function* (name: string | null, after?: ProjectId) {
    return yield* sql`SELECT ${columns} FROM projects p JOIN organizations o ON o.id = p.organization_id
      WHERE p.id > ${after ?? firstId}::uuid AND p.deleted_at IS NULL ${yield* visible(sql, "p.organization_id")}
      ${name === null ? sql.literal("") : sql`AND lower(p.name) = lower(${name})`}
      ORDER BY p.id LIMIT ${pageRowsAsked}`.pipe(rowsAs(ProjectRow))
  })

  const find = Effect.fnUntraced(function* (id: ProjectId) {
    return yield* sql`SELECT ${columns} FROM projects p JOIN organizations o ON o.id = p.organization_id
      WHERE p.id = ${id}::uuid AND p.deleted_at IS NULL ${yield* visible(sql, "p.organization_id")}`.pipe(
      rowAs(ProjectRow)
    )
  })

  /** Until the end of the transaction, others that lock it wait, so that changes of a project come one after the other. */
  const lock = Effect.fnUntraced(function* (id: ProjectId) {
    return yield* sql`SELECT p.id, p.name, p.organization_id, o.name AS organization
      FROM projects p JOIN organizations o ON o.id = p.organization_id
      WHERE p.id = ${id}::uuid AND p.deleted_at IS NULL ${yield* visible(sql, "p.organization_id")}
      FOR NO KEY UPDATE OF p`.pipe(rowAs(LockedRow))
  })

  const memberColumns = sql.literal("m.user_id, u.email, m.role, m.created_at AS added_at")

  /** In the order in which the users were created; one row more than a page has. */
  const members = (projectId: ProjectId, after?: UserId) =>
    sql`SELECT ${memberColumns} FROM project_members m JOIN users u ON u.id = m.user_id
      WHERE m.project_id = ${projectId}::uuid AND m.user_id > ${after ?? firstId}::uuid
      ORDER BY m.user_id LIMIT ${pageRowsAsked}`.pipe(rowsAs(MemberRow))

  /** Makes a user of the project's organization a member, or gives a member that role. */
  const addMember = Effect.fnUntraced(function* (projectId: ProjectId, email: string, role: ProjectRole) {
    return yield* sql`WITH created AS (
        INSERT INTO project_members (project_id, user_id, role)
        SELECT p.id, u.id, ${role} FROM projects p JOIN users u ON u.organization_id = p.organization_id
        WHERE p.id = ${projectId}::uuid AND lower(u.email) = lower(${email})
          ${yield* visible(sql, "p.organization_id")}
        ON CONFLICT (project_id, user_id) DO UPDATE SET role = excluded.role
        RETURNING user_id, role, created_at
      )
      SELECT ${memberColumns} FROM created m JOIN users u ON u.id = m.user_id`.pipe(rowAs(MemberRow))
  })

  const member = (projectId: ProjectId, email: string) =>
    sql`SELECT ${memberColumns} FROM project_members m JOIN users u ON u.id = m.user_id
      WHERE m.project_id = ${projectId}::uuid AND lower(u.email) = lower(${email})`.pipe(rowAs(MemberRow))

  /** Members are users of the project's organization. Undefined where the user isn't a member. */
  const removeMember = Effect.fnUntraced(function* (projectId: ProjectId, email: string) {
    return yield* sql`DELETE FROM project_members m USING users u
      WHERE m.project_id = ${projectId}::uuid AND m.user_id = u.id AND lower(u.email) = lower(${email})
        ${yield* visible(sql, "u.organization_id")}
      RETURNING ${memberColumns}`.pipe(rowAs(MemberRow))
  })

  /** What there is of a project and a user. */
  const place = Effect.fnUntraced(function* (projectId: ProjectId, email: string) {
    const [row] = yield* sql`SELECT p.id IS NOT NULL AS project, u.id IS NOT NULL AS user,
        coalesce(u.organization_id = p.organization_id, false) AS same_organization
      FROM (SELECT ${projectId}::uuid AS project_id, lower(${email}) AS email) AS named
      LEFT JOIN projects p ON p.id = named.project_id AND p.deleted_at IS NULL
        ${yield* visible(sql, "p.organization_id")}
      LEFT JOIN users u ON lower(u.email) = named.email ${yield* visible(sql, "u.organization_id")}`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Schema.Tuple([Place])))
    )
    return row
  })

  return {
    insert,
    hasOrganization,
    page,
    find,
    lock,
    members,
    member,
    addMember,
    removeMember,
    place,
    ...makeOwners(sql)
  }
})

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

/** The table `project_files`, joined with what the other tables hold of the files. */
export const makeCorpusTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ofKey = ({ fileId, projectId }: CorpusKey) =>
    sql`project_id = ${projectId}::uuid AND file_id = ${fileId}::uuid`

  /** An expired file is treated as missing, also before its row is deleted. */
  const isKept = sql.literal("(f.expires_at IS NULL OR f.expires_at > now())")

  const selectRows = sql`
    SELECT p.file_id, f.filename, f.bytes::float8 AS bytes, f.user_id AS owner_id, u.email AS owner, p.status, p.status_details, p.chunks, p.attributes, p.added_at
    FROM project_files p JOIN files f ON f.id = p.file_id AND ${isKept} JOIN users u ON u.id = f.user_id`

  /** In the order of upload; one row more than a page has. */
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

  /** What there is of what an `insert` named. */
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

  /** What the index has of the file goes with its row. Undefined where the project doesn't have the file. */
  const remove = Effect.fnUntraced(function* (key: CorpusKey) {
    return yield* sql`DELETE FROM project_files USING projects p, files f
      WHERE ${ofKey(key)} AND p.id = project_id AND f.id = file_id ${yield* visible(sql, "p.organization_id")}
      RETURNING f.filename`.pipe(rowAs(RemovedRow))
  })

  return { page, list, find, insert, insertAll, place, remove }
})
