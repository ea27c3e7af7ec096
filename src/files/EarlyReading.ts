import { Duration, Effect, Fiber, Option, Stream } from "effect"
import { headBytes } from "../documents/Kind.ts"
import type { TextExtraction } from "../documents/TextExtraction.ts"
import type { ExtractionFailed } from "../domain/Errors.ts"
import type { UserId } from "../domain/Ids.ts"

/** How long a file whose bytes are stored waits for what its beginning tells, before it is queued to be read. */
const waitSecondsMax = 1

/**
 * Finds out by the beginning of a file that it can't be read, while the rest arrives, until the scope closes. `watch` takes the
 * beginning from the bytes that pass; `found` is null for a file that is still to be read.
 */
export const makeEarlyReading = Effect.fnUntraced(function* (
  extraction: TextExtraction["Service"],
  user: UserId,
  waitSeconds: number
) {
  const scope = yield* Effect.scope
  const head = Buffer.allocUnsafe(headBytes)
  let filled = 0
  let reading: Fiber.Fiber<ExtractionFailed | null> | null = null

  const begin = Effect.suspend(() => extraction.unsupported({ user, head })).pipe(
    Effect.forkIn(scope),
    Effect.map((fiber) => {
      reading = fiber
    })
  )

  const watch = <E, R>(bytes: Stream.Stream<Uint8Array, E, R>): Stream.Stream<Uint8Array, E, R> =>
    Stream.mapArrayEffect(bytes, (pieces) => {
      if (filled === headBytes) return Effect.succeed(pieces)
      for (const piece of pieces) {
        const taken = piece.subarray(0, headBytes - filled)
        head.set(taken, filled)
        filled += taken.length
      }
      return filled < headBytes ? Effect.succeed(pieces) : Effect.as(begin, pieces)
    })

  const found = Effect.suspend(() => (reading === null ? Effect.succeed(null) : Fiber.join(reading))).pipe(
    Effect.timeoutOption(Duration.seconds(Math.min(waitSeconds, waitSecondsMax))),
    Effect.map(Option.getOrNull)
  )

  return { watch, found }
})
