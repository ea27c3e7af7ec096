import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import { FairPermits, type Permits } from "../../src/runtime/FairPermits.ts"

const index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))
const keys = ["alice", "bob", "carol"] as const

const Steps = Schema.Array(
  Schema.Struct({
    key: Schema.Literals(keys),
    amount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })),
    /** Which of the open requests ends, or is reduced, before. */
    end: index,
    reduce: index
  })
)

const request = (permits: FairPermits, key: string, wanted: number, perKeyMax: number) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const held: { permits: Permits | null; amount: number } = {
      permits: null,
      amount: Math.min(wanted, perKeyMax)
    }
    const fiber = yield* Effect.forkChild(
      Effect.map(Scope.provide(permits.acquire(key, wanted), scope), (acquired) => {
        held.permits = acquired
      }),
      { startImmediately: true }
    )
    const end = Effect.andThen(Fiber.interrupt(fiber), Scope.close(scope, Exit.void))
    return { key, held, end }
  })
type Request = Effect.Success<ReturnType<typeof request>>

const isWaiting = ({ held }: Request) => held.permits === null
const sumOf = (requests: ReadonlyArray<Request>) =>
  requests.reduce((sum, { held }) => sum + (held.permits === null ? 0 : held.amount), 0)

/** A key's permits and requests are what is open of it, and no limit is exceeded. */
const check = (permits: FairPermits, open: ReadonlyArray<Request>) => {
  const waiting = open.filter(isWaiting)
  assert.deepStrictEqual({ ...permits.all }, { held: sumOf(open), waiting: waiting.length })
  assert.isAtMost(sumOf(open), 12)
  const heldBy = new Map(keys.map((key) => [key as string, sumOf(open.filter((one) => one.key === key))]))
  for (const key of keys) {
    const { held, waiting: ownWaiting } = permits.of(key)
    assert.strictEqual(held, heldBy.get(key))
    assert.strictEqual(ownWaiting, waiting.filter((one) => one.key === key).length)
    assert.isAtMost(held, 7)
  }
  const lacksRoom = ({ held: { amount }, key }: Request) =>
    sumOf(open) + amount > 12 || (heldBy.get(key) ?? 0) + amount > 7
  assert.isTrue(waiting.length === 0 || waiting.some(lacksRoom))
}

describe("FairPermits", () => {
  it.effect.prop(
    "FairPermits keeps both limits and loses no permit, whatever is acquired, reduced, ended and interrupted",
    { steps: Steps },
    ({ steps }) =>
      Effect.gen(function* () {
        const permits = new FairPermits({ totalMax: 12, perKeyMax: 7 })
        let open: ReadonlyArray<Request> = []
        for (const { amount, end, key, reduce } of steps) {
          const ended = open[end]
          if (ended !== undefined) yield* Effect.andThen(ended.end, ended.end)
          open = open.filter((one) => one !== ended)
          const reduced = open[reduce]?.held
          if (reduced !== undefined && reduced.permits !== null) {
            reduced.amount = Math.floor(reduced.amount / 2)
            yield* reduced.permits.reduce(reduced.amount)
          }
          open = [...open, yield* request(permits, key, amount, 7)]
          check(permits, open)
        }
        while (open.length > 0) {
          const holder = open.find((one) => !isWaiting(one))
          assert.isDefined(holder)
          yield* holder?.end ?? Effect.void
          open = open.filter((one) => one !== holder)
          check(permits, open)
        }
        assert.isFalse(isWaiting(yield* request(permits, "alice", 7, 7)))
      })
  )

  it.effect("FairPermits serves waiting keys in turns, and the requests of one key in order", () =>
    Effect.gen(function* () {
      const permits = new FairPermits({ totalMax: 1 })
      const served: Array<string> = []
      const release = yield* Deferred.make<void>()
      const task = (name: string) =>
        Effect.forkChild(
          permits.withPermit(name.slice(0, -2))(
            Effect.andThen(
              Effect.sync(() => served.push(name)),
              Deferred.await(release)
            )
          ),
          { startImmediately: true }
        )
      const fibers = yield* Effect.forEach(
        ["alice 0", "alice 1", "alice 2", "bob 1", "bob 2", "carol 1"],
        task
      )
      assert.deepStrictEqual(served, ["alice 0"])
      yield* Deferred.succeed(release, undefined)
      yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(served, ["alice 0", "alice 1", "bob 1", "carol 1", "alice 2", "bob 2"])
    })
  )

  it.effect("FairPermits serves a large request before later small ones of the same key", () =>
    Effect.gen(function* () {
      const permits = new FairPermits({ totalMax: 20, perKeyMax: 10 })
      const first = yield* request(permits, "alice", 6, 10)
      const large = yield* request(permits, "alice", 8, 10)
      const small = yield* request(permits, "alice", 1, 10)
      assert.deepStrictEqual([isWaiting(large), isWaiting(small)], [true, true])
      yield* first.end
      assert.deepStrictEqual([isWaiting(large), isWaiting(small)], [false, false])
    })
  )

  it.effect("FairPermits runs tasks of one key up to its own limit and leaves other keys alone", () =>
    Effect.gen(function* () {
      const permits = new FairPermits({ perKeyMax: 2 })
      const [first, second, third] = yield* Effect.forEach(["alice", "alice", "alice"], (key) =>
        request(permits, key, 1, 2)
      )
      const other = yield* request(permits, "bob", 1, 2)
      assert.deepStrictEqual(
        [first, second, third, other].map((one) => one && isWaiting(one)),
        [false, false, true, false]
      )
      yield* first?.end ?? Effect.void
      assert.isFalse(third && isWaiting(third))
    })
  )

  it.effect("FairPermits releases at once the permits of a request that gives up waiting", () =>
    Effect.gen(function* () {
      const permits = new FairPermits({ totalMax: 2, perKeyMax: 1 })
      yield* request(permits, "alice", 1, 1)
      yield* request(permits, "bob", 1, 1)
      const waiting = yield* Effect.forkChild(
        Effect.scoped(
          Effect.andThen(Effect.timeoutOption(permits.acquire("carol"), "5 seconds"), Effect.never)
        ),
        { startImmediately: true }
      )
      assert.deepStrictEqual({ ...permits.all }, { held: 2, waiting: 1 })
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual({ ...permits.all }, { held: 2, waiting: 0 })
      yield* Fiber.interrupt(waiting)
      assert.deepStrictEqual({ ...permits.of("carol") }, { held: 0, waiting: 0 })
    })
  )
})
