import { Schema } from "effect"
import { FileId, ProjectId, UserId } from "../domain/Ids.ts"
import { CorpusStatus, ProjectRole } from "../domain/Project.ts"

/** Projects as their members see them. They are an addition to the specification. */

/** Unix epoch in milliseconds. */
const Time = Schema.Int

export const ProjectObject = Schema.Struct({
  id: ProjectId,
  object: Schema.Literal("project"),
  name: Schema.String,
  /** The caller's own. */
  role: ProjectRole,
  members: Schema.Int,
  /** The files are counted by whether they are searchable already; `failed` ones never will be. */
  file_counts: Schema.Struct({
    pending: Schema.Int,
    indexed: Schema.Int,
    failed: Schema.Int,
    total: Schema.Int
  }),
  /** The bytes of all files together. */
  bytes: Schema.Finite,
  created_at: Time
}).annotate({ identifier: "Project", description: "Shared files, and the members who ask about them." })
export type ProjectObject = typeof ProjectObject.Type

export const ProjectMemberObject = Schema.Struct({
  /** The id of the user. */
  id: UserId,
  object: Schema.Literal("project.member"),
  email: Schema.String,
  role: ProjectRole,
  /** Unix epoch in milliseconds. */
  added_at: Time
}).annotate({ identifier: "ProjectMember", description: "A user who is a member of a project." })
export type ProjectMemberObject = typeof ProjectMemberObject.Type

export const ProjectFileObject = Schema.Struct({
  id: FileId,
  object: Schema.Literal("project.file"),
  filename: Schema.String,
  bytes: Schema.Int,
  /** The e-mail address of the user who owns the file. */
  owner: Schema.String,
  /** True if the caller owns it. */
  own: Schema.Boolean,
  /** `indexed` once a search can find the file, `error` if it never will. */
  status: CorpusStatus,
  /** Why a search can't find it; null unless `status` is `error`. */
  status_details: Schema.NullOr(Schema.String),
  /** Indexed passages; null until there are some. */
  passages: Schema.NullOr(Schema.Int),
  /** Unix epoch in milliseconds. */
  added_at: Time
}).annotate({ identifier: "ProjectFile", description: "A file as a part of a project." })
export type ProjectFileObject = typeof ProjectFileObject.Type

const listOf = <Item extends Schema.Top, Id extends Schema.Top>(item: Item, id: Id) =>
  Schema.Struct({
    object: Schema.Literal("list"),
    data: Schema.Array(item),
    has_more: Schema.Boolean,
    first_id: Schema.NullOr(id),
    last_id: Schema.NullOr(id)
  })

export const ProjectList = listOf(ProjectObject, ProjectId).annotate({
  identifier: "ProjectList",
  description: "A page of the caller's projects."
})
export const ProjectMemberList = listOf(ProjectMemberObject, UserId).annotate({
  identifier: "ProjectMemberList",
  description: "A page of the members of a project."
})
export const ProjectFileList = listOf(ProjectFileObject, FileId).annotate({
  identifier: "ProjectFileList",
  description: "A page of the files of a project."
})

export const ProjectDeleted = Schema.Struct({
  id: ProjectId,
  object: Schema.Literal("project"),
  deleted: Schema.Literal(true)
}).annotate({ identifier: "ProjectDeleted", description: "The project is gone for good." })

export const ProjectMemberRemoved = Schema.Struct({
  id: UserId,
  object: Schema.Literal("project.member"),
  deleted: Schema.Literal(true)
}).annotate({ identifier: "ProjectMemberRemoved", description: "The user is no member any more." })

export const ProjectFileRemoved = Schema.Struct({
  id: FileId,
  object: Schema.Literal("project.file"),
  deleted: Schema.Literal(true)
}).annotate({ identifier: "ProjectFileRemoved", description: "The project has the file no more." })

/** A word of the query, as the passages of the project have it. */
const SearchTerm = Schema.Struct({
  /** The word as the query has it. */
  word: Schema.String,
  /** The form by which it is found. */
  term: Schema.String,
  /** Letters by which the two differ because the query's spelling isn't in the project. */
  edits: Schema.Int,
  /** Passages of the project that have it. */
  passages: Schema.Int
}).annotate({ identifier: "ProjectSearchTerm" })

const SearchResult = Schema.Struct({
  file_id: FileId,
  filename: Schema.String,
  /** Higher is better; only within one search. */
  score: Schema.Finite,
  /** Offsets of the passage in the text of the file, in UTF-16 code units. */
  start: Schema.Int,
  end: Schema.Int,
  /** Counted from one; null for a file without pages. */
  page: Schema.NullOr(Schema.Int),
  /** The headings above the passage, outermost first. */
  headings: Schema.Array(Schema.String),
  text: Schema.String,
  /**
   * Words of the query that the passage has, with what each adds to the score of a search by words; none for
   * one found by meaning.
   */
  words: Schema.Array(Schema.Struct({ word: Schema.String, score: Schema.Finite }))
}).annotate({ identifier: "ProjectSearchResult" })

export const ProjectSearchResults = Schema.Struct({
  object: Schema.Literal("project.search_results"),
  /** Best first. */
  data: Schema.Array(SearchResult),
  /** Why there are no results; null when there are. */
  nothing: Schema.NullOr(Schema.Literals(["no_files", "still_indexing", "no_match"])),
  /** The words that were searched for. */
  terms: Schema.Array(SearchTerm),
  /** Passages of all files of the project. */
  passages: Schema.Int
}).annotate({ identifier: "ProjectSearchResults", description: "What a search finds, and by which words." })
export type ProjectSearchResults = typeof ProjectSearchResults.Type

/** A part of the text of a file, as models read it. */
export const FileTextObject = Schema.Struct({
  object: Schema.Literal("file.text"),
  file_id: FileId,
  filename: Schema.String,
  /** Offsets of this part in the text, in UTF-16 code units; `to` is exclusive. */
  from: Schema.Int,
  to: Schema.Int,
  text: Schema.String,
  /** The length of the whole text, in UTF-16 code units. */
  length: Schema.Int,
  /** True if the text is only the beginning of the file's. */
  truncated: Schema.Boolean,
  /** The place in the text at which each page starts; null for a file without pages. */
  pages: Schema.NullOr(Schema.Array(Schema.Int))
}).annotate({ identifier: "FileText", description: "A part of the text that was read from a file." })
export type FileTextObject = typeof FileTextObject.Type
