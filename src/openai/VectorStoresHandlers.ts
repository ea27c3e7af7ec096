import { DateTime, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import {
  pageDefault,
  resultsDefault,
  type SearchBody,
  type SearchPage,
  type VectorStore
} from "../api/openai/VectorStoresApi.ts"
import { CurrentUser } from "../domain/Account.ts"
import type { ProjectId } from "../domain/Ids.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { Policy } from "../plans/Policy.ts"
import { type ReadableProject, ReadableProjects } from "../retrieval/ReadableProjects.ts"
import { Retrieval } from "../retrieval/Retrieval.ts"
import type { Hit } from "../retrieval/search/Hit.ts"

const millisPerSecond = 1_000

const vectorStore = (project: ReadableProject): VectorStore => {
  const { bytes, createdAt, failed, id, indexed, name, pending } = project
  return {
    id: shownId("vectorStore", id),
    object: "vector_store",
    created_at: Math.floor(DateTime.toEpochMillis(createdAt) / millisPerSecond),
    name,
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
    metadata: {}
  }
}

/** The hits of all queries, each passage once and with its best score, the best first. */
const bestOf = (found: ReadonlyArray<ReadonlyArray<Hit>>, limit: number, scoreMin: number) => {
  const best = new Map<string, Hit>()
  for (const hit of found.flat()) {
    const key = `${hit.fileId} ${hit.start}`
    if (hit.score >= scoreMin && hit.score > (best.get(key)?.score ?? -1)) best.set(key, hit)
  }
  return [...best.values()].toSorted((one, other) => other.score - one.score).slice(0, limit)
}

const resultOf = ({ fileId, filename, headings, page, score, text }: Hit): SearchPage["data"][number] => ({
  file_id: shownId("file", fileId),
  filename,
  score,
  attributes: {
    ...(page === null ? {} : { page }),
    ...(headings.length === 0 ? {} : { section: headings.join(" > ") })
  },
  content: [{ type: "text", text }]
})

/** What every path needs before it reads a project. */
const makeProof = Effect.map(Policy, (policy) => {
  const permitted = Effect.gen(function* () {
    const caller = yield* CurrentUser
    const { operation } = yield* policy.permissions(caller.plan)
    const denial = operation("projects", "")
    return denial === null ? caller : yield* Effect.fail(denial)
  })
  const memberOf = (id: ProjectId) =>
    Effect.flatMap(permitted, ({ userId }) => policy.project(userId, id, "vector_store_id"))
  return { permitted, memberOf }
})

export const VectorStoresHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "vectorStores",
  Effect.fn(function* (handlers) {
    const projects = yield* ReadableProjects
    const { memberOf, permitted } = yield* makeProof

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query }) {
        const { userId } = yield* permitted
        const { after, limit = pageDefault, order = "desc" } = query
        const wanted = { limit, order, ...(after === undefined ? {} : { after }) }
        const rows = yield* projects.list(userId, wanted)
        const data = rows.slice(0, limit).map(vectorStore)
        return {
          object: "list" as const,
          data,
          first_id: data[0]?.id ?? null,
          last_id: data.at(-1)?.id ?? null,
          has_more: rows.length > limit
        }
      }, enveloped),
      get: Effect.fnUntraced(function* ({ params }) {
        return vectorStore(yield* projects.get(yield* memberOf(params.vector_store_id)))
      }, enveloped)
    })
  })
)

export const VectorSearchHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "vectorSearch",
  Effect.fn(function* (handlers) {
    const retrieval = yield* Retrieval
    const { memberOf } = yield* makeProof

    const search = Effect.fnUntraced(function* (id: ProjectId, body: SearchBody) {
      const membership = yield* memberOf(id)
      const queries = typeof body.query === "string" ? [body.query] : body.query
      const limit = body.max_num_results ?? resultsDefault
      const found = yield* Effect.forEach(queries, (text) => retrieval.search(membership, { text, limit }))
      const scoreMin = body.ranking_options?.score_threshold ?? 0
      const hits = bestOf(
        found.map((one) => one.hits),
        limit,
        scoreMin
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

    return handlers.handle("search", ({ params, payload }) =>
      enveloped(search(params.vector_store_id, payload))
    )
  })
)
