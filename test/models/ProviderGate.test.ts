import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { failuresMax, openSecondsMax, openSecondsMin } from "../../src/models/CircuitBreaker.ts"
import { alone } from "../../src/domain/ModelCall.ts"
import type { Fault } from "../../src/models/Fault.ts"
import { isBlamed, Pass, ProviderGate } from "../../src/models/ProviderGate.ts"
import { gate } from "./ServerSetup.ts"

const broken: Fault = { reason: "server_error", status: 500, detail: "HTTP 500" }

const withFallback = { hasFallback: () => true }

const failOnce = (through: ProviderGate, fault = broken) =>
  Effect.gen(function* () {
    const pass = new Pass(through)
    yield* pass.enter
    yield* pass.failed(fault)
    pass.leave()
  })

const succeedOnce = (through: ProviderGate) =>
  Effect.gen(function* () {
    const pass = new Pass(through)
    yield* pass.enter
    pass.answering()
    pass.finished()
    pass.leave()
  })

const open = (through: ProviderGate) => Effect.repeat(failOnce(through), { times: failuresMax - 1 })

describe("a failure of a model", () => {
  it("counts against it unless the next request may do better", () => {
    const isCounted = (reason: Fault["reason"], status: number) => isBlamed({ reason, status, detail: "" })
    assert.isTrue(isCounted("server_error", 500))
    assert.isTrue(isCounted("unauthorized", 401))
    assert.isTrue(isCounted("bad_request", 404))
    assert.isFalse(isCounted("bad_request", 400))
    assert.isFalse(isCounted("unauthorized", 403))
    assert.isFalse(isCounted("rate_limited", 429))
  })
})

describe("the turns of a provider", () => {
  it.effect("are given in the order of coming", () =>
    Effect.gen(function* () {
      const through = gate({ concurrentMax: 2 })
      const order: Array<number> = []
      const passes = Array.from({ length: 6 }, () => new Pass(through))
      for (const [index, pass] of passes.entries()) {
        const fiber = yield* Effect.forkChild(
          Effect.tap(pass.enter, () => Effect.sync(() => order.push(index))),
          { startImmediately: true }
        )
        assert.strictEqual(fiber.pollUnsafe() !== undefined, index < 2)
      }
      assert.strictEqual((yield* through.health).waiting, 4)
      // The third gives up while it waits.
      passes[2]?.leave()
      for (const index of [1, 0, 3, 4]) {
        passes[index]?.leave()
        yield* Effect.yieldNow
      }
      assert.deepStrictEqual(order, [0, 1, 3, 4, 5])
      passes[5]?.leave()
      const { running, waiting } = yield* through.health
      assert.deepStrictEqual([running, waiting], [0, 0])
    })
  )

  it.effect("go round among the users who wait, each in the order of their own requests", () =>
    Effect.gen(function* () {
      const through = gate({ concurrentMax: 1 })
      const running = new Pass(through, { ...alone, user: "ada" })
      yield* running.enter
      const order: Array<string> = []
      const passes = yield* Effect.forEach(["ada 1", "ada 2", "ada 3", "bob 1", "bob 2", "eve 1"], (name) =>
        Effect.gen(function* () {
          const pass = new Pass(through, { ...alone, user: name.slice(0, 3) })
          yield* Effect.forkChild(
            Effect.andThen(
              pass.enter,
              Effect.sync(() => order.push(name))
            ),
            { startImmediately: true }
          )
          return { name, pass }
        })
      )
      // Who gives up is passed over, and so is a user of whom nobody waits any more.
      passes.find(({ name }) => name === "bob 2")?.pass.leave()
      let inside: Pass | undefined = running
      while (inside !== undefined) {
        inside.leave()
        yield* Effect.yieldNow
        inside = passes.find(({ name }) => name === order.at(-1))?.pass
        if (order.length === 5) break
      }
      assert.deepStrictEqual(order, ["ada 1", "bob 1", "eve 1", "ada 2", "ada 3"])
      inside?.leave()
      const { running: left, waiting } = yield* through.health
      assert.deepStrictEqual([left, waiting], [0, 0])
    })
  )

  it.effect("aren't waited for without end, and whoever gave up gets none", () =>
    Effect.gen(function* () {
      const through = gate({ concurrentMax: 1, queueSeconds: 10 })
      const first = new Pass(through)
      yield* first.enter
      const second = new Pass(through)
      const fiber = yield* Effect.forkChild(Effect.flip(second.enter), { startImmediately: true })
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber)).reason, "refused")
      second.leave()
      first.leave()
      assert.strictEqual((yield* through.health).running, 0)
    })
  )

  it.effect.prop(
    "are never more than allowed, and all come back, whatever is done in whatever order",
    {
      places: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 })),
      steps: Schema.Array(
        Schema.Struct({
          pass: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 7 })),
          leave: Schema.Boolean
        })
      ).check(Schema.isMaxLength(60))
    },
    ({ places, steps }) =>
      Effect.gen(function* () {
        const through = gate({ concurrentMax: places })
        const passes = new Map<number, Pass>()
        for (const { leave, pass: index } of steps) {
          const known = passes.get(index)
          if (leave && known !== undefined) {
            known.leave()
            passes.delete(index)
          } else if (known === undefined) {
            const pass = new Pass(through)
            passes.set(index, pass)
            yield* Effect.forkChild(Effect.exit(pass.enter), { startImmediately: true })
          }
          const { running, waiting } = yield* through.health
          assert.strictEqual(running, Math.min(places, passes.size))
          assert.strictEqual(waiting, Math.max(0, passes.size - places))
        }
        for (const pass of passes.values()) pass.leave()
        assert.strictEqual((yield* through.health).running, 0)
      })
  )
})

