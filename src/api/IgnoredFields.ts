import { CreateResponse } from "./CreateResponse.ts"
import { nearMiss } from "./NearMiss.ts"

/** Fields that the headers name; the others are only counted. */
const namedMax = 16
/** A name that may stand in a header and in a message; another one is told as `?`. */
const printable = /^[A-Za-z0-9_.-]{1,64}$/

const documented: ReadonlyArray<string> = Object.keys(CreateResponse.fields)

/** Names of other interfaces for what this one has too. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ["max_tokens", "max_output_tokens"],
  ["max_completion_tokens", "max_output_tokens"],
  ["system", "instructions"],
  ["system_prompt", "instructions"],
  ["thread_id", "conversation_id"],
  ["session_id", "conversation_id"]
])

/** Names of other interfaces for `input`; they only mean it where it is missing. */
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

/** The documented field that an undocumented one stands for, by all appearance. */
const meantBy = (name: string): string | null => otherNames.get(name) ?? nearMiss(name, documented)

const list = (entries: ReadonlyArray<string>): string =>
  [
    ...entries.slice(0, namedMax),
    ...(entries.length > namedMax ? [`+${entries.length - namedMax} more`] : [])
  ].join(", ")

/**
 * What a successful answer says of fields that it ignores: `x-ignored-fields` names them, and `x-field-hints` those that
 * look like a documented field, such as `conversaton_id=conversation_id`. No header without a reason.
 */
export const ignoredFieldHeaders = (body: object): Readonly<Record<string, string>> => {
  const ignored = Object.keys(body).filter((name) => !documented.includes(name))
  if (ignored.length === 0) return {}
  const hints = ignored.slice(0, namedMax).flatMap((name) => {
    const meant = printable.test(name) ? meantBy(name) : null
    return meant === null || meant in body ? [] : [`${name}=${meant}`]
  })
  return {
    "x-ignored-fields": list(ignored.map(shown)),
    ...(hints.length === 0 ? {} : { "x-field-hints": list(hints) })
  }
}

/** Under which other name a body without `input` has it; null for none. */
export const inputUnderOtherName = (body: object): string | null =>
  Object.keys(body).find((name) => inputNames.has(name) || nearMiss(name, ["input"]) !== null) ?? null
