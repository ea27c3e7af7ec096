import { Brand, type DateTime, Schema } from "effect"
import { AccountName, expected } from "./Account.ts"
import { type FileId, type OrganizationId, ProjectId, type UserId } from "./Ids.ts"

const isId = Schema.is(ProjectId)

/** What a name must be, in words that follow "must be". */
export const projectNameExpected = `${expected.name}, and no id`

/** The name of a project, as people write it; no two projects of an organization have names that differ only in case. */
export const ProjectName = AccountName.check(
  Schema.makeFilter((name) => !isId(name), { expected: projectNameExpected })
)

/** An owner may do nothing more than a member through the public interface; the role is for people to know whom to ask. */
export const ProjectRole = Schema.Literals(["owner", "member"])
export type ProjectRole = typeof ProjectRole.Type

/** `pending` until the file can be found by a search, `indexed` from then on, `error` when it never will be. */
export const CorpusStatus = Schema.Literals(["pending", "indexed", "error"])
export type CorpusStatus = typeof CorpusStatus.Type

/** Files that people share, and those who may have questions answered from them. */
export interface Project {
  readonly id: ProjectId
  readonly name: string
  readonly organizationId: OrganizationId
  /** The name of the organization. */
  readonly organization: string
  readonly members: number
  readonly files: number
  readonly createdAt: DateTime.Utc
}

export interface ProjectMember {
  readonly userId: UserId
  readonly email: string
  readonly role: ProjectRole
  readonly addedAt: DateTime.Utc
}

/** A file as a part of a project. */
export interface CorpusFile {
  readonly fileId: FileId
  readonly filename: string
  readonly bytes: number
  /** Who owns the file. */
  readonly owner: string
  readonly status: CorpusStatus
  /** Why the file can't be found, in words for people; null unless `status` is `error`. */
  readonly statusDetails: string | null
  /** Passages that a search can find; null until there are some. */
  readonly chunks: number | null
  readonly addedAt: DateTime.Utc
}

/** Whose question it is: null for the operator, who may look into every project. */
interface Membership {
  readonly projectId: ProjectId
  readonly userId: UserId | null
}

/**
 * The proof that somebody may look into a project. A search demands it, and only `auth/Policy` makes one, so that a search
 * without the question of who asks doesn't compile.
 */
export type ProjectMembership = Brand.Branded<Membership, "ProjectMembership">

/** For `auth/Policy` alone, once it has asked the database; the architecture check keeps everybody else away. */
export const proveMembership = Brand.nominal<ProjectMembership>()
