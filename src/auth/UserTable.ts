import { Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { Role } from "../domain/Account.ts"
import { OrganizationId, UserId } from "../domain/Ids.ts"

/** A user as `selectUsers` finds it. */
export const UserRow = Schema.Struct({
  id: UserId,
  email: Schema.String,
  organizationId: OrganizationId,
  organization: Schema.String,
  role: Role,
  hasPassword: Schema.Boolean,
  identities: Schema.Int,
  disabledAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  createdAt: Schema.DateTimeUtcFromDate,
  lastSignInAt: Schema.NullOr(Schema.DateTimeUtcFromDate)
})

/** The columns of a `UserRow`, of a user `u` and an organization `o`. */
export const userColumns = (sql: SqlClient.SqlClient) =>
  sql.literal(
    "u.id, u.email, u.organization_id, o.name AS organization, u.role, u.disabled_at, u.created_at, " +
      "u.last_sign_in_at, EXISTS (SELECT 1 FROM passwords p WHERE p.user_id = u.id) AS has_password, " +
      "(SELECT count(*)::int FROM identities i WHERE i.user_id = u.id) AS identities"
  )

export const selectUsers = (sql: SqlClient.SqlClient) => sql`
  SELECT ${userColumns(sql)} FROM users u JOIN organizations o ON o.id = u.organization_id`
