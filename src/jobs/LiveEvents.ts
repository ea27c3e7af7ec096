import { Deferred, Effect } from "effect"
import type { EventBody } from "../api/ResponseEvent.ts"

/** The events of an answer that this process generates, for readers that don't wait for the log. */
export interface LiveEvents {
  readonly add: (events: ReadonlyArray<EventBody>) => Effect.Effect<void>
  /** Ends the events. */
  readonly end: Effect.Effect<void>
  /** Returns the events from a position on, once there are some; empty after the last one. */
  readonly from: (position: number) => Effect.Effect<ReadonlyArray<EventBody>>
}

/** Keeps all events while there are readers. The answer's bound limits their number. */
export const makeLiveEvents = (): LiveEvents => {
  const events: Array<EventBody> = []
  const waiting = new Set<Deferred.Deferred<void>>()
  let hasEnded = false

  const wake = Effect.suspend(() => {
    const readers = [...waiting]
    waiting.clear()
    return Effect.forEach(readers, (reader) => Deferred.succeed(reader, undefined), { discard: true })
  })

  const from = (position: number): Effect.Effect<ReadonlyArray<EventBody>> =>
    Effect.suspend(() => {
      if (events.length > position || hasEnded) return Effect.succeed(events.slice(position))
      return Effect.flatMap(Deferred.make<void>(), (reader) => {
        waiting.add(reader)
        return Deferred.await(reader).pipe(
          Effect.ensuring(Effect.sync(() => waiting.delete(reader))),
          Effect.andThen(from(position))
        )
      })
    })

  return {
    add: (more) =>
      Effect.suspend(() => {
        events.push(...more)
        return wake
      }),
    end: Effect.suspend(() => {
      hasEnded = true
      return wake
    }),
    from
  }
}
