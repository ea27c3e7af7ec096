import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Role } from "../domain/Account.ts"
import { CurrentActor, mayManage } from "../domain/Actor.ts"
import { ApiKeyNotFound, RoleForbids } from "../domain/Errors.ts"
import type { ApiKeyId, UserId } from "../domain/Ids.ts"
import { ownedBy } from "./KeyRows.ts"

/** Who may change which keys. */
export const makeKeyAccess = Effect.map(SqlClient.SqlClient, (sql) => {
  /** A condition that the actor may change keys of the user `u`; users change their own ones, whatever their role. */
  const changeable = Effect.fnUntraced(function* (owner?: UserId) {
    const owned = yield* ownedBy(sql, owner)
    if (owner !== undefined) return owned
    const actor = yield* CurrentActor
    return sql`${owned} AND ${sql.in(
      "u.role",
      Role.literals.filter((role) => mayManage(actor, role))
    )}`
  })

  /** Why a key was not changed. */
  const refusal = Effect.fnUntraced(function* (id: ApiKeyId, owner?: UserId) {
    const seen = yield* sql`
      SELECT k.id FROM api_keys k JOIN users u ON u.id = k.user_id
      WHERE k.id = ${id} AND k.kind = 'issued' ${yield* ownedBy(sql, owner)}`
    return seen.length > 0 ? new RoleForbids({ param: "id" }) : new ApiKeyNotFound()
  })

  /**
   * Locks the user of a new key and inserts the key, so that what ends the user's access waits and revokes it too, or was first.
   * Undefined if the session that asks for the key has ended meanwhile.
   */
  const whileAllowed = Effect.fnUntraced(function* <A, E, R>(userId: UserId, insert: Effect.Effect<A, E, R>) {
    yield* sql`SELECT id FROM users WHERE id = ${userId} FOR NO KEY UPDATE`
    const actor = yield* CurrentActor
    if (actor._tag !== "Person") return yield* insert
    const open = yield* sql`SELECT id FROM sessions WHERE id = ${actor.sessionId}`
    return open.length === 0 ? undefined : yield* insert
  })

  /** Locks the user of an existing key. */
  const lockOwnerOf = (id: ApiKeyId) =>
    sql`SELECT id FROM users WHERE id = (SELECT user_id FROM api_keys WHERE id = ${id}) FOR NO KEY UPDATE`

  return { changeable, refusal, whileAllowed, lockOwnerOf }
})
