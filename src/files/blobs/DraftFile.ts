import { Effect, Fiber, FileSystem, type PlatformError, type Scope, Semaphore, Stream } from "effect"
import { StorageFailed } from "../../domain/Errors.ts"
import { makeTally, writeInPieces } from "./Pieces.ts"

/** Only the owner may read and write. */
const fileMode = 0o600
/** Bytes that one write takes. Each wakes a thread and the event loop. */
export const pieceBytes = 1024 * 1024
/** Bytes after which a flush of the written bytes begins. */
const flushBytes = 32 * 1024 * 1024

const failing = <A, R>(effect: Effect.Effect<A, PlatformError.PlatformError, R>) =>
  Effect.mapError(effect, (cause) => new StorageFailed({ operation: "put", cause }))

/**
 * Writes bytes to a new file, and succeeds once the disk has them. Receiving and hashing continue during
 * writes, and a long file is flushed while it arrives, so that its end needs little time.
 */
export const makeDraftFiles = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  // All files share one permit, because a flush occupies one of Node's four threads for files.
  const flushes = Semaphore.makeUnsafe(1)

  /** Flushes the written bytes, unless a flush is running. The flush ends before the file is closed. */
  const makeFlush = (file: FileSystem.File) => {
    let unflushed = 0
    let running: Fiber.Fiber<unknown, StorageFailed> | null = null
    // The system reports a failed flush only once.
    const last = Effect.suspend(() => (running === null ? Effect.void : Fiber.join(running)))
    const begin = Effect.gen(function* () {
      yield* last
      unflushed = 0
      running = yield* Effect.forkScoped(
        Effect.uninterruptible(failing(file.sync)).pipe(flushes.withPermits(1))
      )
    })
    const wrote = (bytes: number): Effect.Effect<void, StorageFailed, Scope.Scope> =>
      Effect.suspend(() => {
        unflushed += bytes
        const isRunning = running !== null && running.pollUnsafe() === undefined
        return unflushed < flushBytes || isRunning ? Effect.void : begin
      })
    return { wrote, last }
  }

  return <E, R>(draft: string, bytes: Stream.Stream<Uint8Array, E, R>) =>
    Effect.gen(function* () {
      const file = yield* failing(fs.open(draft, { flag: "wx", mode: fileMode }))
      const tally = makeTally()
      const flush = makeFlush(file)
      yield* writeInPieces(bytes, pieceBytes, (piece) => {
        tally.add(piece)
        // Uninterruptible, because a write that outlasts the closing of its file could go into another one.
        return Effect.andThen(
          Effect.uninterruptible(failing(file.writeAll(piece))),
          flush.wrote(piece.length)
        )
      })
      yield* flush.last
      yield* failing(file.sync)
      return tally.total()
    }).pipe(Effect.scoped)
})
