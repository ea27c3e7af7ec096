import { Context, DateTime, Effect, Layer, Option, type Redacted, Schema, Semaphore } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { Page } from "../domain/Account.ts"
import type { AuditAction, AuditEntry } from "../domain/AuditEntry.ts"
import {
  AdminKeyExists,
  AdminKeyNotFound,
  AdminKeyRejected,
  type DatabaseUnavailable,
  ServerBusy,
  TooManyAdminKeys
} from "../domain/Errors.ts"
import { AdminKeyId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { firstId, pageOf, pageRowsAsked } from "../sql/Paging.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import * as KeyToken from "./KeyToken.ts"
import { lastUseSeconds } from "./LastUse.ts"

/** Keys that are neither revoked nor expired. */
const adminKeysMax = 200

/** Look-ups at once, and those that wait for them: anybody can make up keys with a valid checksum. */
const lookUpsMax = 4
const waitingMax = 100
const retryAfterSeconds = 5

const recordFields = {
  id: AdminKeyId,
  name: Schema.String,
  /** The last four characters. */
  hint: Schema.String,
  createdAt: Schema.DateTimeUtcFromDate,
  expiresAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  revokedAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  /** Correct to about a minute. */
  lastUsedAt: Schema.NullOr(Schema.DateTimeUtcFromDate)
}
const RecordRow = Schema.Struct(recordFields)

/** An operator's key as it is stored, without the key itself. */
export type AdminKeyRecord = typeof RecordRow.Type

const FoundRow = Schema.Struct({ id: AdminKeyId, name: Schema.String, isUsedLately: Schema.Boolean })

/** An operator, by the name of its key. */
type Operator = Pick<AdminKeyRecord, "id" | "name">

const entryOf = (action: AuditAction, { expiresAt, id, name }: AdminKeyRecord): AuditEntry => ({
  action,
  target: { id, name },
  organization: null,
  details: expiresAt === null ? {} : { expires_at: DateTime.formatIso(expiresAt) }
})

/**
 * Keys of operators beside the one of the settings or of the data directory. They are in the database, so
 * that every process takes them; each request looks its key up, so that a revoked one is refused at once.
 */
export class AdminKeys extends Context.Service<
  AdminKeys,
  {
    readonly authenticate: (
      presented: Redacted.Redacted
    ) => Effect.Effect<Operator, AdminKeyRejected | ServerBusy | DatabaseUnavailable>
    /**
     * Creates a key, and returns the key only this once. No other key that isn't revoked may have the name,
     * regardless of case.
     */
    readonly create: (
      name: string,
      expiresAt: DateTime.Utc | null
    ) => Effect.Effect<
      AdminKeyRecord & { readonly key: Redacted.Redacted },
      AdminKeyExists | TooManyAdminKeys | DatabaseUnavailable
    >
    /** Oldest first, beginning after `after`; expired and revoked keys too. */
    readonly list: (after?: AdminKeyId) => Effect.Effect<Page<AdminKeyRecord>, DatabaseUnavailable>
    /** Revokes the key of that name for good. */
    readonly revoke: (name: string) => Effect.Effect<AdminKeyRecord, AdminKeyNotFound | DatabaseUnavailable>
  }
>()("parley/auth/AdminKeys") {
  static readonly layer = Layer.effect(
    AdminKeys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const services = yield* Effect.context<Digest.Digest>()
      const audit = yield* makeAuditRecorder
      const queue = yield* Semaphore.make(lookUpsMax + waitingMax)
      const atOnce = yield* Semaphore.make(lookUpsMax)
      const columns = sql.literal("id, name, hint, created_at, expires_at, revoked_at, last_used_at")
      const isValid = sql.literal("revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())")

      const hashOf = (key: Redacted.Redacted) => Effect.provideContext(KeyToken.hash(key), services)

      const bounded = <A, E>(lookUp: Effect.Effect<A, E>) =>
        lookUp.pipe(
          atOnce.withPermit,
          queue.withPermitsIfAvailable(1),
          Effect.flatMap(
            Option.match({
              onNone: () => Effect.fail(new ServerBusy({ retryAfterSeconds })),
              onSome: Effect.succeed
            })
          )
        )

      const find = (hash: Uint8Array) =>
        sql`
          SELECT id, name, coalesce(last_used_at > now() - make_interval(secs => ${lastUseSeconds}), false)
            AS is_used_lately
          FROM admin_keys WHERE hash = ${hash} AND ${isValid}`.pipe(rowAs(FoundRow), orUnavailable, bounded)

      /** A database that takes no writes, or fails now, is no reason to refuse the key. */
      const recordUse = (id: AdminKeyId) =>
        Effect.ignore(sql`UPDATE admin_keys SET last_used_at = now() WHERE id = ${id}`)

      const authenticate = Effect.fn("AdminKeys.authenticate")(function* (presented: Redacted.Redacted) {
        if (!KeyToken.isWellFormed(KeyToken.adminKeyPrefix, presented)) return yield* new AdminKeyRejected()
        const found = yield* find(yield* hashOf(presented))
        if (found === undefined) return yield* new AdminKeyRejected()
        if (!found.isUsedLately) yield* recordUse(found.id)
        return { id: found.id, name: found.name }
      })

      /** Creations at once may exceed it by as many as there are. */
      const requireRoom = Effect.gen(function* () {
        const full = yield* sql`SELECT id FROM admin_keys WHERE ${isValid} OFFSET ${adminKeysMax - 1} LIMIT 1`
        if (full.length > 0) return yield* new TooManyAdminKeys({ keysMax: adminKeysMax })
      })

      const create = Effect.fn("AdminKeys.create")(function* (name: string, expiresAt: DateTime.Utc | null) {
        yield* requireRoom
        const key = yield* Effect.provideService(KeyToken.makeAdminKey, SecureRandom.SecureRandom, random)
        const id = AdminKeyId.make(yield* random.uuidV7())
        const insert = sql`
          INSERT INTO admin_keys (id, name, hash, hint, expires_at)
          VALUES (${id}, ${name}, ${yield* hashOf(key)}, ${KeyToken.hint(key)},
            ${expiresAt && DateTime.toDateUtc(expiresAt)})
          ON CONFLICT (lower(name)) WHERE revoked_at IS NULL DO NOTHING
          RETURNING ${columns}`
        const created = yield* audit.recording(
          rowAs(RecordRow)(insert),
          (one) => one && entryOf("admin_key.create", one)
        )
        return created === undefined ? yield* new AdminKeyExists() : { ...created, key }
      }, orUnavailable)

      const list = Effect.fn("AdminKeys.list")(
        (after = AdminKeyId.make(firstId)) =>
          sql`SELECT ${columns} FROM admin_keys WHERE id > ${after} ORDER BY id LIMIT ${pageRowsAsked}`.pipe(
            rowsAs(RecordRow),
            Effect.map(pageOf)
          ),
        orUnavailable
      )

      const revoke = Effect.fn("AdminKeys.revoke")(function* (name: string) {
        const update = sql`
          UPDATE admin_keys SET revoked_at = now() WHERE lower(name) = lower(${name}) AND revoked_at IS NULL
          RETURNING ${columns}`
        const revoked = yield* audit.recording(
          rowAs(RecordRow)(update),
          (one) => one && entryOf("admin_key.revoke", one)
        )
        return revoked ?? (yield* new AdminKeyNotFound())
      }, orUnavailable)

      return AdminKeys.of({ authenticate, create, list, revoke })
    })
  )
}
