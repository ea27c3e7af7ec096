import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { actorsOrganization } from "../domain/Actor.ts"

/**
 * A condition for a WHERE or an ON, to stand behind another one: that the column is the organization which
 * the actor sees. It is empty for those who see all. What is not visible is then not found, in the same way
 * as what doesn't exist.
 */
export const visible = (sql: SqlClient.SqlClient, column: string): Effect.Effect<Statement.Fragment> =>
  Effect.map(actorsOrganization, (organizationId) =>
    organizationId === null ? sql.literal("") : sql`AND ${sql.literal(column)} = ${organizationId}::uuid`
  )
