import { Schema, SchemaTransformation } from "effect"
import { expectedStorable, isStorable, storable } from "../../domain/storable.ts"
import { StorableText } from "../../domain/StorableText.ts"
import { isAllStorable } from "../CreateResponse.ts"
import { inSteps } from "../ReadInSteps.ts"

/** Fields that several bodies of the profile have. */

const metadataPairsMax = 16
const metadataKeyCharactersMax = 64
const metadataValueCharactersMax = 512
const labelCharactersMax = 512

/**
 * Adds null to what is expected: `auto or disabled` becomes `auto, disabled or null`, and `1: why` becomes `1
 * or null: why`.
 */
const orNull = ({ ast }: Schema.Top): { readonly expected?: string } => {
  const words = ast._tag === "Boolean" ? "true or false" : ast.annotations?.["expected"]
  if (typeof words !== "string") return {}
  const choices = /^(\S+(?:, \S+)*) or (\S+)$/.exec(words)
  if (choices !== null) return { expected: `${choices[1]}, ${choices[2]} or null` }
  const reasoned = /^(\S+): (.+)$/.exec(words)
  return reasoned === null ? {} : { expected: `${reasoned[1]} or null: ${reasoned[2]}` }
}

/** Absent and null mean the same. */
export const maybe = <S extends Schema.Top>(schema: S) =>
  Schema.optional(Schema.NullOr(schema).annotate(orNull(schema)))

/** A list of at most so many. */
export const few = <S extends Schema.Top>(schema: S, max: number, name: string) =>
  Schema.Array(inSteps(schema)).check(
    Schema.isMaxLength(max, { expected: `a list of at most ${max} ${name}` })
  )

export const between = (minimum: number, maximum: number) => {
  const expected = `a number from ${minimum} to ${maximum}`
  return Schema.Finite.annotate({ expected }).check(Schema.isBetween({ minimum, maximum }, { expected }))
}

/** The number of likeliest tokens that are asked for. */
export const likeliest = (maximum: number) => {
  const expected = `an integer from 0 to ${maximum}`
  return Schema.Int.annotate({ expected }).check(Schema.isBetween({ minimum: 0, maximum }, { expected }))
}

export const positiveInteger = Schema.Int.annotate({ expected: "a positive integer" }).check(
  Schema.isGreaterThan(0, { expected: "a positive integer" })
)

export const Label = StorableText.check(
  Schema.isMaxLength(labelCharactersMax, { expected: `at most ${labelCharactersMax} characters` })
)

/**
 * The result of a client's function, which may be any bytes read as text: what can't be stored of it becomes
 * U+FFFD.
 */
export const ResultText = Schema.String.pipe(
  Schema.decodeTo(Schema.String, SchemaTransformation.transform({ decode: storable, encode: (text) => text }))
)

const isSmall = (pairs: { readonly [key: string]: string }): boolean => {
  const entries = Object.entries(pairs)
  return (
    entries.length <= metadataPairsMax &&
    entries.every(
      ([key, value]) =>
        key.length <= metadataKeyCharactersMax &&
        isStorable(key) &&
        value.length <= metadataValueCharactersMax
    )
  )
}

const metadataWords =
  `an object of at most ${metadataPairsMax} strings, whose keys have at most ${metadataKeyCharactersMax} characters and whose values ` +
  `have at most ${metadataValueCharactersMax}`

/** The client's own notes on an object. */
export const Metadata = Schema.Record(Schema.String, StorableText)
  .annotate({ expected: metadataWords })
  .check(
    Schema.makeFilter(isSmall, {
      expected: metadataWords,
      toJsonSchema: () => [
        {
          maxProperties: metadataPairsMax,
          propertyNames: { maxLength: metadataKeyCharactersMax },
          additionalProperties: { type: "string", maxLength: metadataValueCharactersMax }
        },
        true
      ]
    })
  )

/** A name that every provider takes. */
export const FunctionName = Schema.String.annotate({
  expected: "1 to 64 letters, digits, hyphens and underscores"
}).check(
  Schema.isPattern(/^[a-zA-Z0-9_-]{1,64}$/, { expected: "1 to 64 letters, digits, hyphens and underscores" })
)

export const JsonObject = Schema.Record(Schema.String, Schema.Any)
  .annotate({ expected: "an object" })
  .check(Schema.makeFilter(isAllStorable, { expected: expectedStorable }))

export const only = <const Value extends string | number | boolean>(value: Value, why: string) =>
  Schema.Literal(value).annotate({ expected: `${JSON.stringify(value)}: ${why}` })

/** A field that can't be honoured, and so must be absent. */
export const unsupported = (why: string) =>
  Schema.optional(Schema.Null.annotate({ expected: `null: ${why}` }))
