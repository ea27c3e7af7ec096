import { DateTime, Effect, Struct } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import {
  AddBatchBody,
  AddFileBody,
  type FileState,
  NoteFileBody,
  type StoreBatch,
  type StoreFile,
  type StoreFileContent
} from "../api/openai/StoreFilesApi.ts"
import { pageDefault } from "../api/openai/VectorStoresApi.ts"
import type { Page } from "../domain/Account.ts"
import type { FileId, ProjectId } from "../domain/Ids.ts"
import type { CorpusFile, CorpusStatus, FileBatch, FileToAdd } from "../domain/Project.ts"
import { textPartCharactersMax } from "../domain/StoredFile.ts"
import { FileTexts } from "../files/FileTexts.ts"
import { ProjectNotes } from "../projects/ProjectNotes.ts"
import { Projects } from "../projects/Projects.ts"
import { refuseKey } from "./BackgroundCreation.ts"
import { ignoredHeader } from "./IgnoredParts.ts"
import { makeStoreProofs } from "./StoreProofs.ts"

const millisPerSecond = 1_000
/** Parts of a text in one page. */
const partsPerPage = 5
/** When a client that waits is to look again; most files can be found within a second. */
const pollAfterMillis = 500

const seconds = (time: DateTime.Utc): number => Math.floor(DateTime.toEpochMillis(time) / millisPerSecond)

const states = { pending: "in_progress", indexed: "completed", error: "failed" } as const

/** Files that were cancelled are no more in a vector store. */
const statusOf = (filter: FileState | undefined): CorpusStatus | null | "cancelled" => {
  switch (filter) {
    case "in_progress":
      return "pending"
    case "completed":
      return "indexed"
    case "failed":
      return "error"
    default:
      return filter ?? null
  }
}

const fileOf = (storeId: ProjectId, file: CorpusFile): StoreFile => ({
  id: shownId("file", file.fileId),
  object: "vector_store.file",
  created_at: seconds(file.addedAt),
  usage_bytes: file.bytes,
  vector_store_id: shownId("vectorStore", storeId),
  status: states[file.status],
  last_error:
    file.status === "error"
      ? { code: "invalid_file", message: file.statusDetails ?? "The file can't be searched." }
      : null,
  attributes: file.attributes,
  chunking_strategy: { type: "other" }
})

const noFiles: Page<CorpusFile> = { data: [], hasMore: false }

const listOf = (storeId: ProjectId, { data, hasMore }: Page<CorpusFile>) => {
  const files = data.map((file) => fileOf(storeId, file))
  return {
    object: "list" as const,
    data: files,
    first_id: files[0]?.id ?? null,
    last_id: files.at(-1)?.id ?? null,
    has_more: hasMore
  }
}

const batchOf = (storeId: ProjectId, batch: FileBatch): StoreBatch => {
  const { failed, indexed, pending, removed } = batch
  return {
    id: shownId("fileBatch", batch.id),
    object: "vector_store.files_batch",
    created_at: seconds(batch.createdAt),
    vector_store_id: shownId("vectorStore", storeId),
    status: batch.isCancelled ? "cancelled" : pending > 0 ? "in_progress" : "completed",
    file_counts: {
      in_progress: pending,
      completed: indexed,
      failed,
      cancelled: removed,
      total: pending + indexed + failed + removed
    }
  }
}

/** Shows the state of a file or a batch, and when to look again. */
const polled = (shown: StoreFile | StoreBatch) =>
  HttpServerResponse.jsonUnsafe(shown, {
    headers: shown.status === "in_progress" ? { "openai-poll-after-ms": String(pollAfterMillis) } : {}
  })

interface FilesQuery {
  readonly limit?: number
  readonly order?: "asc" | "desc"
  readonly after?: FileId
  readonly before?: FileId
  readonly filter?: FileState
}

const wantedOf = ({ limit = pageDefault, order = "desc", ...query }: FilesQuery) => ({
  ...Struct.omit(query, ["filter"]),
  limit,
  order
})

