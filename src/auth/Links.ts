import { Context, Effect, Layer, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { Page, Role } from "../domain/Account.ts"
import { CurrentActor } from "../domain/Actor.ts"
import { aboutUser } from "../domain/AuditEntry.ts"
import {
  type DatabaseUnavailable,
  InvalidRequest,
  type LicenseForbids,
  LinkInvalid,
  LinkNotFound,
  type OrganizationNotFound,
  type RoleForbids,
  type ServerBusy,
  SetUpDone,
  UserExists,
  UserNotFound,
  type WeakPassword
} from "../domain/Errors.ts"
import type { LinkId, UserId } from "../domain/Ids.ts"
import type { LinkKind, LinkRecord } from "../domain/Link.ts"
import type { SessionClient } from "../domain/Session.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"
import { Accounts } from "./Accounts.ts"
import { type CreatedLink, linkRecordOf, type LinkRow, makeLinkTable } from "./LinkTable.ts"
import { requireRole } from "./ManagedUser.ts"
import type { PasswordHash } from "./PasswordHash.ts"
import { Passwords } from "./Passwords.ts"
import { makeSessionTable, type StartedSession } from "./SessionTable.ts"
import { selectUsers, UserRow } from "./UserTable.ts"

/** The set-up of the first administrator. Only `create` is a transaction of its own. */
const makeSetUp = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const table = yield* makeLinkTable
  const users = selectUsers(sql)

  /** True if no owner or admin who isn't disabled has ever signed in, by whatever method. */
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

/** The input of the user of a link. */
interface LinkUse {
  readonly token: Redacted.Redacted
  /** Another address for the first administrator; only at set-up. */
  readonly email?: string
  readonly password: Redacted.Redacted
  /** The user who is signed in where the link is used. */
  readonly signedIn?: UserId | undefined
}

/** Links that let their holder set a password, each once. The database holds the SHA-256 of their tokens. */
export class Links extends Context.Service<
  Links,
  {
    /** True if no owner or admin has ever signed in. */
    readonly isSetUpNeeded: Effect.Effect<boolean, DatabaseUnavailable>
    /** The link for the first administrator; the one before it is not valid any more. */
    readonly setUp: Effect.Effect<CreatedLink, SetUpDone | DatabaseUnavailable>
    /**
     * The user is created when the invitation is used. One of the organization that was sent to the same
     * address is replaced.
     */
    readonly invite: (
      email: string,
      organization: string,
      role: Role
    ) => Effect.Effect<CreatedLink, UserExists | OrganizationNotFound | RoleForbids | DatabaseUnavailable>
    /** Creates a link for a user who is not disabled. */
    readonly resetPassword: (
      email: string
    ) => Effect.Effect<CreatedLink, UserNotFound | RoleForbids | DatabaseUnavailable>
    /** Returns the user that the link is for, without using the link. */
    readonly open: (token: Redacted.Redacted) => Effect.Effect<LinkRecord, LinkInvalid | DatabaseUnavailable>
    /**
     * Sets the password, ends the other sessions of the user, and signs the user in. Of several concurrent
     * uses one succeeds. With single sign-on, the creator of a link for somebody else can't use it.
     */
    readonly use: (
      use: LinkUse,
      client: SessionClient
    ) => Effect.Effect<
      StartedSession,
      | LinkInvalid
      | InvalidRequest
      | WeakPassword
      | UserExists
      | LicenseForbids
      | ServerBusy
      | DatabaseUnavailable
    >
    /** Lists valid links, oldest first, as far as the actor sees their organizations. */
    readonly list: (kind: LinkKind, after?: LinkId) => Effect.Effect<Page<LinkRecord>, DatabaseUnavailable>
    readonly revoke: (
      id: LinkId
    ) => Effect.Effect<LinkRecord, LinkNotFound | RoleForbids | DatabaseUnavailable>
  }
>()("parley/auth/Links") {
  static readonly layer = Layer.effect(
    Links,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const accounts = yield* Accounts
      const passwords = yield* Passwords
      const table = yield* makeLinkTable
      const setUp = yield* makeSetUp
      const redeem = yield* makeRedeem
      const hasProvider = (yield* AppConfig).oidc.issuer !== null

      const invite = Effect.fn("Links.invite")(
        function* (email: string, organization: string, role: Role) {
          yield* requireRole(role, "role")
          const organizationId = yield* accounts.findOrganization(organization)
          // Another invitation of the same address waits, and then replaces this one, or was first.
          yield* sql`SELECT id FROM organizations WHERE id = ${organizationId} FOR NO KEY UPDATE`
          const taken = yield* sql`SELECT id FROM users WHERE lower(email) = lower(${email})`
          if (taken.length > 0) return yield* new UserExists()
          const before = yield* table.findInvitation(email, organizationId)
          if (before !== undefined) yield* requireRole(before.role, "email")
          const created = yield* table.create({ kind: "invitation", email, organizationId, role })
          return created ?? (yield* Effect.die("The organization of the invitation was removed"))
        },
        (effect) => orUnavailable(sql.withTransaction(effect))
      )

      const resetPassword = Effect.fn("Links.resetPassword")(
        function* (email: string) {
          // A change of the role waits, and then removes the link, or was first.
          yield* sql`SELECT id FROM users WHERE lower(email) = lower(${email}) FOR NO KEY UPDATE`
          const user = yield* accounts.findUserByEmail(email)
          yield* requireRole(user.role, "email")
          const created = yield* table.create({ kind: "password_reset", userId: user.id })
          // A disabled user has no valid link.
          return created ?? (yield* new UserNotFound())
        },
        (effect) => orUnavailable(sql.withTransaction(effect))
      )

      const find = Effect.fnUntraced(function* (token: Redacted.Redacted) {
        const row = yield* table.find(token)
        if (row === undefined) return yield* new LinkInvalid()
        if (row.kind === "set_up" && !(yield* setUp.isNeeded)) return yield* new LinkInvalid()
        return row
      })

      const open = Effect.fn("Links.open")(
        (token: Redacted.Redacted) => Effect.map(find(token), linkRecordOf),
        orUnavailable
      )

      const use = Effect.fn("Links.use")(function* (
        { email, password, signedIn, token }: LinkUse,
        client: SessionClient
      ) {
        const row = yield* find(token)
        if (hasProvider && row.createdBy !== null && row.createdBy === signedIn && row.userId !== signedIn) {
          return yield* new InvalidRequest({
            param: "token",
            message: `You created this link. Pass it on to ${row.email}, who may also sign in by single sign-on.`
          })
        }
        if (email !== undefined && row.kind !== "set_up") {
          return yield* new InvalidRequest({
            param: "email",
            message: "The address of this link can't be changed. Leave `email` out."
          })
        }
        const address = email ?? row.email
        return yield* redeem(row, address, yield* passwords.hash(password, address), client)
      }, orUnavailable)

      const revoke = Effect.fn("Links.revoke")(
        function* (id: LinkId) {
          const row = yield* table.findById(id)
          if (row === undefined) return yield* new LinkNotFound()
          yield* requireRole(row.role, "id")
          if (!(yield* table.remove(row))) return yield* new LinkNotFound()
          yield* table.record("link.revoke", row)
          return linkRecordOf(row)
        },
        (effect) => orUnavailable(sql.withTransaction(effect))
      )

      return Links.of({
        isSetUpNeeded: orUnavailable(setUp.isNeeded),
        setUp: setUp.create,
        invite,
        resetPassword,
        open,
        use,
        list: (kind, after) => orUnavailable(table.list(kind, after)),
        revoke
      })
    })
  ).pipe(Layer.provide(Passwords.layer))
}

