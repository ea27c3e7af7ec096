import { Schema } from "effect"
import type { Question } from "../../../../AnswersApi.ts"
import { tabStorage } from "../../../client/tabStorage.ts"

/** A question that the service may not have got yet. */
export interface Unsent {
  /** The Idempotency-Key of every request that sends it: it is asked once only. */
  readonly key: string
  readonly question: Question
}

const kept = tabStorage(
  "parley.unsent.",
  Schema.Struct({
    key: Schema.String,
    question: Schema.Struct({
      input: Schema.Union([Schema.String, Schema.Array(Schema.Record(Schema.String, Schema.String))]),
      replaces: Schema.optionalKey(Schema.String),
      again: Schema.optionalKey(Schema.String)
    })
  })
)

/** Questions of this page, also where the storage of the browser has no room for them. */
const held = new Map<string, Unsent>()

/** Keeps the question of a conversation until the service has it, also when the page is loaded again. */
export const keepUnsent = (id: string, question: Question): Unsent => {
  const unsent = { key: crypto.randomUUID(), question }
  held.set(id, unsent)
  kept.keep(id, unsent)
  return unsent
}

export const findUnsent = (id: string): Unsent | null =>
  // The service checks the ids in it.
  held.get(id) ?? (kept.read(id) as Unsent | null)

export const dropUnsent = (id: string): void => {
  held.delete(id)
  kept.drop(id)
}
