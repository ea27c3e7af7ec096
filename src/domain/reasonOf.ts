import { Predicate } from "effect"

/** Errors that one error may have below it. */
const depthMax = 6

/**
 * What went wrong, in words: the messages of an error and of what caused it, from the outside in. Codes of the system, such as
 * ECONNREFUSED, are named.
 */
export const reasonOf = (error: unknown): string => {
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

/** Errors of SQL keep theirs in `reason`; a name with several addresses has one error for each. */
const nextOf = (error: object): unknown => {
  if (Predicate.hasProperty(error, "cause") && error.cause !== undefined) return error.cause
  if (Predicate.hasProperty(error, "reason") && Predicate.isObject(error.reason)) return error.reason
  return Predicate.hasProperty(error, "errors") && Array.isArray(error.errors) ? error.errors[0] : undefined
}
