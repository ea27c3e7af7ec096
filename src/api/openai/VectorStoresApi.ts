import { Schema, SchemaTransformation } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ProjectId } from "../../domain/Ids.ts"
import { StorableText } from "../../domain/StorableText.ts"
import { Authentication, BoundedBody } from "../Middleware.ts"
import { cursor, describeQuery } from "../OperationDescription.ts"
import { between, maybe, only, unsupported } from "./Fields.ts"
import { givenId } from "./ProfileIds.ts"

/** Projects as vector stores: to be read and searched by their members. */

const pageMax = 100
export const pageDefault = 20
const resultsMax = 50
export const resultsDefault = 10
const queriesMax = 5
const queryCharactersMax = 4_096

const VectorStoreId = givenId(ProjectId, "vectorStore")

export const VectorStore = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("vector_store"),
  /** Unix epoch in seconds. */
  created_at: Schema.Int,
  name: Schema.String,
  usage_bytes: Schema.Finite,
  file_counts: Schema.Struct({
    in_progress: Schema.Int,
    completed: Schema.Int,
    failed: Schema.Int,
    cancelled: Schema.Literal(0),
    total: Schema.Int
  }),
  /** `in_progress` while files of it can't be found yet. */
  status: Schema.Literals(["in_progress", "completed"]),
  expires_after: Schema.Null,
  expires_at: Schema.Null,
  last_active_at: Schema.Null,
  metadata: Schema.Record(Schema.String, Schema.String)
}).annotate({ identifier: "VectorStore", description: "A project that the caller is a member of." })
export type VectorStore = typeof VectorStore.Type

const VectorStoreList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(VectorStore),
  first_id: Schema.NullOr(Schema.String),
  last_id: Schema.NullOr(Schema.String),
  has_more: Schema.Boolean
}).annotate({ identifier: "VectorStoreList" })

const Query = StorableText.check(
  Schema.isMinLength(1, { expected: "a text that is not empty" }),
  Schema.isMaxLength(queryCharactersMax, { expected: `a text of at most ${queryCharactersMax} characters` })
)

/** A whole number in the query of a URL. */
const count = (max: number) => {
  const expected = `a whole number from 1 to ${max}`
  return Schema.String.annotate({ expected })
    .check(Schema.makeFilter((text) => /^\d{1,4}$/.test(text) && +text >= 1 && +text <= max, { expected }))
    .pipe(
      Schema.decodeTo(
        Schema.Int,
        SchemaTransformation.transform({ decode: (text) => +text, encode: (number) => String(number) })
      )
    )
}

export const SearchBody = Schema.Struct({
  query: Schema.Union([
    Query,
    Schema.Array(Query).check(
      Schema.isMinLength(1, { expected: "a list with at least one text" }),
      Schema.isMaxLength(queriesMax, { expected: `a list of at most ${queriesMax} texts` })
    )
  ]).annotate({ expected: `a text, or a list of at most ${queriesMax} texts` }),
  max_num_results: maybe(
    Schema.Int.annotate({ expected: `a whole number from 1 to ${resultsMax}` }).check(
      Schema.isBetween(
        { minimum: 1, maximum: resultsMax },
        { expected: `a whole number from 1 to ${resultsMax}` }
      )
    )
  ),
  ranking_options: maybe(
    Schema.Struct({
      ranker: maybe(only("auto", "there is one way to rank")),
      score_threshold: maybe(between(0, 1))
    })
  ),
  rewrite_query: maybe(only(false, "a query is searched for as it is")),
  filters: unsupported("files have no attributes to choose them by")
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
      attributes: Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite])),
      content: Schema.Array(Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }))
    })
  ),
  has_more: Schema.Literal(false),
  next_page: Schema.Null
}).annotate({ identifier: "VectorStoreSearchPage" })
export type SearchPage = typeof SearchPage.Type

const ofStore = { params: { vector_store_id: VectorStoreId } }

export class VectorStoresApi extends HttpApiGroup.make("vectorStores")
  .add(
    HttpApiEndpoint.get("list", "/vector_stores", {
      query: {
        limit: Schema.optionalKey(count(pageMax)),
        order: Schema.optionalKey(Schema.Literals(["asc", "desc"]).annotate({ expected: "asc or desc" })),
        after: cursor(VectorStoreId)
      },
      success: VectorStoreList
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List vector stores",
        description: "The projects that the caller is a member of, the newest first.",
        transform: describeQuery({
          limit: { type: "integer", minimum: 1, maximum: pageMax, default: pageDefault },
          order: { type: "string", enum: ["asc", "desc"], default: "desc" }
        })
      })
    ),
    HttpApiEndpoint.get("get", "/vector_stores/:vector_store_id", {
      ...ofStore,
      success: VectorStore
    }).annotateMerge(OpenApi.annotations({ summary: "Inspect a vector store", description: "One project." }))
  )
  .middleware(Authentication)
  .prefix("/openai/v1")
  .annotateMerge(
    OpenApi.annotations({ title: "Vector stores", description: "Projects, for clients of vector stores." })
  ) {}

export class VectorSearchApi extends HttpApiGroup.make("vectorSearch")
  .add(
    HttpApiEndpoint.post("search", "/vector_stores/:vector_store_id/search", {
      ...ofStore,
      payload: SearchBody,
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
