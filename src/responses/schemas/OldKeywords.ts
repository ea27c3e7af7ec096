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
export const withoutOldKeywords = (name: string, value: unknown): unknown => {
  if (!isFields(value) || maps.has(name)) return value
  const lower = withBound(value, "minimum", "exclusiveMinimum")
  return withNull(withBound(lower, "maximum", "exclusiveMaximum"))
}
