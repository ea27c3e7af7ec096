import * as Refusal from "../api/Refusal.ts"
import { fileObject } from "../api/FileObject.ts"
import { pageFilesMax } from "../api/FilesApi.ts"
import { Accounts } from "../auth/Accounts.ts"
import { UploadCut } from "../domain/Errors.ts"
import type { PlanStorage } from "../domain/Plan.ts"
import { cleanFilename, defaultPurpose } from "../domain/StoredFile.ts"
import { FileStore } from "../files/FileStore.ts"
import { Drain } from "../http/Drain.ts"
import { enveloped, isEncoded, respond } from "../http/ErrorBoundary.ts"
import { Policy } from "../plans/Policy.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { AdminApi } from "./AdminApi.ts"
import { Effect, Clock, Duration, Stream } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpServerRequest } from "effect/http"

/** How long the rest of a refused file is taken in. */
const lingerSeconds = 10

interface SendingLimits {
  /** In which the whole body must have arrived. */
  readonly uploadSeconds: number
  /** In which some of the body must arrive. */
  readonly idleSeconds: number
}

/**
 * A file that is the whole body of a request. `bytes` reads it as it is taken. `discard` takes in what is left of it, for a
 * while: a client that is still sending when the connection is closed would not get to read why it was refused.
 */
const readSentFile = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  limits: SendingLimits
) {
  const pull = yield* Stream.toPull(request.stream)
  const startedAt = yield* Clock.monotonicTimeNanos
  const end = startedAt + BigInt(limits.uploadSeconds) * 1_000_000_000n

  const next = Effect.gen(function* () {
    const left = end - (yield* Clock.monotonicTimeNanos)
    return yield* pull.pipe(
      Effect.catchTag("HttpServerError", () => Effect.fail(new UploadCut({ reason: "cut" }))),
      Effect.timeoutOrElse({
        duration: Duration.min(Duration.seconds(limits.idleSeconds), Duration.nanos(left > 0n ? left : 0n)),
        orElse: () => Effect.fail(new UploadCut({ reason: "slow" }))
      })
    )
  })

  const discard = Effect.forever(next).pipe(
    Effect.timeoutOption(Duration.seconds(lingerSeconds)),
    Effect.ignore
  )
  return { bytes: Stream.fromPull(Effect.succeed(next)), discard }
})

interface Sent {
  readonly email: string
  readonly filename: string
  readonly purpose?: string
}

/** No plan binds the operator, but where one leaves its users more than the settings do, there is as much room for him. */
const beyond = (
  { bytesPerUserMax, filesPerUserMax }: Settings["files"],
  { bytes, files, plan }: PlanStorage
): PlanStorage => ({
  plan,
  files: files !== null && files > filesPerUserMax ? files : null,
  bytes: bytes !== null && bytes > bytesPerUserMax ? bytes : null
})

const upload = Effect.fnUntraced(
  function* (request: HttpServerRequest.HttpServerRequest, { email, filename, purpose }: Sent) {
    const accounts = yield* Accounts
    const policy = yield* Policy
    const store = yield* FileStore
    const drain = yield* Drain
    const { files, http } = yield* AppConfig
    if (isEncoded(request)) return respond(Refusal.encodedBody)
    const sent = yield* readSentFile(request, {
      uploadSeconds: files.uploadSeconds,
      idleSeconds: http.requestSeconds
    })
    const about = Effect.succeed({
      filename: cleanFilename(filename),
      purpose: purpose ?? defaultPurpose
    })
    const stored = Effect.gen(function* () {
      const { id } = yield* accounts.findUserByEmail(email)
      const storage = beyond(files, yield* policy.storageOf(id))
      return fileObject(yield* store.upload(id, { bytes: sent.bytes, about }, storage))
    }).pipe(Effect.tapError(({ _tag }) => (_tag === "UploadCut" ? Effect.void : sent.discard)))
    return yield* Effect.raceFirst(stored, drain.cutoff)
  },
  (effect) => Effect.scoped(effect),
  enveloped
)

/** What the operator does with the files of a user. */
export const AdminFilesHandlers = HttpApiBuilder.group(
  AdminApi,
  "files",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const store = yield* FileStore
    const { files: settings } = yield* AppConfig
    const services = yield* Effect.context<Effect.Services<ReturnType<typeof upload>>>()

    return handlers.handleAll({
      uploadLimits: ({ query }) =>
        accounts
          .findUserByEmail(query.email)
          .pipe(Effect.as({ file_bytes_max: settings.fileBytesMax }), enveloped),
      upload: ({ query, request }) => Effect.provideContext(upload(request, query), services),
      list: ({ query: { after, email, purpose } }) =>
        Effect.gen(function* () {
          const { id } = yield* accounts.findUserByEmail(email)
          const { files, hasMore } = yield* store.list(id, {
            limit: pageFilesMax,
            order: "desc",
            ...(after === undefined ? {} : { after }),
            ...(purpose === undefined ? {} : { purpose })
          })
          return { data: files.map(fileObject), has_more: hasMore }
        }).pipe(enveloped),
      get: ({ params, query }) =>
        Effect.gen(function* () {
          const { id } = yield* accounts.findUserByEmail(query.email)
          return fileObject(yield* store.get(id, params.file_id))
        }).pipe(enveloped),
      delete: ({ params, query }) =>
        Effect.gen(function* () {
          const { id } = yield* accounts.findUserByEmail(query.email)
          yield* store.delete(id, params.file_id)
          return { id: params.file_id, object: "file", deleted: true } as const
        }).pipe(enveloped)
    })
  })
)
