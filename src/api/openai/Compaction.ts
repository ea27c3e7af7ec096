import { Schema, SchemaTransformation } from "effect"
import { expectedStorable, isStorable } from "../../domain/storable.ts"

/** Tells a summary of this service from what another one encrypted. */
const mark = "parley-summary-1:"

const expected = "what POST /openai/v1/responses/compact answered; that of another service can't be read"

const Encoded = Schema.StringFromBase64.check(
  Schema.makeFilter((text) => text.startsWith(mark), { expected }),
  Schema.makeFilter(isStorable, { expected: expectedStorable })
)

/** A summary as an item has it. */
const Summary = Encoded.pipe(
  Schema.decodeTo(
    Schema.String,
    SchemaTransformation.transform({
      decode: (text) => text.slice(mark.length),
      encode: (summary) => mark + summary
    })
  )
)

export const encodeSummary = Schema.encodeSync(Summary)

/** The summary of an earlier conversation, in its place. */
export const CompactionItem = Schema.Struct({
  type: Schema.Literal("compaction"),
  encrypted_content: Summary
})
