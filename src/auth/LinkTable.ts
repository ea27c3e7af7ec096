import { DateTime, Effect, type Redacted, Schema, Struct } from "effect"
import { type Digest, SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { Role } from "../domain/Account.ts"
import { CurrentActor } from "../domain/Actor.ts"
import { type AuditEntry, within } from "../domain/AuditEntry.ts"
import { LinkId, OrganizationId, UserId } from "../domain/Ids.ts"
import { LinkKind, type LinkRecord } from "../domain/Link.ts"
import { firstId, pageOf, pageRowsAsked } from "../sql/Paging.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { visible } from "../sql/visible.ts"
import * as KeyToken from "./KeyToken.ts"

/** The time for which a link is valid. */
const lifetimes: Readonly<Record<LinkKind, { readonly minutes?: number; readonly days?: number }>> = {
  set_up: { minutes: 30 },
  invitation: { days: 7 },
  password_reset: { days: 1 }
}

const Row = Schema.Struct({
  id: LinkId,
  kind: LinkKind,
  userId: Schema.NullOr(UserId),
  email: Schema.String,
  organizationId: OrganizationId,
  organization: Schema.String,
  role: Role,
  createdAt: Schema.DateTimeUtcFromDate,
  expiresAt: Schema.DateTimeUtcFromDate,
  createdBy: Schema.NullOr(UserId)
})
export type LinkRow = typeof Row.Type

/** A new link. `token` is never shown again. */
export interface CreatedLink extends LinkRecord {
  readonly token: Redacted.Redacted
}

/** The user that a link is for: an existing or an invited one. */
type LinkSubject =
  | { readonly kind: "set_up" | "password_reset"; readonly userId: UserId }
  | {
      readonly kind: "invitation"
      readonly email: string
      readonly organizationId: OrganizationId
      readonly role: Role
    }

export const linkRecordOf = (row: LinkRow): LinkRecord =>
  Struct.pick(row, ["id", "kind", "email", "organization", "role", "createdAt", "expiresAt"])

const entryOf = (action: AuditEntry["action"], row: LinkRow): AuditEntry => ({
  action,
  target: { id: row.id, name: row.email },
  organization: within(row),
  details: { kind: row.kind, role: row.role, expires_at: DateTime.formatIso(row.expiresAt) }
})

/** The table of links. Its methods join the transaction of the service that uses it. */
export const makeLinkTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const services = yield* Effect.context<Digest.Digest>()
  const audit = yield* makeAuditRecorder

  const hashOf = (token: Redacted.Redacted) => Effect.provideContext(KeyToken.hash(token), services)

  // Links of a user who is disabled are not valid.
  const select = sql`
    SELECT l.id, l.kind, l.user_id, coalesce(l.email, u.email) AS email, o.id AS organization_id,
      o.name AS organization, coalesce(l.role, u.role) AS role, l.created_at, l.expires_at,
      l.created_by
    FROM links l LEFT JOIN users u ON u.id = l.user_id
      JOIN organizations o ON o.id = coalesce(l.organization_id, u.organization_id)
    WHERE u.disabled_at IS NULL`

  const isOpen = Effect.map(DateTime.now, (now) => sql`l.expires_at > ${DateTime.toDateUtc(now)}`)

  /**
   * The link of that kind for the same user, or for the same address in the same organization, as its unique
   * index has it.
   */
  const replacedBy = (subject: LinkSubject) =>
    subject.kind === "invitation"
      ? sql`kind = 'invitation' AND lower(email) = lower(${subject.email})
          AND organization_id = ${subject.organizationId}`
      : sql`kind = ${subject.kind} AND user_id = ${subject.userId}`

  /**
   * The caller has locked the user, or the organization of an invitation, so that one link replaces the
   * other.
   */
  const create = Effect.fnUntraced(function* (subject: LinkSubject) {
    const token = yield* Effect.provideService(KeyToken.makeLinkToken, SecureRandom.SecureRandom, random)
    const id = LinkId.make(yield* random.uuidV7())
    const now = yield* DateTime.now
    const actor = yield* CurrentActor
    const createdBy = actor._tag === "Person" ? actor.userId : null
    const expiresAt = DateTime.add(now, lifetimes[subject.kind])
    const { email, organizationId, role, userId } = {
      email: null,
      organizationId: null,
      role: null,
      userId: null,
      ...subject
    }
    yield* sql`DELETE FROM links WHERE ${replacedBy(subject)}`
    yield* sql`
      INSERT INTO links (id, hash, kind, user_id, email, organization_id, role, created_at, expires_at,
        created_by)
      VALUES (${id}, ${yield* hashOf(token)}, ${subject.kind}, ${userId}::uuid, ${email}, ${organizationId}::uuid,
        ${role}, ${DateTime.toDateUtc(now)}, ${DateTime.toDateUtc(expiresAt)}, ${createdBy}::uuid)`
    const row = yield* sql`${select} AND l.id = ${id}`.pipe(rowAs(Row))
    if (row === undefined) return undefined
    yield* audit.record(entryOf("link.create", row))
    return { ...linkRecordOf(row), token } satisfies CreatedLink
  })

  /** The open link of a token. */
  const find = Effect.fnUntraced(function* (token: Redacted.Redacted) {
    if (!KeyToken.isWellFormed(KeyToken.linkPrefix, token)) return undefined
    return yield* sql`${select} AND l.hash = ${yield* hashOf(token)} AND ${yield* isOpen}`.pipe(rowAs(Row))
  })

  /** The open link of an id, as far as the actor sees it. */
  const findById = Effect.fnUntraced(function* (id: LinkId) {
    return yield* sql`
      ${select} AND l.id = ${id} AND ${yield* isOpen} ${yield* visible(sql, "o.id")}`.pipe(rowAs(Row))
  })

  /** The open invitation of an address to an organization. */
  const findInvitation = Effect.fnUntraced(function* (email: string, organizationId: OrganizationId) {
    return yield* sql`
      ${select} AND l.kind = 'invitation' AND lower(l.email) = lower(${email})
        AND l.organization_id = ${organizationId} AND ${yield* isOpen}`.pipe(rowAs(Row))
  })

  /** Removes a link that was found. False if another transaction did. */
  const remove = (row: LinkRow) =>
    Effect.map(sql`DELETE FROM links WHERE id = ${row.id} RETURNING id`, ({ length }) => length > 0)

  const record = (action: "link.use" | "link.revoke", row: LinkRow) => audit.record(entryOf(action, row))

  const list = Effect.fnUntraced(function* (kind: LinkKind, after = LinkId.make(firstId)) {
    const rows = yield* sql`
      ${select} AND l.kind = ${kind} AND l.id > ${after} AND ${yield* isOpen} ${yield* visible(sql, "o.id")}
      ORDER BY l.id LIMIT ${pageRowsAsked}`.pipe(rowsAs(Row))
    return pageOf(rows.map(linkRecordOf))
  })

  /** Removes the links for a user. The caller has locked the user. */
  const removeAllOf = (userId: UserId) => sql`DELETE FROM links WHERE user_id = ${userId}`

  /**
   * Removes the links for a user whose rights change, and those that it created with its earlier rights.
   * Returns their number. The caller has locked the user.
   */
  const removeAllAround = (userId: UserId) =>
    Effect.map(
      sql`DELETE FROM links WHERE user_id = ${userId} OR created_by = ${userId} RETURNING id`,
      ({ length }) => length
    )

  return { create, find, findById, findInvitation, remove, record, list, removeAllOf, removeAllAround }
})
