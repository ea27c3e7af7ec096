import { ProjectId, FileId } from "../domain/Ids.ts"
import { makeJobQueue } from "../sql/JobQueue.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { firstId } from "../sql/Paging.ts"
import { CorpusJob, CorpusKey } from "./ProjectTable.ts"
import { Retrieval } from "./Retrieval.ts"
import { Duration, Effect, Schedule, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, type Statement } from "effect/sql"

/** Files that one process indexes at once. */
const indexingsMax = 3
/** Files of one project that are in the queue at a time: it is in the order of arrival, so that projects take turns. */
const queuedPerProjectMax = 2
/** How often a job may break off, because its process died or the database was away, before the file counts as failed. */
export const attemptsMax = 5
/** How often a process looks for files whose text has been read since they were added. */
const lookSeconds = 2
/** How often it looks for files that were indexed by another version, and for jobs that were lost; and once at the start. */
const reviewHours = 1
/** Files for which one transaction asks. */
const batchFilesMax = 100

const gaveUp = "The file could not be indexed, though it was tried several times."
const wordless = "The text of the file can't be read."

/**
 * Makes the files of projects searchable, for as long as the scope is open: in this process or, should it end, in another
 * one or a later one. A file is wholly searchable or not at all; one that is indexed again stays searchable meanwhile.
 */
export const makeIndexJobs = Effect.fnUntraced(function* (table: IndexJobTable) {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const retrieval = yield* Retrieval
  const queue = yield* makeJobQueue({
    name: "indexing",
    schema: CorpusJob,
    // The attempt after the last one only writes down that there will be no other.
    attemptsMax: attemptsMax + 1,
    brokenOff: "A file could not be indexed yet"
  })

  const index = Effect.fnUntraced(function* (job: CorpusJob, found: FoundText) {
    const { extractor, fileStatus, filename, pages, statusDetails, text } = found
    if (fileStatus === "uploaded") return yield* table.release(job)
    if (text === null || extractor === null) return yield* table.keepFailure(job, statusDetails ?? wordless)
    const { fileId, projectId } = job
    const { chunks } = yield* retrieval.index(projectId, { fileId, filename, text, pages })
    // What was indexed without this being written is indexed once more, and comes out the same.
    return yield* table.keepIndexed(job, chunks, `${extractor}/${retrieval.version}`)
  })

  const work = Effect.fnUntraced(function* (job: CorpusJob, attempts: number) {
    if (attempts > attemptsMax) yield* table.keepFailure(job, gaveUp)
    else {
      const found = yield* table.text(job)
      if (found !== undefined) yield* index(job, found)
    }
    yield* offerNext(job.projectId)
  })

  /** Asks for the files that are due, some at a time. */
  const offerSome = Effect.fnUntraced(function* (projectId: ProjectId | null) {
    const due = yield* table.due(batchFilesMax, queuedPerProjectMax, projectId)
    yield* Effect.forEach(due, (key) =>
      Effect.gen(function* () {
        const job = { ...key, job: yield* random.uuidV7() }
        yield* table.assign(job)
        yield* queue.offer(job.job, job)
      })
    )
    return due.length
  }, sql.withTransaction)

  /** Asks for the project's next files to be indexed, together with whatever else the current transaction does. */
  const offerNext = (projectId: ProjectId) => Effect.asVoid(offerSome(projectId))

  const offerDue = Effect.gen(function* () {
    while ((yield* offerSome(null)) === batchFilesMax) {}
  })

  const review = Effect.gen(function* () {
    yield* table.releaseLost
    const renewed = yield* table.renewOutdated(retrieval.version)
    if (renewed > 0) yield* Effect.logInfo(`${renewed} files of projects are indexed again.`)
  })

  const again = <A, E, R>(task: Effect.Effect<A, E, R>, every: Duration.Duration) =>
    task.pipe(
      Effect.catchCause((cause) => Effect.logWarning("Files to be indexed could not be looked for", cause)),
      Effect.repeat(Schedule.spaced(every)),
      Effect.forkScoped
    )

  yield* queue.work(indexingsMax, work)
  yield* again(orUnavailable(review), Duration.hours(reviewHours))
  yield* again(orUnavailable(offerDue), Duration.seconds(lookSeconds))

  return { offerNext, offerDue }
})

/** Table of the queue; migrations make it. */
export const jobsTable = "index_jobs"

/** Rows that one statement looks through, so that none takes long. */
const batchRowsMax = 1_000

/** A file of a project, and its text once that has been read. */
const FoundText = Schema.Struct({
  filename: Schema.String,
  fileStatus: Schema.Literals(["uploaded", "processed", "error"]),
  statusDetails: Schema.NullOr(Schema.String),
  text: Schema.NullOr(Schema.String),
  extractor: Schema.NullOr(Schema.String),
  pages: Schema.NullOr(Schema.Array(Schema.Int))
})
type FoundText = typeof FoundText.Type

const Renewed = Schema.Struct({ seen: Schema.Int, renewed: Schema.Int, ...CorpusKey.fields })

const first = <A>(rows: ReadonlyArray<A>): A | undefined => rows[0]

