import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { Page } from "../domain/Account.ts"
import {
  type DatabaseUnavailable,
  type EndpointForbidden,
  type FileNotFound,
  type LastProjectOwner,
  type NotProjectMember,
  type NotProjectOwner,
  OrganizationNotFound,
  ProjectExists,
  type ProjectMemberNotFound,
  ProjectNotFound,
  type ProjectOwnerMissing,
  type ProjectsLoseOwner,
  type TooManyProjects,
  type UserNotFound,
  type UserOfOtherOrganization
} from "../domain/Errors.ts"
import { type FileId, type OrganizationId, ProjectId, type UserId } from "../domain/Ids.ts"
import type {
  CorpusFile,
  CorpusStatus,
  Project,
  ProjectMember,
  ProjectMembership,
  ProjectRole
} from "../domain/Project.ts"
import type { Retrieval } from "../retrieval/Retrieval.ts"
import type { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { pageOf, type Stretch } from "../sql/Paging.ts"
import { entryOf, makeAdmission, type ProjectAccess } from "./Admission.ts"
import { makeOwnCreation, makeOwnProjects, type ReadableProject } from "./OwnProjects.ts"
import {
  makeProjectErasure,
  makeUserProjects,
  type UserHolding,
  type UserMembership
} from "./ProjectErasure.ts"
import { makeProjectFiles } from "./ProjectFiles.ts"
import { makeProjectMembers } from "./ProjectMembers.ts"
import { makeProjectTable } from "./ProjectTable.ts"

type Forbidden = ProjectNotFound | NotProjectMember | NotProjectOwner | DatabaseUnavailable

/**
 * Projects, their members and their files. Administrators name a project by its id, members by the proof of
 * their membership; a method that takes a `ProjectAccess` is for both. Members and files come from the
 * project's organization only. Every change holds for the next request: who is a member, and what a search
 * finds.
 */
export class Projects extends Context.Service<
  Projects,
  {
    /** Creates a project, without members, in the organization of that name. */
    readonly create: (
      name: string,
      organization: string
    ) => Effect.Effect<Project, ProjectExists | OrganizationNotFound | DatabaseUnavailable>
    /** Creates a project in the user's organization, with the user as its owner. */
    readonly createOwn: (
      userId: UserId,
      name: string
    ) => Effect.Effect<
      Project,
      ProjectExists | OrganizationNotFound | EndpointForbidden | TooManyProjects | DatabaseUnavailable
    >
    /**
     * Lists projects, oldest first and after the project `after`. A name selects by it, regardless of case.
     */
    readonly list: (query: {
      readonly name: string | null
      readonly after?: ProjectId
    }) => Effect.Effect<Page<Project>, DatabaseUnavailable>
    /** Lists the projects that the user is a member of, in the order of their creation. */
    readonly listOwn: (
      userId: UserId,
      wanted: Stretch<ProjectId>
    ) => Effect.Effect<Page<ReadableProject>, DatabaseUnavailable>
    readonly get: (id: ProjectId) => Effect.Effect<Project, ProjectNotFound | DatabaseUnavailable>
    readonly getOwn: (
      membership: ProjectMembership
    ) => Effect.Effect<ReadableProject, ProjectNotFound | DatabaseUnavailable>
    /** Renames a project, for owners. Entries of the audit log keep the earlier name. */
    readonly rename: (
      access: ProjectAccess,
      name: string
    ) => Effect.Effect<Project, ProjectExists | Forbidden>
    /** Deletes a project for all users at once, for owners. Files stay with their owners. */
    readonly delete: (
      access: ProjectAccess
    ) => Effect.Effect<{ readonly id: ProjectId; readonly name: string }, Forbidden>
    readonly members: (
      access: ProjectAccess,
      after?: UserId
    ) => Effect.Effect<Page<ProjectMember>, ProjectNotFound | DatabaseUnavailable>
    /**
     * Makes a user a member, or gives a member another role, for owners. Without a role, a new member is a
     * `member`, and a known one keeps the role. The only owner who isn't disabled stays an owner.
     */
    readonly addMember: (
      access: ProjectAccess,
      email: string,
      role?: ProjectRole
    ) => Effect.Effect<ProjectMember, UserNotFound | UserOfOtherOrganization | LastProjectOwner | Forbidden>
    /** Gives a member another role, for owners. */
    readonly setRole: (
      membership: ProjectMembership,
      userId: UserId,
      role: ProjectRole
    ) => Effect.Effect<
      ProjectMember,
      ProjectMemberNotFound | UserNotFound | UserOfOtherOrganization | LastProjectOwner | Forbidden
    >
    /** Removes a member. The only owner who isn't disabled stays a member. */
    readonly removeMember: (
      id: ProjectId,
      email: string
    ) => Effect.Effect<
      void,
      UserNotFound | ProjectMemberNotFound | LastProjectOwner | ProjectNotFound | DatabaseUnavailable
    >
    /** Removes a member, for owners; members may remove themselves. */
    readonly removeMemberById: (
      membership: ProjectMembership,
      userId: UserId
    ) => Effect.Effect<void, UserNotFound | ProjectMemberNotFound | LastProjectOwner | Forbidden>
    /**
     * The future owner of files that are uploaded for the project: the user of that address, or else its
     * first owner.
     */
    readonly fileOwner: (
      id: ProjectId,
      email: string | null
    ) => Effect.Effect<
      string,
      ProjectNotFound | ProjectOwnerMissing | UserNotFound | UserOfOtherOrganization | DatabaseUnavailable
    >
    /** Lists files in the order of upload, after the file `after`. */
    readonly files: (
      access: ProjectAccess,
      query: { readonly status: CorpusStatus | null; readonly after?: FileId }
    ) => Effect.Effect<Page<CorpusFile>, ProjectNotFound | DatabaseUnavailable>
    /** A file of the project, of any owner. */
    readonly file: (
      membership: ProjectMembership,
      fileId: FileId
    ) => Effect.Effect<CorpusFile, FileNotFound | DatabaseUnavailable>
    /**
     * Adds a file, which becomes searchable in the background once its text has been read. Adding it again
     * changes nothing. Members add files of their own.
     */
    readonly addFile: (
      access: ProjectAccess,
      fileId: FileId
    ) => Effect.Effect<CorpusFile, FileNotFound | UserOfOtherOrganization | Forbidden>
    /** Adds the files of the project's organization, and returns those that the project didn't have. */
    readonly addFiles: (
      id: ProjectId,
      fileIds: ReadonlyArray<FileId>
    ) => Effect.Effect<ReadonlyArray<FileId>, ProjectNotFound | DatabaseUnavailable>
    /**
     * Removes a file from the project; its owner keeps it. Owners of the project remove any file, members
     * their own.
     */
    readonly removeFile: (
      access: ProjectAccess,
      fileId: FileId
    ) => Effect.Effect<void, FileNotFound | Forbidden>
    /**
     * Queues every file for indexing in the background, and returns their number. Searchable files stay
     * searchable.
     */
    readonly reindex: (id: ProjectId) => Effect.Effect<number, ProjectNotFound | DatabaseUnavailable>
    /** A page of deleted projects that are not yet erased completely. */
    readonly deletedProjects: Effect.Effect<ReadonlyArray<ProjectId>, DatabaseUnavailable>
    /** Removes files of a deleted project, and the project once it has none; returns their number. */
    readonly eraseSome: (id: ProjectId) => Effect.Effect<number, DatabaseUnavailable>
    /** Some projects of an organization; none when it has none. */
    readonly someOf: (id: OrganizationId) => Effect.Effect<ReadonlyArray<ProjectId>, DatabaseUnavailable>
    readonly membershipsOf: (id: UserId) => Effect.Effect<ReadonlyArray<UserMembership>, DatabaseUnavailable>
    /** The projects with files of a user, and those that would be without an owner. */
    readonly holdingsOf: (id: UserId) => Effect.Effect<ReadonlyArray<UserHolding>, DatabaseUnavailable>
    /**
     * Makes the user of the address `heir` an owner of the projects that have no other one; fails if there is
     * no heir.
     */
    readonly passProjects: (
      id: UserId,
      heir: string | null
    ) => Effect.Effect<void, ProjectsLoseOwner | DatabaseUnavailable>
    /** Ends every membership of a user. */
    readonly removeUser: (id: UserId) => Effect.Effect<void, DatabaseUnavailable>
  }
>()("parley/projects/Projects") {
  static readonly layer: Layer.Layer<Projects, never, Retrieval | SqlClient.SqlClient | AppConfig> =
    Layer.effect(
      Projects,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const random = yield* SecureRandom.SecureRandom
        const audit = yield* makeAuditRecorder
        const table = yield* makeProjectTable
        const { admitOwner } = yield* makeAdmission
        const members = yield* makeProjectMembers

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

        const list = Effect.fn("Projects.list")(function* (query: {
          readonly name: string | null
          readonly after?: ProjectId
        }) {
          return pageOf(yield* table.page(query.name, query.after))
        }, orUnavailable)

        const get = Effect.fn("Projects.get")(function* (id: ProjectId) {
          return (yield* table.find(id)) ?? (yield* new ProjectNotFound())
        }, orUnavailable)

        const rename = Effect.fn("Projects.rename")(
          function* (access: ProjectAccess, name: string) {
            const { project } = yield* admitOwner(access)
            if (yield* table.isTaken(project, name)) return yield* new ProjectExists()
            if (project.name !== name) {
              yield* table.rename(project.id, name)
              const details = { name: { old: project.name, new: name } }
              yield* audit.record(entryOf("project.rename", { ...project, name }, details))
            }
            return (yield* table.find(project.id)) ?? (yield* new ProjectNotFound())
          },
          sql.withTransaction,
          orUnavailable
        )

        return Projects.of({
          create,
          createOwn: yield* makeOwnCreation(create, members.addMember),
          list,
          get,
          ...(yield* makeOwnProjects),
          rename,
          ...members,
          ...(yield* makeProjectFiles),
          ...(yield* makeProjectErasure),
          ...(yield* makeUserProjects(members.addMember))
        })
      })
    ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}
