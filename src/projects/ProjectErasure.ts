import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { ProjectNotFound, ProjectsLoseOwner } from "../domain/Errors.ts"
import { type OrganizationId, ProjectId, type UserId } from "../domain/Ids.ts"
import { ProjectRole } from "../domain/Project.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowsAs } from "../sql/rows.ts"
import { entryOf, makeAdmission, type ProjectAccess } from "./Admission.ts"
import type { makeProjectMembers } from "./ProjectMembers.ts"
import { makeProjectTable } from "./ProjectTable.ts"

/** Projects that one statement lists for their deletion. */
const deletedPageRows = 100
/** Files of a project that one statement removes, with their entries in the index. */
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

const HoldingRow = Schema.Struct({
  id: ProjectId,
  name: Schema.String,
  /** Files of the user in the project. */
  files: Schema.Int,
  /** True if the user is an owner, and no other owner may sign in. */
  isOnlyOwner: Schema.Boolean
})
/** A project that others notice the deletion of the user by. */
export type UserHolding = typeof HoldingRow.Type

type AddMember = Effect.Success<typeof makeProjectMembers>["addMember"]

/** The methods of `Projects` that a user's deletion and export call. */
export const makeUserProjects = Effect.fnUntraced(function* (addMember: AddMember) {
  const sql = yield* SqlClient.SqlClient

  const holdings = (id: UserId) =>
    sql`SELECT * FROM (
        SELECT p.id, p.name,
          (SELECT count(*)::int FROM project_files JOIN files f ON f.id = file_id
            WHERE project_id = p.id AND f.user_id = ${id}::uuid) AS files,
          EXISTS (SELECT FROM project_members WHERE project_id = p.id AND user_id = ${id}::uuid AND role = 'owner')
            AND NOT EXISTS (
              SELECT FROM project_members m JOIN users u ON u.id = m.user_id
              WHERE m.project_id = p.id AND m.role = 'owner' AND u.id <> ${id}::uuid AND u.disabled_at IS NULL
            ) AS is_only_owner
        FROM projects p JOIN users u ON u.organization_id = p.organization_id
        WHERE u.id = ${id}::uuid AND p.deleted_at IS NULL
      ) AS held WHERE files > 0 OR is_only_owner ORDER BY name, id LIMIT ${membershipsMax}`.pipe(
      rowsAs(HoldingRow)
    )

  const passProjects = Effect.fn("Projects.passProjects")(
    function* (id: UserId, heir: string | null) {
      // Other changes of their members wait until the transaction ends.
      yield* sql`SELECT id FROM projects WHERE deleted_at IS NULL AND EXISTS (
          SELECT FROM project_members WHERE project_id = projects.id AND user_id = ${id}::uuid AND role = 'owner'
        ) ORDER BY id FOR NO KEY UPDATE`
      const owned = (yield* holdings(id)).filter(({ isOnlyOwner }) => isOnlyOwner)
      if (heir === null) {
        if (owned.length > 0) return yield* new ProjectsLoseOwner({ projects: owned.map(({ name }) => name) })
        return
      }
      // The heir and the projects are locked, so that only the database can fail.
      yield* Effect.forEach(owned, (project) => addMember(project.id, heir, "owner"), {
        discard: true
      }).pipe(Effect.catchIf((error) => error._tag !== "DatabaseUnavailable", Effect.die))
    },
    (effect) => orUnavailable(sql.withTransaction(effect))
  )

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
    holdingsOf: Effect.fn("Projects.holdingsOf")(holdings, orUnavailable),
    passProjects,
    removeUser,
    membershipsOf
  }
})

/** The methods of `Projects` that delete projects, and erase their remains. */
export const makeProjectErasure = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const table = yield* makeProjectTable
  const { admitOwner } = yield* makeAdmission

  const deleteProject = Effect.fn("Projects.delete")(
    function* (access: ProjectAccess) {
      const { project } = yield* admitOwner(access)
      const { id } = project
      const { files, members } = (yield* table.find(id)) ?? (yield* new ProjectNotFound())
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

  /** The compaction of the index removes the remaining words. */
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

  return { delete: deleteProject, deletedProjects, eraseSome, someOf }
})
