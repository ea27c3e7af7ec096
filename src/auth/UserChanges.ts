import { DateTime, Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { Role } from "../domain/Account.ts"
import { CurrentActor } from "../domain/Actor.ts"
import { aboutUser } from "../domain/AuditEntry.ts"
import { OrganizationNotFound, UserExists, UserNotFound } from "../domain/Errors.ts"
import { UserId } from "../domain/Ids.ts"
import { makeSeats } from "../plans/License.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"
import { visible } from "../sql/visible.ts"
import { makeLinkTable } from "./LinkTable.ts"
import { makeManagedUser, makeOwnerRule, requireRole } from "./ManagedUser.ts"
import { makeRoleChange } from "./RoleChange.ts"
import { makeSessionTable } from "./SessionTable.ts"
import { StaleKeys } from "./StaleKeys.ts"
import { userColumns, UserRow } from "./UserTable.ts"

/** The methods of Accounts that change users. */
export const makeUserChanges = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const seats = yield* makeSeats
  const audit = yield* makeAuditRecorder
  const links = yield* makeLinkTable
  const sessions = yield* makeSessionTable
  const changeRole = yield* makeRoleChange
  const locked = yield* makeManagedUser
  const owners = yield* makeOwnerRule
  const stale = yield* StaleKeys

  const create = Effect.fn("Accounts.createUser")(function* (
    email: string,
    organization: string,
    role: Role = "member"
  ) {
    yield* requireRole(role, "role")
    const id = UserId.make(yield* random.uuidV7())
    // An address in use returns no row instead of an error, which would abort a transaction around it.
    const insert = sql`
      WITH u AS (
        INSERT INTO users (id, organization_id, email, role)
        SELECT ${id}, id, ${email}, ${role} FROM organizations
        WHERE name = ${organization} ${yield* visible(sql, "id")}
        ON CONFLICT (lower(email)) DO NOTHING
        RETURNING *
      )
      SELECT ${userColumns(sql)} FROM u JOIN organizations o ON o.id = u.organization_id`
    const recorded = audit.recording(
      rowAs(UserRow)(insert),
      (user) => user && { action: "user.create", ...aboutUser(user), details: { role } }
    )
    const created = yield* seats.within("users", recorded)
    if (created !== undefined) return created
    const found = yield* sql`
      SELECT id FROM organizations WHERE name = ${organization} ${yield* visible(sql, "id")}`
    return yield* found.length === 0 ? new OrganizationNotFound() : new UserExists()
  }, orUnavailable)

  const disable = Effect.fnUntraced(function* (email: string) {
    yield* owners.lock
    const user = yield* locked(email)
    if (user.disabledAt !== null) return user
    yield* owners.requireOther(user)
    const disabledAt = yield* DateTime.now
    yield* sql`UPDATE users SET disabled_at = ${DateTime.toDateUtc(disabledAt)} WHERE id = ${user.id}`
    yield* sessions.endAll(user.id)
    yield* links.removeAllAround(user.id)
    yield* audit.record({ action: "user.disable", ...aboutUser(user) })
    return { ...user, disabledAt }
  }, sql.withTransaction)

  const enable = (email: string) =>
    seats.within(
      "users",
      Effect.gen(function* () {
        const user = yield* locked(email)
        if (user.disabledAt === null) return user
        yield* sql`UPDATE users SET disabled_at = NULL WHERE id = ${user.id}`
        yield* audit.record({ action: "user.enable", ...aboutUser(user) })
        return { ...user, disabledAt: null }
      }).pipe(sql.withTransaction)
    )

  const setDisabled = Effect.fn("Accounts.setDisabled")(function* (email: string, isDisabled: boolean) {
    // The result of `seats` is undefined only where nothing was created.
    const user = (yield* isDisabled ? disable(email) : enable(email)) ?? (yield* new UserNotFound())
    yield* stale.mark(user.id)
    return user
  }, orUnavailable)

  const setRole = Effect.fn("Accounts.setRole")(
    function* (email: string, role: Role) {
      yield* owners.lock
      const user = yield* locked(email)
      yield* requireRole(role, "role")
      if (user.role === role) return user
      yield* owners.requireOther(user)
      const actor = yield* CurrentActor
      const isOwn = actor._tag === "Person" && actor.userId === user.id
      return yield* changeRole(user, role, isOwn ? actor.sessionId : undefined)
    },
    (effect) => orUnavailable(sql.withTransaction(effect))
  )

  const endSessions = Effect.fn("Accounts.endSessions")(
    function* (email: string) {
      const user = yield* locked(email)
      const ended = yield* sessions.endAll(user.id)
      if (ended > 0) {
        yield* audit.record({ action: "session.end_all", ...aboutUser(user), details: { sessions: ended } })
      }
      return ended
    },
    (effect) => orUnavailable(sql.withTransaction(effect))
  )

  return { createUser: create, setDisabled, setRole, endSessions }
})
