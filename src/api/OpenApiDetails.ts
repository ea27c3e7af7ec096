import { Predicate } from "effect"

/** What a generated description of an operation leaves out, put into it afterwards. */

type Description = Readonly<Record<string, unknown>>

const membersOf = (value: unknown): Description => (Predicate.isObject(value) ? { ...value } : {})

/** Says of query parameters what they are, beyond the text that they are sent as. */
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

/** Adds to what is said of responses, and adds those that are no error and not the usual success. */
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
