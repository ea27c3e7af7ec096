import { Clock, Effect, Layer, Schedule, type Scope, Stream } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { monotonicMillis } from "../Monotonic.ts"

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

/** A clock whose time nobody sets: a circuit must not stay open longer because the machine's clock was put back. */
const monotonicClock = (clock: Clock.Clock): Clock.Clock => ({
  currentTimeMillisUnsafe: () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n),
  currentTimeMillis: Effect.provideService(monotonicMillis, Clock.Clock, clock),
  currentTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  currentTimeNanos: clock.monotonicTimeNanos,
  monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: clock.monotonicTimeNanos,
  sleep: (duration) => clock.sleep(duration)
})

const onMonotonicClock = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Clock.clockWith((clock) => Effect.provideService(self, Clock.Clock, monotonicClock(clock)))

const store = Layer.effect(
  CircuitBreaker.CircuitBreakerStore,
  Effect.map(CircuitBreaker.CircuitBreakerStore, (memory) =>
    CircuitBreaker.CircuitBreakerStore.of({
      admit: (key) => onMonotonicClock(memory.admit(key)),
      record: (options) => onMonotonicClock(memory.record(options)),
      state: (key) => onMonotonicClock(memory.state(key))
    })
  )
).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))

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
}).pipe(Effect.provide(store))
