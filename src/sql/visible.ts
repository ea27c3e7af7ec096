import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { actorsOrganization } from "../domain/Actor.ts"

/**
 * A condition to append to a WHERE or an ON: the column must be the organization that the actor sees. Empty
 * for actors who see all organizations. Invisible rows are treated as missing.
 */
export const visible = (sql: SqlClient.SqlClient, column: string): Effect.Effect<Statement.Fragment> =>
  Effect.map(actorsOrganization, (organizationId) =>
    organizationId === null ? sql.literal("") : sql`AND ${sql.literal(column)} = ${organizationId}::uuid`
  )
