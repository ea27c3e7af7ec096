import { Clock, Duration, Effect, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { UploadCut } from "../domain/Errors.ts"

/** How long the rest of a refused file is taken in. */
const lingerSeconds = 10

export interface SendingLimits {
  /** In which the whole body must have arrived. */
  readonly uploadSeconds: number
  /** In which some of the body must arrive. */
  readonly idleSeconds: number
}

/**
 * A file that is the whole body of a request. `bytes` reads it as it is taken. `discard` takes in what is left of it, for a
 * while: a client that is still sending when the connection is closed would not get to read why it was refused.
 */
export const readSentFile = Effect.fnUntraced(function* (
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
