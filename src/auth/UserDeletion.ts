import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { User } from "../domain/Account.ts"
import { aboutUser } from "../domain/AuditEntry.ts"
import { type DatabaseUnavailable, FilesHeirUnsuitable, type ProjectsLoseOwner } from "../domain/Errors.ts"
import { UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { firstId } from "../sql/Paging.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { visible } from "../sql/visible.ts"
import { makeLinkTable } from "./LinkTable.ts"
import { makeManagedUser, makeOwnerRule } from "./ManagedUser.ts"
import { makeSessionTable } from "./SessionTable.ts"
import { StaleKeys } from "./StaleKeys.ts"
import { selectUsers, UserRow } from "./UserTable.ts"

/**
 * The time for which the row of a deleted user stays, without a name: longer than any upload, request or
 * cached key that still refers to it. Uploads take up to 24 hours.
 */
const deletedHours = 26
/** Deleted users that one statement lists. */
const deletedPageRows = 500

const DeletedRow = Schema.Struct({
  id: UserId,
  filesTo: Schema.NullOr(UserId),
  /** True if nothing can refer to the user any more. */
  isSettled: Schema.Boolean
})
export type DeletedUser = typeof DeletedRow.Type

/**
 * Has the projects of a user whose deletion hasn't been committed passed to the heir, or refuses the
 * deletion.
 */
export type PassProjects = (
  user: User,
  heir: User | null
) => Effect.Effect<void, ProjectsLoseOwner | DatabaseUnavailable>

/** The methods of Accounts that delete users. */
export const makeUserDeletion = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const links = yield* makeLinkTable
  const sessions = yield* makeSessionTable
  const locked = yield* makeManagedUser
  const owners = yield* makeOwnerRule
  const stale = yield* StaleKeys

  /** The user who gets the files. Projects have only files of their own organization. */
  const heirOf = Effect.fnUntraced(function* (user: User, email: string) {
    const heir = yield* sql`
      ${selectUsers(sql)} WHERE lower(u.email) = lower(${email}) ${yield* visible(sql, "u.organization_id")}
      FOR NO KEY UPDATE OF u`.pipe(rowAs(UserRow))
    const isSuitable =
      heir?.organizationId === user.organizationId && heir.id !== user.id && heir.disabledAt === null
    return isSuitable ? heir : yield* new FilesHeirUnsuitable()
  })

  /** Removes the user's identifying fields and credentials. The row stays, because other rows refer to it. */
  const strip = Effect.fnUntraced(function* ({ id }: User, filesTo: UserId | null) {
    const now = DateTime.toDateUtc(yield* DateTime.now)
    yield* sessions.endAll(id)
    yield* links.removeAllAround(id)
    yield* sql`DELETE FROM passwords WHERE user_id = ${id}`
    yield* sql`DELETE FROM identities WHERE user_id = ${id}`
    yield* sql`DELETE FROM sign_in_networks WHERE user_id = ${id}`
    yield* sql`
      UPDATE api_keys SET revoked_at = coalesce(revoked_at, ${now}), name = '', hint = '' WHERE user_id = ${id}`
    // The new address has no @, so no request can name it.
    yield* sql`
      UPDATE users SET email = id::text, role = 'member', disabled_at = coalesce(disabled_at, ${now}),
        last_sign_in_at = NULL, deleted_at = ${now}, files_to = ${filesTo}::uuid
      WHERE id = ${id}`
  })

  const deleteUser = Effect.fn("Accounts.deleteUser")(
    function* (email: string, filesTo: string | null, passProjects: PassProjects) {
      yield* owners.lock
      const user = yield* locked(email)
      yield* owners.requireOther(user)
      const heir = filesTo === null ? null : yield* heirOf(user, filesTo)
      yield* strip(user, heir?.id ?? null)
      yield* passProjects(user, heir)
      const details = { role: user.role, files_to: heir?.email ?? null }
      yield* audit.record({ action: "user.delete", ...aboutUser(user), details })
      return user
    },
    (effect) => orUnavailable(sql.withTransaction(effect)),
    Effect.tap(({ id }) => stale.mark(id))
  )

  const deletedUsers = Effect.fn("Accounts.deletedUsers")(
    (after: UserId = UserId.make(firstId)) =>
      sql`
      SELECT id, files_to, deleted_at < now() - make_interval(hours => ${deletedHours}) AS is_settled FROM users
      WHERE deleted_at IS NOT NULL AND id > ${after} ORDER BY id LIMIT ${deletedPageRows}`.pipe(
        rowsAs(DeletedRow)
      ),
    orUnavailable
  )

  const forgetUser = Effect.fn("Accounts.forgetUser")(
    function* (id: UserId) {
      yield* sql`DELETE FROM api_keys WHERE user_id = ${id}`
      yield* sql`DELETE FROM users WHERE id = ${id} AND deleted_at IS NOT NULL`
    },
    (effect) => orUnavailable(sql.withTransaction(effect))
  )

  return { deleteUser, deletedUsers, forgetUser }
})
