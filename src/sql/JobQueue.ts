import { Cause, Duration, Effect, Layer, Schedule, Schema, type Scope } from "effect"
import { PersistedQueue } from "effect/persistence"
import { SqlClient, SqlError, type Statement } from "effect/sql"
import { rowsAs } from "./rows.ts"

/**
 * Attempts of a job that may break off, because its process ended or a resource was unavailable. After that
 * the job is given up.
 */
export const attemptsMax = 5
/** Interval at which a process looks for jobs that another one offered or left behind. */
const pollSeconds = 2
/**
 * The time for which the jobs of a killed process stay locked, and the interval at which a running one renews
 * its locks.
 */
const lockSeconds = 30
const lockRefreshSeconds = 10
/** Pause after the first attempt that broke off; it doubles with each, up to the longest. */
const retrySecondsMin = 2
const retrySecondsMax = 3_600
/** Pause of a worker after something failed. */
const restSeconds = 1
/**
 * The time for which an ended job is known. A row that is due even then, because nothing was recorded, gets
 * it once more.
 */
const endedJobHours = 1
/**
 * Interrupted jobs of one owner that wait for another attempt. At this number, no other job of the owner
 * begins.
 */
const restingPerOwnerMax = 100
/** Owners whose due work one query finds. */
const ownersMax = 100

/** The queue in the tables of that name, which migrations created, for as long as the scope is open. */
const makeStore = (table: string) =>
  Layer.build(
    PersistedQueue.layer.pipe(
      Layer.merge(
        PersistedQueue.layerCleanup({
          timeToLive: Duration.hours(endedJobHours),
          failedTimeToLive: Duration.hours(endedJobHours)
        })
      ),
      Layer.provide(
        PersistedQueue.layerStoreSql({
          tableName: table,
          pollInterval: Duration.seconds(pollSeconds),
          lockExpiration: Duration.seconds(lockSeconds),
          lockRefreshInterval: Duration.seconds(lockRefreshSeconds)
        })
      ),
      // Each queue has services of its own.
      Layer.fresh,
      Layer.orDie
    )
  )

/**
 * Unlocks every job of the tables. Only for a process that shares the database with no other, before its
 * first job.
 */
export const unlockAllJobs = Effect.fnUntraced(function* (tables: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  yield* Effect.forEach(
    tables,
    (table) =>
      sql`UPDATE ${sql(table)} SET acquired_at = NULL, acquired_by = NULL WHERE acquired_by IS NOT NULL`
  )
})

/** The failure of the queue's statement, in the form that callers can handle. */
const sqlFailure = (error: PersistedQueue.PersistedQueueError): Effect.Effect<never, SqlError.SqlError> => {
  const found = Cause.isCause(error.cause) ? Cause.squash(error.cause) : error.cause
  return SqlError.isSqlError(found) ? Effect.fail(found) : Effect.die(error)
}

const OwnerRow = Schema.Struct({ owner: Schema.String })

interface JobQueueOptions<Job extends object, R> {
  /** Table of the queue; migrations create it. Several queues may share one. */
  readonly table: string
  readonly name: string
  readonly schema: Schema.Codec<Job, unknown>
  /** The field of a job that names its owner. */
  readonly owner: keyof Job & string
  /** Jobs of one owner that are in the queue at once. */
  readonly perOwnerMax: number
  readonly attemptsMax?: number
  /**
   * The rows that still need a job, of one owner or of all: `id` is the job's and never that of other work,
   * `owner` is text, `job` is JSON, and an owner's jobs are done in the order of `turn`.
   */
  readonly due: (owner: Statement.Fragment | null) => Statement.Fragment
  /** Interval at which a process looks for work that was left behind, or became due without an offer. */
  readonly lookSeconds: number
  /** Jobs that this process does at once. */
  readonly workers: number
  readonly run: (job: Job) => Effect.Effect<void, unknown, R>
  /**
   * Records in its row that a job broke off too often; a row that stays due gets the job anew in an hour or
   * two.
   */
  readonly giveUp: (job: Job) => Effect.Effect<unknown, unknown, R>
  /** The log line for a job that broke off. */
  readonly brokenOff: string
}

/**
 * Does background work on rows of the database, for as long as the scope is open. A job survives the process:
 * it is done by one process at a time, and again by any when that broke off. The queue is in the order of
 * arrival and holds only a few jobs of each owner; the end of one lets the owner's next one in, behind those
 * of the others. So owners take turns.
 */
