import { Effect, Layer } from "effect"
import { Database } from "./Database.ts"

/**
 * Releases the resources of a killed process at the start: leases, reservations, locks. Only the embedded
 * server has a single owner, which has just started. On another server they expire by the database's clock.
 */
export const layerReleasing = <E, R>(release: Effect.Effect<unknown, E, R>) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      if ((yield* Database).isEmbedded) yield* release
    })
  )
