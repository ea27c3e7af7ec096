import { DateTime } from "effect"
import type * as Errors from "../domain/Errors.ts"
import type { ErrorBody } from "./ErrorEnvelope.ts"

/** Everything that a request may fail with, short of a defect. */
export type Expected =
  | Errors.ApiKeyMissing
  | Errors.AuthorizationMalformed
  | Errors.ApiKeyRejected
  | Errors.UserDisabled
  | Errors.PlanForbids
  | Errors.LicenseForbids
  | Errors.PlanNotFound
  | Errors.InvalidRequest
  | Errors.FileNotFound
  | Errors.ItemNotFound
  | Errors.ConversationNotFound
  | Errors.ProjectNotFound
  | Errors.NotProjectMember
  | Errors.PromptTooLong
  | Errors.FileTooLarge
  | Errors.FileQuotaExceeded
  | Errors.TooManyUploads
  | Errors.UploadInvalid
  | Errors.UploadCut
  | Errors.FileNotReady
  | Errors.FileUnreadable
  | Errors.StorageFailed
  | Errors.UsageLimitExceeded
  | Errors.ConversationBusy
  | Errors.TurnLeaseLost
  | Errors.NoModelAvailable
  | Errors.ModelFailure
  | Errors.OrganizationExists
  | Errors.OrganizationNotFound
  | Errors.UserExists
  | Errors.UserNotFound
  | Errors.UserOfOtherOrganization
  | Errors.ProjectExists
  | Errors.ProjectMemberNotFound
  | Errors.ProjectOwnerMissing
  | Errors.ApiKeyNotFound
  | Errors.AdminKeyRejected
  | Errors.MetricsTokenRejected
  | Errors.UserLimitReached
  | Errors.ServerBusy
  | Errors.DatabaseUnavailable
  | Errors.ServerShuttingDown

/** How a failure looks from outside: the envelope's content, its status, and the headers that go with it. */
export interface Failure {
  readonly status: number
  readonly body: ErrorBody
  readonly headers: Readonly<Record<string, string>>
}

/** For this table, and for the few failures that come from below every route. */
export const failure = (
  status: number,
  type: string,
  code: string,
  message: string,
  options: { readonly param?: string; readonly headers?: Readonly<Record<string, string>> } = {}
): Failure => ({
  status,
  body: { message, type, code, param: options.param ?? "" },
  headers: options.headers ?? {}
})

const invalid = (code: string, message: string, param: string) =>
  failure(400, "invalid_request_error", code, message, { param })

const notFound = (code: string, message: string, param: string) =>
  failure(404, "not_found_error", code, message, { param })

const unauthorized = (code: string, message: string, challenge: string) =>
  failure(401, "authentication_error", code, message, { headers: { "www-authenticate": challenge } })

/** Source: RFC 6750, section 3.1. */
const invalidToken = 'Bearer error="invalid_token"'

const conflict = (code: string, message: string, param: string) =>
  failure(409, "invalid_request_error", code, message, { param })

/** Seconds after which a model that failed, or has too much to do, is worth asking again. */
const modelRetrySeconds = 1
const overloadedRetrySeconds = 5

const retryAfter = (seconds: number) => ({
  headers: { "retry-after": String(Math.max(1, Math.ceil(seconds))) }
})

const generationFailed = (message: string, seconds = modelRetrySeconds) =>
  failure(500, "server_error", "generation_failed", message, retryAfter(seconds))

/** It doesn't pass by itself, so that clients must not repeat the request. */
const modelMisconfigured = failure(
  500,
  "server_error",
  "model_misconfigured",
  "The model of this service is not set up correctly. Tell the operator of the service; asking again doesn't help.",
  { headers: { "x-should-retry": "false" } }
)

const modelRefused = (message: string) => invalid("invalid_request", message, "input")

/** Names that a message lists; an envelope has no room for more. */
const namesMax = 20

const someOf = (names: ReadonlyArray<string>): string =>
  names.slice(0, namesMax).join(", ") +
  (names.length > namesMax ? ` and ${names.length - namesMax} more` : "")

/** Such as `2026-11-23T00:00:00Z`. */
const utcTime = (time: DateTime.Utc): string => DateTime.formatIso(time).replace(".000Z", "Z")