export const makeJobQueue = Effect.fnUntraced(function* <Job extends object, R>(
  options: JobQueueOptions<Job, R>
): Effect.fn.Return<
  { readonly offerNext: (owner: string) => Effect.Effect<void, SqlError.SqlError | Schema.SchemaError> },
  never,
  SqlClient.SqlClient | Scope.Scope | R
> {
  const { brokenOff, due, name, perOwnerMax, table, workers } = options
  const attempts = options.attemptsMax ?? attemptsMax
  const sql = yield* SqlClient.SqlClient
  const queue = yield* PersistedQueue.make({
    name,
    schema: options.schema,
    // The attempt after the last one only gives up.
    maxAttempts: attempts + 1,
    retrySchedule: Schedule.min([
      Schedule.exponential(Duration.seconds(retrySecondsMin)),
      Schedule.spaced(Duration.seconds(retrySecondsMax))
    ])
  }).pipe(Effect.provideContext(yield* makeStore(table)))
  const decodeJobs = Schema.decodeUnknownEffect(
    Schema.Array(Schema.Struct({ id: Schema.String, job: options.schema }))
  )

  // The planner looks every row up by its id because of `OFFSET`, also while it has no statistics of the
  // queue.
  const waiting = (owner: Statement.Fragment) =>
    sql`(${due(owner)}) AS item WHERE NOT EXISTS (
      SELECT FROM ${sql(table)} AS known WHERE known.id = item.id AND known.queue_name = ${name} OFFSET 0)`

  /**
   * The number of jobs that the owners who have jobs may add to the queue. Resting jobs count only when they
   * are many.
   */
  const rooms = sql`SELECT element::jsonb ->> ${options.owner} AS owner,
      CASE WHEN count(*) FILTER (WHERE visible_at > statement_timestamp()) < ${restingPerOwnerMax}
        THEN ${perOwnerMax} - count(*) FILTER (WHERE visible_at <= statement_timestamp()) ELSE 0 END AS jobs
    FROM ${sql(table)} WHERE queue_name = ${name} AND state = 'pending' GROUP BY 1`

  /** Offers the owner's next jobs, together with the transaction that it must be called in. */
  const offerNext = Effect.fnUntraced(function* (owner: string) {
    // The second of two transactions about one owner must see the jobs that the first has offered or left
    // waiting.
    yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`${name}/${owner}`}, 0))`
    const next = yield* sql`SELECT item.id, item.job FROM ${waiting(sql`${owner}`)} ORDER BY item.turn
      LIMIT greatest(0, coalesce((SELECT jobs FROM (${rooms}) AS room WHERE room.owner = ${owner}), ${perOwnerMax}))`.pipe(
      Effect.flatMap(decodeJobs)
    )
    for (const { id, job } of next) {
      yield* queue.offer(job, { id }).pipe(Effect.catchTag("PersistedQueueError", sqlFailure))
    }
  })
  const offerApart = (owner: string) => sql.withTransaction(offerNext(owner))

  const offerDue = Effect.gen(function* () {
    const owners =
      yield* sql`SELECT owner FROM (SELECT DISTINCT owner FROM (${due(null)}) AS item) AS found LEFT JOIN (${rooms}) AS room USING (owner)
      WHERE coalesce(room.jobs, ${perOwnerMax}) > 0 AND EXISTS (SELECT FROM ${waiting(sql`found.owner`)})
      LIMIT ${ownersMax}`.pipe(rowsAs(OwnerRow))
    for (const { owner } of owners) yield* offerApart(owner)
  })

  const reported = (message: string) =>
    Effect.catchCause((cause: Cause.Cause<unknown>) =>
      Effect.andThen(Effect.logWarning(message, cause), Effect.sleep(Duration.seconds(restSeconds)))
    )

  const workOnce = Effect.suspend(() => {
    let done: Job | undefined
    const take = queue.take((job, taken) => {
      done = job
      return (taken.attempts > attempts ? options.giveUp(job) : options.run(job)).pipe(
        // The queue counts no attempt that ends by an interruption, which has to be one of this process's
        // end.
        Effect.catchCauseIf(Cause.hasInterruptsOnly, (cause) => Effect.die(Cause.squash(cause)))
      )
    })
    const moveUp = Effect.suspend(() =>
      done === undefined ? Effect.void : offerApart(String(done[options.owner]))
    )
    return Effect.flatMap(Effect.exit(take), (exit) => Effect.andThen(moveUp, exit))
  }).pipe(reported(brokenOff))

  yield* Effect.forEach(Array.from({ length: workers }), () => Effect.forkScoped(Effect.forever(workOnce)), {
    discard: true
  })
  yield* offerDue.pipe(
    reported(`Work for the queue "${name}" could not be looked for`),
    Effect.repeat(Schedule.spaced(Duration.seconds(options.lookSeconds))),
    Effect.forkScoped
  )
  return { offerNext }
})
