import { Effect, Predicate } from "effect"
import type { HttpServerRequest } from "effect/http"
import { ignoredNames } from "../api/IgnoredFields.ts"
import { isUnservedItem } from "../api/openai/CallItems.ts"
import { includes } from "../api/openai/CreateBody.ts"
import { isUnserved } from "../api/openai/Tools.ts"

const servedTiers: ReadonlySet<string> = new Set(["auto", "default"])
const included: ReadonlySet<string> = new Set(includes)

/** The paths of hints that are taken, and that nothing is made of. */
export const ignoredHints = ({
  include,
  service_tier: tier
}: {
  readonly service_tier?: string | null | undefined
  readonly include?: ReadonlyArray<string> | null | undefined
}): ReadonlyArray<string> => [
  ...(tier == null || servedTiers.has(tier) ? [] : ["service_tier"]),
  ...(include ?? []).flatMap((name, index) => (included.has(name) ? [] : [`include[${index}]`]))
]

/** Fields whose content is the client's own. */
const opaque: ReadonlySet<string> = new Set(["metadata", "parameters", "schema"])
/** Lists of what clients replay from answers, with all that those had. */
const replayed: ReadonlySet<string> = new Set(["input", "messages", "items"])
/**
 * Fields that items, messages and parts of answers have, here or at another service, beyond what a request
 * needs.
 */
const answered: ReadonlySet<string> = new Set(
  (
    "id type status role content name phase annotations logprobs summary encrypted_content action queries results server_label approval_request_id " +
    "call_id output error detail filename index audio refusal function_call reasoning reasoning_content caller"
  ).split(" ")
)
const key = /^[A-Za-z0-9_-]{1,64}$/

const shown = (name: string): string => (key.test(name) ? name : "?")

/**
 * The paths of the fields in `given` that `read` lacks, such as `text.foo` and `tools[0].bar`; without those
 * of the body itself, and those that are null. `read` is what a schema made of `given`, and bounds the depth.
 */
export const ignoredParts = (
  given: unknown,
  read: unknown,
  path = "",
  isReplayed = false
): ReadonlyArray<string> => {
  if (Array.isArray(given)) {
    return Array.isArray(read)
      ? given.flatMap((one, index) => ignoredParts(one, read[index], `${path}[${index}]`, isReplayed))
      : []
  }
  if (!Predicate.isObject(given) || !Predicate.isObject(read)) return []
  if (isUnserved(read) || isUnservedItem(read)) return []
  return Object.entries(given).flatMap(([name, value]) => {
    if (opaque.has(name)) return []
    if (isReplayed && answered.has(name) && !Object.hasOwn(read, name)) return []
    const here = path === "" ? shown(name) : `${path}.${shown(name)}`
    const below = isReplayed || (path === "" && replayed.has(name))
    if (Object.hasOwn(read, name)) return ignoredParts(value, Reflect.get(read, name), here, below)
    return path === "" || value === null ? [] : [here]
  })
}

/** The same of one field of a body; each entry of a list is an operation of its own. */
const ignoredPartsOf = (name: string, given: unknown, read: unknown) => {
  const isReplayed = replayed.has(name)
  return Array.isArray(given) && Array.isArray(read)
    ? Effect.map(
        Effect.forEach(given, (one, index) =>
          Effect.sync(() => ignoredParts(one, read[index], `${name}[${index}]`, isReplayed))
        ),
        (parts) => parts.flat()
      )
    : Effect.sync(() => ignoredParts(given, read, name, isReplayed))
}

/**
 * The header that names what a body has and nothing is made of; absent if it would be empty. Unknown fields
 * are named, and not read. `unused` are known parts that nothing is made of either.
 */
export const ignoredHeader = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  body: object,
  known: ReadonlyArray<string>,
  unused: ReadonlyArray<string> = []
) {
  // The body was read once; its text is kept.
  const given = yield* Effect.orDie(request.json)
  const parts = yield* Effect.forEach(
    // In the order of the client.
    Object.keys(Object(given)).filter((name) => !opaque.has(name) && known.includes(name)),
    (name) => ignoredPartsOf(name, Reflect.get(Object(given), name), Reflect.get(body, name))
  )
  return ignoredNames(body, known, [...parts.flat(), ...unused])
})
