import { Context, type DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Page } from "../domain/Account.ts"
import { type DatabaseUnavailable, ProjectNotFound } from "../domain/Errors.ts"
import { ProjectId, type UserId } from "../domain/Ids.ts"
import { type ProjectMembership, ProjectRole } from "../domain/Project.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { type Stretch, stretchClauses, stretchOf } from "../sql/Paging.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"

/** A project as its members see it. */
export interface ReadableProject {
  readonly id: ProjectId
  readonly name: string
  readonly createdAt: DateTime.Utc
  /** Of the member who looks. */
  readonly role: ProjectRole
  readonly members: number
  /** Of all files together. */
  readonly bytes: number
  readonly pending: number
  readonly indexed: number
  readonly failed: number
  /** What clients of vector stores note of it. */
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

/** The projects that a user is a member of. */
export class ReadableProjects extends Context.Service<
  ReadableProjects,
  {
    /** In the order of their creation. */
    readonly list: (
      userId: UserId,
      wanted: Stretch<ProjectId>
    ) => Effect.Effect<Page<ReadableProject>, DatabaseUnavailable>
    readonly get: (
      membership: ProjectMembership
    ) => Effect.Effect<ReadableProject, ProjectNotFound | DatabaseUnavailable>
  }
>()("parley/projects/ReadableProjects") {
  static readonly layer = Layer.effect(
    ReadableProjects,
    Effect.gen(function* () {
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

      const list = Effect.fn("ReadableProjects.list")(function* (userId: UserId, wanted: Stretch<ProjectId>) {
        const { conditions, order } = stretchClauses(sql, "p.id", wanted)
        const rows = yield* sql`${select}
          WHERE m.user_id = ${userId}::uuid AND p.deleted_at IS NULL ${conditions}
          GROUP BY p.id, m.role ${order}`.pipe(rowsAs(Row))
        return stretchOf(rows, wanted)
      }, orUnavailable)

      const get = Effect.fn("ReadableProjects.get")(function* ({ projectId, userId }: ProjectMembership) {
        const found = yield* sql`${select}
          WHERE p.deleted_at IS NULL AND p.id = ${projectId}::uuid AND m.user_id = ${userId}::uuid
          GROUP BY p.id, m.role`.pipe(rowAs(Row), orUnavailable)
        return found ?? (yield* new ProjectNotFound())
      })

      return ReadableProjects.of({ list, get })
    })
  )
}
