import { Effect, Stream } from "effect"
import { Headers, HttpServerResponse, type HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { fileList, fileObject } from "../api/FileObject.ts"
import { pageFilesDefault } from "../api/FilesApi.ts"
import * as Refusal from "../api/Refusal.ts"
import { CurrentUser } from "../domain/Account.ts"
import type { FileId } from "../domain/Ids.ts"
import { FileStore } from "../files/FileStore.ts"
import { Policy } from "../plans/Policy.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { contentDisposition, versionOf, wantedOf } from "./Download.ts"
import { Drain } from "./Drain.ts"
import { enveloped, isEncoded, respond } from "./ErrorBoundary.ts"
import { httpDate } from "./Preconditions.ts"
import { freed } from "./TransferMemory.ts"
import { readUpload } from "./Upload.ts"

const download = Effect.fnUntraced(function* (id: FileId, request: HttpServerRequest.HttpServerRequest) {
  const store = yield* FileStore
  const drain = yield* Drain
  const { userId } = yield* CurrentUser
  const file = yield* store.get(userId, id)
  // spec: RFC 9110, section 14.2: a range is for GET only.
  const isHead = request.method === "HEAD"
  const wanted = wantedOf(isHead ? Headers.remove(request.headers, "range") : request.headers, file)
  const headers = {
    etag: versionOf(file).etag,
    "last-modified": httpDate(file.createdAt),
    "accept-ranges": "bytes",
    "cache-control": "private, no-cache"
  }
  if (wanted.kind === "nothing") return HttpServerResponse.empty({ status: 304, headers })
  if (wanted.kind === "other") return respond(Refusal.preconditionFailed)
  if (wanted.kind === "beyond") return respond(Refusal.rangeNotSatisfiable(file.bytes))
  const { end, start } = wanted.kind === "part" ? wanted.range : { start: 0, end: file.bytes }
  const bytes = yield* store.content(userId, id, { start, end })
  return HttpServerResponse.stream(Stream.interruptWhen(freed(bytes), drain.cutoff), {
    status: wanted.kind === "part" ? 206 : 200,
    contentType: "application/octet-stream",
    contentLength: end - start,
    headers: {
      ...headers,
      ...(wanted.kind === "part" ? { "content-range": `bytes ${start}-${end - 1}/${file.bytes}` } : {}),
      "content-disposition": contentDisposition(file.filename),
      "x-content-type-options": "nosniff"
    }
  })
})

const upload = Effect.fnUntraced(
  function* (request: HttpServerRequest.HttpServerRequest) {
    const store = yield* FileStore
    const drain = yield* Drain
    const { files, http } = yield* AppConfig
    const { plan, userId } = yield* CurrentUser
    if (isEncoded(request)) return respond(Refusal.encodedBody)
    const { operation, storage } = yield* (yield* Policy).permissions(plan)
    const denial = operation("files", "")
    if (denial !== null) return yield* denial
    const incoming = yield* readUpload(request, {
      fileBytesMax: files.fileBytesMax,
      uploadSeconds: files.uploadSeconds,
      idleSeconds: http.requestSeconds
    })
    return fileObject(yield* Effect.raceFirst(store.upload(userId, incoming, storage), drain.cutoff))
  },
  (effect) => Effect.scoped(effect)
)

/**
 * Handlers of the endpoints of files, in every profile: only the form of the ids differs, which the contract
 * knows.
 */
export const makeFilesHandlers = Effect.gen(function* () {
  const store = yield* FileStore
  const services = yield* Effect.context<FileStore | Policy | Drain | AppConfig>()

  return {
    upload: ({ request }: Incoming) => enveloped(Effect.provideContext(upload(request), services)),
    list: Effect.fnUntraced(function* ({ query }: { readonly query: FilesQuery }) {
      const { userId } = yield* CurrentUser
      const { limit = pageFilesDefault, order = "desc", purpose, ...after } = query
      const wanted = { ...after, ...(purpose ? { purpose } : {}), limit, order }
      const { files, hasMore } = yield* store.list(userId, wanted)
      return fileList(files, hasMore)
    }, enveloped),
    get: Effect.fnUntraced(function* ({ params }: OfFile) {
      const { userId } = yield* CurrentUser
      return fileObject(yield* store.get(userId, params.file_id))
    }, enveloped),
    delete: Effect.fnUntraced(function* ({ params }: OfFile) {
      const { userId } = yield* CurrentUser
      yield* store.delete(userId, params.file_id)
      return { id: params.file_id, object: "file", deleted: true } as const
    }, enveloped),
    content: ({ params, request }: OfFile & Incoming) =>
      enveloped(Effect.provideContext(download(params.file_id, request), services))
  }
})

interface Incoming {
  readonly request: HttpServerRequest.HttpServerRequest
}

interface OfFile {
  readonly params: { readonly file_id: FileId }
}

interface FilesQuery {
  readonly purpose?: string
  readonly after?: FileId
  readonly limit?: number
  readonly order?: "asc" | "desc"
}

export const FilesHandlers = HttpApiBuilder.group(
  Api,
  "files",
  Effect.fn(function* (handlers) {
    return handlers.handleAll(yield* makeFilesHandlers)
  })
)
