import { assert, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema, Tracer } from "effect"
import { bareTracer } from "../../src/telemetry/Otlp.ts"

class Broken extends Schema.TaggedError<Broken>()("Broken", { message: Schema.String }) {}

/** The spans that a tracer receives when they end. */
const ended = (effect: Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const told: Array<{ readonly name: string; readonly sampled: boolean; readonly exit: string }> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        const end = span.end.bind(span)
        span.end = (time, exit) => {
          const words = Exit.isSuccess(exit) ? "" : Cause.pretty(exit.cause)
          told.push({ name: options.name, sampled: options.sampled, exit: words })
          end(time, exit)
        }
        return span
      }
    })
    yield* Effect.exit(effect).pipe(Effect.withTracer(bareTracer(tracer)))
    return told
  })

const server = Effect.withSpan("request", { kind: "server" })

it.effect.each([
  { name: "an expected error", effect: new Broken({ message: "SECRET" }), kind: "Broken" },
  { name: "a defect", effect: Effect.die(new TypeError("SECRET")), kind: "TypeError" },
  { name: "a text", effect: Effect.die("SECRET"), kind: "Error" }
])("a span is told of $name by its kind alone", ({ effect, kind }) =>
  Effect.gen(function* () {
    const [span] = yield* ended(server(effect))
    assert.include(span?.exit, kind)
    assert.notInclude(span?.exit, "SECRET")
  })
)

it.effect("BareTracer traces only what happens for a request", () =>
  Effect.gen(function* () {
    const step = Effect.withSpan(Effect.void, "step")
    const told = yield* ended(Effect.andThen(Effect.withSpan(step, "background"), server(step)))
    assert.deepStrictEqual(
      told.map(({ name, sampled }) => [name, sampled]),
      [
        ["step", false],
        ["background", false],
        ["step", true],
        ["request", true]
      ]
    )
  })
)
