import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Option, Tracer } from "effect"
import { traced } from "../../src/telemetry/traced.ts"

/** A span as a tracer is told of it: its name, that of the span around it, and whether it succeeded. */
const spansOf = Effect.fnUntraced(function* (effect: Effect.Effect<unknown, unknown>) {
  const told: Array<readonly [name: string, parent: string | null, succeeded: boolean]> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      const end = span.end.bind(span)
      span.end = (time, exit) => {
        const parent = Option.getOrNull(span.parent)
        told.push([span.name, parent?._tag === "Span" ? parent.name : null, Exit.isSuccess(exit)])
        end(time, exit)
      }
      return span
    }
  })
  const exit = yield* Effect.exit(Effect.withTracer(effect, tracer))
  return { exit, told }
})

const add = traced("Sums.add")((one: number, other: number) => Effect.succeed(one + other))
const refuse = traced("Sums.refuse")((why: string) => Effect.fail(why))
const contextWithin = traced("Sums.context")(() => Effect.context<never>())

describe("traced", () => {
  it.effect("a traced call has a span of its name below the one of the request", () =>
    Effect.gen(function* () {
      const { exit, told } = yield* spansOf(Effect.withSpan(add(1, 2), "request"))
      assert.deepStrictEqual(exit, Exit.succeed(3))
      assert.deepStrictEqual(told, [
        ["Sums.add", "request", true],
        ["request", null, true]
      ])
    })
  )

  it.effect("the span of a call that fails says so, and each call has one of its own", () =>
    Effect.gen(function* () {
      const request = Effect.andThen(add(1, 2), refuse("no")).pipe(Effect.withSpan("request"))
      const { exit, told } = yield* spansOf(request)
      assert.strictEqual(Exit.isFailure(exit) ? Cause.squash(exit.cause) : null, "no")
      assert.deepStrictEqual(told, [
        ["Sums.add", "request", true],
        ["Sums.refuse", "request", false],
        ["request", null, false]
      ])
    })
  )

  it.effect("an untraced call has no span and runs in the very context of its caller", () =>
    Effect.gen(function* () {
      const untraced = Effect.gen(function* () {
        const context = yield* Effect.context<never>()
        assert.strictEqual(yield* contextWithin(), context)
        assert.isTrue(Option.isNone(Context.getOption(context, Tracer.ParentSpan)))
        return yield* add(1, 2)
      })
      const { exit, told } = yield* spansOf(Effect.withTracerEnabled(untraced, false))
      assert.deepStrictEqual(exit, Exit.succeed(3))
      assert.lengthOf(told, 0)
    })
  )
})
