import { Schema } from "effect"
import { PlanName } from "../domain/Account.ts"
import { ModelHealth } from "../domain/Model.ts"

/** The router's decision as the operator's side says it. */

export const textCharactersMax = 200_000
export const documentsMax = 500

export const ExplainPayload = Schema.Struct({
  text: Schema.String.check(Schema.isMaxLength(textCharactersMax)),
  documents: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: documentsMax }))),
  /** The plan of whoever asks; left out: `default`. */
  plan: Schema.optionalKey(PlanName),
  /** Left out: as the settings and the plan say. */
  tools: Schema.optionalKey(Schema.Boolean),
  max_output_tokens: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0)))
})

const Feature = Schema.Struct({
  name: Schema.String,
  value: Schema.Finite,
  points: Schema.Finite,
  sentence: Schema.String
})

const Candidate = Schema.Struct({
  model: Schema.String,
  provider: Schema.String,
  max_output_tokens: Schema.Int,
  will_do: Schema.Boolean,
  utility: Schema.Finite,
  /** What the utility is the sum of. */
  terms: Schema.Struct({
    quality: Schema.Finite,
    price: Schema.Finite,
    latency: Schema.Finite,
    failures: Schema.Finite
  }),
  /** In the currency of the catalog; null where not every model that fits has a price. */
  expected_price: Schema.NullOr(Schema.Finite),
  health: ModelHealth,
  reasons: Schema.Array(Schema.String)
})

export const ExplainedBody = Schema.Struct({
  difficulty: Schema.Struct({ score: Schema.Finite, features: Schema.Array(Feature) }),
  balance: Schema.Finite,
  /** The first is asked, the others are there to fall back to. */
  candidates: Schema.Array(Candidate),
  excluded: Schema.Array(
    Schema.Struct({ model: Schema.String, provider: Schema.String, reason: Schema.String })
  )
})
export type ExplainedBody = typeof ExplainedBody.Type
