import { DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { type User, Role } from "../domain/Account.ts"
import { aboutUser } from "../domain/AuditEntry.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { groupRulesIn } from "../settings/OidcCodec.ts"
import { rowAs } from "../sql/rows.ts"
import { Accounts } from "./Accounts.ts"
import { type Identity, placeOf, refused, roleByGroups } from "./IdentityClaims.ts"
import { makeLinkTable } from "./LinkTable.ts"
import { makeRoleChange } from "./RoleChange.ts"
import { makeSessionTable } from "./SessionTable.ts"
import { selectUsers, UserRow } from "./UserTable.ts"

/** True if the new role is above the old one. */
const isRaised = (old: Role, role: Role): boolean => Role.literals.indexOf(role) < Role.literals.indexOf(old)

/**
 * Ends all access to an account that somebody else may have set up: its password, sessions and API keys, and
 * the links for it and those that it created. Records how many. The caller has locked the user, and calls
 * `StaleKeys.mark` after the commit.
 */
const makeEarlierAccess = Effect.gen(function* () {
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

/** Another sign-in of the same person was first. */
class Overtaken extends Schema.TaggedError<Overtaken>()("Overtaken", {}) {}

/** Finds, links and creates users. Its methods join the transaction of the service that uses it. */
export const makeLinkedUsers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const accounts = yield* Accounts
  const changeRole = yield* makeRoleChange
  const endEarlierAccess = yield* makeEarlierAccess
  const { oidc } = yield* AppConfig
  const rules = oidc.groups === null ? [] : groupRulesIn(oidc.groups)

  const select = selectUsers(sql)

  /** Locks the identity too: one that is unlinked meanwhile is not found. */
  const linkedTo = ({ issuer, subject }: Identity) =>
    sql`${select} JOIN identities i ON i.user_id = u.id
      WHERE i.issuer = ${issuer} AND i.subject = ${subject} FOR NO KEY UPDATE OF u, i`.pipe(rowAs(UserRow))

  const withAddress = (email: string) =>
    sql`${select} WHERE lower(u.email) = lower(${email}) FOR NO KEY UPDATE OF u`.pipe(rowAs(UserRow))

  const link = Effect.fnUntraced(function* (user: User, { issuer, subject }: Identity) {
    const now = DateTime.toDateUtc(yield* DateTime.now)
    const linked = yield* sql`
      INSERT INTO identities (issuer, subject, user_id, linked_at) VALUES (${issuer}, ${subject}, ${user.id}, ${now})
      ON CONFLICT DO NOTHING RETURNING user_id`
    if (linked.length > 0) {
      yield* audit.record({ action: "identity.link", ...aboutUser(user), details: { issuer, subject } })
      return user
    }
    const others = yield* sql`
      SELECT 1 FROM identities WHERE user_id = ${user.id} AND issuer = ${issuer} AND subject <> ${subject}`
    if (others.length === 0) return yield* new Overtaken()
    return yield* refused("identity_conflict", "the user has another identity of this issuer")
  })

  const create = Effect.fnUntraced(function* (identity: Identity) {
    const place = placeOf(identity.groups, rules, oidc.organization)
    if (Option.isNone(place)) {
      return yield* refused("no_organization", "no group is in PARLEY_OIDC_GROUPS")
    }
    const { organization, role } = place.value
    const user = yield* accounts.createUser(identity.email, organization, role).pipe(
      Effect.catchTags({
        UserExists: () => Effect.fail(new Overtaken()),
        OrganizationNotFound: () =>
          Effect.fail(refused("organization_missing", `the organization ${organization} does not exist`)),
        LicenseForbids: ({ message }) => Effect.fail(refused("user_limit", message)),
        // The service itself may create users of every role.
        RoleForbids: Effect.die
      })
    )
    return yield* link(user, identity)
  })

  /**
   * Links a user that was created without the provider. Anybody who knew the address may have set the user
   * up, so that all earlier access ends. For a user with another identity, that happened at the first link.
   */
  const linkKnown = Effect.fnUntraced(function* (user: User, identity: Identity) {
    yield* link(user, identity)
    if (user.identities === 0) yield* endEarlierAccess(user, "identity.link")
  })

  /** The user of the identity, with the role of its groups. Earlier access ends when the rights rise. */
  const of = Effect.fnUntraced(function* (identity: Identity) {
    const linked = yield* linkedTo(identity)
    const known = linked ?? (yield* withAddress(identity.email))
    if (known === undefined) return yield* create(identity)
    if (known.disabledAt !== null) return yield* refused("user_disabled", "the user is disabled")
    if (linked === undefined) yield* linkKnown(known, identity)
    const role = roleByGroups(known, identity.groups, rules)
    if (role === null) return known
    if (isRaised(known.role, role)) yield* endEarlierAccess(known, "user.role")
    yield* changeRole(known, role)
    return known
  })

  return { of, withAddress }
})
