import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { inTurns, WorksFor } from "../../src/runtime/ProcessorTurns.ts"
import { makeBatcher } from "../../src/sql/Batcher.ts"

/** A batcher whose writes are seen, and wait for a gate; items below zero can't be written. */
const setUp = Effect.fnUntraced(function* (itemsMax: number) {
  const writes: Array<ReadonlyArray<number>> = []
  const gate = yield* Deferred.make<void>()
  const { add, begin } = yield* makeBatcher(
    (items: ReadonlyArray<number>) =>
      Effect.suspend(() => {
        writes.push(items)
        const bad = items.find((item) => item < 0)
        return Effect.andThen(Deferred.await(gate), bad === undefined ? Effect.void : Effect.fail(bad))
      }),
    itemsMax
  )
  const fork = (item: number) => Effect.forkChild(add(item), { startImmediately: true })
  return { add, begin, fork, gate, writes }
})

describe("a batcher", () => {
  it.effect("a batcher works for every user, whoever's item began the write", () =>
    Effect.gen(function* () {
      const writers: Array<string | null> = []
      const { add } = yield* makeBatcher(() => Effect.map(WorksFor, (user) => void writers.push(user)), 10)
      yield* inTurns("one")(add(1))
      assert.deepStrictEqual(writers, [null])
    })
  )

  it.effect("a batcher writes the first item at once, and together what comes meanwhile", () =>
    Effect.gen(function* () {
      const { fork, gate, writes } = yield* setUp(2)
      const fibers = yield* Effect.forEach([1, 2, 3, 4], fork)
      assert.deepStrictEqual(writes, [[1]])
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(writes, [[1], [2, 3], [4]])
    })
  )

  it.effect("a batcher tells each item its outcome, and one failure doesn't affect the others", () =>
    Effect.gen(function* () {
      const { fork, gate } = yield* setUp(10)
      const fibers = yield* Effect.forEach([1, 2, -3, 4], fork)
      yield* Deferred.succeed(gate, undefined)
      const exits = yield* Effect.forEach(fibers, Fiber.await)
      assert.deepStrictEqual(exits, [Exit.void, Exit.void, Exit.fail(-3), Exit.void])
    })
  )

  it.effect("a batcher writes items that nobody waits for any more, too", () =>
    Effect.gen(function* () {
      const { add, fork, gate, writes } = yield* setUp(10)
      const first = yield* fork(1)
      const second = yield* fork(2)
      yield* Fiber.interrupt(first)
      yield* Fiber.interrupt(second)
      yield* Deferred.succeed(gate, undefined)
      yield* add(3)
      assert.deepStrictEqual(writes.flat(), [1, 2, 3])
    })
  )

  it.effect("a batcher begins to write without being waited for", () =>
    Effect.gen(function* () {
      const { begin, gate, writes } = yield* setUp(10)
      const written = [yield* begin(1), yield* begin(-2), yield* begin(3)]
      assert.deepStrictEqual(writes, [[1]])
      yield* Deferred.succeed(gate, undefined)
      const exits = yield* Effect.forEach(written, (one) => Effect.exit(Deferred.await(one)))
      assert.deepStrictEqual(exits, [Exit.void, Exit.fail(-2), Exit.void])
    })
  )
})
