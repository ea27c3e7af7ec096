import { Ajv, type AnySchemaObject, type ErrorObject, type Options, type ValidateFunction } from "ajv"
import addFormats from "ajv-formats"
import { Ajv2019 } from "ajv/dist/2019.js"
import { Ajv2020 } from "ajv/dist/2020.js"
import { generatingCode } from "./GeneratedCode.ts"

type Fields = Readonly<Record<string, unknown>>

/** Keywords whose values map the client's own names, so that the names are no keywords. */
const maps: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "definitions",
  "$defs",
  "dependencies",
  "dependentSchemas"
])

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * In draft-04 and OpenAPI 3.0, `exclusiveMinimum` is a flag that excludes `minimum` itself. In later drafts
 * it is a bound of its own.
 */
const withBound = (schema: Fields, inclusive: string, exclusive: string): Fields => {
  const { [exclusive]: isExclusive, [inclusive]: bound, ...rest } = schema
  if (typeof bound !== "number" || typeof isExclusive !== "boolean") return schema
  return { ...rest, [isExclusive ? exclusive : inclusive]: bound }
}

/** Ajv accepts `nullable` of OpenAPI 3.0 beside a `type`, and rejects it elsewhere. */
const withNull = (schema: Fields): Fields => {
  const { nullable, ...rest } = schema
  if (typeof nullable !== "boolean" || "type" in rest) return schema
  return nullable ? { anyOf: [rest, { type: "null" }] } : rest
}

/** A reviver of `JSON.parse` that rewrites keywords of draft-04 and OpenAPI 3.0 to those of later drafts. */
const withoutOldKeywords = (name: string, value: unknown): unknown => {
  if (!isFields(value) || maps.has(name)) return value
  const lower = withBound(value, "minimum", "exclusiveMinimum")
  return withNull(withBound(lower, "maximum", "exclusiveMaximum"))
}

/** The number of schemas that stay compiled, because clients send the same schema with each request. */
const compiledMax = 64
/**
 * Characters of JSON of all compiled schemas. Compiled, they take about thirty times as many bytes of memory.
 */
const compiledCharactersMax = 1_000_000

/** The most mismatches that are named. */
const mismatchesMax = 8
const wordsCharactersMax = 200

/**
 * A pattern in JSON Schema's syntax, by code points, or in JavaScript's without the flag `u`, which also
 * allows `\-` and `[\w-.]`.
 */
const patternOf = (pattern: string, flags: string): RegExp => {
  try {
    return new RegExp(pattern, flags)
  } catch {
    return new RegExp(pattern)
  }
}

const isPattern = (pattern: string): boolean => {
  try {
    return patternOf(pattern, "u") instanceof RegExp
  } catch {
    return false
  }
}

// Each schema has an instance of its own, so that names in one schema can't refer to another. Optimizing
// takes more time than it saves.
const options: Options = {
  strict: false,
  allErrors: true,
  inlineRefs: false,
  // Inherited properties are not part of a text.
  ownProperties: true,
  logger: false,
  code: { optimize: false, regExp: Object.assign(patternOf, { code: "new RegExp" }) }
}

type Draft = "2020-12" | "2019-09" | "draft-07"

/**
 * The possible drafts of a schema, the likeliest first. Libraries that name no draft, or the latest, may also
 * use lists in `items`, which 2020-12 lacks.
 */
const draftsOf = ($schema: unknown): readonly [Draft, ...ReadonlyArray<Draft>] => {
  const name = typeof $schema === "string" ? $schema : ""
  if (/draft-0[467]/.test(name)) return ["draft-07"]
  return name.includes("2019-09") ? ["2019-09"] : ["2020-12", "2019-09"]
}

const constructors = { "2020-12": Ajv2020, "2019-09": Ajv2019, "draft-07": Ajv }

const instanceOf = (draft: Draft, extra: Options = {}) => {
  const instance = new constructors[draft]({ ...options, ...extra })
  addFormats.default(instance)
  // Ajv would reject the `id` of draft-04.
  return instance.removeKeyword("id").addFormat("regex", isPattern)
}

