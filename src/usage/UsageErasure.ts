import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"

/** Records that one statement changes. */
const recordsPerStepMax = 2_000

/**
 * Removes the link between a deleted user and what the user spent: tokens, models and times stay for the sums of the organization and of
 * the installation, without user and key. Returns how many records were changed; counters go with the last ones.
 */
export const makeUsageErasure = Effect.map(SqlClient.SqlClient, (sql) =>
  Effect.fn("Usage.eraseSome")(function* (userId: UserId) {
    const changed = yield* sql`
      UPDATE usage_records SET user_id = NULL, key_id = NULL WHERE response_id IN (
        SELECT response_id FROM usage_records WHERE user_id = ${userId} LIMIT ${recordsPerStepMax}
      ) RETURNING 1`
    if (changed.length > 0) return changed.length
    yield* sql`DELETE FROM token_limits WHERE user_id = ${userId}`
    yield* sql`
      DELETE FROM token_counters
      WHERE owner_id = ${userId} OR owner_id IN (SELECT id FROM api_keys WHERE user_id = ${userId})`
    return 0
  }, orUnavailable)
)
