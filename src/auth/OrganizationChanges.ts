import { DateTime, Effect, Number, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { type Organization, Role } from "../domain/Account.ts"
import {
  LastOwner,
  OrganizationExists,
  OrganizationNotEmpty,
  OrganizationNotFound
} from "../domain/Errors.ts"
import type { OrganizationId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { makeOwnerRule, requireRole } from "./ManagedUser.ts"
import { aboutOrganization, OrganizationRow } from "./Organizations.ts"

/** Users of an organization that one statement lists. */
const usersPageRows = 200

const EmailRow = Schema.Struct({ email: Schema.String })
const RoleRow = Schema.Struct({ role: Role, users: Schema.Int, isOwner: Schema.Boolean })
const ProjectsRow = Schema.Struct({ projects: Schema.Int })

/** The methods of Accounts that rename and delete organizations. */
export const makeOrganizationChanges = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const owners = yield* makeOwnerRule

  const locked = Effect.fnUntraced(function* (name: string) {
    const found = yield* sql`
      SELECT id, name, plan, created_at FROM organizations WHERE name = ${name} FOR UPDATE`.pipe(
      rowAs(OrganizationRow)
    )
    return found ?? (yield* new OrganizationNotFound())
  })

  const renameOrganization = Effect.fn("Accounts.renameOrganization")(
    function* (name: string, newName: string) {
      const organization = yield* locked(name)
      if (name === newName) return organization
      const taken = yield* sql`SELECT id FROM organizations WHERE name = ${newName}`
      if (taken.length > 0) return yield* new OrganizationExists()
      yield* sql`UPDATE organizations SET name = ${newName} WHERE id = ${organization.id}`
      const renamed: Organization = { ...organization, name: newName }
      const details = { name: { old: name, new: newName } }
      yield* audit.record({ action: "organization.rename", ...aboutOrganization(renamed), details })
      return renamed
    },
    (effect) => orUnavailable(sql.withTransaction(effect))
  )

  /**
   * Returns the contents of an organization. Fails if the actor may not delete all of its users, or if they
   * are the only owners.
   */
  const organizationContents = Effect.fn("Accounts.organizationContents")(function* (id: OrganizationId) {
    const roles = yield* sql`
      SELECT role, count(*)::int AS users, bool_or(role = 'owner' AND disabled_at IS NULL) AS is_owner FROM users
      WHERE organization_id = ${id} AND deleted_at IS NULL GROUP BY role`.pipe(rowsAs(RoleRow))
    yield* Effect.forEach(roles, ({ role }) => requireRole(role, "organization"), { discard: true })
    if (roles.some(({ isOwner }) => isOwner)) {
      const others = yield* sql`
        SELECT 1 FROM users WHERE role = 'owner' AND disabled_at IS NULL AND organization_id <> ${id} LIMIT 1`
      if (others.length === 0) return yield* new LastOwner()
    }
    const projects = yield* sql`
      SELECT count(*)::int AS projects FROM projects WHERE organization_id = ${id} AND deleted_at IS NULL`.pipe(
      rowAs(ProjectsRow)
    )
    return { users: Number.sumAll(roles.map(({ users }) => users)), projects: projects?.projects ?? 0 }
  }, orUnavailable)

  /** The addresses of some users of an organization; none when it has none. */
  const someUsersOf = Effect.fn("Accounts.someUsersOf")(function* (id: OrganizationId) {
    const rows = yield* sql`
      SELECT email FROM users WHERE organization_id = ${id} AND deleted_at IS NULL
      ORDER BY id LIMIT ${usersPageRows}`.pipe(rowsAs(EmailRow))
    return rows.map(({ email }) => email)
  }, orUnavailable)

  const deleteOrganization = Effect.fn("Accounts.deleteOrganization")(
    function* (name: string) {
      yield* owners.lock
      const organization = yield* locked(name)
      const contents = yield* organizationContents(organization.id)
      if (contents.users + contents.projects > 0) return yield* new OrganizationNotEmpty(contents)
      const now = DateTime.toDateUtc(yield* DateTime.now)
      yield* sql`DELETE FROM links WHERE organization_id = ${organization.id}`
      // No request can name it: a name has no blank at its beginning.
      yield* sql`
        UPDATE organizations SET name = ' ' || id, deleted_at = ${now} WHERE id = ${organization.id}`
      yield* audit.record({ action: "organization.delete", ...aboutOrganization(organization) })
      return organization
    },
    (effect) => orUnavailable(sql.withTransaction(effect))
  )

  /** Removes the rows of deleted organizations whose users have gone. */
  const forgetOrganizations = sql`
    DELETE FROM organizations o WHERE deleted_at IS NOT NULL
      AND NOT EXISTS (SELECT FROM users WHERE organization_id = o.id)
      AND NOT EXISTS (SELECT FROM projects WHERE organization_id = o.id)`.pipe(
    Effect.asVoid,
    orUnavailable,
    Effect.withSpan("Accounts.forgetOrganizations")
  )

  return {
    renameOrganization,
    organizationContents,
    someUsersOf,
    deleteOrganization,
    forgetOrganizations
  }
})
