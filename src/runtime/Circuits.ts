import { Clock, Effect, Layer, Schedule } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { monotonicMillis } from "./Monotonic.ts"

/**
 * Circuits that open after some failures in a row: first for `openSecondsMin`, and for twice as long after
 * each failed probe. Their state is in this process.
 */
export const makeCircuits = (limits: {
  readonly failuresMax: number
  readonly openSecondsMin: number
  readonly openSecondsMax: number
}) =>
  CircuitBreaker.make({
    tripPolicy: CircuitBreaker.consecutive(limits.failuresMax),
    openDuration: Schedule.min([
      Schedule.exponential(`${limits.openSecondsMin} seconds`),
      Schedule.spaced(`${limits.openSecondsMax} seconds`)
    ])
  }).pipe(Effect.provide(monotonicStore))

/**
 * Monotonic time in place of the time of day: a circuit must not stay open because the machine's clock was
 * set back.
 */
const monotonicStore = Layer.effect(
  CircuitBreaker.CircuitBreakerStore,
  Effect.map(CircuitBreaker.CircuitBreakerStore, ({ admit, record, state }) => ({
    admit: (key: string) => onMonotonicClock(admit(key)),
    record: (options: Parameters<typeof record>[0]) => onMonotonicClock(record(options)),
    state: (key: string) => onMonotonicClock(state(key))
  }))
).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))

const onMonotonicClock = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Clock.clockWith((clock) =>
    Effect.provideService(self, Clock.Clock, {
      currentTimeMillisUnsafe: () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n),
      currentTimeMillis: Effect.provideService(monotonicMillis, Clock.Clock, clock),
      currentTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      currentTimeNanos: clock.monotonicTimeNanos,
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: clock.monotonicTimeNanos,
      sleep: (duration) => clock.sleep(duration)
    })
  )
