import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { FileAttributes } from "../../domain/FileAttributes.ts"
import { FileId, ProjectId } from "../../domain/Ids.ts"
import { ProjectName } from "../../domain/Project.ts"
import { StorableText } from "../../domain/StorableText.ts"
import { Conflict } from "../ErrorEnvelope.ts"
import { Authentication, BoundedBody } from "../Middleware.ts"
import { cursor, describeQuery, pageLimit } from "../OperationDescription.ts"
import { withUnknownFields } from "../ReadInSteps.ts"
import { Filters, ResultsMax } from "./AttributeFields.ts"
import { between, Label, maybe, Metadata } from "./Fields.ts"
import { givenId } from "./ProfileIds.ts"

/** Projects as vector stores: to be kept and searched by their members. */

const pageMax = 100
export const pageDefault = 20
export const resultsDefault = 10
const queriesMax = 5
const queryCharactersMax = 4_096
/** Files that one request adds to a vector store. */
const addedFilesMax = 500

export const VectorStoreId = givenId(ProjectId, "vectorStore")

/** Files that a request adds, each an id or more about it. */
export const addedFiles = <S extends Schema.Top>(file: S, what: string) => {
  const expected = `a list of at most ${addedFilesMax} ${what}`
  return Schema.Array(file).annotate({ expected }).check(Schema.isMaxLength(addedFilesMax, { expected }))
}

/** The query of a list. */
export const listQuery = <Id extends Schema.Codec<string, string>>(id: Id) => ({
  limit: Schema.optionalKey(pageLimit(pageMax)),
  order: Schema.optionalKey(Schema.Literals(["asc", "desc"]).annotate({ expected: "asc or desc" })),
  after: cursor(id),
  before: cursor(id)
})

export const listDescription = {
  limit: { type: "integer", minimum: 1, maximum: pageMax, default: pageDefault },
  order: { type: "string", enum: ["asc", "desc"], default: "desc" }
}

export const listOf = <Item extends Schema.Top>(item: Item) =>
  Schema.Struct({
    object: Schema.Literal("list"),
    data: Schema.Array(item),
    first_id: Schema.NullOr(Schema.String),
    last_id: Schema.NullOr(Schema.String),
    has_more: Schema.Boolean
  })

/** The files are counted by whether they can be found yet. */
export const FileCounts = Schema.Struct({
  in_progress: Schema.Int,
  completed: Schema.Int,
  failed: Schema.Int,
  cancelled: Schema.Int,
  total: Schema.Int
})

export const VectorStore = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("vector_store"),
  /** Unix epoch in seconds. */
  created_at: Schema.Int,
  name: Schema.String,
  usage_bytes: Schema.Finite,
  description: Schema.NullOr(Schema.String),
  file_counts: FileCounts,
  /** `in_progress` while files of it can't be found yet. */
  status: Schema.Literals(["in_progress", "completed"]),
  expires_after: Schema.Null,
  expires_at: Schema.Null,
  last_active_at: Schema.Null,
  metadata: Schema.Record(Schema.String, Schema.String)
}).annotate({ identifier: "VectorStore", description: "A project that the caller is a member of." })
export type VectorStore = typeof VectorStore.Type

const VectorStoreList = listOf(VectorStore).annotate({ identifier: "VectorStoreList" })

const VectorStoreDeleted = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("vector_store.deleted"),
  deleted: Schema.Literal(true)
}).annotate({ identifier: "VectorStoreDeleted" })

export const CreateStoreBody = Schema.Struct({
  name: maybe(ProjectName),
  description: maybe(Label),
  metadata: maybe(Metadata),
  file_ids: maybe(addedFiles(givenId(FileId, "file"), "ids of files"))
}).annotate({ identifier: "CreateVectorStoreBody", expected: "a JSON object" })
export type CreateStoreBody = typeof CreateStoreBody.Type

export const UpdateStoreBody = Schema.Struct({
  name: maybe(ProjectName),
  metadata: maybe(Metadata)
}).annotate({
  identifier: "UpdateVectorStoreBody",
  expected: "a JSON object"
})
export type UpdateStoreBody = typeof UpdateStoreBody.Type

const Query = StorableText.check(
  Schema.isMinLength(1, { expected: "a text that is not empty" }),
  Schema.isMaxLength(queryCharactersMax, { expected: `a text of at most ${queryCharactersMax} characters` })
)

