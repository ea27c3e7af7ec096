import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Logger } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { makeCollectorClient } from "../../src/telemetry/Collector.ts"

/** A status, no answer at all, one whose body never ends, or one whose body goes on and on. */
type Answer = number | "never" | "unended" | "endless"

/** A collector that answers like this, call by call, and then for ever with the last of them. */
const collectorOf = (...statuses: ReadonlyArray<Answer>) => {
  const logged: Array<string> = []
  const state = { calls: 0, open: 0, openMost: 0, pieces: 0, cancelled: 0 }
  const bodyOf = (status: Answer) =>
    new ReadableStream<Uint8Array>({
      pull: (body) => {
        if (status === "unended" && state.pieces > 0) return new Promise<void>(() => {})
        if (typeof status === "number") return body.close()
        state.pieces++
        return body.enqueue(new Uint8Array(1_000))
      },
      cancel: () => void state.cancelled++
    })
  const client = HttpClient.make((request) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        state.open++
        state.openMost = Math.max(state.openMost, state.open)
      }),
      () => {
        const status = statuses[Math.min(state.calls++, statuses.length - 1)]!
        return status === "never"
          ? Effect.never
          : Effect.sync(() => {
              const init = { status: typeof status === "number" ? status : 200 }
              return HttpClientResponse.fromWeb(request, new Response(bodyOf(status), init))
            })
      },
      () => Effect.sync(() => void state.open--)
    )
  )
  const deliver = (signal: string) =>
    Effect.flatMap(HttpClient.HttpClient, (own) =>
      Effect.exit(own.execute(HttpClientRequest.post(`http://user:SECRET@collector.test/v1/${signal}`)))
    )
  const CollectorLayer = Layer.effect(HttpClient.HttpClient, makeCollectorClient).pipe(
    Layer.provide(Layer.succeed(HttpClient.HttpClient, client)),
    Layer.provideMerge(Logger.layer([Logger.map(Logger.formatJson, (line) => void logged.push(line))]))
  )
  return { state, logged, deliver, CollectorLayer }
}

const messages = (logged: ReadonlyArray<string>) => logged.map((line) => String(JSON.parse(line).message))

describe("deliveries to a collector", () => {
  it.effect("a failed delivery to a collector is tried once more, and a blink is not logged", () => {
    const { CollectorLayer, deliver, logged, state } = collectorOf(503, 200)
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(deliver("traces"), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Success")
      assert.strictEqual(state.calls, 2)
      assert.isEmpty(logged)
    }).pipe(Effect.provide(CollectorLayer))
  })

  it.effect("deliveries to a hung collector end in time, and an outage and its end are logged once", () => {
    const { CollectorLayer, deliver, logged, state } = collectorOf(
      "never",
      "never",
      "never",
      "never",
      429,
      429,
      200
    )
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(
        Effect.forEach(["traces", "logs"], deliver, { concurrency: "unbounded" }),
        { startImmediately: true }
      )
      // Two tries of five seconds each, and a second between them.
      yield* TestClock.adjust("11 seconds")
      const exits = yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        exits.map(({ _tag }) => _tag),
        ["Failure", "Failure"]
      )
      assert.strictEqual(state.open, 0)
      const again = yield* Effect.forkChild(deliver("metrics"), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(again))._tag, "Failure")
      assert.deepStrictEqual(messages(logged), [
        "Telemetry can't be delivered to the collector; what is not delivered is lost."
      ])
      for (const signal of ["traces", "logs", "metrics"]) yield* deliver(signal)
      assert.deepStrictEqual(messages(logged).slice(1), ["Telemetry is delivered to the collector again."])
      assert.notInclude(logged.join("\n"), "SECRET")
    }).pipe(Effect.provide(CollectorLayer))
  })

  it.effect("a delivery doesn't wait for the end of an answer, nor hold all of it", () => {
    const { CollectorLayer, deliver, logged, state } = collectorOf("endless", "unended")
    return Effect.gen(function* () {
      const delivery = yield* deliver("traces")
      assert.isTrue(Exit.isSuccess(delivery) && delivery.value.status === 200)
      assert.strictEqual(Exit.isSuccess(delivery) && (yield* delivery.value.text), "")
      assert.strictEqual(state.cancelled, 1)
      assert.isBelow(state.pieces, 100)
      const fiber = yield* Effect.forkChild(deliver("traces"), { startImmediately: true })
      while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Failure")
      assert.strictEqual(state.cancelled, 3)
      assert.deepStrictEqual(messages(logged), [
        "Telemetry can't be delivered to the collector; what is not delivered is lost."
      ])
    }).pipe(Effect.provide(CollectorLayer))
  })

  it.effect("a bounded number of deliveries runs at once, and no more are kept", () => {
    const { CollectorLayer, deliver, state } = collectorOf("never")
    return Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const held = yield* Effect.forkChild(
        Effect.andThen(
          Deferred.succeed(begun, undefined),
          Effect.forEach([1, 2, 3, 4], () => deliver("traces"), { concurrency: "unbounded", discard: true })
        ),
        { startImmediately: true }
      )
      yield* Deferred.await(begun)
      // The fifth is not waited for, whatever becomes of the others; another signal isn't held up by them.
      assert.strictEqual((yield* deliver("traces"))._tag, "Failure")
      assert.strictEqual(state.openMost, 4)
      yield* Effect.forkChild(deliver("logs"), { startImmediately: true })
      assert.strictEqual(state.open, 5)
      yield* Fiber.interrupt(held)
    }).pipe(Effect.provide(CollectorLayer))
  })
})
