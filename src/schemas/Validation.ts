import { Ajv, type AnySchemaObject, type ErrorObject, type Options, type ValidateFunction } from "ajv"
import addFormats from "ajv-formats"
import { Ajv2019 } from "ajv/dist/2019.js"
import { Ajv2020 } from "ajv/dist/2020.js"
import { generatingCode } from "./GeneratedCode.ts"

type Fields = Readonly<Record<string, unknown>>

/** Their fields are names of the client's, and no keywords. */
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

/** In draft-04 and OpenAPI 3.0, `exclusiveMinimum` says whether `minimum` itself is excluded; later it is a bound of its own. */
const withBound = (schema: Fields, inclusive: string, exclusive: string): Fields => {
  const { [exclusive]: isExclusive, [inclusive]: bound, ...rest } = schema
  if (typeof bound !== "number" || typeof isExclusive !== "boolean") return schema
  return { ...rest, [isExclusive ? exclusive : inclusive]: bound }
}

/** `nullable` of OpenAPI 3.0 beside a `type` is known to ajv, which takes it for an error elsewhere. */
const withNull = (schema: Fields): Fields => {
  const { nullable, ...rest } = schema
  if (typeof nullable !== "boolean" || "type" in rest) return schema
  return nullable ? { anyOf: [rest, { type: "null" }] } : rest
}

/** For `JSON.parse`: turns what schemas of draft-04 and OpenAPI 3.0 say into what later drafts say. */
const withoutOldKeywords = (name: string, value: unknown): unknown => {
  if (!isFields(value) || maps.has(name)) return value
  const lower = withBound(value, "minimum", "exclusiveMinimum")
  return withNull(withBound(lower, "maximum", "exclusiveMaximum"))
}

/** Schemas that stay compiled, because clients send the same one with each request: so many, with so many characters of JSON together. */
const compiledMax = 64
/** Compiled, they take some thirty times as many bytes of memory. */
const compiledCharactersMax = 1_000_000

/** Of what doesn't match, so many are named. */
const mismatchesMax = 8
const wordsCharactersMax = 200

/** A pattern as JSON Schema reads it, by code points, or as JavaScript does without the flag `u`, which takes `\-` and `[\w-.]` too. */
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

// Each schema has an instance of its own, so that the names in one can't reach into another. Optimizing takes more time than it saves.
const options: Options = {
  strict: false,
  allErrors: true,
  inlineRefs: false,
  // What objects inherit is nothing that a text says.
  ownProperties: true,
  logger: false,
  code: { optimize: false, regExp: Object.assign(patternOf, { code: "new RegExp" }) }
}

type Draft = "2020-12" | "2019-09" | "draft-07"

/**
 * The drafts that a schema may be of, the likeliest first. Libraries that name none of them, or the latest, also make lists in `items`,
 * which 2020-12 doesn't have.
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
  // The `id` of draft-04 would be an error.
  return instance.removeKeyword("id").addFormat("regex", isPattern)
}

/** They validate schemas, which needs the schema of schemas, and compile none of a client's. */
const judges = {
  "2020-12": instanceOf("2020-12"),
  "2019-09": instanceOf("2019-09"),
  "draft-07": instanceOf("draft-07")
}

/** Where a value is, without names that the schema doesn't contain. */
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
  // Its result would be a promise, which is always true.
  if ("$async" in validate) throw new Unusable("`$async` is not supported")
  return validate
}

/** By their JSON, the one that was used last at the end. */
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

/** Why the schema, which is JSON, can't be used; null if it can. */
export const problemOf = (schema: string): string | null => {
  try {
    validatorOf(schema)
    return null
  } catch (error) {
    if (error instanceof RangeError) return "it is nested too deeply"
    return error instanceof Error ? shortened(error.message) : "it can't be compiled"
  }
}

/** What of the text doesn't match the schema; null if all does. Neither a value nor a name of the text is quoted. */
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