describe("a provider that fails", () => {
  it.effect("is left alone after failures in a row, for longer each time, and tried by one request", () =>
    Effect.gen(function* () {
      const through = gate()
      yield* open(through)
      assert.strictEqual((yield* through.health).state, "open")
      for (let seconds = openSecondsMin; seconds <= openSecondsMax * 2; seconds *= 2) {
        const wait = Math.min(seconds, openSecondsMax)
        const refused = yield* Effect.flip(new Pass(through).enter)
        assert.strictEqual(refused.retryAfter?.seconds, String(wait))
        yield* TestClock.adjust(`${wait} seconds`)
        const trial = new Pass(through)
        yield* trial.enter
        assert.isTrue(Exit.isFailure(yield* Effect.exit(new Pass(through, withFallback).enter)))
        yield* trial.failed(broken)
        trial.leave()
      }
      yield* TestClock.adjust(`${openSecondsMax} seconds`)
      yield* succeedOnce(through)
      assert.deepStrictEqual(yield* through.health, {
        provider: "mock",
        state: "ok",
        running: 0,
        waiting: 0,
        concurrentMax: 1000,
        failure: null,
        openSeconds: null
      })
    })
  )

  it.effect("is waited for while a request tries it, by those who have nowhere else to go", () =>
    Effect.gen(function* () {
      const through = gate({ queueSeconds: 3 })
      const tryIt = Effect.gen(function* () {
        yield* TestClock.adjust(`${openSecondsMax} seconds`)
        const trial = new Pass(through)
        yield* trial.enter
        const others = yield* Effect.forEach([1, 2], () =>
          Effect.forkChild(Effect.exit(new Pass(through).enter), { startImmediately: true })
        )
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(
          others.map((fiber) => fiber.pollUnsafe()),
          [undefined, undefined]
        )
        return { trial, outcomes: Effect.forEach(others, Fiber.join) }
      })
      yield* open(through)
      const failing = yield* tryIt
      yield* failing.trial.failed(broken)
      failing.trial.leave()
      yield* TestClock.adjust("1 second")
      assert.isTrue((yield* failing.outcomes).every(Exit.isFailure))

      const hanging = yield* tryIt
      yield* TestClock.adjust("3 seconds")
      assert.isTrue((yield* hanging.outcomes).every(Exit.isFailure))
      hanging.trial.leave()

      const well = yield* tryIt
      well.trial.answering()
      yield* TestClock.adjust("1 second")
      assert.isTrue((yield* well.outcomes).every(Exit.isSuccess))
    })
  )

  it.effect("is asked on while answers come between the failures", () =>
    Effect.gen(function* () {
      const through = gate()
      for (let round = 0; round < 3; round++) {
        yield* Effect.repeat(failOnce(through), { times: failuresMax - 2 })
        assert.strictEqual((yield* through.health).state, "failing")
        yield* succeedOnce(through)
      }
      assert.strictEqual((yield* through.health).state, "ok")
    })
  )

  it.effect("isn't blamed for what the request did wrong, nor for its limits", () =>
    Effect.gen(function* () {
      const through = gate()
      for (const reason of ["bad_request", "unauthorized", "rate_limited"] as const) {
        yield* Effect.repeat(failOnce(through, { reason, detail: "" }), { times: 10 })
      }
      const { failure, state } = yield* through.health
      assert.deepStrictEqual([state, failure], ["failing", "rate_limited"])
    })
  )

  it.effect("is merely failing once it may be asked again, and well when nobody has asked for long", () =>
    Effect.gen(function* () {
      const through = gate()
      yield* open(through)
      assert.deepInclude(yield* through.health, { state: "open", openSeconds: openSecondsMin })
      yield* TestClock.adjust(`${openSecondsMin} seconds`)
      const failing = { state: "failing", failure: "server_error (HTTP 500)", openSeconds: null } as const
      assert.deepInclude(yield* through.health, failing)
      const trial = new Pass(through)
      yield* trial.enter
      assert.strictEqual((yield* through.health).state, "open")
      trial.leave()
      yield* TestClock.adjust("10 minutes")
      assert.deepInclude(yield* through.health, { state: "ok", failure: null })
      // What is shown no longer still counts: the next request is a trial.
      yield* failOnce(through)
      assert.strictEqual((yield* through.health).state, "open")
    })
  )

  it.effect("is tried again by the next where the one that tried it went away", () =>
    Effect.gen(function* () {
      const through = gate()
      yield* open(through)
      yield* TestClock.adjust(`${openSecondsMin} seconds`)
      const trial = new Pass(through)
      yield* trial.enter
      trial.leave()
      yield* succeedOnce(through)
      assert.strictEqual((yield* through.health).state, "ok")
    })
  )
})
