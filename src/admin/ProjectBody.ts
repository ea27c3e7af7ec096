import { Schema } from "effect"
import { FileId, ProjectId, UserId } from "../domain/Ids.ts"
import { CorpusStatus, ProjectRole } from "../domain/Project.ts"

/** Projects as the operator's interface shows them. */

const Time = Schema.DateTimeUtcFromString

/** Hits that one search gives at most, and usually. */
export const searchHitsMax = 100
export const searchHitsDefault = 10
/** The longest query, in characters. */
export const queryCharactersMax = 10_000

export const ProjectBody = Schema.Struct({
  id: ProjectId,
  name: Schema.String,
  organization: Schema.String,
  members: Schema.Int,
  files: Schema.Int,
  created_at: Time
})

export const MemberBody = Schema.Struct({
  /** Of the user. */
  id: UserId,
  email: Schema.String,
  role: ProjectRole,
  added_at: Time
})

export const CorpusFileBody = Schema.Struct({
  id: FileId,
  filename: Schema.String,
  bytes: Schema.Int,
  /** The address of the user whose file it is. */
  owner: Schema.String,
  status: CorpusStatus,
  status_details: Schema.NullOr(Schema.String),
  chunks: Schema.NullOr(Schema.Int),
  added_at: Time
})
export type CorpusFileBody = typeof CorpusFileBody.Type

export const SearchPayload = Schema.Struct({
  query: Schema.String.check(
    Schema.makeFilter((text) => text.trim() !== "" && text.length <= queryCharactersMax, {
      expected: `1 to ${queryCharactersMax} characters`
    })
  ),
  limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: searchHitsMax }))),
  /** Whether to say by what each hit was found. */
  explain: Schema.optionalKey(Schema.Boolean)
})

const HitBody = Schema.Struct({
  file_id: FileId,
  filename: Schema.String,
  /** Offsets into the text of the file, in UTF-16 code units. */
  start: Schema.Int,
  end: Schema.Int,
  page: Schema.NullOr(Schema.Int),
  headings: Schema.Array(Schema.String),
  score: Schema.Finite,
  text: Schema.String
})

const Explanation = Schema.Struct({
  chunks: Schema.Int,
  languages: Schema.Array(Schema.String),
  terms: Schema.Array(
    Schema.Struct({
      term: Schema.String,
      word: Schema.String,
      edits: Schema.Int,
      chunks: Schema.Int,
      idf: Schema.Finite,
      weight: Schema.Finite
    })
  ),
  /** For each hit, in their order. */
  contributions: Schema.Array(Schema.Array(Schema.Struct({ term: Schema.String, score: Schema.Finite })))
})

export const FoundBody = Schema.Struct({
  /** Best first. */
  hits: Schema.Array(HitBody),
  nothing: Schema.NullOr(Schema.Literals(["no_files", "still_indexing", "no_match"])),
  explanation: Schema.NullOr(Explanation)
})
export type FoundBody = typeof FoundBody.Type
