import { Schema } from "effect"

/** How a model fared lately, as far as requests have shown; it is never asked just to find out. */
export const ModelHealth = Schema.Struct({
  /**
   * Whether it is left to itself for now: its server's circuit is open, its server asked for that, or it failed a
   * good deal of late and another request is trying it.
   */
  leftAlone: Schema.Boolean,
  /** How long the first output took lately, on average; null where nothing was seen lately. */
  firstOutputSeconds: Schema.NullOr(Schema.Finite),
  /** The share of recent requests that failed, 0 to 1, softened as if one more had succeeded; it falls by itself as time goes by. */
  failureShare: Schema.Finite,
  /** Recent requests, and those of them that failed; both fade, so that they are no whole numbers. */
  requests: Schema.Finite,
  failures: Schema.Finite
})
export type ModelHealth = typeof ModelHealth.Type

/** Of a model that nobody has asked yet. */
export const unknownHealth: ModelHealth = {
  leftAlone: false,
  firstOutputSeconds: null,
  failureShare: 0,
  requests: 0,
  failures: 0
}
