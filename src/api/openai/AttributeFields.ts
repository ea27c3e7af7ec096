import { Schema } from "effect"
import type { AttributeFilter } from "../../domain/FileAttributes.ts"
import { isStorable } from "../../domain/storable.ts"
import { StorableText } from "../../domain/StorableText.ts"

/** The attributes of a file in a vector store, and what a search in vector stores asks for. */

const attributesMax = 16
const keyCharactersMax = 64
const textCharactersMax = 512
/** Levels of a filter, comparisons in all of them together, and values of one comparison. */
const filterDepthMax = 5
const comparisonsMax = 64
const valuesMax = 64

/** Results of one search. */
const resultsMax = 50
const resultsWords = `a whole number from 1 to ${resultsMax}`

export const ResultsMax = Schema.Int.annotate({ expected: resultsWords }).check(
  Schema.isBetween({ minimum: 1, maximum: resultsMax }, { expected: resultsWords })
)

const isShort = Schema.isMaxLength(textCharactersMax, {
  expected: `a text of at most ${textCharactersMax} characters`
})
const Text = StorableText.check(isShort)

const valueWords = `a text of at most ${textCharactersMax} characters, a number, true or false`
const Value = Schema.Union([Text, Schema.Finite, Schema.Boolean]).annotate({ expected: valueWords })

const attributesWords =
  `an object of at most ${attributesMax} texts, numbers and booleans, whose keys have at most ${keyCharactersMax} characters and whose ` +
  `texts have at most ${textCharactersMax}`

export const Attributes = Schema.Record(Schema.String, Value)
  .annotate({ expected: attributesWords })
  .check(
    Schema.makeFilter(
      (attributes) => {
        const keys = Object.keys(attributes)
        return (
          keys.length <= attributesMax &&
          keys.every((key) => key.length <= keyCharactersMax && isStorable(key))
        )
      },
      {
        expected: attributesWords,
        toJsonSchema: () => [
          { maxProperties: attributesMax, propertyNames: { maxLength: keyCharactersMax } },
          true
        ]
      }
    )
  )

const keyWords = `a text of 1 to ${keyCharactersMax} characters`
const Key = StorableText.check(
  Schema.isMinLength(1, { expected: keyWords }),
  Schema.isMaxLength(keyCharactersMax, { expected: keyWords })
)

const isBounded = (max: number, what: string) => {
  const expected = `a list of 1 to ${max} ${what}`
  return [Schema.isMinLength(1, { expected }), Schema.isMaxLength(max, { expected })] as const
}

const equalTypes = ["eq", "ne"] as const
const orderTypes = ["gt", "gte", "lt", "lte"] as const
const listTypes = ["in", "nin"] as const
const compoundTypes = ["and", "or"] as const

const filterWords =
  `a comparison with \`type\` (${[...equalTypes, ...orderTypes, ...listTypes].join(", ")}), \`key\` and \`value\`, or \`type\` ` +
  `(${compoundTypes.join(", ")}) with \`filters\``

const Filter: Schema.Codec<AttributeFilter> = Schema.Union([
  Schema.Struct({ type: Schema.Literals(equalTypes), key: Key, value: Value }),
  Schema.Struct({
    type: Schema.Literals(orderTypes),
    key: Key,
    value: Schema.Union([Text, Schema.Finite]).annotate({
      expected: `a text of at most ${textCharactersMax} characters or a number`
    })
  }),
  Schema.Struct({
    type: Schema.Literals(listTypes),
    key: Key,
    value: Schema.Array(Value).check(...isBounded(valuesMax, "texts, numbers and booleans"))
  }),
  Schema.Struct({
    type: Schema.Literals(compoundTypes),
    filters: Schema.Array(Schema.suspend(() => Filter)).check(...isBounded(comparisonsMax, "filters"))
  }).annotate({ identifier: "CompoundFilter" })
]).annotate({ identifier: "AttributeFilter", expected: filterWords })

const depthOf = (filter: AttributeFilter): number =>
  "filters" in filter ? 1 + Math.max(...filter.filters.map(depthOf)) : 1

const comparisonsIn = (filter: AttributeFilter): number =>
  "filters" in filter ? filter.filters.reduce((sum, one) => sum + comparisonsIn(one), 0) : 1

/** A filter of a request, as a whole. */
export const Filters = Filter.check(
  Schema.makeFilter(
    (filter) => depthOf(filter) <= filterDepthMax && comparisonsIn(filter) <= comparisonsMax,
    { expected: `a filter of at most ${filterDepthMax} levels and ${comparisonsMax} comparisons` }
  )
)
