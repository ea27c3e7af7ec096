import { Effect, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { Caller } from "../domain/Account.ts"
import { ApiKeyRejected, UserDisabled } from "../domain/Errors.ts"
import { ApiKeyId, OrganizationId, UserId } from "../domain/Ids.ts"
import { noKeyLimits } from "../domain/KeyLimits.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"

const webKeyName = "Web application"
const webKeyHashBytes = 32

const Row = Schema.Struct({ id: ApiKeyId })
const CallerRow = Schema.Struct({
  userId: UserId,
  organizationId: OrganizationId,
  plan: Schema.String,
  disabled: Schema.Boolean
})

/** Finds or creates the key of a user that can't be presented, because nothing has its random hash. */
export const makeWebKeys = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom

  const find = (userId: UserId) =>
    sql`SELECT id FROM api_keys WHERE user_id = ${userId} AND kind = 'web'`.pipe(rowAs(Row))

  const webKeyOf = Effect.fn("ApiKeys.webKeyOf")(function* (userId: UserId) {
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

  /** Whom the key stands for. */
  const webCallerOf = Effect.fnUntraced(function* (keyId: ApiKeyId) {
    const found = yield* sql`
      SELECT u.id AS user_id, u.organization_id, o.plan, u.disabled_at IS NOT NULL AS disabled
      FROM api_keys k JOIN users u ON u.id = k.user_id JOIN organizations o ON o.id = u.organization_id
      WHERE k.id = ${keyId} AND k.kind = 'web' AND u.deleted_at IS NULL`.pipe(rowAs(CallerRow), orUnavailable)
    if (found === undefined) return yield* new ApiKeyRejected({ reason: "unknown" })
    if (found.disabled) return yield* new UserDisabled()
    const { organizationId, plan, userId } = found
    return { userId, organizationId, keyId, keyLimits: noKeyLimits, plan } satisfies Caller
  })

  /** Without creating it. */
  const knownWebKeyOf = Effect.fnUntraced(function* (userId: UserId) {
    return (yield* find(userId))?.id ?? null
  }, orUnavailable)

  return { webKeyOf, knownWebKeyOf, webCallerOf }
})

export type WebKeys = Effect.Success<typeof makeWebKeys>
