import { Option, Schema } from "effect"
import { HttpBody, HttpServerResponse } from "effect/http"
import { ErrorBody } from "../api/ErrorEnvelope.ts"

/** An envelope that names no field. */
const Fieldless = Schema.fromJsonString(
  Schema.Struct({
    detail: Schema.String,
    error: Schema.Struct({ ...ErrorBody.fields, param: Schema.Literal("") })
  })
)
const decode = Schema.decodeUnknownOption(Fieldless)

export const isOfProfile = (path: string): boolean => /^\/openai\/v1([/?]|$)/.test(path)
const utf8 = new TextDecoder()

/** The same response, with null for the field of an error that has none: `/v1` says "", and OpenAI's interface null. */
export const withNullParam = (
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
