import { Schema } from "effect"

export const providerStates = ["ok", "unknown", "failing", "open"] as const

/** How a model server fared lately, as far as requests have shown; it is never asked just to find out. */
export const ProviderHealth = Schema.Struct({
  provider: Schema.String,
  /** `unknown`: it has answered no request of late. `failing`: the last request failed, or its models can't be read. `open`: its circuit is open, so that other models are asked first. */
  state: Schema.Literals(providerStates),
  /** Requests that it works at now, and those that wait for their turn. */
  running: Schema.Int,
  waiting: Schema.Int,
  concurrentMax: Schema.Int,
  /** Why the last request failed; null while requests succeed. */
  failure: Schema.NullOr(Schema.String),
  /** For how long the circuit is still open; null while it is closed. */
  openSeconds: Schema.NullOr(Schema.Finite)
})
export type ProviderHealth = typeof ProviderHealth.Type