const retryShortly = { "retry-after": "1" }

const userLimits = {
  requests: ["too_many_requests_at_once", "requests under way at once. Try again when one has ended."],
  rate: ["request_rate_exceeded", "requests a minute. Try again later."],
  bodies: [
    "too_many_body_bytes",
    "bytes for the bodies of all your requests under way. Try again when one has ended."
  ]
} as const

/** Code, message and options for a limit that a user reached. It is over soon, and clients try again. */
const userLimit = ({ limit, max, retryAfterSeconds }: Errors.UserLimitReached) => {
  const [code, what] = userLimits[limit]
  return [code, `You may have ${max} ${what}`, retryAfter(retryAfterSeconds)] as const
}

/**
 * The one table from error to status, type, code and message. It is total by its type. Codes are stable: a client may
 * rely on them, so a retired one stays here as a comment and is never used again.
 *
 * Retired: none so far. Reserved: `rate_limit_exceeded` and `monthly_quota_exceeded`, for limits per key.
 */
const table: {
  readonly [Tag in Expected["_tag"]]: (error: Extract<Expected, { readonly _tag: Tag }>) => Failure
} = {
  ApiKeyMissing: ({ found }) =>
    unauthorized(
      "api_key_missing",
      found === "other_header"
        ? "Send the API key as `Authorization: Bearer <key>`; it is read from no other header."
        : "Send an API key: `Authorization: Bearer <key>`.",
      "Bearer"
    ),
  AuthorizationMalformed: ({ found }) => {
    const problem = {
      no_scheme: "The `Authorization` header lacks the word `Bearer` before the key",
      other_scheme: "The `Authorization` header has another scheme than `Bearer`",
      no_key: "The `Authorization` header has no key"
    }[found]
    return unauthorized("invalid_api_key", `${problem}: send \`Authorization: Bearer <key>\`.`, invalidToken)
  },
  ApiKeyRejected: () =>
    unauthorized(
      "invalid_api_key",
      "The API key is not valid. It may have expired or been revoked.",
      invalidToken
    ),
  UserDisabled: () =>
    failure(
      403,
      "permission_error",
      "user_disabled",
      "Your account is disabled. Ask the operator of this service to enable it."
    ),
  PlanForbids: (error) =>
    failure(403, "permission_error", "plan_forbids", error.message, { param: error.param }),
  LicenseForbids: (error) =>
    failure(403, "permission_error", "license_forbids", error.message, { param: error.param }),
  PlanNotFound: ({ plans }) =>
    notFound("plan_not_found", `There is no such plan. The plans are: ${someOf(plans)}.`, "plan"),
  InvalidRequest: (error) => invalid("invalid_request", error.message, error.param),
  // A path that names no file is a place where nothing is; a body or a query that names none is wrong.
  FileNotFound: (error) =>
    (error.param === "file_id" ? notFound : invalid)(
      "file_not_found",
      "The file does not exist.",
      error.param
    ),
  ItemNotFound: (error) => invalid("item_not_found", "The referenced item does not exist.", error.param),
  ConversationNotFound: (error) =>
    notFound(
      "conversation_not_found",
      error.param === "previous_response_id"
        ? "The response that `previous_response_id` names does not exist, or was not stored."
        : "The conversation does not exist.",
      error.param
    ),
  ProjectNotFound: () => notFound("project_not_found", "The project does not exist.", "project_id"),
  NotProjectMember: () =>
    failure(403, "permission_error", "not_project_member", "You are not a member of the project.", {
      param: "project_id"
    }),
  PromptTooLong: (error) =>
    invalid(
      "context_length_exceeded",
      `The input is too long: about ${error.promptTokens} tokens, where at most ${error.tokensMax} fit.`,
      "input"
    ),
  FileTooLarge: (error) =>
    failure(
      413,
      "invalid_request_error",
      "file_too_large",
      `The file is larger than ${error.bytesMax} bytes.`,
      { param: "file", headers: { connection: "close" } }
    ),
  FileQuotaExceeded: (error) =>
    error.quota === "files"
      ? failure(
          403,
          "permission_error",
          "file_count_quota_exceeded",
          `You have as many files as you may have: ${error.max}. Delete some.`
        )
      : failure(
          403,
          "permission_error",
          "file_bytes_quota_exceeded",
          `Your files may have ${error.max} bytes together, and this one is too much. Delete some.`
        ),
  TooManyUploads: (error) =>
    failure(
      429,
      "rate_limit_error",
      "too_many_uploads",
      `${error.uploadsMax} of your uploads are under way, which is as many as may be. Try again.`,
      { headers: retryShortly }
    ),
  UploadInvalid: (error) => invalid("invalid_upload", error.message, error.param),
  UploadCut: (error) => (error.reason === "slow" ? requestTimeout : unreadableBody),
  FileNotReady: (error) =>
    invalid(
      "file_not_ready",
      "The text of the file is still being read. Try again when its status is `processed`.",
      error.param
    ),
  FileUnreadable: (error) =>
    invalid("file_unreadable", `The text of the file can't be read. ${error.reason}`.trim(), error.param),
  StorageFailed: () =>
    failure(503, "server_error", "storage_unavailable", "The service can't reach its files. Try again.", {
      headers: retryShortly
    }),
  UsageLimitExceeded: (error) => {
    const isHeld = error.used < error.limit
    return failure(
      429,
      "rate_limit_error",
      isHeld ? "token_limit_held" : `${error.window}_token_limit_exceeded`,
      isHeld
        ? `What is left of the ${error.window} token limit is held by requests that are still running: ${error.used} of ${error.limit} tokens are used, and ${error.held} are held. Try again when one of them has ended, or in ${error.retryAfterSeconds} seconds.`
        : `The ${error.window} token limit is used up: ${error.used} of ${error.limit} tokens. It resets at ${utcTime(error.resetsAt)}, in ${error.retryAfterSeconds} seconds.`,
      {
        headers: {
          "retry-after": String(error.retryAfterSeconds),
          // Running requests end soon, so that client libraries do well to try again; a window takes hours.
          ...(isHeld ? {} : { "x-should-retry": "false" }),
          "x-token-limit-window": error.window,
          "x-token-limit-used": String(error.used),
          "x-token-limit-held": String(error.held),
          "x-token-limit": String(error.limit)
        }
      }
    )
  },
  ConversationBusy: (error) =>
    failure(
      503,
      "server_error",
      "conversation_busy",
      `An earlier message of this conversation is still being answered after ${error.waitedSeconds} seconds. Try again.`,
      { headers: retryShortly }
    ),
  TurnLeaseLost: () => generationFailed("The answer could not be stored. Try again."),
  NoModelAvailable: (error) =>
    error.isRefused
      ? modelMisconfigured
      : failure(
          500,
          "server_error",
          "model_unavailable",
          "No model can answer at this moment. Try again later.",
          retryAfter(overloadedRetrySeconds)
        ),
  ModelFailure: (error) => {
    switch (error.reason) {
      case "unauthorized":
      case "misconfigured":
        return modelMisconfigured
      case "bad_request":
        return modelRefused(
          error.status === 413
            ? "The input is too large for the model's provider. Shorten it."
            : "The model's provider doesn't accept this request as it is. Change the input or the instructions."
        )
      case "context_length":
        return invalid(
          "context_length_exceeded",
          "The input is too long for the model, even without earlier messages and with no more than the beginnings of files. Shorten it, or name fewer files.",
          "input"
        )
      case "content_refused":
        return modelRefused(
          "The model's provider refuses this content by its policy. Change the input or the instructions."
        )
      case "rate_limited":
        return failure(
          500,
          "server_error",
          "model_overloaded",
          "The model is overloaded. Try again later.",
          retryAfter(error.retryAfterSeconds ?? overloadedRetrySeconds)
        )
      default:
        return generationFailed("The model could not produce an answer. Try again.", error.retryAfterSeconds)
    }
  },
  OrganizationExists: () =>
    conflict("organization_exists", "An organization of that name exists already.", "name"),
  OrganizationNotFound: () =>
    notFound("organization_not_found", "The organization does not exist.", "organization"),
  UserExists: () => conflict("user_exists", "A user with that e-mail address exists already.", "email"),
  UserNotFound: () => notFound("user_not_found", "The user does not exist.", "email"),
  UserOfOtherOrganization: () =>
    conflict(
      "user_of_other_organization",
      "The user belongs to another organization than the project.",
      "email"
    ),
  ProjectExists: () =>
    conflict("project_exists", "A project of that name exists already in the organization.", "name"),
  ProjectMemberNotFound: () =>
    notFound("project_member_not_found", "The user is not a member of the project.", "email"),
  ProjectOwnerMissing: () =>
    conflict("project_owner_missing", "The project has no owner: say who is to own the file.", "email"),
  ApiKeyNotFound: () => notFound("api_key_not_found", "The key does not exist.", "id"),
  AdminKeyRejected: () =>
    unauthorized("invalid_admin_key", "The admin key is missing or not the right one.", "Bearer"),
  MetricsTokenRejected: () =>
    unauthorized(
      "invalid_metrics_token",
      "The token for the metrics is missing or not the right one.",
      "Bearer"
    ),
  UserLimitReached: (error) => failure(429, "rate_limit_error", ...userLimit(error)),
  ServerBusy: (error) =>
    failure(
      503,
      "server_error",
      "server_busy",
      "The service is busy. Try again.",
      retryAfter(error.retryAfterSeconds)
    ),
  DatabaseUnavailable: () =>
    failure(503, "server_error", "database_unavailable", "The service can't reach its database. Try again.", {
      headers: retryShortly
    }),
  ServerShuttingDown: () =>
    failure(503, "server_error", "server_shutting_down", "The service is shutting down. Try again.", {
      headers: retryShortly
    })
}

