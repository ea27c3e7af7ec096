import { Predicate, Schema, SchemaTransformation } from "effect"

/** Adds what the generated description of an endpoint lacks. */

type Description = Readonly<Record<string, unknown>>

const membersOf = (value: unknown): Description => (Predicate.isObject(value) ? { ...value } : {})

/** Replaces the schemas of query parameters, which the generated description has as plain strings. */
export const describeQuery =
  (schemas: Readonly<Record<string, Description>>) =>
  (operation: Description): Description => {
    const parameters: ReadonlyArray<unknown> = Array.isArray(operation["parameters"])
      ? operation["parameters"]
      : []
    return {
      ...operation,
      parameters: parameters.map((parameter) => {
        const members = membersOf(parameter)
        const schema = schemas[String(members["name"])]
        return schema === undefined ? parameter : { ...members, schema }
      })
    }
  }

/** Extends the descriptions of responses, and adds those of further statuses. */
export const describeResponses =
  (responses: Readonly<Record<string, Description>>) =>
  (operation: Description): Description => {
    const known = membersOf(operation["responses"])
    const merged = Object.entries(responses).map(([status, response]) => [
      status,
      { ...membersOf(known[status]), ...response }
    ])
    return { ...operation, responses: { ...known, ...Object.fromEntries(merged) } }
  }

/** The words for an id from which a list can't go on. */
export const cursorWords =
  "the id of an entry that this list had; what it named may have been deleted: list again without it"

/**
 * The query parameter `after` of a list in the order of ids. Ids of version 7 hold the time of their
 * creation, and mark a place in the list even after a deletion, so that paging goes on; other ids were never
 * in such a list.
 */
export const cursor = <Id extends Schema.Codec<string, string>>(id: Id) =>
  Schema.optionalKey(
    id.pipe(Schema.check(Schema.makeFilter((given: string) => given[14] === "7", { expected: cursorWords })))
  )

/**
 * The query parameter `limit` of a list. It is checked as text, so that every problem gets the same message.
 */
export const pageLimit = (max: number) => {
  const words = `a whole number from 1 to ${max}`
  return Schema.String.annotate({ expected: words })
    .check(Schema.makeFilter((text) => /^[1-9]\d*$/.test(text) && Number(text) <= max, { expected: words }))
    .pipe(Schema.decodeTo(Schema.Int, SchemaTransformation.numberFromString))
}

/** The refusals that any request may meet before it reaches an operation. */
export const commonRefusals =
  "Any request may be refused before it reaches an operation, in the same envelope: with 400 when it is not valid HTTP, 405 when the " +
  "path has other methods, which `Allow` lists, 408 when it doesn't arrive in time, 417 for another expectation than `100-continue`, 431 when its headers are too long, and 503 while the " +
  "service starts or stops."

export const license = { name: "MIT", identifier: "MIT" }

/** The document is served by the service that it describes. */
export const servers = [{ url: "/", description: "This service." }]
