import { Duration, Effect, Schedule } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { ProjectId } from "../domain/Ids.ts"
import { makeJobQueue } from "../sql/JobQueue.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { CorpusJob } from "./CorpusTable.ts"
import type { FoundText, IndexJobTable } from "./IndexJobTable.ts"
import { Retrieval } from "./Retrieval.ts"

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
