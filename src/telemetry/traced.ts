import { Effect } from "effect"

/**
 * Gives the calls of a function a span of this name where they are traced, for what every request runs.
 * `Effect.fn(name)` captures a stack and changes the fiber's context twice at each call, also where nothing
 * is traced (docs/decisions/speed.md).
 */
export const traced =
  (name: string) =>
  <Args extends ReadonlyArray<unknown>, A, E, R>(
    run: (...args: Args) => Effect.Effect<A, E, R>
  ): ((...args: Args) => Effect.Effect<A, E, R>) =>
  (...args) =>
    Effect.withFiber<A, E, R>((fiber) =>
      fiber.cache.tracerEnabled ? Effect.withSpan(run(...args), name) : run(...args)
    )
