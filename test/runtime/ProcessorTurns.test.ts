import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { CreateBody } from "../../src/api/openai/CreateBody.ts"
import {
  type EventLoop,
  inTurns,
  mayGiveWay,
  ProcessorTurns,
  sliceMillis,
  TurnQueue
} from "../../src/runtime/ProcessorTurns.ts"

/** Time that only work and waiting take, and turns that a test begins. */
const makeLoop = () => {
  let now = 0
  const turns: Array<() => void> = []
  const timers: Array<{ readonly at: number; readonly run: () => void }> = []
  const loop: EventLoop = {
    now: () => now,
    nextTurn: (run) => void turns.push(run),
    later: (millis, run) => void timers.push({ at: now + millis, run })
  }
  /** Begins the turn that was asked for, or waits for a time that was. */
  const next = () => {
    const turn = turns.shift()
    if (turn !== undefined) return turn()
    const timer = timers.sort((one, other) => one.at - other.at).shift()
    if (timer === undefined) return
    now = Math.max(now, timer.at)
    timer.run()
  }
  return { loop, work: (millis: number) => Effect.sync(() => void (now += millis)), next, now: () => now }
}

const run = (queue: TurnQueue, user: string, effect: Effect.Effect<unknown>) =>
  Effect.runFork(Effect.provideService(inTurns(user)(effect), ProcessorTurns, queue))

describe("ProcessorTurns", () => {
  it("ProcessorTurns interrupts a user's long work after each slice, so that another user's short work is done meanwhile", () => {
    const { loop, next, work } = makeLoop()
    const queue = new TurnQueue(loop)
    const order: Array<string> = []
    const log = (word: string) => Effect.sync(() => void order.push(word))
    const long = Effect.andThen(
      Effect.forEach(Array(10), () => work(sliceMillis)),
      log("long")
    )
    run(queue, "one", long)
    next()
    run(queue, "two", Effect.andThen(work(0.1), log("short")))
    assert.deepStrictEqual(order, ["short"])
    for (let turn = 0; turn < 60; turn++) next()
    assert.deepStrictEqual(order, ["short", "long"])
  })

  it("ProcessorTurns counts processor time and not requests: users with less go first", () => {
    const { loop, next, work } = makeLoop()
    const queue = new TurnQueue(loop)
    const order: Array<string> = []
    const steps = (word: string, count: number, millis: number) =>
      Effect.forEach(Array(count), () =>
        Effect.andThen(
          work(millis),
          Effect.sync(() => void order.push(word))
        )
      )
    // Many requests of one user against one of another, all with the same work.
    for (let request = 0; request < 10; request++) run(queue, "many", steps("many", 4, 2 * sliceMillis))
    run(queue, "single", steps("single", 4, 2 * sliceMillis))
    for (let turn = 0; turn < 400; turn++) next()
    assert.strictEqual(order.filter((word) => word === "many").length, 40)
    // Turn and turn about: the last step of the one is not behind the other's.
    assert.isBelow(order.lastIndexOf("single"), 20)
  })

  it("ProcessorTurns lets a user who used up a slice rest while another user is active", () => {
    const { loop, next, now, work } = makeLoop()
    const queue = new TurnQueue(loop)
    const steps = (count: number, millis: number) => Effect.forEach(Array(count), () => work(millis))
    let isDone = false
    run(
      queue,
      "one",
      Effect.andThen(
        steps(10, 20),
        Effect.sync(() => void (isDone = true))
      )
    )
    for (let turn = 0; turn < 20; turn++) next()
    assert.isTrue(isDone)
    assert.strictEqual(now(), 200)

    run(queue, "two", Effect.andThen(work(1), work(1)))
    run(queue, "one", steps(10, 20))
    const before = now()
    for (let turn = 0; turn < 60; turn++) next()
    // It works for 200 ms, and rests as long as it works while the other counts as active.
    assert.isAtLeast(now() - before, 300)
  })

  it("the rest of one user doesn't lengthen the shorter rest of another", () => {
    const { loop, next, now, work } = makeLoop()
    const queue = new TurnQueue(loop)
    let doneAt = Infinity
    run(queue, "long", Effect.andThen(work(100), work(100)))
    run(queue, "other", Effect.andThen(work(0.1), work(0.1)))
    // From here on, the first user rests until 300 ms.
    next()
    const short = Effect.andThen(work(5), work(5))
    run(
      queue,
      "short",
      Effect.andThen(
        short,
        Effect.sync(() => void (doneAt = now()))
      )
    )
    for (let turn = 0; turn < 60; turn++) next()
    assert.isBelow(doneAt, 200)
  })

  it("a loop that may give way is interrupted", () => {
    const { loop, next } = makeLoop()
    let time = 0
    const queue = new TurnQueue({ ...loop, now: () => (time += 1) })
    const done: Array<string> = []
    const loopOf = (name: string, rounds: number) =>
      Effect.gen(function* () {
        for (let round = 0; round < rounds; round++) yield* mayGiveWay
        done.push(name)
      })
    run(queue, "one", loopOf("long", 20))
    run(queue, "two", loopOf("short", 1))
    for (let turn = 0; turn < 100; turn++) next()
    assert.deepStrictEqual(done, ["short", "long"])
  })

  it("a second user's work is done while the body of a first user's request is being decoded", () => {
    const turns: Array<() => void> = []
    let now = 0
    // Each operation takes the same time.
    const queue = new TurnQueue({
      now: () => (now += 0.01),
      nextTurn: (next) => void turns.push(next),
      later: (millis, next) => {
        now += millis
        turns.push(next)
      }
    })
    const item = { type: "function_call", call_id: "a", name: "look", arguments: "{}" }
    const done: Array<string> = []
    const log = (word: string) => Effect.sync(() => void done.push(word))
    const decode = Schema.decodeUnknownEffect(Schema.toCodecJson(CreateBody))({
      input: Array.from({ length: 10_000 }, () => item)
    })
    run(queue, "one", Effect.andThen(Effect.orDie(decode), log("decoded")))
    turns.shift()?.()
    run(queue, "two", log("answered"))
    assert.deepStrictEqual(done, ["answered"])
    for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) turn()
    assert.deepStrictEqual(done, ["answered", "decoded"])
  })

  it.effect("ProcessorTurns runs effects to their ends on the loop of Node", () =>
    Effect.gen(function* () {
      const sum = (user: string) =>
        inTurns(user)(
          Effect.map(
            Effect.forEach(
              Array.from({ length: 1_000 }, (_, index) => index),
              (one) => Effect.succeed(one)
            ),
            (all) => all.reduce((total, one) => total + one, 0)
          )
        )
      const fibers = yield* Effect.forEach(["one", "two", "one"], (user) => Effect.forkChild(sum(user)))
      assert.deepStrictEqual(yield* Effect.forEach(fibers, Fiber.join), [499_500, 499_500, 499_500])
    })
  )
})
