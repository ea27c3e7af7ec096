import { Array, Cause, Clock, Duration, Effect, Pull, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { FileTooLarge, UploadCut } from "../domain/Errors.ts"
import { makeUploadForm, surroundingBytesMax } from "./UploadForm.ts"

export interface UploadLimits {
  readonly fileBytesMax: number
  /** In which the whole body must have arrived. */
  readonly uploadSeconds: number
  /** In which some of the body must arrive. */
  readonly idleSeconds: number
}

/**
 * Reads the body of an upload as far as the file's first byte. The file itself is read as it is taken; `about` reads what
 * comes after it, and fails if that spoils the whole. No more than the network's own pieces is held in memory.
 */
export const readUpload = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  limits: UploadLimits
) {
  // Told before it is sent, where the client waits to hear.
  if (Number(request.headers["content-length"]) > limits.fileBytesMax + surroundingBytesMax) {
    return yield* new FileTooLarge({ bytesMax: limits.fileBytesMax })
  }
  const pull = yield* Stream.toPull(request.stream)
  const form = makeUploadForm(request.headers)
  const startedAt = yield* Clock.monotonicTimeNanos
  const end = startedAt + BigInt(limits.uploadSeconds) * 1_000_000_000n
  const body = { ended: false }

  const check = Effect.suspend(() => {
    const problem = form.problem()
    return problem === null ? Effect.void : Effect.fail(problem)
  })

  const next = Effect.gen(function* () {
    const left = end - (yield* Clock.monotonicTimeNanos)
    return yield* pull.pipe(
      Effect.catchTag("HttpServerError", () => Effect.fail(new UploadCut({ reason: "cut" }))),
      Effect.timeoutOrElse({
        duration: Duration.min(Duration.seconds(limits.idleSeconds), Duration.nanos(left > 0n ? left : 0n)),
        orElse: () => Effect.fail(new UploadCut({ reason: "slow" }))
      }),
      Pull.catchDone(() => Effect.succeed(null))
    )
  })

  const advance = Effect.gen(function* () {
    const pieces = yield* next
    body.ended = pieces === null
    if (pieces === null) form.end()
    else for (const piece of pieces) form.write(piece)
    yield* check
  })

  yield* check
  while (form.file() === "awaited") yield* advance

  const pieces = Effect.suspend(function take(): Pull.Pull<
    Array.NonEmptyReadonlyArray<Uint8Array>,
    Effect.Error<typeof advance>
  > {
    const taken = form.take()
    if (Array.isReadonlyArrayNonEmpty(taken)) return Effect.succeed(taken)
    return form.file() === "whole" ? Cause.done() : Effect.flatMap(advance, take)
  })

  const about = Effect.gen(function* () {
    while (!body.ended) yield* advance
    return form.about()
  })

  return { bytes: Stream.fromPull(Effect.succeed(pieces)), about }
})
