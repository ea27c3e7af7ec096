import { Effect, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type Actor, CurrentActor } from "../domain/Actor.ts"
import { type AuditEntry, auditActions } from "../domain/AuditEntry.ts"
import { rowAs } from "../sql/rows.ts"

/** Characters of one text in the details of an entry; the rest is cut off. */
const detailCharactersMax = 2_000

/** The columns of `audit_log` that say who acts. */
const actorColumns = (actor: Actor) => {
  switch (actor._tag) {
    case "System":
      return {
        actor: "system",
        actor_id: null,
        actor_email: null,
        actor_name: null,
        origin: "server",
        address: null
      }
    case "Operator":
      return {
        actor: "operator",
        actor_id: actor.key?.id ?? null,
        actor_email: null,
        actor_name: actor.key?.name ?? null,
        origin: actor.origin,
        address: actor.address
      }
    case "Person":
      return {
        actor: "person",
        actor_id: actor.userId,
        actor_email: actor.email,
        actor_name: null,
        origin: "browser",
        address: actor.address
      }
    case "Client":
      return {
        actor: "person",
        actor_id: actor.userId,
        actor_email: null,
        actor_name: null,
        origin: "api",
        address: actor.address
      }
  }
}

const isLong = (value: unknown): boolean => typeof value === "string" && value.length > detailCharactersMax

const jsonOf = (details: AuditEntry["details"] = {}): string =>
  JSON.stringify(details, (_, value: unknown) =>
    isLong(value) ? `${String(value).slice(0, detailCharactersMax).toWellFormed()}…` : value
  )

const Counted = Schema.Struct({ count: Schema.Int })

/** True if the failure of that number is recorded: the 1st, 10th, 100th and so on of an hour. */
const isRecorded = (count: number): boolean => /^10*$/.test(String(count))

/**
 * Writes the audit log, on the connection of the service that uses it: a change and its record are one
 * transaction.
 */
interface AuditRecorder {
  /** Records what CurrentActor does. To be called in the transaction of the change. */
  readonly record: (entry: AuditEntry) => Effect.Effect<void, SqlError.SqlError>
  /** Makes a change and records it, both or neither. What changed nothing has no entry. */
  readonly recording: <A, E, R>(
    change: Effect.Effect<A, E, R>,
    entryOf: (done: A) => AuditEntry | undefined
  ) => Effect.Effect<A, E | SqlError.SqlError, R>
  /**
   * Records events that an attacker can cause any number of times: the 1st, 10th, 100th and so on of each
   * hour, with the number as `attempts`. `subject` must be one of a bounded set, such as the id of a user, or
   * `unknown` for all that are none.
   */
  readonly recordCounted: (
    entry: AuditEntry,
    subject: string
  ) => Effect.Effect<void, SqlError.SqlError | Schema.SchemaError>
}

export const makeAuditRecorder: Effect.Effect<AuditRecorder, never, SqlClient.SqlClient> = Effect.gen(
  function* () {
    const sql = yield* SqlClient.SqlClient

    const record = Effect.fn("AuditRecorder.record")(function* (entry: AuditEntry) {
      const { action, organization, target } = entry
      const actor = yield* CurrentActor
      const who = actorColumns(actor)
      const client = actor._tag === "Client" ? actor.userId : null
      yield* sql`
        INSERT INTO audit_log (id, at, actor, actor_id, actor_email, actor_name, origin, address, action, target_type, target_id,
          target_name, organization_id, organization, details)
        SELECT audit_id(now.at), now.at, ${who.actor}, ${who.actor_id}::uuid,
          coalesce(${who.actor_email}, (SELECT email FROM users WHERE id = ${client}::uuid)), ${who.actor_name}, ${who.origin},
          ${who.address}, ${action}, ${auditActions[action].target}, ${target.id}, ${target.name},
          ${organization?.id ?? null}::uuid, ${organization?.name ?? null}, ${jsonOf(entry.details)}::jsonb
        FROM (SELECT clock_timestamp() AS at) AS now`
    })

    const recording: AuditRecorder["recording"] = (change, entryOf) =>
      change.pipe(
        Effect.tap((done) => {
          const entry = entryOf(done)
          return entry === undefined ? Effect.void : record(entry)
        }),
        sql.withTransaction
      )

    const recordCounted = Effect.fn("AuditRecorder.recordCounted")(function* (
      entry: AuditEntry,
      subject: string
    ) {
      const counted = yield* sql`
        INSERT INTO audit_counters (action, subject, hour, count)
        VALUES (${entry.action}, ${subject}, date_trunc('hour', clock_timestamp()), 1)
        ON CONFLICT (action, subject) DO UPDATE SET hour = excluded.hour,
          count = CASE WHEN audit_counters.hour = excluded.hour THEN audit_counters.count + 1 ELSE 1 END
        RETURNING count::float8`.pipe(rowAs(Counted))
      const attempts = counted?.count ?? 1
      if (isRecorded(attempts)) yield* record({ ...entry, details: { ...entry.details, attempts } })
    }, sql.withTransaction)

    return { record, recording, recordCounted }
  }
)
