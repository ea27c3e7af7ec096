import { Effect, Redacted, Schema } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import { SqlClient } from "effect/sql"
import type { AuditDetails, AuditEntry } from "../domain/AuditEntry.ts"
import { lockUntilCommit } from "../sql/AdvisoryLock.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { makeAuditRecorder } from "./AuditRecorder.ts"

/**
 * Changes of one thing that are recorded in an hour, where processes with different settings start again and
 * again.
 */
const changesPerHourMax = 10

const saltBytes = 16

const InstallationAction = Schema.Literals(["setting.change", "plan.change", "license.change"])

/** A setting, a plan or the license, as a start finds it. */
export interface InstallationFact {
  readonly action: typeof InstallationAction.Type
  readonly name: string
  /**
   * Null: not set, or not there. What is redacted is compared by a salted hash, and never stored or recorded.
   */
  readonly value: string | Redacted.Redacted | null
  /** The value while it was not known, such as the default of a setting that this version adds. */
  readonly usual: string | null
}

const KnownRow = Schema.Struct({
  action: InstallationAction,
  name: Schema.String,
  /** The JSON of a text or of null; with a salt, the hash of a secret. */
  value: Schema.String,
  salt: Schema.NullOr(Schema.Uint8Array)
})
type KnownRow = typeof KnownRow.Type

const Counted = Schema.Struct({ count: Schema.Int })

interface Changed {
  readonly fact: InstallationFact
  /** Undefined: it was not known. */
  readonly known: KnownRow | undefined
}

const keyOf = ({ action, name }: Pick<KnownRow, "action" | "name">): string => `${action} ${name}`

const readText = Schema.decodeSync(Schema.fromJsonString(Schema.NullOr(Schema.String)))

const hash = Effect.fnUntraced(function* (salt: Uint8Array, secret: Redacted.Redacted) {
  const digest = yield* Digest.Digest
  return Hex.encode(
    yield* digest.digest(Digest.sha256, Buffer.concat([salt, Buffer.from(Redacted.value(secret))]))
  )
})

const isUnchanged = Effect.fnUntraced(function* ({ fact: { usual, value }, known }: Changed) {
  if (known === undefined) return value === usual
  if (known.salt === null) return !Redacted.isRedacted(value) && known.value === JSON.stringify(value)
  return Redacted.isRedacted(value) && known.value === (yield* hash(known.salt, value))
})

const rowOf = Effect.fnUntraced(function* ({ action, name, value }: InstallationFact) {
  if (!Redacted.isRedacted(value)) return { action, name, value: JSON.stringify(value), salt: null }
  const salt = yield* (yield* SecureRandom.SecureRandom).randomBytes(saltBytes)
  return { action, name, value: yield* hash(salt, value), salt }
})

const detailsOf = ({ fact: { usual, value }, known }: Changed): AuditDetails => {
  const isSecret = Redacted.isRedacted(value) || (known !== undefined && known.salt !== null)
  if (isSecret) return { value: "changed" }
  return { value: { old: known === undefined ? usual : readText(known.value), new: value } }
}

const entryOf = (changed: Changed): AuditEntry => {
  const { action, name } = changed.fact
  return { action, target: { id: name, name }, organization: null, details: detailsOf(changed) }
}

/** The tables `audit_installation` and `audit_log`, as a start uses them. */
const makeKnown = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const read = sql`SELECT action, name, value, salt FROM audit_installation`.pipe(rowsAs(KnownRow))

  const lock = lockUntilCommit(sql, "installation")

  const write = (rows: ReadonlyArray<KnownRow>) =>
    sql`INSERT INTO audit_installation (action, name, value, salt)
      SELECT action, name, value, decode(nullif(salt, ''), 'hex') FROM unnest(
        ${rows.map(({ action }) => action)}::text[], ${rows.map(({ name }) => name)}::text[],
        ${rows.map(({ value }) => value)}::text[],
        ${rows.map(({ salt }) => (salt === null ? "" : Hex.encode(salt)))}::text[]
      ) AS given (action, name, value, salt)
      ON CONFLICT (action, name) DO UPDATE SET value = excluded.value, salt = excluded.salt`

  /** True if another change of it may be recorded now. */
  const mayRecord = ({ action, name }: InstallationFact) =>
    sql`SELECT count(*)::float8 AS count FROM (
        SELECT FROM audit_log
        WHERE action = ${action} AND target_id = ${name} AND id > audit_id(clock_timestamp() - interval '1 hour')
        LIMIT ${changesPerHourMax}
      ) AS recent`.pipe(
      rowAs(Counted),
      Effect.map((counted) => (counted?.count ?? 0) < changesPerHourMax)
    )

  return { read, lock, write, mayRecord }
})

/**
 * Records what is different from the latest start, in any process. The very first start has nothing to
 * compare with, and records nothing. Where several processes start at once, one of them records a change.
 * More changes of one thing than `changesPerHourMax` in an hour are logged; a later start records what came
 * of them.
 */
export const recordInstallation = Effect.fn("Installation.record")(function* (
  facts: ReadonlyArray<InstallationFact>
) {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const { lock, mayRecord, read, write } = yield* makeKnown

  const writeFacts = (some: ReadonlyArray<InstallationFact>) =>
    Effect.flatMap(Effect.forEach(some, rowOf), write)

  const compare = Effect.gen(function* () {
    const known = new Map((yield* read).map((row) => [keyOf(row), row]))
    const isFirst = known.size === 0
    const given = facts.map((fact): Changed => ({ fact, known: known.get(keyOf(fact)) }))
    const names = new Set(facts.map(keyOf))
    // A setting that isn't given belongs to another version; a plan that isn't was removed.
    const removed = [...known.values()]
      .filter((row) => row.action === "plan.change" && !names.has(keyOf(row)))
      .map((row): Changed => ({ fact: { ...row, value: null, usual: null }, known: row }))
    const changed = yield* Effect.filter([...given, ...removed], (one) =>
      Effect.map(isUnchanged(one), (same) => !same)
    )
    return { isFirst, changed }
  })

  const recordOne = Effect.fnUntraced(function* (one: Changed) {
    yield* audit.record(entryOf(one))
    yield* writeFacts([one.fact])
  })

  const defer = ({ fact }: Changed) =>
    Effect.logWarning(
      `${fact.name} was changed more than ${changesPerHourMax} times within an hour, by processes that start with ` +
        "different settings. The audit log doesn't have this change yet."
    )

  const update = Effect.gen(function* () {
    yield* lock
    const { changed, isFirst } = yield* compare
    yield* isFirst
      ? writeFacts(facts)
      : Effect.forEach(changed, (one) =>
          Effect.flatMap(mayRecord(one.fact), (may) => (may ? recordOne(one) : defer(one)))
        )
  })

  // Most starts change nothing, and need neither the lock nor a database that takes writes.
  const { changed, isFirst } = yield* compare
  if (isFirst || changed.length > 0) yield* sql.withTransaction(update)
}, orUnavailable)
