import { Effect, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { FileId, UserId } from "../domain/Ids.ts"

/** Table of the queue; migrations make it, and the sweep looks into it. */
export const jobsTable = "file_jobs"
export const queueName = "texts"

/** Users whose next files one look finds. */
const usersMax = 100

const Ids = Schema.Array(Schema.Struct({ id: FileId }))
const Owners = Schema.Array(Schema.Struct({ userId: UserId }))

/**
 * Which file of a user is read next. The queue is in the order of arrival, and holds only a few jobs of each user, so that
 * users take turns; a file without a job waits.
 */
export const makeReadingTurns = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const waiting = sql`files.status = 'uploaded'
    AND NOT EXISTS (SELECT FROM ${sql(jobsTable)} AS own WHERE own.id = files.id::text AND own.queue_name = ${queueName})`

  /** The user's jobs but those that broke off and rest. The table holds few that are pending. */
  const jobsOf = (user: Statement.Fragment) =>
    sql`SELECT count(*) FROM ${sql(jobsTable)} AS job
      WHERE job.queue_name = ${queueName} AND job.state = 'pending' AND job.visible_at <= now()
        AND job.element::jsonb ->> 'userId' = ${user}::text`

  /** Puts transactions about one user's files in order. Storing a file takes the same lock. */
  const lock = (userId: UserId) =>
    sql`SELECT FROM file_usage WHERE user_id = ${userId}::uuid FOR UPDATE`.pipe(Effect.asVoid)

  /**
   * The user's oldest waiting file, unless there are `jobsMax` jobs of the user besides that for `except`. The transaction has
   * the user's lock.
   */
  const next = (userId: UserId, jobsMax: number, except: FileId | null) =>
    sql`SELECT id FROM files
      WHERE user_id = ${userId}::uuid AND ${waiting}
        AND (${jobsOf(sql`${userId}`)} AND job.id IS DISTINCT FROM ${except}) < ${jobsMax}
      ORDER BY id LIMIT 1`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Ids)),
      Effect.map(([row]) => row?.id)
    )

  /** Some users who have waiting files, and fewer than `jobsMax` jobs. */
  const usersWaiting = (jobsMax: number) =>
    sql`SELECT user_id FROM (SELECT DISTINCT user_id FROM files WHERE ${waiting}) AS found
      WHERE (${jobsOf(sql`found.user_id`)}) < ${jobsMax} LIMIT ${usersMax}`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Owners))
    )

  return { lock, next, usersWaiting }
})
