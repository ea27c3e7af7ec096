import { Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { Page } from "../domain/Account.ts"
import type {
  DatabaseUnavailable,
  EndpointForbidden,
  FileNotFound,
  LastProjectOwner,
  NotProjectMember,
  NotProjectOwner,
  OrganizationNotFound,
  ProjectExists,
  ProjectMemberNotFound,
  ProjectNotFound,
  TooManyProjects,
  UserNotFound,
  UserOfOtherOrganization
} from "../domain/Errors.ts"
import type { FileId, UserId } from "../domain/Ids.ts"
import type {
  CorpusFile,
  CorpusStatus,
  Project,
  ProjectMember,
  ProjectMembership,
  ProjectRole
} from "../domain/Project.ts"
import type { AppConfig } from "../settings/AppConfig.ts"
import { makeCreation, makeMemberChanges, makeMemberFiles } from "./ProjectMembers.ts"
import { Projects } from "./Projects.ts"

type Forbidden = ProjectNotFound | NotProjectMember | NotProjectOwner | DatabaseUnavailable

/**
 * What the members of a project may do with it. Roles are read anew under the lock of the project, so that nothing is changed by
 * who was an owner a moment ago.
 */
export class MemberProjects extends Context.Service<
  MemberProjects,
  {
    /** Creates a project in the user's organization, with the user as its owner. */
    readonly create: (
      userId: UserId,
      name: string
    ) => Effect.Effect<
      Project,
      ProjectExists | OrganizationNotFound | EndpointForbidden | TooManyProjects | DatabaseUnavailable
    >
    readonly requireOwner: (membership: ProjectMembership) => Effect.Effect<void, Forbidden>
    readonly rename: (
      membership: ProjectMembership,
      name: string
    ) => Effect.Effect<void, ProjectExists | Forbidden>
    readonly members: (
      membership: ProjectMembership,
      after?: UserId
    ) => Effect.Effect<Page<ProjectMember>, ProjectNotFound | DatabaseUnavailable>
    /** Without a role, a new member is a `member`, and one that is there keeps the role. */
    readonly addMember: (
      membership: ProjectMembership,
      email: string,
      role?: ProjectRole
    ) => Effect.Effect<ProjectMember, UserNotFound | UserOfOtherOrganization | LastProjectOwner | Forbidden>
    readonly setRole: (
      membership: ProjectMembership,
      userId: UserId,
      role: ProjectRole
    ) => Effect.Effect<
      ProjectMember,
      ProjectMemberNotFound | UserNotFound | UserOfOtherOrganization | LastProjectOwner | Forbidden
    >
    /** Members may remove themselves. */
    readonly removeMember: (
      membership: ProjectMembership,
      userId: UserId
    ) => Effect.Effect<void, ProjectMemberNotFound | UserNotFound | LastProjectOwner | Forbidden>
    readonly files: (
      membership: ProjectMembership,
      query: { readonly status: CorpusStatus | null; readonly after?: FileId }
    ) => Effect.Effect<Page<CorpusFile>, ProjectNotFound | DatabaseUnavailable>
    /** A file of the project, of any owner. */
    readonly file: (
      membership: ProjectMembership,
      fileId: FileId
    ) => Effect.Effect<CorpusFile, FileNotFound | DatabaseUnavailable>
    /** Adds a file of the member's own. */
    readonly addFile: (
      membership: ProjectMembership,
      fileId: FileId
    ) => Effect.Effect<CorpusFile, FileNotFound | UserOfOtherOrganization | Forbidden>
    /** Owners of the project remove any file, members their own. */
    readonly removeFile: (
      membership: ProjectMembership,
      fileId: FileId
    ) => Effect.Effect<void, FileNotFound | Forbidden>
  }
>()("parley/projects/MemberProjects") {
  static readonly layer: Layer.Layer<MemberProjects, never, Projects | SqlClient.SqlClient | AppConfig> =
    Layer.effect(
      MemberProjects,
      Effect.gen(function* () {
        const projects = yield* Projects

        return MemberProjects.of({
          create: yield* makeCreation,
          ...(yield* makeMemberChanges),
          ...(yield* makeMemberFiles),
          members: ({ projectId }, after) => projects.members(projectId, after),
          files: ({ projectId }, query) => projects.files(projectId, query)
        })
      })
    )
}
