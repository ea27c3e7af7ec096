import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { ignoredNames } from "../api/IgnoredFields.ts"
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
