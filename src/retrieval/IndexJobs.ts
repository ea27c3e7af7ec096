import { Cause, Duration, Effect, Schedule, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { FileId, ProjectId } from "../domain/Ids.ts"
import { CorpusKey } from "../domain/Project.ts"
import { makeJobQueue } from "../sql/JobQueue.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { firstId } from "../sql/Paging.ts"
import { rowAs } from "../sql/rows.ts"
import { Retrieval } from "./Retrieval.ts"
import { jobsTable } from "./vectors/EmbeddingJobs.ts"

/** Files that one process indexes at once. */
const indexingsMax = 3
/** Files of one project that are in the queue at once. */
const queuedPerProjectMax = 2
/** Interval of the look for files whose text has been read since they were added. */
const lookSeconds = 2
/** Interval of the look for files that another version indexed; the first is at the start. */
const reviewHours = 1
/** Rows that one statement looks through, so that none takes long. */
const batchRowsMax = 1_000

const gaveUp = "The file could not be indexed, though it was tried several times."
const unreadable = "The text of the file can't be read."

/** `job` is the one job that may change the row of the file. */
const CorpusJob = Schema.Struct({ ...CorpusKey.fields, job: Schema.String })
type CorpusJob = typeof CorpusJob.Type

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

/**
 * Makes the files of projects searchable, for as long as the scope is open. Projects take turns. A file is
 * wholly searchable or not at all; one that is indexed again stays searchable meanwhile.
 */
export const makeIndexJobs = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const retrieval = yield* Retrieval
  const { keepFailure, keepIndexed, postpone, renewOutdated, renewProject, textOf } = yield* makeCorpusRows

  const index = Effect.fnUntraced(function* (job: CorpusJob) {
    const found = yield* textOf(job)
    if (found === undefined) return
    const { extractor, fileStatus, filename, pages, statusDetails, text } = found
    if (fileStatus === "uploaded") return yield* postpone(job)
    if (text === null || extractor === null) return yield* keepFailure(job, statusDetails ?? unreadable)
    const { fileId, projectId } = job
    const { chunks } = yield* retrieval.index(projectId, { fileId, filename, text, pages })
    // If the process ends before this is written, the file is indexed once more, with the same result.
    return yield* keepIndexed(job, chunks, `${extractor}/${retrieval.version}`)
  })

  /** Ignores failures of a job whose file was removed, or removed and added again, since it was queued. */
  const indexIfOwn = (job: CorpusJob) =>
    index(job).pipe(
      Effect.catchCauseIf(
        (cause) => !Cause.hasInterrupts(cause),
        (cause) =>
          Effect.flatMap(isOfJob(sql, job), (isOwn) => (isOwn ? Effect.failCause(cause) : Effect.void))
      )
    )

  const { offerNext } = yield* makeJobQueue({
    table: jobsTable,
    name: "indexing",
    schema: CorpusJob,
    owner: "projectId",
    perOwnerMax: queuedPerProjectMax,
    due: (projectId) => sql`SELECT p.job::text AS id, p.project_id::text AS owner, p.file_id AS turn,
        jsonb_build_object('projectId', p.project_id, 'fileId', p.file_id, 'job', p.job) AS job
      FROM project_files p JOIN files f ON f.id = p.file_id
      WHERE p.status = 'pending' AND p.job IS NOT NULL AND f.status <> 'uploaded'
      ${projectId === null ? sql.literal("") : sql`AND p.project_id = ${projectId}::uuid`}`,
    lookSeconds,
    workers: indexingsMax,
    run: (job) => Effect.asVoid(indexIfOwn(job)),
    giveUp: (job) => keepFailure(job, gaveUp),
    brokenOff: "A file could not be indexed yet"
  })

  const review = Effect.gen(function* () {
    const renewed = yield* renewOutdated(retrieval.version)
    if (renewed > 0) yield* Effect.logInfo(`${renewed} files of projects are indexed again.`)
  })
  yield* orUnavailable(review).pipe(
    Effect.catchCause((cause) =>
      Effect.logWarning("Files to be indexed again could not be looked for", cause)
    ),
    Effect.repeat(Schedule.spaced(Duration.hours(reviewHours))),
    Effect.forkScoped
  )

  /**
   * Has every file of the project indexed again, together with the transaction that it must be called in; the
   * answer is how many.
   */
  const reindex = (projectId: ProjectId) => Effect.tap(renewProject(projectId), () => offerNext(projectId))

  return { offerNext, reindex }
})

