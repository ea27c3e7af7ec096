import { Schema } from "effect"
import { expectedStorable, isStorable } from "./storable.ts"

/**
 * Text of a client that reaches PostgreSQL as it is. Apart from `storable.ts`, which the reader process has
 * too: with it, every process that reads a document would load Effect.
 */
export const StorableText = Schema.String.check(Schema.makeFilter(isStorable, { expected: expectedStorable }))
