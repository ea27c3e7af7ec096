import type { IncomingMessage } from "node:http"
import { Predicate, Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import type { Failure } from "../api/Failure.ts"
import { ignoredNames } from "../api/IgnoredFields.ts"
import * as Refusal from "../api/Refusal.ts"
import { isOfProfile } from "./ProfileErrors.ts"

const namesOf = ({ query }: HttpApiEndpoint.Top): ReadonlyArray<string> =>
  query?.ast._tag === "Objects" ? query.ast.propertySignatures.map(({ name }) => String(name)) : []

/** Names the fields of a query that an endpoint of `/openai/v1` doesn't have, in a header of its response. */
export const namingIgnoredQuery = <E, R>(
  httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  endpoint: HttpApiEndpoint.Top
) =>
  Effect.gen(function* () {
    const response = yield* httpEffect
    const { url } = yield* HttpServerRequest.HttpServerRequest
    const from = url.indexOf("?")
    if (from < 0 || !isOfProfile(endpoint.path) || response.headers["x-ignored-fields"] !== undefined)
      return response
    // Clients write lists as `include[]`.
    const given = Object.fromEntries(
      [...new URLSearchParams(url.slice(from))].map(([name, value]) => [name.replace(/\[\d*\]$/, ""), value])
    )
    return HttpServerResponse.setHeaders(response, ignoredNames(given, namesOf(endpoint)))
  })

/** A host with or without a port. Source: RFC 9112, section 3.2; RFC 3986, section 3.2.2. */
const hostPattern = /^(?:\[[0-9a-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[0-9a-f]{2})+)(?::\d{0,5})?$/i

/**
 * Node takes the first of several. Another server on the way could take the last one, and would see another
 * request. Two `Authorization` headers are no valid key, which is 401.
 */
const singleHeaders = new Map([
  ["host", "Host"],
  ["content-type", "Content-Type"]
])

const isNodeRequest = (source: object): source is IncomingMessage =>
  Predicate.hasProperty(source, "rawHeaders")

/** The name of a header that stands more than once in the request, but may stand there once only. */
const repeatedHeader = ({ rawHeaders }: IncomingMessage): string | null => {
  let seen = ""
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = singleHeaders.get((rawHeaders[index] ?? "").toLowerCase())
    if (name === undefined) continue
    if (seen.includes(`${name} `)) return name
    seen += `${name} `
  }
  return null
}

/** Refuses headers that servers on the way could read in different ways, or returns null. */
export const headersFailure = (request: HttpServerRequest.HttpServerRequest): Failure | null => {
  const { source } = request
  if (!isNodeRequest(source)) return null
  const repeated = repeatedHeader(source)
  if (repeated !== null) return Refusal.headerRepeated(repeated)
  // The header itself: an absolute request target takes its place in the headers of the request.
  const { host, "transfer-encoding": coding } = source.headers
  if (host === undefined ? source.httpVersion === "1.1" : !hostPattern.test(host)) {
    return host === undefined ? Refusal.hostMissing : Refusal.hostInvalid
  }
  return coding === undefined || coding.toLowerCase() === "chunked" ? null : Refusal.transferCoding
}
