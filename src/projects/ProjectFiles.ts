import { Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { type AuditDetails, type AuditEntry, within } from "../domain/AuditEntry.ts"
import {
  FileNotFound,
  LastProjectOwner,
  OrganizationNotFound,
  ProjectExists,
  ProjectMemberNotFound,
  ProjectNotFound,
  UserNotFound,
  UserOfOtherOrganization
} from "../domain/Errors.ts"
import { type FileId, type OrganizationId, ProjectId } from "../domain/Ids.ts"
import type { ProjectRole } from "../domain/Project.ts"
import { makeIndexJobs } from "../retrieval/IndexJobs.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { makeCorpusTable, makeProjectTable } from "./ProjectTable.ts"

interface Named {
  readonly id: ProjectId
  readonly name: string
  readonly organizationId: OrganizationId
  readonly organization: string
}

export const entryOf = (
  action: AuditEntry["action"],
  project: Named,
  details: AuditDetails = {}
): AuditEntry => ({
  action,
  target: { id: project.id, name: project.name },
  organization: within(project),
  details
})

/** Fails unless the user of that address can be had for the project. */
export const requireUser = (table: Effect.Success<typeof makeProjectTable>) =>
  Effect.fnUntraced(function* (id: ProjectId, email: string) {
    const { project, sameOrganization, user } = yield* table.place(id, email)
    if (!project) return yield* new ProjectNotFound()
    if (!user) return yield* new UserNotFound()
    if (!sameOrganization) return yield* new UserOfOtherOrganization()
  })

/** The project. Other changes of it wait until the transaction ends. */
const makeLocked = Effect.map(makeProjectTable, (table) =>
  Effect.fnUntraced(function* (id: ProjectId) {
    const found = yield* table.lock(id)
    return found ?? (yield* new ProjectNotFound())
  })
)

/** The methods of `Projects` that add files. */
const makeAdditions = Effect.fnUntraced(function* ({ offerNext }: Effect.Success<typeof makeIndexJobs>) {
  const sql = yield* SqlClient.SqlClient
  const corpus = yield* makeCorpusTable
  const audit = yield* makeAuditRecorder
  const locked = yield* makeLocked

  const addFile = Effect.fn("Projects.addFile")(
    function* (projectId: ProjectId, fileId: FileId) {
      const key = { projectId, fileId }
      const project = yield* locked(projectId)
      const isNew = yield* corpus.insert(key)
      yield* offerNext(projectId)
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
    function* (projectId: ProjectId, fileIds: ReadonlyArray<FileId>) {
      const project = yield* locked(projectId)
      const added = yield* corpus.insertAll(projectId, fileIds)
      yield* offerNext(projectId)
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

/** The methods of `Projects` that change something, each with its record in one transaction. */
export const makeProjectChanges = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const table = yield* makeProjectTable
  const corpus = yield* makeCorpusTable
  const jobs = yield* makeIndexJobs
  const audit = yield* makeAuditRecorder
  const locked = yield* makeLocked
  const additions = yield* makeAdditions(jobs)

  const create = Effect.fn("Projects.create")(function* (name: string, organization: string) {
    const id = ProjectId.make(yield* random.uuidV7())
    const created = yield* audit.recording(
      table.insert(id, name, organization),
      (project) => project && entryOf("project.create", project)
    )
    if (created !== undefined) return created
    return yield* (yield* table.hasOrganization(organization))
      ? new ProjectExists()
      : new OrganizationNotFound()
  }, orUnavailable)

  /** Fails if that user is an owner of the project, and the only one. The project is locked. */
  const requireOtherOwner = Effect.fnUntraced(function* (id: ProjectId, email: string) {
    if (yield* table.isOnlyOwner(id, email)) return yield* new LastProjectOwner({ param: "email" })
  })

  const addMember = Effect.fn("Projects.addMember")(
    function* (id: ProjectId, email: string, role: ProjectRole) {
      const project = yield* locked(id)
      yield* requireUser(table)(id, email)
      if (role !== "owner") yield* requireOtherOwner(id, email)
      const before = yield* table.member(id, email)
      const member = yield* table.addMember(id, email, role)
      // The project is locked, and a user can't go.
      if (member === undefined) return yield* new ProjectNotFound()
      const { email: user } = member
      if (before === undefined) {
        yield* audit.record(entryOf("project.member_add", project, { user, role }))
      } else if (before.role !== role) {
        const details = { user, role: { old: before.role, new: role } }
        yield* audit.record(entryOf("project.member_role", project, details))
      }
      return member
    },
    sql.withTransaction,
    orUnavailable
  )

  const removeMember = Effect.fn("Projects.removeMember")(
    function* (id: ProjectId, email: string) {
      const project = yield* locked(id)
      yield* requireOtherOwner(id, email)
      const removed = yield* table.removeMember(id, email)
      if (removed === undefined) {
        const { user } = yield* table.place(id, email)
        return yield* user ? new ProjectMemberNotFound({ param: "email" }) : new UserNotFound()
      }
      const { email: user, role } = removed
      yield* audit.record(entryOf("project.member_remove", project, { user, role }))
    },
    sql.withTransaction,
    orUnavailable
  )

  const removeFile = Effect.fn("Projects.removeFile")(
    function* (projectId: ProjectId, fileId: FileId) {
      const project = yield* locked(projectId)
      const removed = yield* corpus.remove({ projectId, fileId })
      if (removed === undefined) return yield* new FileNotFound({ param: "file_id" })
      const details = { file_id: fileId, filename: removed.filename }
      yield* audit.record(entryOf("project.file_remove", project, details))
    },
    sql.withTransaction,
    orUnavailable
  )

  const reindex = Effect.fn("Projects.reindex")(
    function* (id: ProjectId) {
      const project = yield* locked(id)
      const files = yield* jobs.reindex(id)
      if (files > 0) yield* audit.record(entryOf("project.reindex", project, { files }))
      return files
    },
    sql.withTransaction,
    orUnavailable
  )

  return { create, addMember, removeMember, ...additions, removeFile, reindex }
})
