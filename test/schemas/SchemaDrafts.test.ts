import { assert, describe, it } from "@effect/vitest"
import { checkText, problemOf } from "../../src/schemas/Validation.ts"

/** The problem of the schema, or else the problem of each value. */
const outcome = (schema: object, ...values: ReadonlyArray<unknown>) => {
  const json = JSON.stringify(schema)
  return problemOf(json) ?? values.map((value) => checkText(json, JSON.stringify(value)))
}

const tuple = {
  type: "object",
  properties: { pair: { type: "array", items: [{ type: "string" }], additionalItems: false } }
}
const misfits = { pair: [1] }

describe("the drafts of schemas", () => {
  it.each([
    undefined,
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://example.test/mine"
  ])("a list in `items` is a tuple in %s", ($schema) => {
    assert.deepStrictEqual(outcome({ $schema, ...tuple }, { pair: ["a"] }, misfits), [
      null,
      "`/pair/0` must be string."
    ])
  })

  it("a schema that names 2020-12 has `prefixItems` for a tuple", () => {
    const prefixed = { $schema: "https://json-schema.org/draft/2020-12/schema", prefixItems: [{ const: 1 }] }
    assert.deepStrictEqual(outcome(prefixed, [1]), [null])
    assert.isNotNull(outcome(prefixed, [2])[0])
  })

  it("2019-09 has a list in `items` and what came with it", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2019-09/schema",
      ...tuple,
      dependentRequired: { pair: ["name"] }
    }
    assert.deepStrictEqual(outcome(schema, { pair: ["a"], name: "b" }), [null])
    assert.include(
      outcome(schema, { pair: ["a"] })[0],
      "must have property name when property pair is present"
    )
  })

  it("a schema that is wrong in all drafts is refused with what 2020-12 says of it", () => {
    assert.include(outcome({ ...tuple, type: "strin" }), "must be")
  })

  it("the `id` of draft-04 is no error", () => {
    const schema = {
      $schema: "http://json-schema.org/draft-04/schema#",
      id: "https://example.test/a",
      ...tuple
    }
    assert.deepStrictEqual(outcome(schema, { pair: ["a"] }), [null])
  })

  it("the bounds may be excluded by true and false, as in draft-04 and OpenAPI 3.0", () => {
    const excluded = { minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: true }
    assert.deepStrictEqual(outcome(excluded, 1, 0, 9), [
      null,
      "The whole must be > 0.",
      "The whole must be < 9."
    ])
    const included = { minimum: 0, exclusiveMinimum: false, maximum: 9, exclusiveMaximum: false }
    assert.deepStrictEqual(outcome(included, 0, 9, 10), [null, null, "The whole must be <= 9."])
  })

  it("`nullable` may be said of what has no type, as in OpenAPI 3.0", () => {
    const anyOf = [{ type: "string" }, { type: "number" }]
    const nullable = { properties: { a: { anyOf, nullable: true }, b: { anyOf, nullable: false } } }
    assert.deepStrictEqual(outcome(nullable, { a: null, b: 1 }), [null])
    assert.isNotNull(outcome(nullable, { b: null })[0])
    const typed = { properties: { a: { type: "string", nullable: true } } }
    assert.deepStrictEqual(outcome(typed, { a: null }), [null])
  })

  it("properties may have the names of old keywords", () => {
    const properties = { nullable: false, minimum: { type: "number" }, exclusiveMinimum: true }
    assert.deepStrictEqual(outcome({ properties }, { minimum: 1, exclusiveMinimum: "x" }), [null])
    assert.isNotNull(outcome({ properties }, { nullable: 1 })[0])
  })
})
