import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { rowAs } from "./rows.ts"

/**
 * Locks for work that only one process of a database does at a time. The number of a lock must never change.
 */
export const advisoryLocks = {
  /** The creation of the first user. */
  firstAccount: 7_254_301_118,
  /** The creation of users and organizations within a license. */
  seats: 7_254_301_119,
  /** Starts that find their settings, plans or license changed. */
  installation: 7_254_301_120,
  /** Changes that could remove the last owner. */
  owners: 7_254_301_121,
  /** A backup. Files that its snapshot refers to must stay until it is done. */
  backup: 7_254_301_122,
  /** A backup, a restore, or a move of the files or of the database. Older versions use 7_254_301_130. */
  maintenance: 7_254_301_123
} as const

/** Waits for the lock, and holds it until the transaction ends. */
export const lockUntilCommit = (sql: SqlClient.SqlClient, lock: keyof typeof advisoryLocks) =>
  sql`SELECT pg_advisory_xact_lock(${advisoryLocks[lock]}::bigint)`

/** True if no other session holds the lock now. The statement itself holds the lock, shared. */
export const isFree = (sql: SqlClient.SqlClient, lock: keyof typeof advisoryLocks) =>
  sql`SELECT pg_try_advisory_xact_lock_shared(${advisoryLocks[lock]}::bigint) AS free`.pipe(
    rowAs(Schema.Struct({ free: Schema.Boolean })),
    Effect.map((row) => row?.free === true)
  )
