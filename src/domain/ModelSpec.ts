import { Schema } from "effect"

const PositiveInt = Schema.Int.check(Schema.isGreaterThan(0))
const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

/** One model as the catalog knows it. */
export const ModelSpec = Schema.Struct({
  /** The id that the provider knows and that a response reports in `model`. */
  id: Schema.NonEmptyString,
  provider: Schema.NonEmptyString,
  /** Tokens that prompt and answer may have together. */
  contextWindow: PositiveInt,
  /** Tokens that one answer may have. */
  maxOutputTokens: PositiveInt,
  /** Whether the model can call tools. */
  tools: Schema.Boolean,
  /** How good the model is beside the others, 0 to 1. */
  quality: Share,
  /** How dear the model is beside the others, 0 to 1. */
  cost: Share
})
export type ModelSpec = typeof ModelSpec.Type
