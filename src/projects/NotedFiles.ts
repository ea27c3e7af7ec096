import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { FileNotFound, NotProjectOwner } from "../domain/Errors.ts"
import type { FileAttributes } from "../domain/FileAttributes.ts"
import { FileId, type ProjectId, type UserId } from "../domain/Ids.ts"
import type { FileToAdd, ProjectMembership } from "../domain/Project.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowsAs } from "../sql/rows.ts"
import { entryOf, makeAdmission } from "./Admission.ts"
import { makeCorpusTable } from "./CorpusTable.ts"
import { Projects } from "./Projects.ts"

const Known = Schema.Struct({ fileId: FileId })
const Noted = Schema.Struct({ fileId: FileId, filename: Schema.String })

/** The methods of `ProjectNotes` about files with attributes. */
export const makeNotedFiles = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const projects = yield* Projects
  const corpus = yield* makeCorpusTable
  const { admit, lock } = yield* makeAdmission

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

  /** Sets attributes, and returns the files whose attributes were other ones. */
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
    const project = yield* lock(projectId)
    for (const { fileId, filename } of changed) {
      yield* audit.record(entryOf("project.file_note", project, { file_id: fileId, filename }))
    }
  })

  /** Adds files of the user's own, and returns those that are new. The caller has admitted the user. */
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
    // A file that is named twice gets the last attributes.
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

  const addFile = Effect.fn("ProjectNotes.addFile")(
    function* (membership: ProjectMembership, file: FileToAdd) {
      const { project, userId } = yield* admit(membership)
      yield* addAll(project.id, userId, [file])
      return yield* find(project.id, file.fileId)
    },
    sql.withTransaction,
    orUnavailable
  )

  const noteFile = Effect.fn("ProjectNotes.noteFile")(
    function* (membership: ProjectMembership, fileId: FileId, attributes: FileAttributes) {
      const { isOwner, project, userId } = yield* admit(membership)
      const { ownerId } = yield* find(project.id, fileId)
      if (!isOwner && ownerId !== userId) return yield* new NotProjectOwner()
      yield* recordNotes(project.id, yield* setAttributes(project.id, [{ fileId, attributes }]))
      return yield* find(project.id, fileId)
    },
    sql.withTransaction,
    orUnavailable
  )

  return { addAll, addFile, noteFile }
})