/** The table `project_files`, as those see it who index the files. */
export const makeIndexJobTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ofKey = ({ fileId, projectId }: CorpusKey) =>
    sql`project_id = ${projectId}::uuid AND file_id = ${fileId}::uuid`

  /** What the job is to index; nothing when the file is gone, or when another job does it. */
  const text = ({ fileId, job, projectId }: CorpusJob) =>
    sql`SELECT f.filename, f.status AS file_status, f.status_details, t.text, t.extractor, t.pages
      FROM project_files p JOIN files f ON f.id = p.file_id LEFT JOIN file_texts t ON t.file_id = f.id
      WHERE p.project_id = ${projectId}::uuid AND p.file_id = ${fileId}::uuid AND p.job = ${job}::uuid`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Schema.Array(FoundText))),
      Effect.map(first)
    )

  const keepIndexed = ({ job, ...key }: CorpusJob, chunks: number, version: string) =>
    sql`UPDATE project_files
      SET status = 'indexed', status_details = NULL, chunks = ${chunks}, index_version = ${version}, job = NULL
      WHERE ${ofKey(key)} AND job = ${job}::uuid`

  const keepFailure = ({ job, ...key }: CorpusJob, reason: string) =>
    sql`UPDATE project_files SET status = 'error', status_details = ${reason}, job = NULL
      WHERE ${ofKey(key)} AND job = ${job}::uuid`

  /** The job found nothing to index yet. */
  const release = ({ job, ...key }: CorpusJob) =>
    sql`UPDATE project_files SET job = NULL WHERE ${ofKey(key)} AND job = ${job}::uuid`

  /**
   * Files that are to be indexed and have no job: of each project, or of one, as many as there may be jobs of it beside those
   * that there are, in the order of upload. Locked, so that one process asks for each;
   * what the rows must be is said of the locked ones, too, because they may have changed meanwhile.
   */
  const due = (limit: number, perProjectMax: number, projectId: ProjectId | null) =>
    sql`SELECT p.project_id, p.file_id FROM project_files p
      WHERE p.status = 'pending' AND p.job IS NULL AND (p.project_id, p.file_id) IN (
        SELECT found.project_id, found.file_id
        FROM (${
          projectId === null
            ? sql`SELECT DISTINCT project_id FROM project_files WHERE status = 'pending'`
            : sql`SELECT ${projectId}::uuid AS project_id`
        }) AS waiting
        CROSS JOIN LATERAL (
          SELECT w.project_id, w.file_id FROM project_files w JOIN files f ON f.id = w.file_id
          WHERE w.project_id = waiting.project_id AND w.status = 'pending' AND w.job IS NULL AND f.status <> 'uploaded'
          ORDER BY w.file_id
          LIMIT greatest(0, ${perProjectMax}::bigint - (
            SELECT count(*) FROM project_files busy
            WHERE busy.project_id = waiting.project_id AND busy.status = 'pending' AND busy.job IS NOT NULL
          ))
        ) AS found
      )
      LIMIT ${limit} FOR UPDATE OF p SKIP LOCKED`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Schema.Array(CorpusKey)))
    )

  const assign = ({ job, ...key }: CorpusJob) =>
    sql`UPDATE project_files SET job = ${job}::uuid WHERE ${ofKey(key)}`

  /** Makes files due again whose job is in the queue no more. */
  const releaseLost = sql`UPDATE project_files SET job = NULL
    WHERE status = 'pending' AND job IS NOT NULL
      AND NOT EXISTS (SELECT FROM ${sql(jobsTable)} AS job WHERE job.id = project_files.job::text AND job.state = 'pending')`

  /**
   * Looks at the files after `after`, some at a time, and makes those due again that `isOld` finds. What is searchable stays
   * so until it is replaced. The answer is where to go on.
   */
  const renew = (after: CorpusKey, scope: Statement.Fragment, isOld: Statement.Fragment) =>
    sql`WITH batch AS (
        SELECT project_id, file_id FROM project_files
        WHERE (project_id, file_id) > (${after.projectId}::uuid, ${after.fileId}::uuid) AND ${scope}
        ORDER BY project_id, file_id LIMIT ${batchRowsMax}
      ), renewed AS (
        UPDATE project_files p SET status = 'pending', status_details = NULL, job = NULL
        FROM batch LEFT JOIN file_texts t ON t.file_id = batch.file_id
        WHERE p.project_id = batch.project_id AND p.file_id = batch.file_id AND ${isOld}
        RETURNING 1
      )
      SELECT (count(*) OVER ())::int AS seen, (SELECT count(*)::int FROM renewed) AS renewed, project_id, file_id
      FROM batch ORDER BY project_id DESC, file_id DESC LIMIT 1`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Schema.Array(Renewed))),
      Effect.map(first)
    )

  const renewAll = Effect.fnUntraced(function* (scope: Statement.Fragment, isOld: Statement.Fragment) {
    let after: CorpusKey = { projectId: ProjectId.make(firstId), fileId: FileId.make(firstId) }
    let renewed = 0
    while (true) {
      const batch = yield* renew(after, scope, isOld)
      renewed += batch?.renewed ?? 0
      if (batch === undefined || batch.seen < batchRowsMax) return renewed
      after = batch
    }
  })

  /** Makes every file of a project due again that isn't due anyhow; the answer is how many. */
  const renewProject = (projectId: ProjectId) =>
    renewAll(sql`project_id = ${projectId}::uuid`, sql`p.status <> 'pending'`)

  /** Makes every file due again that was indexed in another way than now, or from another reading. */
  const renewOutdated = (version: string) =>
    renewAll(
      sql`status = 'indexed'`,
      sql`p.status = 'indexed' AND p.index_version IS DISTINCT FROM t.extractor || '/' || ${version}::text`
    )

  return { text, keepIndexed, keepFailure, release, due, assign, releaseLost, renewProject, renewOutdated }
})

export type IndexJobTable = Effect.Success<typeof makeIndexJobTable>
