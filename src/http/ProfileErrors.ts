import { Option, Schema } from "effect"
import { HttpBody, HttpServerResponse } from "effect/http"
import { messagesError, statusOf } from "../api/anthropic/MessagesError.ts"
import { ErrorBody } from "../api/ErrorEnvelope.ts"

/** An envelope that names no field. */
const Fieldless = Schema.fromJsonString(
  Schema.Struct({
    detail: Schema.String,
    error: Schema.Struct({ ...ErrorBody.fields, param: Schema.Literal("") })
  })
)
const decode = Schema.decodeUnknownOption(Fieldless)

/** True for a path of the second profile. */
export const isOfProfile = (path: string): boolean => /^\/openai\/v1([/?]|$)/.test(path)
const utf8 = new TextDecoder()

/** An envelope of any error. */
const decodeAny = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ error: ErrorBody })))

export const isOfMessages = (path: string): boolean => /^\/anthropic([/?]|$)/i.test(path)

/**
 * The same response, with null for the field of an error that has none: `/v1` says "", and OpenAI's interface
 * null.
 */
const withNullParam = (
  path: string,
  response: HttpServerResponse.HttpServerResponse
): HttpServerResponse.HttpServerResponse => {
  const { body, status } = response
  if (status < 400 || body._tag !== "Uint8Array" || !isOfProfile(path)) return response
  return Option.match(decode(utf8.decode(body.body)), {
    onNone: () => response,
    onSome: ({ detail, error }) =>
      HttpServerResponse.setBody(response, HttpBody.jsonUnsafe({ detail, error: { ...error, param: null } }))
  })
}

/**
 * The same response as clients of Anthropic read it: with the envelope of their errors, and the header that
 * names a request.
 */
const asMessages = (requestId: string, response: HttpServerResponse.HttpServerResponse) => {
  const { body, status } = response
  const named = HttpServerResponse.setHeader(response, "request-id", requestId)
  if (status < 400 || body._tag !== "Uint8Array") return named
  return Option.match(decodeAny(utf8.decode(body.body)), {
    onNone: () => named,
    onSome: ({ error }) => {
      const failure = { status, body: error }
      const shown = { ...messagesError(failure), request_id: requestId }
      return HttpServerResponse.setBody(
        HttpServerResponse.setStatus(named, statusOf(failure)),
        HttpBody.jsonUnsafe(shown)
      )
    }
  })
}

/** The response in the words of the interface that a path belongs to. */
export const inWordsOf = (
  path: string,
  requestId: string,
  response: HttpServerResponse.HttpServerResponse
): HttpServerResponse.HttpServerResponse =>
  isOfMessages(path) ? asMessages(requestId, response) : withNullParam(path, response)
