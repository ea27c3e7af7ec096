import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { ProjectExists, ProjectNotFound } from "../domain/Errors.ts"
import { type OrganizationId, ProjectId, type UserId } from "../domain/Ids.ts"
import { ProjectRole } from "../domain/Project.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowsAs } from "../sql/rows.ts"
import { entryOf } from "./ProjectChanges.ts"
import { makeProjectTable } from "./ProjectTable.ts"

/** Deleted projects that one statement lists. */
const deletedPageRows = 100
/** Files of a project that one statement removes, with what the index has of them. */
const filesPerStepMax = 20

const IdRow = Schema.Struct({ id: ProjectId })
const idsOf = rowsAs(IdRow)

/** Projects of one user that are listed. */
const membershipsMax = 10_000

const MembershipRow = Schema.Struct({
  id: ProjectId,
  name: Schema.String,
  role: ProjectRole,
  addedAt: Schema.DateTimeUtcFromDate
})
export type UserMembership = typeof MembershipRow.Type

/** The methods of Projects that rename and delete projects. */
export const makeProjectDeletion = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const table = yield* makeProjectTable

  /** The project. Other changes of it wait until the transaction ends. */
  const locked = Effect.fnUntraced(function* (id: ProjectId) {
    return (yield* table.lock(id)) ?? (yield* new ProjectNotFound())
  })

  const found = Effect.fnUntraced(function* (id: ProjectId) {
    return (yield* table.find(id)) ?? (yield* new ProjectNotFound())
  })

  const rename = Effect.fn("Projects.rename")(
    function* (id: ProjectId, name: string) {
      const project = yield* locked(id)
      const taken = yield* sql`
        SELECT id FROM projects
        WHERE organization_id = ${project.organizationId} AND lower(name) = lower(${name}) AND id <> ${id}`
      if (taken.length > 0) return yield* new ProjectExists()
      if (project.name !== name) {
        yield* sql`UPDATE projects SET name = ${name} WHERE id = ${id}`
        const details = { name: { old: project.name, new: name } }
        yield* audit.record(entryOf("project.rename", { ...project, name }, details))
      }
      return yield* found(id)
    },
    (effect) => orUnavailable(sql.withTransaction(effect))
  )

  const deleteProject = Effect.fn("Projects.delete")(
    function* (id: ProjectId) {
      const project = yield* locked(id)
      const { files, members } = yield* found(id)
      yield* sql`DELETE FROM project_members WHERE project_id = ${id}`
      // No request can name it: a name has no blank at its beginning.
      yield* sql`UPDATE projects SET name = ' ' || id, deleted_at = now() WHERE id = ${id}`
      yield* audit.record(entryOf("project.delete", project, { files, members }))
      return project
    },
    (effect) => orUnavailable(sql.withTransaction(effect))
  )

  const deletedProjects = sql`
    SELECT id FROM projects WHERE deleted_at IS NOT NULL ORDER BY id LIMIT ${deletedPageRows}`.pipe(
    idsOf,
    Effect.map((rows) => rows.map(({ id }) => id)),
    orUnavailable,
    Effect.withSpan("Projects.deleted")
  )

  /** The compaction removes what is left of the index. */
  const eraseSome = Effect.fn("Projects.eraseSome")(function* (id: ProjectId) {
    const removed = yield* sql`
      DELETE FROM project_files WHERE project_id = ${id} AND file_id IN (
        SELECT file_id FROM project_files WHERE project_id = ${id} LIMIT ${filesPerStepMax}
      ) RETURNING 1`
    if (removed.length === 0) yield* sql`DELETE FROM projects WHERE id = ${id} AND deleted_at IS NOT NULL`
    return removed.length
  }, orUnavailable)

  /** Some projects of an organization; none when it has none. */
  const someOf = Effect.fn("Projects.someOf")(function* (id: OrganizationId) {
    const rows = yield* sql`
      SELECT id FROM projects WHERE organization_id = ${id} AND deleted_at IS NULL
      ORDER BY id LIMIT ${deletedPageRows}`.pipe(idsOf)
    return rows.map((row) => row.id)
  }, orUnavailable)

  const removeUser = Effect.fn("Projects.removeUser")(
    (id: UserId) => Effect.asVoid(sql`DELETE FROM project_members WHERE user_id = ${id}`),
    orUnavailable
  )

  const membershipsOf = Effect.fn("Projects.membershipsOf")(
    (id: UserId) =>
      sql`
        SELECT p.id, p.name, m.role, m.created_at AS added_at FROM project_members m JOIN projects p ON p.id = m.project_id
        WHERE m.user_id = ${id} ORDER BY p.id LIMIT ${membershipsMax}`.pipe(rowsAs(MembershipRow)),
    orUnavailable
  )

  return {
    rename,
    delete: deleteProject,
    deletedProjects,
    eraseSome,
    someOf,
    removeUser,
    membershipsOf
  }
})
