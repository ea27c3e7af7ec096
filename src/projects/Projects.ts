import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { SqlClient } from "effect/sql"
import type { Page } from "../domain/Account.ts"
import {
  type DatabaseUnavailable,
  type FileNotFound,
  type LastProjectOwner,
  type OrganizationNotFound,
  type ProjectExists,
  type ProjectMemberNotFound,
  ProjectNotFound,
  ProjectOwnerMissing,
  type ProjectsLoseOwner,
  type UserNotFound,
  type UserOfOtherOrganization
} from "../domain/Errors.ts"
import type { FileId, OrganizationId, ProjectId, UserId } from "../domain/Ids.ts"
import type { CorpusFile, CorpusStatus, Project, ProjectMember, ProjectRole } from "../domain/Project.ts"
import type { Retrieval } from "../retrieval/Retrieval.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { pageOf } from "../sql/Paging.ts"
import {
  makeProjectDeletion,
  makeUserProjects,
  type UserHolding,
  type UserMembership
} from "./ProjectErasure.ts"
import { makeProjectChanges, requireUser } from "./ProjectFiles.ts"
import { makeCorpusTable, makeProjectTable } from "./ProjectTable.ts"

/**
 * Projects, their members and their files, for the operator. Members and files come from the project's organization only.
 * Every change holds for the next request: who is a member, and what a search finds.
 */
export class Projects extends Context.Service<
  Projects,
  {
    /** Creates a project, without members, in the organization of that name. */
    readonly create: (
      name: string,
      organization: string
    ) => Effect.Effect<Project, ProjectExists | OrganizationNotFound | DatabaseUnavailable>
    /** Oldest first, from the one after `after` on; only those of that name, in whatever case, where one is given. */
    readonly list: (query: {
      readonly name: string | null
      readonly after?: ProjectId
    }) => Effect.Effect<Page<Project>, DatabaseUnavailable>
    readonly get: (id: ProjectId) => Effect.Effect<Project, ProjectNotFound | DatabaseUnavailable>
    readonly members: (
      id: ProjectId,
      after?: UserId
    ) => Effect.Effect<Page<ProjectMember>, ProjectNotFound | DatabaseUnavailable>
    /** Makes a user a member, or gives a member another role. The only owner who isn't disabled stays an owner. */
    readonly addMember: (
      id: ProjectId,
      email: string,
      role: ProjectRole
    ) => Effect.Effect<
      ProjectMember,
      ProjectNotFound | UserNotFound | UserOfOtherOrganization | LastProjectOwner | DatabaseUnavailable
    >
    /** The only owner who isn't disabled stays a member. */
    readonly removeMember: (
      id: ProjectId,
      email: string
    ) => Effect.Effect<
      void,
      ProjectNotFound | UserNotFound | ProjectMemberNotFound | LastProjectOwner | DatabaseUnavailable
    >
    /** Who is to own files that are uploaded for the project: the user of that address, or else its first owner. */
    readonly fileOwner: (
      id: ProjectId,
      email: string | null
    ) => Effect.Effect<
      string,
      ProjectNotFound | ProjectOwnerMissing | UserNotFound | UserOfOtherOrganization | DatabaseUnavailable
    >
    /** In the order of upload, from the one after `after` on. */
    readonly files: (
      id: ProjectId,
      query: { readonly status: CorpusStatus | null; readonly after?: FileId }
    ) => Effect.Effect<Page<CorpusFile>, ProjectNotFound | DatabaseUnavailable>
    /** Adds a file, which becomes searchable in the background once its text has been read. Adding it twice is adding it once. */
    readonly addFile: (
      id: ProjectId,
      fileId: FileId
    ) => Effect.Effect<
      CorpusFile,
      ProjectNotFound | FileNotFound | UserOfOtherOrganization | DatabaseUnavailable
    >
    /** Adds those of the files that are of the project's organization; the answer is which it didn't have. */
    readonly addFiles: (
      id: ProjectId,
      fileIds: ReadonlyArray<FileId>
    ) => Effect.Effect<ReadonlyArray<FileId>, ProjectNotFound | DatabaseUnavailable>
    /** Takes a file out of the project; its owner keeps it. */
    readonly removeFile: (
      id: ProjectId,
      fileId: FileId
    ) => Effect.Effect<void, ProjectNotFound | FileNotFound | DatabaseUnavailable>
    /** Has every file indexed again in the background; those that are searchable stay so. The answer is how many. */
    readonly reindex: (id: ProjectId) => Effect.Effect<number, ProjectNotFound | DatabaseUnavailable>
    /** Entries of the audit log keep the name of their time. */
    readonly rename: (
      id: ProjectId,
      name: string
    ) => Effect.Effect<Project, ProjectNotFound | ProjectExists | DatabaseUnavailable>
    /** From then on the project doesn't exist for anybody. Files stay with their owners. */
    readonly delete: (
      id: ProjectId
    ) => Effect.Effect<{ readonly name: string }, ProjectNotFound | DatabaseUnavailable>
    /** Deleted projects of which something is left, some at a time. */
    readonly deletedProjects: Effect.Effect<ReadonlyArray<ProjectId>, DatabaseUnavailable>
    /** Removes files of a deleted project, and the project once it has none; the answer is how many. */
    readonly eraseSome: (id: ProjectId) => Effect.Effect<number, DatabaseUnavailable>
    readonly someOf: (id: OrganizationId) => Effect.Effect<ReadonlyArray<ProjectId>, DatabaseUnavailable>
    readonly membershipsOf: (id: UserId) => Effect.Effect<ReadonlyArray<UserMembership>, DatabaseUnavailable>
    /** The projects with files of a user, and those that would be without an owner. */
    readonly holdingsOf: (id: UserId) => Effect.Effect<ReadonlyArray<UserHolding>, DatabaseUnavailable>
    /** Makes the user of the address `heir` an owner of the projects that have no other one; fails if there is no heir. */
    readonly passProjects: (
      id: UserId,
      heir: string | null
    ) => Effect.Effect<void, ProjectsLoseOwner | DatabaseUnavailable>
    /** Ends every membership of a user. */
    readonly removeUser: (id: UserId) => Effect.Effect<void, DatabaseUnavailable>
  }
