import { Effect, Schedule, type Scope, Stream } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { circuitStore } from "../domain/CircuitStore.ts"

/** A circuit opens after so many requests in a row that failed and count (`Blame` says which do). */
export const failuresMax = 5

/** It stays open for so long, and twice as long each time that a probe fails. */
export const openSecondsMin = 5
export const openSecondsMax = 60

/** The circuit breaker of all providers, one circuit for each provider's id. Its state is this process's own. */
export type Circuits = CircuitBreaker.CircuitBreaker

const openDuration = Schedule.min([
  Schedule.exponential(`${openSecondsMin} seconds`),
  Schedule.spaced(`${openSecondsMax} seconds`)
])

/** Logs each circuit that opens or closes. */
export const makeCircuits: Effect.Effect<Circuits, never, Scope.Scope> = Effect.gen(function* () {
  const circuits = yield* CircuitBreaker.make({
    tripPolicy: CircuitBreaker.consecutive(failuresMax),
    openDuration
  })
  yield* circuits.transitions.pipe(
    Stream.runForEach(({ key, to }) =>
      to === "HalfOpen"
        ? Effect.void
        : Effect.logWarning(
            to === "Open"
              ? "The circuit of a model server opened: other models are asked first."
              : "The circuit of a model server closed: it answers again."
          ).pipe(Effect.annotateLogs({ provider: key }))
    ),
    Effect.forkScoped({ startImmediately: true })
  )
  return circuits
}).pipe(Effect.provide(circuitStore))
