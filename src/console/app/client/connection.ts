import { Duration, Effect } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { csrfHeader } from "../../SessionApi.ts"
import { type RequestFailed, requestFailed } from "./RequestFailed.ts"

/** No request but a stream takes longer. */
const answerSecondsMax = 60

/** The address of the service: the application may lie below a path of its host. */
export const serviceUrl = (): string => document.baseURI.replace(/\/+$/, "")

/**
 * Options of a derived client: its address, and the CSRF token of the session at the time of each request.
 */
export const clientOptions = (csrfToken: () => string | null) => ({
  baseUrl: serviceUrl(),
  transformClient: HttpClient.mapRequest((request) => {
    const token = csrfToken()
    return token === null ? request : HttpClientRequest.setHeader(request, csrfHeader, token)
  })
})

/** Derives a client, which sends its requests by the browser's fetch. */
export const connected = <Client>(client: Effect.Effect<Client, never, HttpClient.HttpClient>): Client =>
  Effect.runSync(Effect.provide(client, FetchHttpClient.layer))

/** Runs a stream's request for as long as it takes; the promise rejects with RequestFailed only. */
export const runWithoutLimit = async <A, E>(
  request: Effect.Effect<A, E>,
  signal?: AbortSignal
): Promise<A> => {
  const described = request.pipe(
    // Traces begin at the service.
    Effect.provideService(HttpClient.TracerPropagationEnabled, false),
    Effect.mapError((failure): RequestFailed => requestFailed(failure))
  )
  return Effect.runPromise(described, signal === undefined ? {} : { signal })
}

/** Runs a request; the promise rejects with RequestFailed only. */
export const run = <A, E>(request: Effect.Effect<A, E>, signal?: AbortSignal): Promise<A> =>
  runWithoutLimit(Effect.timeout(request, Duration.seconds(answerSecondsMax)), signal)
