import { Schema } from "effect"

/** Attributes of a file in a project, by which searches can choose files. */
export const FileAttributes = Schema.Record(
  Schema.String,
  Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])
)
export type FileAttributes = typeof FileAttributes.Type
export type AttributeValue = FileAttributes[string]

/**
 * Which files a search is among. Values are equal only if they are of one type. `ne` and `nin` also hold of
 * files without the attribute, and the others hold of none of these.
 */
export type AttributeFilter =
  | { readonly type: "eq" | "ne"; readonly key: string; readonly value: AttributeValue }
  | {
      readonly type: "gt" | "gte" | "lt" | "lte"
      readonly key: string
      /** Texts are compared by their code points. */
      readonly value: string | number
    }
  | { readonly type: "in" | "nin"; readonly key: string; readonly value: ReadonlyArray<AttributeValue> }
  | { readonly type: "and" | "or"; readonly filters: ReadonlyArray<AttributeFilter> }
