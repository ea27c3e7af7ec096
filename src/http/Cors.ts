import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { pathOf } from "./Routes.ts"

/**
 * Which web pages of other origins may use the interfaces that a key opens. Cookies never count there, so
 * credentials are never allowed. `/console` and `/admin` are for no page of another origin. Source: Fetch,
 * CORS protocol.
 */

const sharedPath = /^\/((openai|anthropic)\/)?v1(\/|$)/i

const methods = "GET, HEAD, POST, PATCH, DELETE"

/** Request headers that client libraries send, beyond those that need no permission. */
const requestHeaders: ReadonlySet<string> = new Set([
  "accept",
  "authorization",
  "content-type",
  "idempotency-key",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "range",
  "user-agent",
  "x-api-key",
  "x-client-request-id",
  "x-request-id"
])
const requestHeaderPrefixes = ["openai-", "anthropic-", "x-stainless-"]
/** Most headers of one preflight; others are not permitted. */
const requestHeadersMax = 64

const exposedHeaders = [
  "request-id",
  "x-request-id",
  "x-conversation-id",
  "x-response-id",
  "x-ignored-fields",
  "x-field-hints",
  "openai-poll-after-ms",
  "retry-after",
  "x-should-retry",
  "x-token-limit-window",
  "x-token-limit-used",
  "x-token-limit-held",
  "x-token-limit",
  "www-authenticate",
  "allow",
  "content-disposition",
  "content-range",
  "accept-ranges",
  "etag",
  "last-modified"
].join(", ")

/** The time for which a browser may remember a preflight. Chromium remembers none for longer. */
const preflightSeconds = 7_200

const permittedHeaders = (asked: string): string =>
  asked
    .toLowerCase()
    .split(",", requestHeadersMax)
    .map((name) => name.trim())
    .filter(
      (name) =>
        requestHeaders.has(name) ||
        (/^[a-z0-9-]{1,100}$/.test(name) && requestHeaderPrefixes.some((prefix) => name.startsWith(prefix)))
    )
    .join(", ")

interface Cors {
  /** The answer to a preflight of a permitted page, which needs no key; null for every other request. */
  readonly preflight: (
    request: HttpServerRequest.HttpServerRequest
  ) => HttpServerResponse.HttpServerResponse | null
  /** The response, and who may read it. */
  readonly shared: (
    request: HttpServerRequest.HttpServerRequest,
    response: HttpServerResponse.HttpServerResponse
  ) => HttpServerResponse.HttpServerResponse
}

const closed: Cors = { preflight: () => null, shared: (_request, response) => response }

/** Without origins, nothing is added to any response. */
export const makeCors = (origins: ReadonlyArray<string>): Cors => {
  if (origins.length === 0) return closed
  const permitted = new Set(origins)

  /** Undefined for a page, or a program, that isn't permitted. */
  const originOf = ({ headers }: HttpServerRequest.HttpServerRequest): string | undefined =>
    permitted.has(headers["origin"] ?? "") ? headers["origin"] : undefined

  return {
    preflight: (request) => {
      const { headers, method, url } = request
      if (method !== "OPTIONS" || headers["access-control-request-method"] === undefined) return null
      if (!sharedPath.test(pathOf(url)) || originOf(request) === undefined) return null
      const names = permittedHeaders(headers["access-control-request-headers"] ?? "")
      return HttpServerResponse.empty({
        status: 204,
        headers: {
          "access-control-allow-methods": methods,
          ...(names === "" ? {} : { "access-control-allow-headers": names }),
          "access-control-max-age": String(preflightSeconds)
        }
      })
    },
    shared: (request, response) => {
      if (!sharedPath.test(pathOf(request.url))) return response
      const { vary } = response.headers
      const origin = originOf(request)
      return HttpServerResponse.setHeaders(response, {
        vary: vary === undefined ? "Origin" : `${vary}, Origin`,
        ...(origin === undefined
          ? {}
          : {
              "access-control-allow-origin": origin,
              "access-control-expose-headers": exposedHeaders
            })
      })
    }
  }
}
