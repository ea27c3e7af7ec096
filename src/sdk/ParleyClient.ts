import { type Effect, Redacted } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { ResponseObject as ResponseSchema } from "../api/ResponseObject.ts"

/**
 * The module that other programs import as `parley/api`: the contract of the service, its types, and a client
 * that is derived from it.
 */

export { Api, apiVersion } from "../api/Api.ts"
export { CreateResponseBody } from "../api/CreateResponse.ts"
export * as Errors from "../api/ErrorEnvelope.ts"
export { FileObject } from "../api/FileObject.ts"
export { ResponseEvent } from "../api/ResponseEvent.ts"

/** A response as `/v1` shows it. */
export const ResponseObject = ResponseSchema
export type ResponseObject = typeof ResponseObject.Type

/** The address of the service, and the key of the user on whose behalf requests are sent. */
export interface ParleyOptions {
  /** Without `/v1`, such as `http://127.0.0.1:3000`. */
  readonly url: string
  readonly apiKey: Redacted.Redacted | string
}

/**
 * A client of the service, typed by its contract. Any `HttpClient` will do, such as the one of
 * `FetchHttpClient.layer`.
 */
export const parleyClient = ({
  apiKey,
  url
}: ParleyOptions): Effect.Effect<HttpApiClient.ForApi<typeof Api>, never, HttpClient.HttpClient> =>
  HttpApiClient.make(Api, {
    baseUrl: url,
    transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(apiKey))
  })
