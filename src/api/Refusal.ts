import { type Failure, failure } from "./Failure.ts"

// What is refused before there is a request that a route could answer. Failure has the rest.

/** Bytes that are no request. */
export const malformedRequest: Failure = failure(
  400,
  "invalid_request_error",
  "malformed_request",
  "The request is not valid HTTP."
)

export const hostMissing: Failure = failure(
  400,
  "invalid_request_error",
  "malformed_request",
  "The request has no `Host` header."
)

export const headersTooLarge = (bytesMax: number): Failure =>
  failure(
    431,
    "invalid_request_error",
    "headers_too_large",
    `The headers are longer than ${bytesMax} bytes together.`
  )

export const chunkExtensionsTooLarge: Failure = failure(
  413,
  "invalid_request_error",
  "chunk_extensions_too_large",
  "The body's chunks carry extensions that are too long."
)

export const expectationFailed: Failure = failure(
  417,
  "invalid_request_error",
  "expectation_failed",
  "The only expectation that can be met is `100-continue`."
)
