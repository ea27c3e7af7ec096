import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { aboutUser } from "../domain/AuditEntry.ts"
import { SetUpDone, UserExists } from "../domain/Errors.ts"
import type { UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"
import { makeLinkTable } from "./LinkTable.ts"
import { selectUsers, UserRow } from "./UserTable.ts"

/** The set-up of the first administrator. Only `create` is a transaction of its own. */
export const makeSetUp = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const table = yield* makeLinkTable
  const users = selectUsers(sql)

  /** Whether no owner or admin who isn't disabled has ever signed in, by whatever method. */
  const isNeeded = Effect.map(
    sql`
      SELECT id FROM users
      WHERE role IN ('owner', 'admin') AND disabled_at IS NULL AND last_sign_in_at IS NOT NULL LIMIT 1`,
    ({ length }) => length === 0
  )

  const create = Effect.gen(function* () {
    // Another process that creates the link waits, and then replaces this one, or was first.
    const owner = yield* sql`
      ${users} WHERE u.role = 'owner' AND u.disabled_at IS NULL ORDER BY u.id LIMIT 1 FOR NO KEY UPDATE OF u`.pipe(
      rowAs(UserRow)
    )
    if (owner === undefined || !(yield* isNeeded)) return yield* new SetUpDone()
    const created = yield* table.create({ kind: "set_up", userId: owner.id })
    return created ?? (yield* new SetUpDone())
  }).pipe(sql.withTransaction, orUnavailable, Effect.withSpan("Links.setUp"))

  /** Gives the first administrator another address, unless it is that of another user. */
  const rename = Effect.fnUntraced(function* (userId: UserId, email: string) {
    const user = yield* sql`${users} WHERE u.id = ${userId} FOR NO KEY UPDATE OF u`.pipe(rowAs(UserRow))
    if (user === undefined || user.email === email) return
    const taken = yield* sql`SELECT id FROM users WHERE lower(email) = lower(${email}) AND id <> ${userId}`
    if (taken.length > 0) return yield* new UserExists()
    yield* sql`UPDATE users SET email = ${email} WHERE id = ${userId}`
    yield* audit.record({
      action: "user.email",
      ...aboutUser({ ...user, email }),
      details: { email: { old: user.email, new: email } }
    })
  })

  return { isNeeded, create, rename }
})
