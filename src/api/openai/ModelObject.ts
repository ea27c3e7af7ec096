import { Schema } from "effect"

/** A model that a request may name. */
export const ModelObject = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("model"),
  /** Unix epoch in seconds; 0, because it is not known. */
  created: Schema.Int,
  owned_by: Schema.String
}).annotate({ identifier: "Model" })
export type ModelObject = typeof ModelObject.Type

export const ModelList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(ModelObject)
}).annotate({ identifier: "ModelList", description: "The models that the caller's plan permits." })