/** The body of an error response. Its shape is declared in ErrorEnvelope. */
export const envelopeOf = ({ body }: Failure): { readonly detail: string; readonly error: ErrorBody } => ({
  detail: body.message,
  error: body
})

/** How `error` looks to a client. */
export const describe = (error: Expected): Failure =>
  // The table's type pairs each tag with its own function; TypeScript can't follow that through an index by a union.
  (table[error._tag] as (error: Expected) => Failure)(error)

// ---- what never becomes a typed error of ours: the platform's own refusals, and defects

export const bodyTooLarge = (bytesMax: number): Failure =>
  failure(413, "invalid_request_error", "body_too_large", `The body is larger than ${bytesMax} bytes.`, {
    headers: { connection: "close" }
  })

/** The headers or the body didn't arrive in time. */
export const requestTimeout: Failure = failure(
  408,
  "invalid_request_error",
  "request_timeout",
  "The request took too long to arrive.",
  { headers: { connection: "close" } }
)

/** The bytes that were asked for lie beyond the end of the file. */
export const rangeNotSatisfiable = (bytes: number): Failure =>
  failure(
    416,
    "invalid_request_error",
    "range_not_satisfiable",
    `The file has ${bytes} bytes, and none of them is in the range.`,
    { headers: { "content-range": `bytes */${bytes}`, "accept-ranges": "bytes" } }
  )

