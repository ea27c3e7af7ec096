import { Schema } from "effect"
import type { Failure } from "../Failure.ts"

/** An error as clients of Anthropic read it. */

const ErrorType = Schema.Literals([
  "invalid_request_error",
  "authentication_error",
  "permission_error",
  "not_found_error",
  "request_too_large",
  "rate_limit_error",
  "api_error",
  "overloaded_error"
])
type ErrorType = typeof ErrorType.Type

const ErrorDetails = Schema.Struct({ type: ErrorType, message: Schema.String })

const envelope = {
  type: Schema.Literal("error"),
  error: ErrorDetails,
  /** The id is that of the header `request-id`; events of a stream have none. */
  request_id: Schema.optionalKey(Schema.String)
}

export const MessagesError = Schema.Struct(envelope).annotate({
  identifier: "MessagesError",
  description: "Every error, whatever its status."
})
export type MessagesError = typeof MessagesError.Type

/** The status of a model that is overloaded; the other statuses are those of the service's own interface. */
const overloadedStatus = 529

export class Overloaded extends Schema.Error<Overloaded>("Overloaded")(envelope, {
  httpApiStatus: overloadedStatus,
  description: "The model is overloaded; try again later."
}) {}

const typesByStatus: ReadonlyMap<number, ErrorType> = new Map([
  [401, "authentication_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [503, "overloaded_error"],
  [overloadedStatus, "overloaded_error"]
])

/** The status by which clients know that another attempt later helps. */
export const statusOf = ({ body, status }: Pick<Failure, "body" | "status">): number =>
  body.code === "model_overloaded" ? overloadedStatus : status

export const messagesError = (failure: Pick<Failure, "body" | "status">): MessagesError => {
  const status = statusOf(failure)
  const type = typesByStatus.get(status) ?? (status < 500 ? "invalid_request_error" : "api_error")
  return { type: "error", error: { type, message: failure.body.message } }
}
