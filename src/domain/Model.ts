import { Schema } from "effect"

const PositiveInt = Schema.Int.check(Schema.isGreaterThan(0))
const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

const Amount = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))

/** What a million tokens cost, in whatever currency, as long as it is the same for all models. */
export const ModelPrice = Schema.Struct({ input: Amount, output: Amount })

/** What a catalog file must say, and a server may tell. */
export const limitNames = ["contextWindow", "maxOutputTokens"] as const

/** One model as a catalog file declares it. */
export const DeclaredModel = Schema.Struct({
  /** The id that the provider knows and that a response reports in `model`. */
  id: Schema.NonEmptyString,
  provider: Schema.NonEmptyString,
  /** Tokens that prompt and answer may have together. */
  contextWindow: PositiveInt,
  /** Tokens that one answer may have. */
  maxOutputTokens: PositiveInt,
  /** Whether the model can call tools. */
  tools: Schema.Boolean,
  /** How good the model is beside the others, 0 to 1: up to requests of this difficulty it will do. */
  quality: Share,
  /** How dear the model is beside the others, 0 to 1. */
  cost: Share,
  /** Counts in the place of `cost` where every model that fits a request has it. */
  price: Schema.optionalKey(ModelPrice)
})

/** One model as the catalog knows it. */
export const ModelSpec = Schema.Struct({
  ...DeclaredModel.fields,
  /** Limits that nobody told, so that they are guesses. */
  assumed: Schema.optionalKey(Schema.Array(Schema.Literals(limitNames)))
})
export type ModelSpec = typeof ModelSpec.Type

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

/** How a model fared lately, as far as requests have shown; it is never asked just to find out. */
export const ModelHealth = Schema.Struct({
  /**
   * Whether it is left to itself for now: its server's circuit is open, its server asked for that, or it failed a
   * good deal of late and another request is trying it.
   */
  coolingDown: Schema.Boolean,
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
  coolingDown: false,
  firstOutputSeconds: null,
  failureShare: 0,
  requests: 0,
  failures: 0
}
