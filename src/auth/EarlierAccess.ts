import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { Role, type User } from "../domain/Account.ts"
import { aboutUser } from "../domain/AuditEntry.ts"
import { makeLinkTable } from "./LinkTable.ts"
import { makeSessionTable } from "./SessionTable.ts"

/** Whether the new role is above the old one. */
export const isRaised = (old: Role, role: Role): boolean =>
  Role.literals.indexOf(role) < Role.literals.indexOf(old)

/**
 * Ends all access to an account that somebody else may have set up: its password, sessions and API keys, and the links for it and those
 * that it created. Records how many. The caller has locked the user, and calls `StaleKeys.mark` after the commit.
 */
export const makeEarlierAccess = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const links = yield* makeLinkTable
  const sessions = yield* makeSessionTable

  return Effect.fnUntraced(function* (user: User, reason: "identity.link" | "user.role") {
    const now = DateTime.toDateUtc(yield* DateTime.now)
    const passwords = yield* sql`DELETE FROM passwords WHERE user_id = ${user.id} RETURNING user_id`
    const keys = yield* sql`
      UPDATE api_keys SET revoked_at = ${now}
      WHERE user_id = ${user.id} AND kind = 'issued' AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})
      RETURNING id`
    const ended = {
      passwords: passwords.length,
      sessions: yield* sessions.endAll(user.id),
      links: yield* links.removeAllAround(user.id),
      api_keys: keys.length
    }
    if (Object.values(ended).every((count) => count === 0)) return
    yield* audit.record({ action: "user.access_end", ...aboutUser(user), details: { reason, ...ended } })
  })
})
