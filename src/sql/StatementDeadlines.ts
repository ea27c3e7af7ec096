import { Effect, Fiber } from "effect"
import { makeDeadlines } from "../domain/Deadlines.ts"
import { inRealTime } from "../domain/Monotonic.ts"

/** Bounds statements by real time. */
export const makeStatementDeadlines = Effect.fnUntraced(function* (millis: number) {
  const begin = yield* inRealTime(makeDeadlines(millis))

  return <E>(late: () => E) =>
    <A, E1, R>(statement: Effect.Effect<A, E1, R>): Effect.Effect<A, E | E1, R> =>
      Effect.contextWith((context) =>
        Effect.callback<A, E | E1>((resume) => {
          const fiber = Effect.runForkWith(context)(statement)
          const end = begin(() => resume(Effect.andThen(Fiber.interrupt(fiber), Effect.fail(late()))))
          fiber.addObserver((exit) => {
            end()
            resume(exit)
          })
          return Effect.suspend(() => {
            end()
            return Fiber.interrupt(fiber)
          })
        })
      )
})
