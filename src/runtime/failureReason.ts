import { Predicate } from "effect"

/** Errors that one error may have below it. */
const depthMax = 6

/**
 * Describes a failure: the messages of an error and of its causes, from the outside in. Codes of the system,
 * such as ECONNREFUSED, are named.
 */
export const failureReason = (error: unknown): string => {
  const parts: Array<string> = []
  let current: unknown = error
  for (let depth = 0; depth < depthMax && Predicate.isObject(current); depth++) {
    for (const part of partsOf(current)) {
      if (!parts.some((known) => known.includes(part))) parts.push(part)
    }
    current = nextOf(current)
  }
  if (Predicate.isString(current)) parts.push(current)
  return parts.length === 0 ? "no reason is known" : parts.join(": ")
}

const textOf = (value: object, field: string): ReadonlyArray<string> =>
  Predicate.hasProperty(value, field) && Predicate.isString(value[field]) && value[field] !== ""
    ? [value[field]]
    : []

const partsOf = (error: object): ReadonlyArray<string> => [
  ...textOf(error, "message"),
  ...textOf(error, "code")
]

/**
 * Causes of an SQL error may quote values, and are skipped. A name with several addresses has one error for
 * each.
 */
const nextOf = (error: object): unknown => {
  if (Predicate.isTagged(error, "SqlError")) return undefined
  if (Predicate.hasProperty(error, "cause") && error.cause !== undefined) return error.cause
  return Predicate.hasProperty(error, "errors") && Array.isArray(error.errors) ? error.errors[0] : undefined
}
