import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { Page } from "../domain/Account.ts"
import {
  type DatabaseUnavailable,
  type EndpointForbidden,
  type FileBatchNotFound,
  type FileNotFound,
  type NotProjectMember,
  type NotProjectOwner,
  type OrganizationNotFound,
  type ProjectExists,
  type ProjectNotFound,
  type TooManyProjects
} from "../domain/Errors.ts"
import type { FileAttributes } from "../domain/FileAttributes.ts"
import type { FileBatchId, FileId, ProjectId, UserId } from "../domain/Ids.ts"
import type { CorpusFile, CorpusStatus, FileBatch, FileToAdd, ProjectMembership } from "../domain/Project.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import type { Stretch } from "../sql/Paging.ts"
import { entryOf, makeAdmission } from "./Admission.ts"
import { makeCorpusTable } from "./CorpusTable.ts"
import { makeFileBatches } from "./FileBatches.ts"
import { makeNotedFiles } from "./NotedFiles.ts"
import { Projects } from "./Projects.ts"

type Forbidden = ProjectNotFound | NotProjectMember | DatabaseUnavailable

/** The notes of a client on a project. */
interface Noted {
  readonly description: string | null
  readonly metadata: Readonly<Record<string, string>>
}

type FilesWanted = Stretch<FileId> & { readonly status: CorpusStatus | null }

/** Projects as vector stores: notes on them and on their files. The rights are those of `Projects`. */
export class ProjectNotes extends Context.Service<
  ProjectNotes,
  {
    /** Creates a project with files of the user's own, all or nothing. */
    readonly create: (
      userId: UserId,
      name: string,
      noted: Noted & { readonly files: ReadonlyArray<FileToAdd> }
    ) => Effect.Effect<
      ProjectId,
      | ProjectExists
      | OrganizationNotFound
      | EndpointForbidden
      | TooManyProjects
      | FileNotFound
      | ProjectNotFound
      | DatabaseUnavailable
    >
    /** Changes a project, for owners; undefined leaves a part as it is. */
    readonly update: (
      membership: ProjectMembership,
      changes: { readonly name?: string; readonly metadata?: Noted["metadata"] }
    ) => Effect.Effect<void, ProjectExists | NotProjectOwner | Forbidden>
    /** Lists files in the order of upload. */
    readonly files: (
      membership: ProjectMembership,
      wanted: FilesWanted
    ) => Effect.Effect<Page<CorpusFile>, DatabaseUnavailable>
    /** Adds a file of the member's own. */
    readonly addFile: (
      membership: ProjectMembership,
      file: FileToAdd
    ) => Effect.Effect<CorpusFile, FileNotFound | Forbidden>
    /** Replaces the attributes of a file: owners of the project those of any, members those of their own. */
    readonly noteFile: (
      membership: ProjectMembership,
      fileId: FileId,
      attributes: FileAttributes
    ) => Effect.Effect<CorpusFile, FileNotFound | NotProjectOwner | Forbidden>
    /** Adds files of the member's own together, all or none. */
    readonly addBatch: (
      membership: ProjectMembership,
      files: ReadonlyArray<FileToAdd>
    ) => Effect.Effect<FileBatch, FileNotFound | FileBatchNotFound | Forbidden>
    readonly batch: (
      membership: ProjectMembership,
      id: FileBatchId
    ) => Effect.Effect<FileBatch, FileBatchNotFound | DatabaseUnavailable>
    /** Lists the files of a batch that the project still has. */
    readonly batchFiles: (
      membership: ProjectMembership,
      id: FileBatchId,
      wanted: FilesWanted
    ) => Effect.Effect<Page<CorpusFile>, FileBatchNotFound | DatabaseUnavailable>
    /** Removes the files that the batch added and that aren't searchable yet; does nothing once all are. */
    readonly cancelBatch: (
      membership: ProjectMembership,
      id: FileBatchId
    ) => Effect.Effect<FileBatch, FileBatchNotFound | NotProjectOwner | Forbidden>
  }
>()("parley/projects/ProjectNotes") {
  static readonly layer: Layer.Layer<ProjectNotes, never, Projects | SqlClient.SqlClient> = Layer.effect(
    ProjectNotes,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* makeAuditRecorder
      const projects = yield* Projects
      const { admitOwner, lock } = yield* makeAdmission
      const corpus = yield* makeCorpusTable
      const { addAll, addFile, noteFile } = yield* makeNotedFiles

      const create = Effect.fn("ProjectNotes.create")(
        function* (
          userId: UserId,
          name: string,
          { description, files, metadata }: Noted & { readonly files: ReadonlyArray<FileToAdd> }
        ) {
          const { id } = yield* projects.createOwn(userId, name)
          yield* sql`UPDATE projects SET description = ${description}, metadata = ${JSON.stringify(metadata)}::jsonb
              WHERE id = ${id}::uuid`
          if (files.length > 0) yield* addAll(id, userId, files)
          return id
        },
        sql.withTransaction,
        orUnavailable
      )

      const update = Effect.fn("ProjectNotes.update")(
        function* (
          membership: ProjectMembership,
          { metadata, name }: { readonly name?: string; readonly metadata?: Noted["metadata"] }
        ) {
          yield* admitOwner(membership)
          if (name !== undefined) yield* projects.rename(membership, name)
          if (metadata === undefined) return
          // The entry has the new name.
          const project = yield* lock(membership.projectId)
          const changed = yield* sql`UPDATE projects SET metadata = ${JSON.stringify(metadata)}::jsonb
              WHERE id = ${project.id}::uuid AND metadata <> ${JSON.stringify(metadata)}::jsonb RETURNING 1`
          if (changed.length > 0) yield* audit.record(entryOf("project.note", project))
        },
        sql.withTransaction,
        orUnavailable
      )

      const files = Effect.fn("ProjectNotes.files")(
        ({ projectId }: ProjectMembership, wanted: FilesWanted) =>
          corpus.list(projectId, { ...wanted, batch: null }),
        orUnavailable
      )

      return ProjectNotes.of({ create, update, files, addFile, noteFile, ...(yield* makeFileBatches) })
    })
  )
}
