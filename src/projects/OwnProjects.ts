import { type DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Role } from "../domain/Account.ts"
import {
  type DatabaseUnavailable,
  EndpointForbidden,
  type OrganizationNotFound,
  type ProjectExists,
  ProjectNotFound,
  TooManyProjects
} from "../domain/Errors.ts"
import { ProjectId, type UserId } from "../domain/Ids.ts"
import { mayCreateProjects, type Project, type ProjectMembership, ProjectRole } from "../domain/Project.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { type Stretch, stretchClauses, stretchOf } from "../sql/Paging.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import type { makeProjectMembers } from "./ProjectMembers.ts"

/** A project as its members see it. */
export interface ReadableProject {
  readonly id: ProjectId
  readonly name: string
  readonly createdAt: DateTime.Utc
  /** The role of the member who asks. */
  readonly role: ProjectRole
  readonly members: number
  /** The size of all files together. */
  readonly bytes: number
  readonly pending: number
  readonly indexed: number
  readonly failed: number
  /** Notes by clients of vector stores. */
  readonly description: string | null
  readonly metadata: Readonly<Record<string, string>>
}

const Row = Schema.Struct({
  id: ProjectId,
  name: Schema.String,
  createdAt: Schema.DateTimeUtcFromDate,
  role: ProjectRole,
  members: Schema.Int,
  bytes: Schema.Finite,
  pending: Schema.Int,
  indexed: Schema.Int,
  failed: Schema.Int,
  description: Schema.NullOr(Schema.String),
  metadata: Schema.Record(Schema.String, Schema.String)
})

const CreatorRow = Schema.Struct({
  email: Schema.String,
  role: Role,
  organization: Schema.String
})

type Creation = (
  name: string,
  organization: string
) => Effect.Effect<Project, ProjectExists | OrganizationNotFound | DatabaseUnavailable>
type AddMember = Effect.Success<typeof makeProjectMembers>["addMember"]

/** The method of `Projects` that creates a project for a user. */
export const makeOwnCreation = Effect.fnUntraced(function* (create: Creation, addMember: AddMember) {
  const sql = yield* SqlClient.SqlClient
  const { creators, ownedMax } = (yield* AppConfig).projects

  /**
   * Locks the user until the end of the transaction, so that creations for one user come one after the other.
   */
  const lockCreator = (userId: UserId) =>
    sql`SELECT u.email, u.role, o.name AS organization
      FROM users u JOIN organizations o ON o.id = u.organization_id
      WHERE u.id = ${userId}::uuid FOR NO KEY UPDATE OF u`.pipe(rowAs(CreatorRow))

  /**
   * Counts in a separate statement, which sees the projects that others created until the user was locked.
   */
  const ownsAsMany = (userId: UserId) =>
    Effect.map(
      sql`SELECT 1 FROM project_members WHERE user_id = ${userId}::uuid AND role = 'owner'
        OFFSET ${ownedMax - 1} LIMIT 1`,
      (rows) => rows.length > 0
    )

  return Effect.fn("Projects.createOwn")(
    function* (userId: UserId, name: string) {
      const creator = yield* lockCreator(userId)
      if (creator === undefined || !mayCreateProjects(creators, creator.role)) {
        return yield* new EndpointForbidden()
      }
      if (yield* ownsAsMany(userId)) return yield* new TooManyProjects({ projectsMax: ownedMax })
      const project = yield* create(name, creator.organization)
      // No other request can see the project yet, and the user is locked.
      yield* Effect.orDie(addMember(project.id, creator.email, "owner"))
      return project
    },
    (effect) => orUnavailable(sql.withTransaction(effect))
  )
})

/** The methods of `Projects` that show projects to their members. */
export const makeOwnProjects = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const select = sql`
    SELECT p.id, p.name, p.created_at, p.description, p.metadata, m.role,
      (SELECT count(*)::int FROM project_members WHERE project_id = p.id) AS members, coalesce(sum(f.bytes), 0)::float8 AS bytes,
      (count(f.id) FILTER (WHERE c.status = 'pending'))::int AS pending,
      (count(f.id) FILTER (WHERE c.status = 'indexed'))::int AS indexed,
      (count(f.id) FILTER (WHERE c.status = 'error'))::int AS failed
    FROM projects p
    JOIN project_members m ON m.project_id = p.id
    LEFT JOIN project_files c ON c.project_id = p.id
    LEFT JOIN files f ON f.id = c.file_id AND (f.expires_at IS NULL OR f.expires_at > now())`

  const listOwn = Effect.fn("Projects.listOwn")(function* (userId: UserId, wanted: Stretch<ProjectId>) {
    const { conditions, order } = stretchClauses(sql, "p.id", wanted)
    const rows = yield* sql`${select}
      WHERE m.user_id = ${userId}::uuid AND p.deleted_at IS NULL ${conditions}
      GROUP BY p.id, m.role ${order}`.pipe(rowsAs(Row))
    return stretchOf(rows, wanted)
  }, orUnavailable)

  const getOwn = Effect.fn("Projects.getOwn")(function* ({ projectId, userId }: ProjectMembership) {
    const found = yield* sql`${select}
      WHERE p.deleted_at IS NULL AND p.id = ${projectId}::uuid AND m.user_id = ${userId}::uuid
      GROUP BY p.id, m.role`.pipe(rowAs(Row), orUnavailable)
    return found ?? (yield* new ProjectNotFound())
  })

  return { listOwn, getOwn }
})