>()("parley/projects/Projects") {
  static readonly layer: Layer.Layer<Projects, never, Retrieval | SqlClient.SqlClient> = Layer.effect(
    Projects,
    Effect.gen(function* () {
      const table = yield* makeProjectTable
      const corpus = yield* makeCorpusTable
      const changes = yield* makeProjectChanges
      const deletion = yield* makeProjectDeletion
      const ofUser = yield* makeUserProjects

      const list = Effect.fn("Projects.list")(function* (query: {
        readonly name: string | null
        readonly after?: ProjectId
      }) {
        return pageOf(yield* table.page(query.name, query.after))
      }, orUnavailable)

      const get = Effect.fn("Projects.get")(function* (id: ProjectId) {
        const found = yield* table.find(id)
        return found ?? (yield* new ProjectNotFound())
      }, orUnavailable)

      const members = Effect.fn("Projects.members")(function* (id: ProjectId, after?: UserId) {
        yield* get(id)
        return pageOf(yield* table.members(id, after))
      }, orUnavailable)

      const fileOwner = Effect.fn("Projects.fileOwner")(function* (id: ProjectId, email: string | null) {
        if (email !== null) {
          yield* requireUser(table)(id, email)
          return email
        }
        yield* get(id)
        const owner = yield* table.owner(id)
        return owner ?? (yield* new ProjectOwnerMissing())
      }, orUnavailable)

      const files = Effect.fn("Projects.files")(function* (
        id: ProjectId,
        query: { readonly status: CorpusStatus | null; readonly after?: FileId }
      ) {
        yield* get(id)
        return pageOf(yield* corpus.page(id, query.status, query.after))
      }, orUnavailable)

      return Projects.of({ ...changes, ...deletion, ...ofUser, list, get, members, fileOwner, files })
    })
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}