export const StoreFilesHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "storeFiles",
  Effect.fn(function* (handlers) {
    const { answered, memberOf, named } = yield* makeStoreProofs
    const notes = yield* ProjectNotes
    const projects = yield* Projects
    const texts = yield* FileTexts

    const content = Effect.fnUntraced(function* (
      ownerId: CorpusFile["ownerId"],
      fileId: FileId,
      from: number
    ) {
      const data: Array<StoreFileContent["data"][number]> = []
      let at = from
      let length = Number.POSITIVE_INFINITY
      while (at < length && data.length < partsPerPage) {
        const part = yield* texts.part(ownerId, fileId, { from: at, to: at + textPartCharactersMax })
        if (part.text !== "") data.push({ type: "text", text: part.text })
        at = part.to
        length = part.length
      }
      const hasMore = at < length
      return {
        object: "vector_store.file_content.page",
        data,
        has_more: hasMore,
        next_page: hasMore ? String(at) : null
      } satisfies StoreFileContent
    })

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ params, query }) {
        const membership = yield* memberOf(params.vector_store_id)
        const status = statusOf(query.filter)
        const found =
          status === "cancelled" ? noFiles : yield* notes.files(membership, { ...wantedOf(query), status })
        return listOf(params.vector_store_id, found)
      }, answered),
      add: Effect.fnUntraced(function* ({ params, payload, request }) {
        const membership = yield* memberOf(params.vector_store_id)
        const { attributes = null, file_id: fileId } = payload
        const file = yield* named(notes.addFile(membership, { fileId, attributes, param: "file_id" }))
        const headers = yield* ignoredHeader(request, payload, Object.keys(AddFileBody.fields))
        return HttpServerResponse.jsonUnsafe(fileOf(params.vector_store_id, file), { headers })
      }, answered),
      get: Effect.fnUntraced(function* ({ params }) {
        const membership = yield* memberOf(params.vector_store_id)
        return polled(fileOf(params.vector_store_id, yield* projects.file(membership, params.file_id)))
      }, answered),
      note: Effect.fnUntraced(function* ({ params, payload, request }) {
        const membership = yield* memberOf(params.vector_store_id)
        const changed = notes.noteFile(membership, params.file_id, payload.attributes ?? {})
        const file = yield* named(changed)
        const headers = yield* ignoredHeader(request, payload, Object.keys(NoteFileBody.fields))
        return HttpServerResponse.jsonUnsafe(fileOf(params.vector_store_id, file), { headers })
      }, answered),
      delete: Effect.fnUntraced(function* ({ params }) {
        const membership = yield* memberOf(params.vector_store_id)
        yield* named(projects.removeFile(membership, params.file_id))
        const id = shownId("file", params.file_id)
        return { id, object: "vector_store.file.deleted", deleted: true } as const
      }, answered),
      content: Effect.fnUntraced(function* ({ params, query }) {
        const membership = yield* memberOf(params.vector_store_id)
        const { ownerId } = yield* projects.file(membership, params.file_id)
        return yield* content(ownerId, params.file_id, query.page ?? 0)
      }, answered)
    })
  })
)

/** The files of a batch, each with its own attributes or else those of all. */
const filesOf = ({ attributes = null, file_ids, files }: AddBatchBody): ReadonlyArray<FileToAdd> =>
  (file_ids ?? []).length > 0
    ? (file_ids ?? []).map((fileId, at) => ({ fileId, attributes, param: `file_ids[${at}]` }))
    : (files ?? []).map((file, at) => ({
        fileId: file.file_id,
        attributes: file.attributes ?? attributes,
        param: `files[${at}].file_id`
      }))

export const FileBatchesHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "fileBatches",
  Effect.fn(function* (handlers) {
    const { answered, memberOf, named } = yield* makeStoreProofs
    const notes = yield* ProjectNotes

    return handlers.handleAll({
      add: Effect.fnUntraced(function* ({ params, payload, request }) {
        yield* refuseKey(request)
        const membership = yield* memberOf(params.vector_store_id)
        const batch = yield* named(notes.addBatch(membership, filesOf(payload)))
        const headers = yield* ignoredHeader(request, payload, Object.keys(AddBatchBody.fields))
        return HttpServerResponse.jsonUnsafe(batchOf(params.vector_store_id, batch), { headers })
      }, answered),
      get: Effect.fnUntraced(function* ({ params }) {
        const membership = yield* memberOf(params.vector_store_id)
        return polled(batchOf(params.vector_store_id, yield* notes.batch(membership, params.batch_id)))
      }, answered),
      files: Effect.fnUntraced(function* ({ params, query }) {
        const membership = yield* memberOf(params.vector_store_id)
        const status = statusOf(query.filter)
        const found =
          status === "cancelled"
            ? Effect.as(notes.batch(membership, params.batch_id), noFiles)
            : notes.batchFiles(membership, params.batch_id, { ...wantedOf(query), status })
        return listOf(params.vector_store_id, yield* found)
      }, answered),
      cancel: Effect.fnUntraced(function* ({ params }) {
        const membership = yield* memberOf(params.vector_store_id)
        const batch = yield* named(notes.cancelBatch(membership, params.batch_id))
        return batchOf(params.vector_store_id, batch)
      }, answered)
    })
  })
)
