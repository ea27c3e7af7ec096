import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Stream } from "effect"
import { writeInPieces } from "../../../src/files/blobs/Pieces.ts"
import { until } from "../../support/until.ts"

const pieceBytes = 4

/** Chunks of two bytes, and how many of them were taken. */
const source = (chunks: number) => {
  let taken = 0
  const bytes = Stream.range(1, chunks).pipe(
    Stream.rechunk(1),
    Stream.map((n) => {
      taken++
      return Uint8Array.of(n, n)
    })
  )
  return { bytes, taken: () => taken }
}

describe("writeInPieces", () => {
  it.effect("writeInPieces takes the bytes of the next piece while one is written, and then waits", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { bytes, taken } = source(7)
      const written: Array<ReadonlyArray<number>> = []
      const writing = yield* Effect.forkChild(
        writeInPieces(bytes, pieceBytes, (piece) =>
          Effect.andThen(
            Deferred.await(gate),
            Effect.sync(() => written.push([...piece]))
          )
        )
      )
      yield* until(Effect.sync(() => taken() === 4))
      yield* Effect.yieldNow
      assert.deepStrictEqual([taken(), written.length], [4, 0])
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(writing)
      assert.deepStrictEqual(written, [
        [1, 1, 2, 2],
        [3, 3, 4, 4],
        [5, 5, 6, 6],
        [7, 7]
      ])
    })
  )

  it.effect("writeInPieces fails when any write fails, the last one included, and writes nothing more", () =>
    Effect.gen(function* () {
      for (const failing of [1, 2, 3]) {
        let writes = 0
        const exit = yield* writeInPieces(source(5).bytes, pieceBytes, () =>
          Effect.suspend(() => (++writes === failing ? Effect.fail("full") : Effect.void))
        ).pipe(Effect.exit)
        assert.deepStrictEqual(exit, Exit.fail("full"))
        assert.strictEqual(writes, failing)
      }
    })
  )

  it.effect("writeInPieces ends, when it is interrupted, after a write that can't be", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const begun = yield* Deferred.make<void>()
      const bytes = Stream.concat(source(2).bytes, Stream.never)
      const writing = yield* Effect.forkChild(
        writeInPieces(bytes, pieceBytes, () =>
          Effect.uninterruptible(Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(gate)))
        )
      )
      yield* Deferred.await(begun)
      const interruption = yield* Effect.forkChild(Fiber.interrupt(writing), { startImmediately: true })
      yield* Effect.yieldNow
      assert.isUndefined(writing.pollUnsafe())
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(interruption)
      assert.isDefined(writing.pollUnsafe())
    })
  )
})
