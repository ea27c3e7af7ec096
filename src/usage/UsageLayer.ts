import { Layer } from "effect"
import { layerReleasing } from "../sql/SoleOwner.ts"
import { KeyRates } from "./KeyRates.ts"
import { endAllReservations } from "./Reservations.ts"
import { Usage } from "./Usage.ts"

/** Allowances, reservations and records of tokens, and the rates of keys. */
export const UsageLayer = Layer.merge(Usage.layer, KeyRates.layer).pipe(
  Layer.provide(layerReleasing(endAllReservations))
)