export const unsupportedMediaType = (message: string): Failure =>
  failure(415, "invalid_request_error", "unsupported_media_type", message)

export const encodedBody = unsupportedMediaType("A body with a content encoding is not supported.")

/** A JSON body that says it is something else, or nothing. */
export const notJson = (contentType: string | undefined): Failure => {
  const must = "The body must be JSON, with the header `Content-Type: application/json`"
  if (contentType === undefined) return unsupportedMediaType(`${must}; it has no Content-Type.`)
  return unsupportedMediaType(
    /^application\/x-www-form-urlencoded/i.test(contentType)
      ? `${must}. curl sends form data unless it is given \`-H 'Content-Type: application/json'\`.`
      : `${must}.`
  )
}

/** A body in another encoding of characters than the one of JSON. */
export const foreignCharset = unsupportedMediaType(
  "A JSON body must be UTF-8; no other charset is supported."
)

/** The port is open, but nothing behind it is ready. */
export const starting: Failure = failure(
  503,
  "server_error",
  "server_starting",
  "The service is starting. Try again.",
  {
    headers: retryShortly
  }
)

/** A body that was cut, or that is not what its headers say. */
export const unreadableBody = invalid("unreadable_body", "The body could not be read.", "")

export const defect: Failure = failure(
  500,
  "server_error",
  "internal_error",
  "Something went wrong inside the service."
)
