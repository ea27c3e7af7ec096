import { nearMiss } from "../runtime/nearMiss.ts"
import { CreateResponse } from "./CreateResponse.ts"

/** Fields that the headers name; the others are only counted. */
const namedMax = 16
/** Names that may appear in a header and in a message; others are shown as `?`. */
const printable = /^[A-Za-z0-9_.-]{1,64}$/

const documented: ReadonlyArray<string> = Object.keys(CreateResponse.fields)

/** Names of other interfaces for documented fields. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ["max_tokens", "max_output_tokens"],
  ["max_completion_tokens", "max_output_tokens"],
  ["system", "instructions"],
  ["system_prompt", "instructions"],
  ["thread_id", "conversation_id"],
  ["session_id", "conversation_id"]
])

/** Names of other interfaces for `input`; they count only if it is missing. */
const inputNames: ReadonlySet<string> = new Set([
  "messages",
  "message",
  "prompt",
  "inputs",
  "text",
  "query",
  "content"
])

const shown = (name: string): string => (printable.test(name) ? name : "?")

const meantBy = (name: string): string | null => otherNames.get(name) ?? nearMiss(name, documented)

const list = (entries: ReadonlyArray<string>): string =>
  [
    ...entries.slice(0, namedMax),
    ...(entries.length > namedMax ? [`+${entries.length - namedMax} more`] : [])
  ].join(", ")

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Objects of other interfaces whose fields ask for one thing each. */
const grouped: ReadonlySet<string> = new Set(["text", "reasoning", "stream_options"])

/** True if a field of such an object asks for nothing: plain text is what every answer is. */
const isPlain = (value: unknown): boolean => value == null || (isRecord(value) && value["type"] === "text")

/** Names an ignored field, or those of its own fields that ask for something, such as `text.format`. */
const namesOf = (name: string, value: unknown): ReadonlyArray<string> => {
  const inner =
    grouped.has(name) && isRecord(value) ? Object.keys(value).filter((key) => !isPlain(value[key])) : []
  return inner.length === 0 ? [shown(name)] : inner.map((key) => `${name}.${shown(key)}`)
}

/**
 * The header that names the fields that an interface doesn't have, and `parts` of those that it has; absent
 * if it would be empty.
 */
export const ignoredNames = (
  body: object,
  known: ReadonlyArray<string>,
  parts: ReadonlyArray<string> = []
): Readonly<Record<string, string>> => {
  const ignored = Object.entries(body).filter(([name]) => !known.includes(name))
  const names = [...ignored.flatMap(([name, value]) => namesOf(name, value)), ...parts]
  return names.length === 0 ? {} : { "x-ignored-fields": list(names) }
}

/**
 * Headers of a successful response about undocumented fields: `x-ignored-fields` names them, and
 * `x-field-hints` those that look like a documented field, such as `conversaton_id=conversation_id`. Each is
 * absent if it would be empty.
 */
export const ignoredFieldHeaders = (body: object): Readonly<Record<string, string>> => {
  const ignored = Object.keys(body).filter((name) => !documented.includes(name))
  if (ignored.length === 0) return {}
  const hints = ignored.slice(0, namedMax).flatMap((name) => {
    const meant = printable.test(name) ? meantBy(name) : null
    return meant === null || meant in body ? [] : [`${name}=${meant}`]
  })
  return {
    ...ignoredNames(body, documented),
    ...(hints.length === 0 ? {} : { "x-field-hints": list(hints) })
  }
}

/** The field that a body without `input` most likely has in its place; null for none. */
export const inputUnderOtherName = (body: object): string | null =>
  Object.keys(body).find((name) => inputNames.has(name) || nearMiss(name, ["input"]) !== null) ?? null
