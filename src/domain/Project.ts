import { Brand, type DateTime, Schema } from "effect"
import { AccountName, expected, type Role } from "./Account.ts"
import type { FileAttributes } from "./FileAttributes.ts"
import { type FileBatchId, FileId, OrganizationId, ProjectId, UserId } from "./Ids.ts"

const isId = Schema.is(ProjectId)

/** Completes "must be". */
export const projectNameExpected = `${expected.name}, and no id`

/** Unique in an organization, regardless of case. Not an id, so that a command can take either. */
export const ProjectName = AccountName.check(
  Schema.makeFilter((name) => !isId(name), { expected: projectNameExpected })
)

/**
 * Members read, search and ask, and add files of their own; owners also change members, files and the name,
 * and delete the project.
 */
export const ProjectRole = Schema.Literals(["owner", "member"])
export type ProjectRole = typeof ProjectRole.Type

/** True if the settings permit this role to create projects. The plan must permit it too. */
export const mayCreateProjects = (creators: "users" | "administrators", role: Role): boolean =>
  creators === "users" || role !== "member"

/** `indexed` once a search can find the file, `error` if it never will. */
export const CorpusStatus = Schema.Literals(["pending", "indexed", "error"])
export type CorpusStatus = typeof CorpusStatus.Type

/** Shared files, and the members whose questions may be answered from them. */
export const Project = Schema.Struct({
  id: ProjectId,
  name: Schema.String,
  organizationId: OrganizationId,
  /** The name of the organization. */
  organization: Schema.String,
  members: Schema.Int,
  files: Schema.Int,
  createdAt: Schema.DateTimeUtcFromString
})
export type Project = typeof Project.Type

export const ProjectMember = Schema.Struct({
  userId: UserId,
  email: Schema.String,
  role: ProjectRole,
  addedAt: Schema.DateTimeUtcFromString
})
export type ProjectMember = typeof ProjectMember.Type

/** A file as a part of a project, as lists of its files show it. */
export const ListedCorpusFile = Schema.Struct({
  fileId: FileId,
  filename: Schema.String,
  bytes: Schema.Int,
  /** The owner's e-mail address. */
  owner: Schema.String,
  status: CorpusStatus,
  /** The reason why the file can't be found; null unless `status` is `error`. */
  statusDetails: Schema.NullOr(Schema.String),
  /** Indexed passages; null until there are some. */
  chunks: Schema.NullOr(Schema.Int),
  addedAt: Schema.DateTimeUtcFromString
})

/** Names a file of a project. */
export const CorpusKey = Schema.Struct({ projectId: ProjectId, fileId: FileId })
export type CorpusKey = typeof CorpusKey.Type

/** A file as a part of a project. */
export type CorpusFile = typeof ListedCorpusFile.Type & {
  readonly ownerId: UserId
  readonly attributes: FileAttributes
}

/** A file that is to be added to a project; null leaves the attributes as they are. */
export interface FileToAdd {
  readonly fileId: FileId
  readonly attributes: FileAttributes | null
  /** The parameter that names the file in errors. */
  readonly param: string
}

/** Files that were added to a project together. */
export interface FileBatch {
  readonly id: FileBatchId
  readonly createdAt: DateTime.Utc
  readonly isCancelled: boolean
  /**
   * The number of files in each state. `failed` files never become searchable, and `removed` files are no
   * longer in the project.
   */
  readonly pending: number
  readonly indexed: number
  readonly failed: number
  readonly removed: number
}

/** `userId` is null for the operator, who may read every project. */
interface Membership {
  readonly projectId: ProjectId
  readonly userId: UserId | null
}

/** The proof that a user may read a project. A search demands it, and only `plans/Policy` creates it. */
export type ProjectMembership = Brand.Branded<Membership, "ProjectMembership">

/** Only `plans/Policy` calls this, after its query; the architecture check enforces that. */
export const proveMembership = Brand.nominal<ProjectMembership>()