/** Tells whether the file is still this job's. */
const isOfJob = (sql: SqlClient.SqlClient, { fileId, job, projectId }: CorpusJob) =>
  Effect.map(
    sql`SELECT FROM project_files
      WHERE project_id = ${projectId}::uuid AND file_id = ${fileId}::uuid AND job = ${job}::uuid`,
    (rows) => rows.length > 0
  )

/** The table `project_files`, as the jobs see it. */
const makeCorpusRows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ofKey = ({ fileId, projectId }: CorpusKey) =>
    sql`project_id = ${projectId}::uuid AND file_id = ${fileId}::uuid`

  /** Reads the text to index; nothing when the file is gone, or another job indexes it. */
  const textOf = ({ fileId, job, projectId }: CorpusJob) =>
    sql`SELECT f.filename, f.status AS file_status, f.status_details, t.text, t.extractor, t.pages
      FROM project_files p JOIN files f ON f.id = p.file_id LEFT JOIN file_texts t ON t.file_id = f.id
      WHERE p.project_id = ${projectId}::uuid AND p.file_id = ${fileId}::uuid AND p.job = ${job}::uuid`.pipe(
      rowAs(FoundText)
    )

  const keepIndexed = ({ job, ...key }: CorpusJob, chunks: number, version: string) =>
    sql`UPDATE project_files
      SET status = 'indexed', status_details = NULL, chunks = ${chunks}, index_version = ${version}, job = NULL
      WHERE ${ofKey(key)} AND job = ${job}::uuid`

  const keepFailure = ({ job, ...key }: CorpusJob, reason: string) =>
    sql`UPDATE project_files SET status = 'error', status_details = ${reason}, job = NULL
      WHERE ${ofKey(key)} AND job = ${job}::uuid`

  /** The job found nothing to index yet: the file needs another one later. */
  const postpone = ({ job, ...key }: CorpusJob) =>
    sql`UPDATE project_files SET job = gen_random_uuid() WHERE ${ofKey(key)} AND job = ${job}::uuid`

  /**
   * Looks at the files after `after`, some at a time, and makes those due again that `isOld` finds. What is
   * searchable stays so until it is replaced. The answer is where to go on.
   */
  const renew = (after: CorpusKey, scope: Statement.Fragment, isOld: Statement.Fragment) =>
    sql`WITH batch AS (
        SELECT project_id, file_id FROM project_files
        WHERE (project_id, file_id) > (${after.projectId}::uuid, ${after.fileId}::uuid) AND ${scope}
        ORDER BY project_id, file_id LIMIT ${batchRowsMax}
      ), renewed AS (
        UPDATE project_files p SET status = 'pending', status_details = NULL, job = gen_random_uuid()
        FROM batch LEFT JOIN file_texts t ON t.file_id = batch.file_id
        WHERE p.project_id = batch.project_id AND p.file_id = batch.file_id AND ${isOld}
        RETURNING 1
      )
      SELECT (count(*) OVER ())::int AS seen, (SELECT count(*)::int FROM renewed) AS renewed, project_id, file_id
      FROM batch ORDER BY project_id DESC, file_id DESC LIMIT 1`.pipe(rowAs(Renewed))

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

  /** Makes every file of a project due again that isn't due already; the answer is how many. */
  const renewProject = (projectId: ProjectId) =>
    renewAll(sql`project_id = ${projectId}::uuid`, sql`p.status <> 'pending'`)

  /** Makes every file due again that was indexed in another way than now, or from another reading. */
  const renewOutdated = (version: string) =>
    renewAll(
      sql`status = 'indexed'`,
      sql`p.status = 'indexed' AND p.index_version IS DISTINCT FROM t.extractor || '/' || ${version}::text`
    )

  return { textOf, keepIndexed, keepFailure, postpone, renewProject, renewOutdated }
})