/** Uses up a link that was found: one transaction with the user, its password and its session. */
const makeRedeem = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const accounts = yield* Accounts
  const passwords = yield* Passwords
  const table = yield* makeLinkTable
  const sessions = yield* makeSessionTable
  const setUp = yield* makeSetUp

  /**
   * The user of a link, who exists from now on. The permissions of a link don't depend on the person who
   * opens it.
   */
  const userOf = Effect.fnUntraced(
    function* (row: LinkRow, email: string) {
      if (row.userId === null) return (yield* accounts.createUser(email, row.organization, row.role)).id
      if (row.kind === "set_up") yield* setUp.rename(row.userId, email)
      return row.userId
    },
    Effect.provideService(CurrentActor, { _tag: "System" })
  )

  const setPassword = Effect.fnUntraced(function* (
    userId: UserId,
    hash: PasswordHash,
    client: SessionClient
  ) {
    yield* passwords.store(userId, hash)
    yield* sessions.endAll(userId)
    yield* table.removeAllOf(userId)
    // Undefined if the user was disabled meanwhile.
    return (yield* sessions.insert(userId, client, "link")) ?? (yield* new LinkInvalid())
  })

  return Effect.fnUntraced(
    function* (row: LinkRow, email: string, hash: PasswordHash, client: SessionClient) {
      // In the order of those that remove links of a user.
      yield* sql`SELECT id FROM users WHERE id = ${row.userId}::uuid FOR NO KEY UPDATE`
      if (!(yield* table.remove(row))) return yield* new LinkInvalid()
      const started = yield* setPassword(yield* userOf(row, email), hash, client)
      const { person } = started
      yield* Effect.all([
        table.record("link.use", row),
        audit.record({ action: "user.password", ...aboutUser({ ...person, id: person.userId }) })
      ]).pipe(Effect.provideService(CurrentActor, person))
      return started
    },
    sql.withTransaction,
    // The organization of an invitation exists, and the system may give any role.
    Effect.catchTag(["OrganizationNotFound", "RoleForbids"], Effect.die)
  )
})