/** Validators of schemas by the schemas of their drafts. They compile no schema of a client. */
const judges = {
  "2020-12": instanceOf("2020-12"),
  "2019-09": instanceOf("2019-09"),
  "draft-07": instanceOf("draft-07")
}

/** The position of a value, without names that the schema doesn't contain. */
const placeOf = (path: string, known: string): string => {
  const names = path.split("/").slice(1)
  const shown = names.map((name) => (/^\d+$/.test(name) || known.includes(JSON.stringify(name)) ? name : "*"))
  return shown.length === 0 ? "The whole" : `\`/${shown.join("/")}\``
}

const shortened = (words: string): string =>
  words.length <= wordsCharactersMax ? words : `${words.slice(0, wordsCharactersMax).toWellFormed()}…`

const wordsOf = ({ keyword, message, params }: ErrorObject): string => {
  const allowed: unknown = keyword === "enum" ? params["allowedValues"] : undefined
  return shortened(
    `${message ?? "does not match"}${allowed === undefined ? "" : `: ${JSON.stringify(allowed)}`}`
  )
}

const sentences = (errors: ReadonlyArray<ErrorObject>, known: string): string => {
  const all = [...new Set(errors.map((error) => `${placeOf(error.instancePath, known)} ${wordsOf(error)}.`))]
  const more = all.length > mismatchesMax ? [`And ${all.length - mismatchesMax} more.`] : []
  return [...all.slice(0, mismatchesMax), ...more].join(" ")
}

class Unusable extends Error {}

const assertValid = (draft: Draft, schema: AnySchemaObject): void => {
  const judge = judges[draft]
  if (judge.validateSchema(schema) === true) return
  const [first] = judge.errors ?? []
  throw new Unusable(
    first === undefined ? "it is no JSON Schema" : `${first.instancePath || "the schema"} ${wordsOf(first)}`
  )
}

const compile = (json: string): ValidateFunction => {
  // oxlint-disable-next-line no-restricted-properties -- the process starts without Effect, whose Schema would take most of the start
  const { $schema, ...schema } = JSON.parse(json, withoutOldKeywords) as AnySchemaObject
  const drafts = draftsOf($schema)
  const draft = drafts.find((one) => judges[one].validateSchema(schema) === true) ?? drafts[0]
  assertValid(draft, schema)
  const validate = instanceOf(draft, { meta: false, validateSchema: false }).compile(schema)
  // The result of an `$async` schema would be a promise, which is always true.
  if ("$async" in validate) throw new Unusable("`$async` is not supported")
  return validate
}

/** Validators by the JSON of their schemas, the last used one at the end. */
const compiled = new Map<string, ValidateFunction>()

const hasRoomFor = (json: string): boolean => {
  const characters = [...compiled.keys()].reduce((sum, { length }) => sum + length, json.length)
  return compiled.size < compiledMax && characters <= compiledCharactersMax
}

const validatorOf = (json: string): ValidateFunction => {
  const validate = compiled.get(json) ?? generatingCode(() => compile(json))
  compiled.delete(json)
  for (const oldest of compiled.keys()) {
    if (hasRoomFor(json)) break
    compiled.delete(oldest)
  }
  compiled.set(json, validate)
  return validate
}

/** The reason why the schema, given as JSON, is invalid; null if it is valid. */
export const problemOf = (schema: string): string | null => {
  try {
    validatorOf(schema)
    return null
  } catch (error) {
    if (error instanceof RangeError) return "it is nested too deeply"
    return error instanceof Error ? shortened(error.message) : "it can't be compiled"
  }
}

/** Describes the mismatches of the text; null if there are none. Quotes no value and no name of the text. */
export const checkText = (schema: string, text: string): string | null => {
  let value: unknown
  try {
    // oxlint-disable-next-line no-restricted-properties -- as above
    value = JSON.parse(text)
  } catch {
    return "It is not valid JSON."
  }
  try {
    const validate = validatorOf(schema)
    return validate(value) ? null : sentences(validate.errors ?? [], schema)
  } catch {
    return "It is nested too deeply to be checked."
  }
}
