import type { IncomingMessage } from "node:http"
import { Predicate } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Failure } from "../api/Failure.ts"
import * as Refusal from "../api/Refusal.ts"

/** A host with or without a port. Source: RFC 9112, section 3.2; RFC 3986, section 3.2.2. */
const hostPattern = /^(?:\[[0-9a-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[0-9a-f]{2})+)(?::\d{0,5})?$/i

/**
 * Node takes the first of several. Another server on the way could take the last one, and would see another request. Two
 * `Authorization` headers are no valid key, which is 401.
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
