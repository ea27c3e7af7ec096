import { Predicate } from "effect"
import type { HttpServerRequest } from "effect/http"

/** Characters of an `Authorization` header; longer ones are refused unread. */
const lengthMax = 200

/** Node keeps the first of several `Authorization` headers; more than one is refused instead. */
const isRepeated = (request: HttpServerRequest.HttpServerRequest): boolean => {
  const source: unknown = request.source
  if (!Predicate.hasProperty(source, "headersDistinct")) return false
  const headers = source.headersDistinct
  return (
    Predicate.hasProperty(headers, "authorization") &&
    Array.isArray(headers.authorization) &&
    headers.authorization.length > 1
  )
}

/** What can be said of the header before its credential is looked at. */
export const authorizationHeader = (
  request: HttpServerRequest.HttpServerRequest
): "missing" | "unreadable" | "readable" => {
  const header = request.headers["authorization"]
  if (header === undefined) return "missing"
  return header.length > lengthMax || isRepeated(request) ? "unreadable" : "readable"
}

/** Other headers and places in which clients send keys; none of them is read. */
const otherHeaders = ["x-api-key", "api-key", "x-goog-api-key"]

export const hasKeyElsewhere = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  otherHeaders.some((name) => headers[name] !== undefined)

/** In which way the header is no `Bearer <key>`; null where it is one. */
export const bearerProblem = ({
  headers
}: HttpServerRequest.HttpServerRequest): "no_scheme" | "other_scheme" | "no_key" | null => {
  const [first = "", ...rest] = (headers["authorization"] ?? "").trim().split(/ +/)
  if (first.toLowerCase() === "bearer") return rest.length === 0 ? "no_key" : null
  if (first === "") return "no_key"
  return rest.length === 0 ? "no_scheme" : "other_scheme"
}
