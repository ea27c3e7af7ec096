import { Predicate } from "effect"
import { OpenApi } from "effect/http-api"
import { Api } from "./Api.ts"

/**
 * The published description, derived from the HttpApi and then tidied: without the extensions for Effect's
 * own clients, with one name for each schema, and open to additional fields (spec: Versioning, rules 2 and
 * 3).
 */

type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

const isObject = (value: Json): value is { readonly [key: string]: Json } => Predicate.isObject(value)

const mapObject = (
  value: { readonly [key: string]: Json },
  f: (key: string, value: Json) => Json | undefined
): Json =>
  Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      const mapped = f(key, inner)
      return mapped === undefined ? [] : [[key, mapped]]
    })
  )

/** Removes duplicates from an `anyOf`, such as a second null. */
const distinct = (members: ReadonlyArray<Json>): ReadonlyArray<Json> => {
  const seen = new Set<string>()
  return members.filter((member) => {
    const text = JSON.stringify(member)
    return seen.has(text) ? false : seen.add(text)
  })
}

const eventName = /"data":\{"\$ref":"#\/components\/schemas\/(\w+)"/

/** Finds the schema of a stream's events, which the generated description wraps into that of a frame. */
const eventStream = (content: Json): Json => {
  const name = plainName(eventName.exec(JSON.stringify(content))?.[1] ?? "")
  return { schema: { $ref: `#/components/schemas/${name}` } }
}

/**
 * The generated description says so that an object may have other fields. It holds for every object, so it is
 * left out.
 */
const openToAll = '[{"type":"object","additionalProperties":{}}]'

const tidy = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(tidy)
  if (!isObject(value)) return value
  const isUuid = value["format"] === "uuid"
  return mapObject(value, (key, inner) => {
    if (key.startsWith("x-effect")) return undefined
    if (key === "additionalProperties" && inner === false) return undefined
    if (key === "allOf" && JSON.stringify(inner) === openToAll) return undefined
    if (key === "pattern" && isUuid) return undefined
    // A JSON number has this range anyway.
    if ((key === "minimum" || key === "maximum") && Math.abs(Number(inner)) === Number.MAX_SAFE_INTEGER)
      return undefined
    if (key === "text/event-stream") return eventStream(inner)
    const tidied = tidy(inner)
    return key === "anyOf" && Array.isArray(tidied) ? distinct(tidied) : tidied
  })
}

/** Removes the suffixes of encoded schemas, as in `BadRequestEncoded` and `ResponseObject_1`. */
const plainName = (name: string): string => name.replace(/_\d+$/, "").replace(/Encoded$/, "")

const prefix = "#/components/schemas/"

const renameReferences = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(renameReferences)
  if (!isObject(value)) return value
  return mapObject(value, (key, inner) =>
    key === "$ref" && typeof inner === "string" && inner.startsWith(prefix)
      ? prefix + plainName(inner.slice(prefix.length))
      : renameReferences(inner)
  )
}

/**
 * Each schema once, by its plain name. Of the event union, which is there as text and as an object, the
 * object is kept.
 */
