import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Role, User } from "../domain/Account.ts"
import { CurrentActor, mayManage } from "../domain/Actor.ts"
import { LastOwner, RoleForbids, UserNotFound } from "../domain/Errors.ts"
import { lockUntilCommit } from "../sql/AdvisoryLock.ts"
import { rowAs } from "../sql/rows.ts"
import { visible } from "../sql/visible.ts"
import { selectUsers, UserRow } from "./UserTable.ts"

/** Fails unless the actor may manage users of the role, which `param` names. */
export const requireRole = Effect.fnUntraced(function* (role: Role, param: RoleForbids["param"]) {
  if (!mayManage(yield* CurrentActor, role)) return yield* new RoleForbids({ param })
})

/** Locks a user that the actor sees and may manage, until the end of the transaction. */
export const makeManagedUser = Effect.map(SqlClient.SqlClient, (sql) =>
  Effect.fnUntraced(function* (email: string) {
    const user = yield* sql`
      ${selectUsers(sql)} WHERE lower(u.email) = lower(${email}) ${yield* visible(sql, "u.organization_id")}
      FOR NO KEY UPDATE OF u`.pipe(rowAs(UserRow))
    if (user === undefined) return yield* new UserNotFound()
    yield* requireRole(user.role, "email")
    return user
  })
)

/** Keeps one owner who isn't disabled. What may remove one locks first. */
export const makeOwnerRule = Effect.map(SqlClient.SqlClient, (sql) => {
  const lock = lockUntilCommit(sql, "owners")

  /** Fails if the user is the only owner that isn't disabled. Exact until the end of the transaction. */
  const requireOther = Effect.fnUntraced(function* ({ disabledAt, id, role }: User) {
    if (role !== "owner" || disabledAt !== null) return
    const others = yield* sql`
      SELECT id FROM users WHERE role = 'owner' AND disabled_at IS NULL AND id <> ${id} LIMIT 1`
    if (others.length === 0) return yield* new LastOwner()
  })

  return { lock, requireOther }
})
