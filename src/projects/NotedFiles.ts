import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { FileNotFound, NotProjectOwner, ProjectNotFound } from "../domain/Errors.ts"
import type { FileAttributes } from "../domain/FileAttributes.ts"
import { FileId, type ProjectId, type UserId } from "../domain/Ids.ts"
import type { FileToAdd, ProjectMembership } from "../domain/Project.ts"
import { rowsAs } from "../sql/rows.ts"
import { entryOf } from "./ProjectFiles.ts"
import { makeAdmitted } from "./ProjectMembers.ts"
import { Projects } from "./Projects.ts"
import { makeCorpusTable, makeProjectTable } from "./ProjectTable.ts"

const Known = Schema.Struct({ fileId: FileId })
const Noted = Schema.Struct({ fileId: FileId, filename: Schema.String })

/** Files of projects with what is noted of them. */
export const makeNotedFiles = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const projects = yield* Projects
  const table = yield* makeProjectTable
  const corpus = yield* makeCorpusTable
  const { admitted } = yield* makeAdmitted

  const requireOwnFiles = Effect.fnUntraced(function* (
    userId: UserId | null,
    files: ReadonlyArray<FileToAdd>
  ) {
    const rows = yield* sql`SELECT id AS file_id FROM files
      WHERE id = ANY (${files.map(({ fileId }) => fileId)}::uuid[]) AND user_id = ${userId}::uuid
        AND (expires_at IS NULL OR expires_at > now()) FOR KEY SHARE`.pipe(rowsAs(Known))
    const own = new Set(rows.map(({ fileId }) => fileId))
    const missing = files.find(({ fileId }) => !own.has(fileId))
    if (missing !== undefined) return yield* new FileNotFound({ param: missing.param })
  })

  /** The answer has a row for each file whose attributes were other ones. */
  const setAttributes = (
    projectId: ProjectId,
    noted: ReadonlyArray<{ readonly fileId: FileId; readonly attributes: FileAttributes }>
  ) =>
    sql`UPDATE project_files SET attributes = given.attributes
      FROM jsonb_to_recordset(${JSON.stringify(noted)}::jsonb) AS given ("fileId" uuid, attributes jsonb)
      WHERE project_id = ${projectId}::uuid AND file_id = given."fileId"
        AND project_files.attributes <> given.attributes
      RETURNING file_id, (SELECT filename FROM files WHERE id = file_id) AS filename`.pipe(rowsAs(Noted))

  const recordNotes = Effect.fnUntraced(function* (
    projectId: ProjectId,
    changed: ReadonlyArray<typeof Noted.Type>
  ) {
    if (changed.length === 0) return
    const project = (yield* table.lock(projectId)) ?? (yield* new ProjectNotFound())
    for (const { fileId, filename } of changed) {
      yield* audit.record(entryOf("project.file_note", project, { file_id: fileId, filename }))
    }
  })

  /** Adds files of the user's own; the answer is which of them are new. The user may add them, and the project is locked. */
  const addAll = Effect.fnUntraced(function* (
    projectId: ProjectId,
    userId: UserId | null,
    files: ReadonlyArray<FileToAdd>
  ) {
    yield* requireOwnFiles(userId, files)
    const added = yield* projects.addFiles(
      projectId,
      files.map(({ fileId }) => fileId)
    )
    // The last one of a file that is named twice.
    const noted = new Map(
      files.flatMap(({ attributes, fileId }) =>
        attributes === null ? [] : [[fileId, { fileId, attributes }] as const]
      )
    )
    if (noted.size > 0) {
      const changed = yield* setAttributes(projectId, [...noted.values()])
      const isNew = new Set(added)
      yield* recordNotes(
        projectId,
        changed.filter(({ fileId }) => !isNew.has(fileId))
      )
    }
    return added
  })

  const find = Effect.fnUntraced(function* (projectId: ProjectId, fileId: FileId) {
    return (yield* corpus.find({ projectId, fileId })) ?? (yield* new FileNotFound({ param: "file_id" }))
  })

  const addFile = Effect.fn("ProjectNotes.addFile")((membership: ProjectMembership, file: FileToAdd) =>
    admitted(membership, () =>
      Effect.andThen(
        addAll(membership.projectId, membership.userId, [file]),
        find(membership.projectId, file.fileId)
      )
    )
  )

  const noteFile = Effect.fn("ProjectNotes.noteFile")(
    (membership: ProjectMembership, fileId: FileId, attributes: FileAttributes) =>
      admitted(
        membership,
        Effect.fnUntraced(function* (role) {
          const { projectId, userId } = membership
          const { ownerId } = yield* find(projectId, fileId)
          if (role !== "owner" && ownerId !== userId) return yield* new NotProjectOwner()
          yield* recordNotes(projectId, yield* setAttributes(projectId, [{ fileId, attributes }]))
          return yield* find(projectId, fileId)
        })
      )
  )

  return { addAll, addFile, noteFile }
})
