import { Schema } from "effect"

/** What was read again; null for what no setting names. */
export const ReloadedBody = Schema.Struct({
  plans: Schema.NullOr(Schema.Struct({ file: Schema.String, plans: Schema.Int })),
  models: Schema.NullOr(Schema.Struct({ file: Schema.String, models: Schema.Int, providers: Schema.Int }))
})
export type ReloadedBody = typeof ReloadedBody.Type
