import { Clock, Effect, Layer } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { monotonicMillis } from "./Monotonic.ts"

/** A clock that cannot be set: a circuit must not stay open longer because the machine's clock was put back. */
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

/** Keeps circuits in this process, by monotonic time. */
export const circuitStore = Layer.effect(
  CircuitBreaker.CircuitBreakerStore,
  Effect.map(CircuitBreaker.CircuitBreakerStore, (memory) =>
    CircuitBreaker.CircuitBreakerStore.of({
      admit: (key) => onMonotonicClock(memory.admit(key)),
      record: (options) => onMonotonicClock(memory.record(options)),
      state: (key) => onMonotonicClock(memory.state(key))
    })
  )
).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
