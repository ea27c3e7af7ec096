import { Duration, Effect, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { type HttpApi, HttpApiBuilder } from "effect/http-api"
import { fileObject } from "../api/FileObject.ts"
import { pageFilesMax } from "../api/FilesApi.ts"
import * as Refusal from "../api/Refusal.ts"
import { Accounts } from "../auth/Accounts.ts"
import type { PlanStorage } from "../domain/Plan.ts"
import { cleanFilename, defaultPurpose } from "../domain/StoredFile.ts"
import { FileStore } from "../files/FileStore.ts"
import { Drain } from "../http/Drain.ts"
import { enveloped, isEncoded, respond } from "../http/ErrorBoundary.ts"
import { pullBody } from "../http/Upload.ts"
import { Policy } from "../plans/Policy.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import type { AdminGroups } from "./AdminApi.ts"

/** Seconds for which the rest of a refused file is received. */
const lingerSeconds = 10

interface NewFile {
  readonly email: string
  readonly filename: string
  readonly purpose?: string
}

/** Plans don't bind the operator: only a bound that is wider than the one of the settings counts. */
const widerBounds = (
  { bytesPerUserMax, filesPerUserMax }: Settings["files"],
  { bytes, files, plan }: PlanStorage
): PlanStorage => ({
  plan,
  files: files !== null && files > filesPerUserMax ? files : null,
  bytes: bytes !== null && bytes > bytesPerUserMax ? bytes : null
})

const upload = Effect.fnUntraced(
  function* (request: HttpServerRequest.HttpServerRequest, { email, filename, purpose }: NewFile) {
    const accounts = yield* Accounts
    const policy = yield* Policy
    const store = yield* FileStore
    const drain = yield* Drain
    const { files, http } = yield* AppConfig
    if (isEncoded(request)) return respond(Refusal.encodedBody)
    const pull = yield* pullBody(request, {
      uploadSeconds: files.uploadSeconds,
      idleSeconds: http.requestSeconds
    })
    const bytes = Stream.fromPull(Effect.succeed(pull))
    const about = Effect.succeed({ filename: cleanFilename(filename), purpose: purpose ?? defaultPurpose })
    // A client that is still sending when the connection is closed can't read why its file was refused.
    const receiveRest = Effect.forever(pull).pipe(
      Effect.timeoutOption(Duration.seconds(lingerSeconds)),
      Effect.ignore
    )
    const stored = Effect.gen(function* () {
      const { id } = yield* accounts.findUserByEmail(email)
      const storage = widerBounds(files, yield* policy.storageOf(id))
      return fileObject(yield* store.upload(id, { bytes, about }, storage))
    }).pipe(Effect.tapError(({ _tag }) => (_tag === "UploadCut" ? Effect.void : receiveRest)))
    return yield* Effect.raceFirst(stored, drain.cutoff)
  },
  (effect) => Effect.scoped(effect),
  enveloped
)

/** The files of users. */
export const filesHandlers = <Id extends string>(api: HttpApi.HttpApi<Id, AdminGroups>) =>
  HttpApiBuilder.group(
    api,
    "files",
    Effect.fnUntraced(function* (handlers) {
      const accounts = yield* Accounts
      const store = yield* FileStore
      const { files: settings } = yield* AppConfig
      const services = yield* Effect.context<Effect.Services<ReturnType<typeof upload>>>()

      const userIdOf = (email: string) => Effect.map(accounts.findUserByEmail(email), ({ id }) => id)

      return handlers.handleAll({
        uploadLimits: ({ query }) =>
          accounts
            .findUserByEmail(query.email)
            .pipe(Effect.as({ file_bytes_max: settings.fileBytesMax }), enveloped),
        upload: ({ query, request }) => Effect.provideContext(upload(request, query), services),
        list: Effect.fnUntraced(function* ({ query: { email, ...options } }) {
          const wanted = { limit: pageFilesMax, order: "desc", ...options } as const
          const { files, hasMore } = yield* store.list(yield* userIdOf(email), wanted)
          return { data: files.map(fileObject), has_more: hasMore }
        }, enveloped),
        get: Effect.fnUntraced(function* ({ params, query }) {
          return fileObject(yield* store.get(yield* userIdOf(query.email), params.file_id))
        }, enveloped),
        delete: Effect.fnUntraced(function* ({ params, query }) {
          yield* store.delete(yield* userIdOf(query.email), params.file_id)
          return { id: params.file_id, object: "file", deleted: true } as const
        }, enveloped)
      })
    })
  )
