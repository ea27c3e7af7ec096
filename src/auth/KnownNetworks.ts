import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { UserId } from "../domain/Ids.ts"

/** Networks that are kept for one user, the latest first. */
export const networksPerUserMax = 50

/**
 * The networks from which a user has signed in. Its methods join the transaction of the service that uses it.
 */
export const makeKnownNetworks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const remember = Effect.fnUntraced(function* (userId: UserId, network: string) {
    const now = DateTime.toDateUtc(yield* DateTime.now)
    yield* sql`
      INSERT INTO sign_in_networks (user_id, network, signed_in_at) VALUES (${userId}, ${network}, ${now})
      ON CONFLICT (user_id, network) DO UPDATE SET signed_in_at = excluded.signed_in_at`
    yield* sql`
      DELETE FROM sign_in_networks WHERE user_id = ${userId} AND network IN (
        SELECT network FROM sign_in_networks WHERE user_id = ${userId}
        ORDER BY signed_in_at DESC, network OFFSET ${networksPerUserMax}
      )`
  })

  const includes = (userId: UserId | null, network: string) =>
    Effect.map(
      sql`SELECT network FROM sign_in_networks WHERE user_id = ${userId}::uuid AND network = ${network}`,
      ({ length }) => length > 0
    )

  return { remember, includes }
})
