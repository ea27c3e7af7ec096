import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { OrganizationId, ProjectId, UserId } from "../domain/Ids.ts"
import { ProjectRole } from "../domain/Project.ts"
import { firstId, pageRowsAsked } from "../sql/Paging.ts"
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

/** A project that is locked for a change. */
const LockedRow = Schema.Struct({
  id: ProjectId,
  name: Schema.String,
  organizationId: OrganizationId,
  organization: Schema.String
})

export type LockedProject = typeof LockedRow.Type

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

/** The table `project_members`. */
const makeMemberTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const memberColumns = sql.literal("m.user_id, u.email, m.role, m.created_at AS added_at")

  /** Members in the order in which the users were created; one row more than a page has. */
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

  const memberOfId = (projectId: ProjectId, userId: UserId) =>
    sql`SELECT ${memberColumns} FROM project_members m JOIN users u ON u.id = m.user_id
      WHERE m.project_id = ${projectId}::uuid AND m.user_id = ${userId}::uuid`.pipe(rowAs(MemberRow))

  /** Members are users of the project's organization. Undefined where the user isn't a member. */
  const removeMember = Effect.fnUntraced(function* (projectId: ProjectId, email: string) {
    return yield* sql`DELETE FROM project_members m USING users u
      WHERE m.project_id = ${projectId}::uuid AND m.user_id = u.id AND lower(u.email) = lower(${email})
        ${yield* visible(sql, "u.organization_id")}
      RETURNING ${memberColumns}`.pipe(rowAs(MemberRow))
  })

  /** The address of the user who has owned the project for longest. */
  const owner = (projectId: ProjectId) =>
    sql`SELECT u.email FROM project_members m JOIN users u ON u.id = m.user_id
      WHERE m.project_id = ${projectId}::uuid AND m.role = 'owner' ORDER BY m.created_at, m.user_id LIMIT 1`.pipe(
      rowAs(Owner),
      Effect.map((row) => row?.email)
    )

  /** True if the user is an owner of the project, and no other owner may sign in. */
  const isOnlyOwner = (projectId: ProjectId, email: string) =>
    Effect.map(
      sql`SELECT 1 FROM project_members m JOIN users u ON u.id = m.user_id
        WHERE m.project_id = ${projectId}::uuid AND m.role = 'owner'
        HAVING bool_or(lower(u.email) = lower(${email}))
          AND NOT bool_or(lower(u.email) <> lower(${email}) AND u.disabled_at IS NULL)`,
      (rows) => rows.length > 0
    )

  return { members, member, memberOfId, addMember, removeMember, owner, isOnlyOwner }
})

/** The tables `projects` and `project_members`, restricted to what `CurrentActor` sees. */
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

  /**
   * True if another project of the organization has the name. Names of deleted projects begin with a blank.
   */
  const isTaken = (project: typeof LockedRow.Type, name: string) =>
    Effect.map(
      sql`SELECT id FROM projects
        WHERE organization_id = ${project.organizationId} AND lower(name) = lower(${name}) AND id <> ${project.id}`,
      (rows) => rows.length > 0
    )

  const rename = (id: ProjectId, name: string) => sql`UPDATE projects SET name = ${name} WHERE id = ${id}`

  const hasOrganization = Effect.fnUntraced(function* (name: string) {
    const rows = yield* sql`SELECT 1 FROM organizations WHERE name = ${name} ${yield* visible(sql, "id")}`
    return rows.length > 0
  })

  const columns = sql.literal(`p.id, p.name, p.organization_id, o.name AS organization, p.created_at,
    (SELECT count(*)::int FROM project_members WHERE project_id = p.id) AS members,
    (SELECT count(*)::int FROM project_files WHERE project_id = p.id) AS files`)

  /** Projects, oldest first; one row more than a page has. */
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

  /** Locks the project until the end of the transaction, so that its changes come one after the other. */
  const lock = Effect.fnUntraced(function* (id: ProjectId) {
    return yield* sql`SELECT p.id, p.name, p.organization_id, o.name AS organization
      FROM projects p JOIN organizations o ON o.id = p.organization_id
      WHERE p.id = ${id}::uuid AND p.deleted_at IS NULL ${yield* visible(sql, "p.organization_id")}
      FOR NO KEY UPDATE OF p`.pipe(rowAs(LockedRow))
  })

  /** Finds out if the project and the user exist, and belong to one organization. */
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
    isTaken,
    rename,
    hasOrganization,
    page,
    find,
    lock,
    place,
    ...(yield* makeMemberTable)
  }
})
