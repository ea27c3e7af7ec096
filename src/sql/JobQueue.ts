import { Cause, Duration, Effect, Layer, Schedule, type Schema } from "effect"
import { PersistedQueue } from "effect/persistence"
import { SqlClient, SqlError } from "effect/sql"

/** How soon a process notices jobs that another one offered, or left behind. */
const pollSeconds = 2
/** How long the jobs of a process that died stay locked, and how often a living one renews its locks. */
const lockSeconds = 30
const lockRefreshSeconds = 10
/** Pause after the first attempt that broke off; it doubles with each. */
const retrySeconds = 2
/** Pause of a worker after the queue itself failed. */
const restSeconds = 1
/** A job that is done is of no more use; this long it is kept. */
const doneJobHours = 1
const failedJobDays = 30

/**
 * The queue in the tables of that name, which migrations made. Each call gives a layer of its own: a shared one would give
 * every room the queue of the first.
 */
export const layerJobQueue = (tableName: string) =>
  Layer.fresh(PersistedQueue.layer).pipe(
    Layer.merge(
      PersistedQueue.layerCleanup({
        timeToLive: Duration.hours(doneJobHours),
        failedTimeToLive: Duration.days(failedJobDays)
      })
    ),
    Layer.provide(
      PersistedQueue.layerStoreSql({
        tableName,
        pollInterval: Duration.seconds(pollSeconds),
        lockExpiration: Duration.seconds(lockSeconds),
        lockRefreshInterval: Duration.seconds(lockRefreshSeconds)
      })
    ),
    Layer.orDie
  )

/** Unlocks every job of the tables. Only for a process that shares the database with no other, before its first job. */
export const unlockAllJobs = Effect.fnUntraced(function* (tableNames: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  yield* Effect.forEach(
    tableNames,
    (name) =>
      sql`UPDATE ${sql(name)} SET acquired_at = NULL, acquired_by = NULL WHERE acquired_by IS NOT NULL`
  )
})

/** What the queue wraps: the failure of its statement, for whoever knows what to make of that. */
const sqlFailure = (error: PersistedQueue.PersistedQueueError): Effect.Effect<never, SqlError.SqlError> => {
  const found = Cause.isCause(error.cause) ? Cause.squash(error.cause) : error.cause
  return SqlError.isSqlError(found) ? Effect.fail(found) : Effect.die(error)
}

export interface JobQueueOptions<S extends Schema.Constraint> {
  readonly name: string
  readonly schema: S
  /** How often a job may break off, because its process died or something that it needs was away. */
  readonly attemptsMax: number
  /** What the log says when a job broke off. */
  readonly brokenOff: string
}

/** A queue of jobs that outlive the process: each is done by one process at a time, and tried again when that breaks off. */
export const makeJobQueue = Effect.fnUntraced(function* <S extends Schema.Constraint>({
  attemptsMax,
  brokenOff,
  name,
  schema
}: JobQueueOptions<S>) {
  const queue = yield* PersistedQueue.make({
    name,
    schema,
    maxAttempts: attemptsMax,
    retrySchedule: Schedule.exponential(Duration.seconds(retrySeconds))
  })

  /** Asks for the job, together with whatever else the current transaction does. A job of that id is asked for once. */
  const offer = (id: string, job: S["Type"]) =>
    queue.offer(job, { id }).pipe(Effect.asVoid, Effect.catchTag("PersistedQueueError", sqlFailure))

  /** Does jobs, `count` of them at once, for as long as the scope is open. */
  const work = <E, R>(
    count: number,
    task: (job: S["Type"], attempts: number) => Effect.Effect<void, E, R>
  ) => {
    const worker = queue
      .take((job, { attempts }) => task(job, attempts))
      .pipe(
        Effect.catchCause((cause) =>
          Cause.hasInterruptsOnly(cause)
            ? Effect.failCause(cause)
            : Effect.andThen(Effect.logWarning(brokenOff, cause), Effect.sleep(Duration.seconds(restSeconds)))
        ),
        Effect.forever
      )
    return Effect.forEach(Array.from({ length: count }), () => Effect.forkScoped(worker), { discard: true })
  }

  return { offer, work }
})
