import { Cause, Predicate, Schema } from "effect"
import { HttpClientError } from "effect/http"
import { fieldProblem } from "../../../api/FieldProblem.ts"

/** Why a request was not answered as it should be; the message is for the user. */
export class RequestFailed extends Error {
  /** The code of the envelope; "unreachable", "slow" and "unexpected" are the application's own. */
  readonly code: string
  /** The path of the field at fault, or "". */
  readonly field: string

  constructor(message: string, code: string, field: string) {
    super(message)
    this.name = "RequestFailed"
    this.code = code
    this.field = field
  }
}

const isText = (value: unknown): value is string => typeof value === "string"

/** Reads the envelope of api/ErrorEnvelope, and null from anything else. */
const fromEnvelope = (failure: unknown): RequestFailed | null => {
  if (!Predicate.hasProperty(failure, "error") || !Predicate.isObject(failure.error)) return null
  const { error } = failure
  if (!Predicate.hasProperty(error, "message") || !isText(error.message)) return null
  const code = Predicate.hasProperty(error, "code") && isText(error.code) ? error.code : "unexpected"
  const field = Predicate.hasProperty(error, "param") && isText(error.param) ? error.param : ""
  return new RequestFailed(error.message, code, field)
}

/** Refuses input that can't be sent as the service would: in the same words. */
const fromSchema = (failure: Schema.SchemaError): RequestFailed => {
  const { message, param } = fieldProblem(failure)
  return new RequestFailed(message, "invalid_request", param)
}

export const unreachable = (): RequestFailed =>
  new RequestFailed("The service can't be reached. Check the connection, then try again.", "unreachable", "")

const slow = () =>
  new RequestFailed("The service takes too long to answer. Try again in a moment.", "slow", "")

const unexpected = () =>
  new RequestFailed(
    "The service's answer could not be read. Reload the page; if that doesn't help, tell your administrator.",
    "unexpected",
    ""
  )

/** Whatever a request failed with, as what the user can be shown. */
export const requestFailed = (failure: unknown): RequestFailed => {
  if (failure instanceof RequestFailed) return failure
  const described = fromEnvelope(failure)
  if (described !== null) return described
  // The error is about a request: an answer that can't be decoded is an HttpClientError.
  if (Schema.isSchemaError(failure)) return fromSchema(failure)
  if (Cause.isTimeoutError(failure)) return slow()
  return HttpClientError.isHttpClientError(failure) && failure.reason._tag === "TransportError"
    ? unreachable()
    : unexpected()
}
