import { Effect, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { ApiKeyId, type UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"

const webKeyName = "Web application"
const webKeyHashBytes = 32

const Row = Schema.Struct({ id: ApiKeyId })

/** Finds or creates the key of a user that can't be presented, because nothing has its random hash. */
export const makeWebKeys = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom

  const find = (userId: UserId) =>
    sql`SELECT id FROM api_keys WHERE user_id = ${userId} AND kind = 'web'`.pipe(rowAs(Row))

  return Effect.fn("ApiKeys.webKeyOf")(function* (userId: UserId) {
    const found = yield* find(userId)
    if (found !== undefined) return found.id
    yield* sql`
      INSERT INTO api_keys (id, user_id, name, hash, hint, kind)
      VALUES (${yield* random.uuidV7()}, ${userId}, ${webKeyName}, ${yield* random.randomBytes(webKeyHashBytes)}, '', 'web')
      ON CONFLICT DO NOTHING`
    // Another request may have been first.
    const created = yield* find(userId)
    return created === undefined
      ? yield* Effect.die("The key of the web application was removed")
      : created.id
  }, orUnavailable)
})
