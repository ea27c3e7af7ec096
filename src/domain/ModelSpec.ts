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
