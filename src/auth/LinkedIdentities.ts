import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { aboutUser } from "../domain/AuditEntry.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowsAs } from "../sql/rows.ts"
import { Accounts } from "./Accounts.ts"
import type { Identity } from "./IdentityClaims.ts"
import { makeManagedUser } from "./ManagedUser.ts"
import { makeSessionTable } from "./SessionTable.ts"

/** Identities of one user that are listed: one for each issuer that the installation has had. */
const identitiesMax = 100

const IdentityRow = Schema.Struct({
  issuer: Schema.String,
  subject: Schema.String,
  linkedAt: Schema.DateTimeUtcFromDate
})

/** An account of an identity provider that signs in a user. */
export interface LinkedIdentity extends Pick<Identity, "issuer" | "subject"> {
  readonly linkedAt: DateTime.Utc
}

/** The methods of Identities about the identities of a user. */
export const makeLinkedIdentities = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const accounts = yield* Accounts
  const managed = yield* makeManagedUser
  const sessions = yield* makeSessionTable

  const list = Effect.fn("Identities.list")(function* (email: string) {
    const { id } = yield* accounts.findUserByEmail(email)
    return yield* sql`
      SELECT issuer, subject, linked_at FROM identities WHERE user_id = ${id}
      ORDER BY linked_at, issuer LIMIT ${identitiesMax}`.pipe(rowsAs(IdentityRow))
  }, orUnavailable)

  const unlink = Effect.fn("Identities.unlink")(
    function* (email: string, issuer?: string) {
      const user = yield* managed(email)
      const removed = yield* sql`
        DELETE FROM identities
        WHERE user_id = ${user.id} AND issuer = COALESCE(${issuer ?? null}::text, issuer)
        RETURNING issuer, subject, linked_at`.pipe(rowsAs(IdentityRow))
      if (removed.length === 0) return 0
      yield* sessions.endAll(user.id)
      yield* Effect.forEach(
        removed,
        ({ issuer, subject }) =>
          audit.record({ action: "identity.unlink", ...aboutUser(user), details: { issuer, subject } }),
        { discard: true }
      )
      return removed.length
    },
    (effect) => orUnavailable(sql.withTransaction(effect))
  )

  return { list, unlink }
})
