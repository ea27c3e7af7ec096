import { Schema } from "effect"
import { ModelHealth, ProviderHealth, ModelSpec } from "../domain/Model.ts"

/** The server itself, as the operator's side says it. */

export const ModelsBody = Schema.Struct({
  data: Schema.Array(ModelSpec),
  /** How each of them fared lately, in the same order. */
  health: Schema.Array(ModelHealth),
  providers: Schema.Array(ProviderHealth),
  description: Schema.String
})

export const SettingBody = Schema.Struct({
  name: Schema.String,
  value: Schema.NullOr(Schema.String),
  default: Schema.NullOr(Schema.String),
  description: Schema.String
})

export const Check = Schema.Struct({
  name: Schema.String,
  status: Schema.Literals(["ok", "warning", "failed"]),
  detail: Schema.String
})
export type Check = typeof Check.Type
