import { Schema } from "effect"

/** The error that OpenAI-style clients read. `param` is the path of the field at fault, or "". */
export const ErrorBody = Schema.Struct({
  message: Schema.String,
  type: Schema.String,
  code: Schema.String,
  param: Schema.String
}).annotate({ identifier: "ErrorBody" })
export type ErrorBody = typeof ErrorBody.Type

/** Every error response, whatever its status. Source: specification, Errors; wire contract, section 6. */
const envelope = { detail: Schema.String, error: ErrorBody }

// One class for each status, because an HttpApi tells error responses apart by their schema's status.

export class BadRequest extends Schema.Error<BadRequest>("BadRequest")(envelope, {
  httpApiStatus: 400,
  description: "The input message is missing, or something else in the request is not what it must be."
}) {}

export class Unauthorized extends Schema.Error<Unauthorized>("Unauthorized")(envelope, {
  httpApiStatus: 401,
  description: "The API key is missing, malformed, unknown, expired or revoked."
}) {}

export class Forbidden extends Schema.Error<Forbidden>("Forbidden")(envelope, {
  httpApiStatus: 403,
  description: "Licence or organization policy denies the request."
}) {}

export class NotFound extends Schema.Error<NotFound>("NotFound")(envelope, {
  httpApiStatus: 404,
  description: "What the request names doesn't exist, or isn't the caller's."
}) {}

export class MethodNotAllowed extends Schema.Error<MethodNotAllowed>("MethodNotAllowed")(envelope, {
  httpApiStatus: 405,
  description: "The path exists, but not with this method; `Allow` lists the ones that do."
}) {}

export class RequestTimeout extends Schema.Error<RequestTimeout>("RequestTimeout")(envelope, {
  httpApiStatus: 408,
  description: "The body took too long to arrive."
}) {}

export class Conflict extends Schema.Error<Conflict>("Conflict")(envelope, {
  httpApiStatus: 409,
  description: "What exists already doesn't permit it, such as something of the same name."
}) {}

export class PreconditionFailed extends Schema.Error<PreconditionFailed>("PreconditionFailed")(envelope, {
  httpApiStatus: 412,
  description: "The file isn't the one that `If-Match` or `If-Unmodified-Since` names."
}) {}

export class PayloadTooLarge extends Schema.Error<PayloadTooLarge>("PayloadTooLarge")(envelope, {
  httpApiStatus: 413,
  description: "The body is larger than the service takes."
}) {}

export class RangeNotSatisfiable extends Schema.Error<RangeNotSatisfiable>("RangeNotSatisfiable")(envelope, {
  httpApiStatus: 416,
  description: "The range lies beyond the end of the file; `Content-Range` says where that is."
}) {}

export class UnsupportedMediaType extends Schema.Error<UnsupportedMediaType>("UnsupportedMediaType")(
  envelope,
  {
    httpApiStatus: 415,
    description: "The content type or content encoding of the body is not supported."
  }
) {}

export class UnprocessableContent extends Schema.Error<UnprocessableContent>("UnprocessableContent")(
  envelope,
  {
    httpApiStatus: 422,
    description: "The `Idempotency-Key` was used for another request."
  }
) {}

export class TooManyRequests extends Schema.Error<TooManyRequests>("TooManyRequests")(envelope, {
  httpApiStatus: 429,
  description:
    "The daily or monthly token usage limit is exceeded; `Retry-After` says when it resets. What is left of it may also " +
    "be held by requests that are still running; then the wait is short. So it is where the user has as many requests, bytes " +
    "of bodies or uploads under way, or has sent as many requests, as one user may."
}) {}

export class InternalError extends Schema.Error<InternalError>("InternalError")(envelope, {
  httpApiStatus: 500,
  description: "An internal error during response generation."
}) {}

export class Unavailable extends Schema.Error<Unavailable>("Unavailable")(envelope, {
  httpApiStatus: 503,
  description: "The service can't work at this moment; try again."
}) {}

/** The errors of every endpoint. */
export const commonErrors = [
  BadRequest,
  Unauthorized,
  Forbidden,
  NotFound,
  MethodNotAllowed,
  RequestTimeout,
  PayloadTooLarge,
  UnsupportedMediaType,
  TooManyRequests,
  InternalError,
  Unavailable
] as const