const nameOnce = (schemas: Json): Json => {
  if (!isObject(schemas)) return schemas
  const named = new Map<string, Json>()
  for (const [name, schema] of Object.entries(schemas)) {
    if (isObject(schema) && schema["contentSchema"] !== undefined) continue
    const plain = plainName(name)
    if (!named.has(plain) || name === plain) named.set(plain, schema)
  }
  return Object.fromEntries([...named].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

const headers = {
  "x-request-id": {
    description:
      "Names the request in the service's log: the client's own where it sent one, or else a new one.",
    schema: { type: "string" }
  },
  "x-conversation-id": {
    description: "The conversation of the response.",
    schema: { type: "string", format: "uuid" }
  },
  "x-ignored-fields": {
    description:
      "The fields of the request that the service doesn't have and ignored, separated by commas; of many the first ones, and " +
      "`+N more`. Absent where there are none.",
    schema: { type: "string" }
  },
  "x-field-hints": {
    description:
      "Of the ignored fields those that look like a misspelt one, such as `conversaton_id=conversation_id`.",
    schema: { type: "string" }
  },
  "retry-after": {
    description: "The seconds after which to try again.",
    schema: { type: "integer", minimum: 0 }
  },
  "x-should-retry": {
    description: "`false`: client libraries that know this header don't repeat the request by themselves.",
    schema: { type: "string", const: "false" }
  },
  "x-token-limit-window": {
    description: "The limit of which nothing is left: that of the day or that of the month, both in UTC.",
    schema: { type: "string", enum: ["daily", "monthly"] }
  },
  "x-token-limit-used": {
    description: "The tokens that were spent in that window.",
    schema: { type: "integer", minimum: 0 }
  },
  "x-token-limit-held": {
    description: "The tokens, beyond those, that requests which are still running hold.",
    schema: { type: "integer", minimum: 0 }
  },
  "x-token-limit": {
    description: "The tokens that may be spent in that window.",
    schema: { type: "integer", minimum: 0 }
  },
  "www-authenticate": {
    description: "`Bearer`, with the reason where a key was sent.",
    schema: { type: "string" }
  },
  etag: {
    description: "Names the bytes, for `If-Match`, `If-None-Match` and `If-Range`.",
    schema: { type: "string" }
  },
  "last-modified": { description: "When the file was uploaded.", schema: { type: "string" } },
  "accept-ranges": {
    description: "`bytes`: `Range` gets a part.",
    schema: { type: "string", const: "bytes" }
  },
  "content-range": { description: "The part, and the bytes of the whole file.", schema: { type: "string" } },
  "content-disposition": {
    description: "`attachment`, with the name of the file.",
    schema: { type: "string" }
  },
  "content-length": { description: "The bytes of the body.", schema: { type: "integer", minimum: 0 } }
} as const

const limitHeaders = [
  "x-should-retry",
  "x-token-limit-window",
  "x-token-limit-used",
  "x-token-limit-held",
  "x-token-limit"
] as const

const downloadHeaders = [
  "x-request-id",
  "etag",
  "last-modified",
  "accept-ranges",
  "content-disposition",
  "content-length"
] as const

/** The headers that only downloads have. */
const downloadHeadersOf = (status: string): ReadonlyArray<keyof typeof headers> | null => {
  switch (status) {
    case "200":
      return downloadHeaders
    case "206":
      return [...downloadHeaders, "content-range"]
    case "304":
      return ["x-request-id", "etag", "last-modified", "accept-ranges"]
    case "416":
      return ["x-request-id", "accept-ranges", "content-range"]
    default:
      return null
  }
}

/**
 * Operations that answer 404 though their path names nothing: their body may name a conversation, a response
 * or a model.
 */
const namingInBody: ReadonlySet<Json | undefined> = new Set([
  "responses.create",
  "responses.countInput",
  "compact.create",
  "chat.create",
  "completions.create",
  "embeddings.create",
  "messages.create",
  "messages.countTokens"
])

/**
 * Which operations have a status that the interface declares for all of them. The statuses without an entry
 * stay.
 */
const isStatusOf: Readonly<Record<string, (operation: { readonly [key: string]: Json }) => boolean>> = {
  // A WebSocket is refused where the request doesn't ask for one.
  400: ({ operationId, parameters, requestBody }) =>
    requestBody !== undefined ||
    (Array.isArray(parameters) && parameters.length > 0) ||
    operationId === "webSocket.connect",
  404: ({ operationId, parameters }) =>
    namingInBody.has(operationId) ||
    (Array.isArray(parameters) && parameters.some((one: Json) => isObject(one) && one["in"] === "path")),
  // It is the answer to another method than that of an operation.
  405: () => false,
  408: ({ requestBody }) => requestBody !== undefined,
  413: ({ requestBody }) => requestBody !== undefined,
  415: ({ requestBody }) => requestBody !== undefined
}

const headersOf = (operationId: Json | undefined, status: string): ReadonlyArray<keyof typeof headers> => {
  switch (status) {
    case "200":
      return operationId === "responses.create"
        ? ["x-request-id", "x-conversation-id", "x-ignored-fields", "x-field-hints"]
        : ["x-request-id"]
    case "401":
      return ["x-request-id", "www-authenticate"]
    case "429":
      return ["x-request-id", "retry-after", ...limitHeaders]
    case "503":
      return ["x-request-id", "retry-after"]
    default:
      return ["x-request-id"]
  }
}

const withHeaders = (operation: Json): Json => {
  if (!isObject(operation)) return operation
  const isDownload = operation["operationId"] === "files.content"
  return mapObject(operation, (key, responses) =>
    key === "responses" && isObject(responses)
      ? mapObject(responses, (status, response) => {
          if (isStatusOf[status]?.(operation) === false) return undefined
          if (!isObject(response)) return response
          const names =
            (isDownload ? downloadHeadersOf(status) : null) ?? headersOf(operation["operationId"], status)
          const references = names.map((name) => [name, { $ref: `#/components/headers/${name}` }])
          return { ...response, headers: Object.fromEntries(references) }
        })
      : responses
  )
}

const publish = (document: Json): Json => {
  const renamed = renameReferences(tidy(document))
  if (!isObject(renamed)) return renamed
  return mapObject(renamed, (key, inner) => {
    if (!isObject(inner)) return inner
    if (key === "paths") {
      return mapObject(inner, (_, path) =>
        isObject(path) ? mapObject(path, (_method, operation) => withHeaders(operation)) : path
      )
    }
    if (key !== "components") return inner
    const tidied = mapObject(inner, (name, section) => (name === "schemas" ? nameOnce(section) : section))
    return isObject(tidied) ? { ...tidied, headers } : tidied
  })
}

/** The OpenAPI 3.1 document of an interface. */
export const openApiDocumentOf = (described: ReturnType<typeof OpenApi.fromApi>): OpenApiDocument => {
  // Serializing drops the undefined members of Effect's model.
  // oxlint-disable-next-line no-restricted-properties -- it reads its own output
  const document = publish(JSON.parse(JSON.stringify(described)))
  return isObject(document) ? document : {}
}

interface OpenApiDocument {
  readonly [key: string]: Json
}

const reference = /"#\/components\/schemas\/([^"]+)"/g

/** The document with the schemas that its paths name, and those that these name in turn. */
export const withoutUnused = (document: OpenApiDocument): OpenApiDocument => {
  const { components = null, paths = null } = document
  if (!isObject(components) || !isObject(components["schemas"] ?? null)) return document
  const schemas = new Map(Object.entries(components["schemas"] ?? {}))
  const used = new Set<string>()
  const visit = (value: Json): void => {
    for (const [, name = ""] of JSON.stringify(value).matchAll(reference)) {
      if (used.has(name)) continue
      used.add(name)
      visit(schemas.get(name) ?? null)
    }
  }
  visit(paths)
  const kept = Object.fromEntries([...schemas].filter(([name]) => used.has(name)))
  return { ...document, components: { ...components, schemas: kept } }
}

/** That of `/v1`. */
export const makeOpenApiDocument = (): OpenApiDocument => openApiDocumentOf(OpenApi.fromApi(Api))
