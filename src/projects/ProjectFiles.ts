import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import {
  FileNotFound,
  NotProjectOwner,
  ProjectNotFound,
  ProjectOwnerMissing,
  UserOfOtherOrganization
} from "../domain/Errors.ts"
import type { FileId, ProjectId, UserId } from "../domain/Ids.ts"
import type { CorpusStatus, ProjectMembership } from "../domain/Project.ts"
import { makeIndexJobs } from "../retrieval/IndexJobs.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { pageOf } from "../sql/Paging.ts"
import { entryOf, idOf, makeAdmission, type ProjectAccess } from "./Admission.ts"
import { makeCorpusTable } from "./CorpusTable.ts"
import { makeRequireUser } from "./ProjectMembers.ts"
import { makeProjectTable } from "./ProjectTable.ts"

/** The methods of `Projects` that add files. */
const makeAdditions = Effect.fnUntraced(function* ({ offerNext }: Effect.Success<typeof makeIndexJobs>) {
  const sql = yield* SqlClient.SqlClient
  const corpus = yield* makeCorpusTable
  const audit = yield* makeAuditRecorder
  const { admit, lock } = yield* makeAdmission

  const requireOwnFile = Effect.fnUntraced(function* (userId: UserId, fileId: FileId) {
    const rows = yield* sql`SELECT 1 FROM files WHERE id = ${fileId}::uuid AND user_id = ${userId}::uuid
      AND (expires_at IS NULL OR expires_at > now())`
    if (rows.length === 0) return yield* new FileNotFound({ param: "file_id" })
  })

  const addFile = Effect.fn("Projects.addFile")(
    function* (access: ProjectAccess, fileId: FileId) {
      const { project, userId } = yield* admit(access)
      if (userId !== null) yield* requireOwnFile(userId, fileId)
      const key = { projectId: project.id, fileId }
      const isNew = yield* corpus.insert(key)
      yield* offerNext(project.id)
      const found = yield* corpus.find(key)
      if (found === undefined) {
        const { file, sameOrganization } = yield* corpus.place(key)
        return yield* file && !sameOrganization
          ? new UserOfOtherOrganization()
          : new FileNotFound({ param: "file_id" })
      }
      const details = { file_id: fileId, filename: found.filename, owner: found.owner }
      if (isNew) yield* audit.record(entryOf("project.file_add", project, details))
      return found
    },
    sql.withTransaction,
    orUnavailable
  )

  const addFiles = Effect.fn("Projects.addFiles")(
    function* (id: ProjectId, fileIds: ReadonlyArray<FileId>) {
      const project = yield* lock(id)
      const added = yield* corpus.insertAll(id, fileIds)
      yield* offerNext(id)
      yield* Effect.forEach(
        added,
        ({ fileId, filename, owner }) =>
          audit.record(entryOf("project.file_add", project, { file_id: fileId, filename, owner })),
        { discard: true }
      )
      return added.map(({ fileId }) => fileId)
    },
    sql.withTransaction,
    orUnavailable
  )

  return { addFile, addFiles }
})

/** The methods of `Projects` about files. A change and its record are one transaction. */
export const makeProjectFiles = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const table = yield* makeProjectTable
  const corpus = yield* makeCorpusTable
  const jobs = yield* makeIndexJobs
  const audit = yield* makeAuditRecorder
  const requireUser = yield* makeRequireUser
  const { admit, lock } = yield* makeAdmission

  const requireProject = Effect.fnUntraced(function* (id: ProjectId) {
    if ((yield* table.find(id)) === undefined) return yield* new ProjectNotFound()
  })

  const fileOwner = Effect.fn("Projects.fileOwner")(function* (id: ProjectId, email: string | null) {
    if (email !== null) {
      yield* requireUser(id, email)
      return email
    }
    yield* requireProject(id)
    return (yield* table.owner(id)) ?? (yield* new ProjectOwnerMissing())
  }, orUnavailable)

  const files = Effect.fn("Projects.files")(function* (
    access: ProjectAccess,
    query: { readonly status: CorpusStatus | null; readonly after?: FileId }
  ) {
    const id = idOf(access)
    yield* requireProject(id)
    return pageOf(yield* corpus.page(id, query.status, query.after))
  }, orUnavailable)

  const file = Effect.fn("Projects.file")(function* ({ projectId }: ProjectMembership, fileId: FileId) {
    return (yield* corpus.find({ projectId, fileId })) ?? (yield* new FileNotFound({ param: "file_id" }))
  }, orUnavailable)

  const removeFile = Effect.fn("Projects.removeFile")(
    function* (access: ProjectAccess, fileId: FileId) {
      const { isOwner, project, userId } = yield* admit(access)
      const key = { projectId: project.id, fileId }
      if (userId !== null) {
        const { ownerId } = (yield* corpus.find(key)) ?? (yield* new FileNotFound({ param: "file_id" }))
        if (!isOwner && ownerId !== userId) return yield* new NotProjectOwner()
      }
      const removed = (yield* corpus.remove(key)) ?? (yield* new FileNotFound({ param: "file_id" }))
      const details = { file_id: fileId, filename: removed.filename }
      yield* audit.record(entryOf("project.file_remove", project, details))
    },
    sql.withTransaction,
    orUnavailable
  )

  const reindex = Effect.fn("Projects.reindex")(
    function* (id: ProjectId) {
      const project = yield* lock(id)
      const files = yield* jobs.reindex(id)
      if (files > 0) yield* audit.record(entryOf("project.reindex", project, { files }))
      return files
    },
    sql.withTransaction,
    orUnavailable
  )

  return { fileOwner, files, file, ...(yield* makeAdditions(jobs)), removeFile, reindex }
})
