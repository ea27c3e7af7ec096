import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Ref, Stream } from "effect"
import { TestClock } from "effect/testing"
import { ModelFailure } from "../../../src/domain/Errors.ts"
import type { ModelPart, ModelUsage } from "../../../src/domain/ModelCall.ts"
import type { Attempt } from "../../../src/responses/Attempts.ts"
import { attempt, drain, start } from "../attempts.ts"

const usage: ModelUsage = {
  inputTokens: 1,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 1,
  reasoningTokens: 0,
  source: "provider"
}
const finish = { type: "finish", reason: "stop", usage } as const
const text = (value: string) => ({ type: "text", text: value }) as const

const failure = (model: string, reason: ModelFailure["reason"] = "refused") =>
  new ModelFailure({ reason, model, provider: "scripted", detail: "scripted" })
const failing = (id: string) => attempt(id, Stream.fail(failure(id)))

describe("Generation", () => {
  it.effect("the first model that puts something out answers", () =>
    Effect.gen(function* () {
      const generation = yield* start([
        failing("a"),
        attempt("b", Stream.empty),
        attempt("c", Stream.make(text("hi"), finish)),
        failing("d")
      ])
      assert.strictEqual(generation.model.id, "c")
      assert.deepStrictEqual(yield* drain(generation), [text("hi"), finish])
    })
  )

  it.effect("the last model's failure is the result when no model puts anything out", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(start([failing("a"), failing("b")]))
      assert.strictEqual(error.model, "b")
    })
  )

  it.effect("the call of a model that failed is closed before the next model is called", () =>
    Effect.gen(function* () {
      const closed = yield* Ref.make(false)
      const first = Stream.fail(failure("a")).pipe(Stream.onExit(() => Ref.set(closed, true)))
      const second = Stream.fromEffect(Ref.get(closed)).pipe(
        Stream.flatMap((wasClosed) => Stream.make(text(String(wasClosed)), finish))
      )
      const generation = yield* start([attempt("a", first), attempt("b", second)])
      assert.deepStrictEqual(yield* drain(generation), [text("true"), finish])
    })
  )

  it.effect("the current model answers after beginSeconds of silence, and is not replaced", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<ModelPart, ModelFailure>()
      const slow = attempt("slow", Stream.fromEffect(Deferred.await(gate)))
      const fiber = yield* Effect.forkChild(start([slow, attempt("other", Stream.make(text("no"), finish))]))
      yield* TestClock.adjust("14 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 second")
      const generation = yield* Fiber.join(fiber)
      assert.strictEqual(generation.model.id, "slow")
      yield* Deferred.fail(gate, failure("slow", "cut"))
      const error = yield* Effect.flip(generation.pull)
      assert.deepInclude(error, { _tag: "ModelFailure", reason: "cut" })
    }).pipe(Effect.scoped)
  )

  it.effect("a call knows whether another model can take over", () =>
    Effect.gen(function* () {
      const seen: Array<readonly [string, boolean]> = []
      const watched = (id: string, stream: Stream.Stream<ModelPart, ModelFailure>): Attempt => ({
        ...attempt(id, stream),
        stream: (_, { hasFallback }) => {
          seen.push([id, hasFallback()])
          return stream
        }
      })
      yield* Effect.scoped(
        start([watched("a", Stream.fail(failure("a"))), watched("b", Stream.make(finish))])
      )
      assert.deepStrictEqual(seen, [
        ["a", true],
        ["b", false]
      ])
      // A provider that is cooling down is no fallback to rely on.
      const out = { ...watched("d", Stream.fail(failure("d"))), coolingDown: true }
      yield* Effect.scoped(Effect.exit(start([watched("c", Stream.fail(failure("c"))), out])))
      assert.deepStrictEqual(seen.slice(2), [
        ["c", false],
        ["d", false]
      ])
    })
  )

  it.effect("a stream that ends without a finish is a failure", () =>
    Effect.gen(function* () {
      const generation = yield* start([attempt("a", Stream.make(text("half")))])
      assert.deepStrictEqual(yield* generation.pull, [text("half")])
      const error = yield* Effect.flip(generation.pull)
      assert.deepInclude(error, { _tag: "ModelFailure", reason: "no_finish" })
    })
  )

  it.effect("a tool call is refused when no tool was offered", () =>
    Effect.gen(function* () {
      const call: ModelPart = { type: "tool_call", call: { id: "1", name: "calculator", arguments: "{}" } }
      const generation = yield* start([attempt("a", Stream.make(call, finish))])
      const error = yield* Effect.flip(generation.pull)
      assert.deepInclude(error, { _tag: "ModelFailure", reason: "malformed" })
    })
  )

  it.effect("the call of a model is cancelled when its scope closes", () =>
    Effect.gen(function* () {
      const exits = yield* Ref.make<ReadonlyArray<boolean>>([])
      const endless = Stream.make(text("a")).pipe(
        Stream.concat(Stream.never),
        Stream.onExit((exit) => Ref.update(exits, (all) => [...all, Exit.hasInterrupts(exit)]))
      )
      yield* start([attempt("a", endless)]).pipe(
        Effect.flatMap((generation) => generation.pull),
        Effect.scoped
      )
      assert.strictEqual((yield* Ref.get(exits)).length, 1)
    })
  )
})
