import { Effect, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { FileBatchNotFound, NotProjectOwner } from "../domain/Errors.ts"
import { FileBatchId, FileId, type ProjectId, UserId } from "../domain/Ids.ts"
import type { CorpusStatus, FileToAdd, ProjectMembership } from "../domain/Project.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import type { Stretch } from "../sql/Paging.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { makeAdmission } from "./Admission.ts"
import { makeCorpusTable } from "./CorpusTable.ts"
import { makeNotedFiles } from "./NotedFiles.ts"
import { Projects } from "./Projects.ts"

/**
 * Batches older than this, and all but the newest of a project, are deleted with the next one. Their files
 * stay.
 */
const keptDays = 30
const keptMax = 1_000

const BatchRow = Schema.Struct({
  id: FileBatchId,
  createdAt: Schema.DateTimeUtcFromDate,
  isCancelled: Schema.Boolean,
  pending: Schema.Int,
  indexed: Schema.Int,
  failed: Schema.Int,
  removed: Schema.Int
})

const PendingRow = Schema.Struct({ fileId: FileId, ownerId: UserId, isNew: Schema.Boolean })

/** The tables `file_batches` and `file_batch_files`. */
const makeBatchTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const insert = Effect.fnUntraced(function* (
    projectId: ProjectId,
    files: ReadonlyArray<FileId>,
    added: ReadonlySet<FileId>
  ) {
    const id = FileBatchId.make(SecureRandom.uuidV7Unsafe())
    yield* sql`DELETE FROM file_batches
      WHERE project_id = ${projectId}::uuid AND (created_at < now() - make_interval(days => ${keptDays}) OR id IN (
        SELECT id FROM file_batches WHERE project_id = ${projectId}::uuid
        ORDER BY created_at DESC, id DESC OFFSET ${keptMax - 1}
      ))`
    yield* sql`INSERT INTO file_batches (id, project_id) VALUES (${id}::uuid, ${projectId}::uuid)`
    yield* sql`INSERT INTO file_batch_files (batch_id, file_id, is_new)
      SELECT ${id}::uuid, file_id, file_id = ANY (${[...added]}::uuid[]) FROM unnest(${files}::uuid[]) AS file_id`
    return id
  })

  const find = (projectId: ProjectId, id: FileBatchId) =>
    sql`SELECT b.id, b.created_at, b.cancelled_at IS NOT NULL AS is_cancelled,
        (count(*) FILTER (WHERE p.status = 'pending'))::int AS pending,
        (count(*) FILTER (WHERE p.status = 'indexed'))::int AS indexed,
        (count(*) FILTER (WHERE p.status = 'error'))::int AS failed,
        (count(m.file_id) FILTER (WHERE p.file_id IS NULL))::int AS removed
      FROM file_batches b LEFT JOIN file_batch_files m ON m.batch_id = b.id
      LEFT JOIN project_files p ON p.project_id = b.project_id AND p.file_id = m.file_id
      WHERE b.id = ${id}::uuid AND b.project_id = ${projectId}::uuid GROUP BY b.id`.pipe(rowAs(BatchRow))

  /**
   * The batch's files that were never searchable. Files that are indexed again, or that were added again
   * since, are left out. A cancelled batch has none.
   */
  const waiting = (projectId: ProjectId, id: FileBatchId) =>
    sql`SELECT p.file_id, f.user_id AS owner_id, m.is_new
      FROM file_batch_files m JOIN file_batches b ON b.id = m.batch_id
        JOIN project_files p ON p.file_id = m.file_id JOIN files f ON f.id = p.file_id
      WHERE b.cancelled_at IS NULL AND p.added_at <= b.created_at AND m.batch_id = ${id}::uuid AND p.project_id = ${projectId}::uuid
        AND p.status = 'pending' AND p.chunks IS NULL`.pipe(rowsAs(PendingRow))

  const markCancelled = (id: FileBatchId) =>
    sql`UPDATE file_batches SET cancelled_at = now() WHERE id = ${id}::uuid AND cancelled_at IS NULL`

  return { insert, find, waiting, markCancelled }
})

/** The methods of `ProjectNotes` about files that are added to a project together. */
export const makeFileBatches = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const projects = yield* Projects
  const corpus = yield* makeCorpusTable
  const batches = yield* makeBatchTable
  const noted = yield* makeNotedFiles
  const { admit } = yield* makeAdmission

  const require = Effect.fnUntraced(function* (projectId: ProjectId, id: FileBatchId) {
    return (yield* batches.find(projectId, id)) ?? (yield* new FileBatchNotFound())
  })

  const addBatch = Effect.fn("ProjectNotes.addBatch")(
    function* (membership: ProjectMembership, files: ReadonlyArray<FileToAdd>) {
      const { project, userId } = yield* admit(membership)
      const added = yield* noted.addAll(project.id, userId, files)
      const ids = [...new Set(files.map(({ fileId }) => fileId))]
      return yield* require(project.id, yield* batches.insert(project.id, ids, new Set(added)))
    },
    sql.withTransaction,
    orUnavailable
  )

  const cancelBatch = Effect.fn("ProjectNotes.cancelBatch")(
    function* (membership: ProjectMembership, id: FileBatchId) {
      const { isOwner, project, userId } = yield* admit(membership)
      yield* require(project.id, id)
      const waiting = yield* batches.waiting(project.id, id)
      const removed = waiting.filter(({ isNew }) => isNew)
      if (!isOwner && removed.some(({ ownerId }) => ownerId !== userId)) {
        return yield* new NotProjectOwner()
      }
      yield* Effect.forEach(removed, ({ fileId }) =>
        projects.removeFile(project.id, fileId).pipe(
          // The file was deleted meanwhile.
          Effect.catchTag("FileNotFound", () => Effect.void),
          Effect.orDie
        )
      )
      if (waiting.length > 0) yield* batches.markCancelled(id)
      return yield* require(project.id, id)
    },
    sql.withTransaction,
    orUnavailable
  )

  const batchFiles = Effect.fn("ProjectNotes.batchFiles")(function* (
    { projectId }: ProjectMembership,
    id: FileBatchId,
    wanted: Stretch<FileId> & { readonly status: CorpusStatus | null }
  ) {
    yield* require(projectId, id)
    return yield* corpus.list(projectId, { ...wanted, batch: id })
  }, orUnavailable)

  return {
    addBatch,
    batch: Effect.fn("ProjectNotes.batch")(
      ({ projectId }: ProjectMembership, id: FileBatchId) => require(projectId, id),
      orUnavailable
    ),
    batchFiles,
    cancelBatch
  }
})
