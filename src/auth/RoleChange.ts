import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { Role, User } from "../domain/Account.ts"
import { aboutUser } from "../domain/AuditEntry.ts"
import type { SessionId } from "../domain/Ids.ts"
import { makeLinkTable } from "./LinkTable.ts"
import { makeSessionTable } from "./SessionTable.ts"

/**
 * Changes the role of a user whose row the transaction has locked, and records it. Ends access from former
 * rights: the user's sessions but one, links for the user, and links that the user created. The caller has
 * checked the actor's rights.
 */
export const makeRoleChange = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const links = yield* makeLinkTable
  const sessions = yield* makeSessionTable

  return Effect.fnUntraced(function* (user: User, role: Role, except?: SessionId) {
    yield* sql`UPDATE users SET role = ${role} WHERE id = ${user.id}`
    yield* sessions.endAll(user.id, except)
    yield* links.removeAllAround(user.id)
    yield* audit.record({
      action: "user.role",
      ...aboutUser(user),
      details: { role: { old: user.role, new: role } }
    })
    return { ...user, role }
  })
})
