import { DateTime, Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import {
  CreateStoreBody,
  pageDefault,
  resultsDefault,
  SearchBody,
  type SearchPage,
  UpdateStoreBody,
  type VectorStore
} from "../api/openai/VectorStoresApi.ts"
import type { ProjectId } from "../domain/Ids.ts"
import { Erasure } from "../erasure/Erasure.ts"
import type { ReadableProject } from "../projects/OwnProjects.ts"
import { ProjectNotes } from "../projects/ProjectNotes.ts"
import { Projects } from "../projects/Projects.ts"
import { Retrieval } from "../retrieval/Retrieval.ts"
import type { Hit } from "../retrieval/search/Hit.ts"
import { refuseKey } from "./BackgroundCreation.ts"
import { ignoredHeader } from "./IgnoredParts.ts"
import { makeStoreProofs } from "./StoreProofs.ts"

const millisPerSecond = 1_000

const vectorStore = (project: ReadableProject): VectorStore => {
  const { bytes, createdAt, description, failed, id, indexed, metadata, name, pending } = project
  return {
    id: shownId("vectorStore", id),
    object: "vector_store",
    created_at: Math.floor(DateTime.toEpochMillis(createdAt) / millisPerSecond),
    name,
    description,
    usage_bytes: bytes,
    file_counts: {
      in_progress: pending,
      completed: indexed,
      failed,
      cancelled: 0,
      total: pending + indexed + failed
    },
    status: pending > 0 ? "in_progress" : "completed",
    expires_after: null,
    expires_at: null,
    last_active_at: null,
    metadata
  }
}

/** Names are unique in an organization, and clients of vector stores needn't give one. */
const someName = () => `Vector store ${SecureRandom.uuidV7Unsafe()}`

/** The hits of all queries, each passage once and with its best score, the best first. */
const bestOf = (found: ReadonlyArray<ReadonlyArray<Hit>>, limit: number) => {
  const best = new Map<string, Hit>()
  for (const hit of found.flat()) {
    const key = `${hit.fileId} ${hit.start}`
    if (hit.score > (best.get(key)?.score ?? -1)) best.set(key, hit)
  }
  return [...best.values()].toSorted((one, other) => other.score - one.score).slice(0, limit)
}

/** The attributes of the file, and beside them where the passage stands. */
const resultOf = (hit: Hit): SearchPage["data"][number] => ({
  file_id: shownId("file", hit.fileId),
  filename: hit.filename,
  score: hit.score,
  attributes: {
    ...(hit.page === null ? {} : { page: hit.page }),
    ...(hit.headings.length === 0 ? {} : { section: hit.headings.join(" > ") }),
    ...hit.attributes
  },
  content: [{ type: "text", text: hit.text }]
})

export const VectorStoresHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "vectorStores",
  Effect.fn(function* (handlers) {
    const erasure = yield* Erasure
    const notes = yield* ProjectNotes
    const projects = yield* Projects
    const { answered, creator, memberOf, named, permitted } = yield* makeStoreProofs

    const show = (id: ProjectId) => Effect.map(Effect.flatMap(memberOf(id), projects.getOwn), vectorStore)

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query }) {
        const { userId } = yield* permitted
        const { limit = pageDefault, order = "desc", ...ends } = query
        const found = yield* projects.listOwn(userId, { ...ends, limit, order })
        const data = found.data.map(vectorStore)
        return {
          object: "list" as const,
          data,
          first_id: data[0]?.id ?? null,
          last_id: data.at(-1)?.id ?? null,
          has_more: found.hasMore
        }
      }, answered),
      create: Effect.fnUntraced(function* ({ payload, request }) {
        yield* refuseKey(request)
        const userId = yield* creator
        const { description, file_ids, metadata, name } = payload
        const id = yield* notes.create(userId, name ?? someName(), {
          description: description ?? null,
          metadata: metadata ?? {},
          files: (file_ids ?? []).map((fileId, at) => ({
            fileId,
            attributes: null,
            param: `file_ids[${at}]`
          }))
        })
        const headers = yield* ignoredHeader(request, payload, Object.keys(CreateStoreBody.fields))
        return HttpServerResponse.jsonUnsafe(yield* show(id), { headers })
      }, answered),
      get: Effect.fnUntraced(function* ({ params }) {
        return yield* show(params.vector_store_id)
      }, answered),
      update: Effect.fnUntraced(function* ({ params, payload, request }) {
        const { metadata, name } = payload
        const membership = yield* memberOf(params.vector_store_id)
        const changes = { ...(name == null ? {} : { name }), ...(metadata == null ? {} : { metadata }) }
        yield* named(notes.update(membership, changes))
        const headers = yield* ignoredHeader(request, payload, Object.keys(UpdateStoreBody.fields))
        return HttpServerResponse.jsonUnsafe(yield* show(params.vector_store_id), { headers })
      }, answered),
      delete: Effect.fnUntraced(function* ({ params }) {
        const { vector_store_id: id } = params
        yield* named(erasure.deleteProject(yield* memberOf(id)))
        const shown = shownId("vectorStore", id)
        return { id: shown, object: "vector_store.deleted", deleted: true } as const
      }, answered)
    })
  })
)

const documented = Object.keys(SearchBody.fields)

export const VectorSearchHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "vectorSearch",
  Effect.fn(function* (handlers) {
    const retrieval = yield* Retrieval
    const { answered, memberOf } = yield* makeStoreProofs

    const search = Effect.fnUntraced(function* (id: ProjectId, body: SearchBody) {
      const membership = yield* memberOf(id)
      const queries = typeof body.query === "string" ? [body.query] : body.query
      const limit = body.max_num_results ?? resultsDefault
      const rated = { scoreMin: body.ranking_options?.score_threshold ?? 0 }
      const filter = body.filters ?? null
      const found = yield* Effect.forEach(queries, (text) =>
        retrieval.search(membership, { text, limit, filter, rated })
      )
      const hits = bestOf(
        found.map((one) => one.hits),
        limit
      )
      const page: SearchPage = {
        object: "vector_store.search_results.page",
        search_query: queries,
        data: hits.map(resultOf),
        has_more: false,
        next_page: null
      }
      return page
    })

    return handlers.handle(
      "search",
      Effect.fnUntraced(function* ({ params, payload, request }) {
        const page = yield* search(params.vector_store_id, payload)
        // A query is searched for as it is.
        const unused = payload.rewrite_query === true ? ["rewrite_query"] : []
        const headers = yield* ignoredHeader(request, payload, documented, unused)
        return HttpServerResponse.jsonUnsafe(page, { headers })
      }, answered)
    )
  })
)