export const SearchBody = Schema.Struct({
  query: Schema.Union([
    Query,
    Schema.Array(Query).check(
      Schema.isMinLength(1, { expected: "a list with at least one text" }),
      Schema.isMaxLength(queriesMax, { expected: `a list of at most ${queriesMax} texts` })
    )
  ]).annotate({ expected: `a text, or a list of at most ${queriesMax} texts` }),
  max_num_results: maybe(ResultsMax),
  ranking_options: maybe(Schema.Struct({ score_threshold: maybe(between(0, 1)) })),
  rewrite_query: maybe(Schema.Boolean),
  filters: maybe(Filters)
}).annotate({ identifier: "VectorStoreSearchBody", expected: "a JSON object" })
export type SearchBody = typeof SearchBody.Type

export const SearchPage = Schema.Struct({
  object: Schema.Literal("vector_store.search_results.page"),
  search_query: Schema.Array(Schema.String),
  /** Best first. */
  data: Schema.Array(
    Schema.Struct({
      file_id: Schema.String,
      filename: Schema.String,
      score: Schema.Finite,
      attributes: FileAttributes,
      content: Schema.Array(Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }))
    })
  ),
  has_more: Schema.Literal(false),
  next_page: Schema.Null
}).annotate({ identifier: "VectorStoreSearchPage" })
export type SearchPage = typeof SearchPage.Type

const ofStore = { params: { vector_store_id: VectorStoreId } }
const path = "/vector_stores/:vector_store_id" as const
const described = (summary: string, description: string) => OpenApi.annotations({ summary, description })

const list = HttpApiEndpoint.get("list", "/vector_stores", {
  query: listQuery(VectorStoreId),
  success: VectorStoreList
}).annotateMerge(
  OpenApi.annotations({
    summary: "List vector stores",
    description: "The projects that the caller is a member of, the newest first.",
    transform: describeQuery(listDescription)
  })
)

const create = HttpApiEndpoint.post("create", "/vector_stores", {
  payload: withUnknownFields(CreateStoreBody).annotate({
    identifier: "CreateVectorStoreBody",
    expected: "a JSON object"
  }),
  success: VectorStore,
  error: Conflict
}).annotateMerge(
  described(
    "Create a vector store",
    "Creates a project that the caller owns, with files of the caller's own. `expires_after` and `chunking_strategy` are ignored."
  )
)

const get = HttpApiEndpoint.get("get", path, { ...ofStore, success: VectorStore }).annotateMerge(
  described("Inspect a vector store", "One project.")
)

const update = HttpApiEndpoint.post("update", path, {
  ...ofStore,
  payload: withUnknownFields(UpdateStoreBody).annotate({
    identifier: "UpdateVectorStoreBody",
    expected: "a JSON object"
  }),
  success: VectorStore,
  error: Conflict
}).annotateMerge(
  described("Change a vector store", "Renames the project, or replaces its metadata; for its owners.")
)

const remove = HttpApiEndpoint.delete("delete", path, {
  ...ofStore,
  success: VectorStoreDeleted
}).annotateMerge(
  described("Delete a vector store", "Deletes the project, for its owners. Its files stay with their owners.")
)

export class VectorStoresApi extends HttpApiGroup.make("vectorStores")
  .add(list, create, get, update, remove)
  .middleware(BoundedBody)
  // Added last, so that it runs first: no body is read before the key is checked.
  .middleware(Authentication)
  .prefix("/openai/v1")
  .annotateMerge(
    OpenApi.annotations({ title: "Vector stores", description: "Projects, for clients of vector stores." })
  ) {}

export class VectorSearchApi extends HttpApiGroup.make("vectorSearch")
  .add(
    HttpApiEndpoint.post("search", "/vector_stores/:vector_store_id/search", {
      ...ofStore,
      payload: withUnknownFields(SearchBody).annotate({
        identifier: "VectorStoreSearchBody",
        expected: "a JSON object"
      }),
      success: SearchPage
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Search a vector store",
        description: "The passages of a project's files that a query finds, the best first."
      })
    )
  )
  .middleware(BoundedBody)
  // Added last, so that it runs first: no body is read before the key is checked.
  .middleware(Authentication)
  .prefix("/openai/v1")
  .annotateMerge(OpenApi.annotations({ title: "Search", description: "Search in projects." })) {}
