/* oxlint-disable max-lines -- one table, which is seen to be total in one place */
import { DateTime } from "effect"
import type * as Errors from "../domain/Errors.ts"
import { formatBytes } from "../domain/formatBytes.ts"
import type { ErrorBody } from "./ErrorEnvelope.ts"
import { cursorWords } from "./OperationDescription.ts"

type ErrorOf<Value> = Value extends abstract new (...parameters: never) => infer Instance
  ? Extract<Instance, { readonly _tag: string }>
  : never

/**
 * Every error that a request may fail with: all domain errors but those that are handled before a client
 * could see them.
 */
export type Expected = Exclude<
  { readonly [Name in keyof typeof Errors]: ErrorOf<(typeof Errors)[Name]> }[keyof typeof Errors],
  Errors.ExtractionFailed | Errors.ExtractionBusy | Errors.ModelForbidden
>

/** An error as a client sees it: the status, the content of the envelope, and the headers. */
export interface Failure {
  readonly status: number
  readonly body: ErrorBody
  readonly headers: Readonly<Record<string, string>>
}

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

const unauthorized = (code: string, message: string, challenge = "Bearer") =>
  failure(401, "authentication_error", code, message, { headers: { "www-authenticate": challenge } })

const forbidden = (code: string, message: string, param = "") =>
  failure(403, "permission_error", code, message, { param })

const notFound = (code: string, message: string, param: string) =>
  failure(404, "not_found_error", code, message, { param })

/** Names the projects in which other people see files of a user. */
const inProjects = (projects: ReadonlyArray<{ readonly name: string; readonly files: number }>): string =>
  projects.length === 0
    ? ""
    : `, in projects: ${projects.map(({ files, name }) => `${name} (${files})`).join(", ")}`

const conflict = (code: string, message: string, param: string) =>
  failure(409, "invalid_request_error", code, message, { param })

const retryAfter = (seconds: number) => ({ "retry-after": String(Math.max(1, Math.ceil(seconds))) })

const tooMany = (code: string, message: string, seconds = 1) =>
  failure(429, "rate_limit_error", code, message, { headers: retryAfter(seconds) })

const generationFailed = (code: string, message: string, seconds: number) =>
  failure(500, "server_error", code, message, { headers: retryAfter(seconds) })

const unavailable = (code: string, message: string, seconds = 1) =>
  failure(503, "server_error", code, message, { headers: retryAfter(seconds) })

/** Source: RFC 6750, section 3.1. */
const invalidToken = 'Bearer error="invalid_token"'

/** Seconds after which a model that failed, or is overloaded, is worth another request. */
const modelRetrySeconds = 1
const overloadedRetrySeconds = 5

/** Only the operator can change it, so clients must not repeat the request. */
const modelMisconfigured = failure(
  500,
  "server_error",
  "model_misconfigured",
  "The model of this service is not set up correctly. Tell the operator of the service; asking again doesn't help.",
  { headers: { "x-should-retry": "false" } }
)

const modelOverloaded = (seconds = overloadedRetrySeconds) =>
  generationFailed("model_overloaded", "The model is overloaded. Try again later.", seconds)

const modelFailure = ({
  isOverloaded,
  parameter,
  reason,
  retryAfterSeconds,
  sentence,
  status
}: Errors.ModelFailure): Failure => {
  switch (reason) {
    case "unauthorized":
    case "misconfigured":
      return modelMisconfigured
    case "bad_request":
      if (parameter !== undefined) {
        return invalid(
          "invalid_request",
          `The model's provider doesn't accept \`${parameter}\` as it is. Change it, leave it out, or name another \`model\`.${
            sentence === undefined ? "" : ` It says: ${sentence}`
          }`,
          parameter
        )
      }
      return invalid(
        "invalid_request",
        status === 413
          ? "The input is too large for the model's provider. Shorten it."
          : "The model's provider doesn't accept this request as it is. Change the input or the instructions.",
        "input"
      )
    case "context_length":
      return invalid(
        "context_length_exceeded",
        "The input is too long for the model, even without earlier messages and with no more than the beginnings of files. " +
          "Shorten it, or name fewer files.",
        "input"
      )
    case "content_refused":
      return invalid(
        "invalid_request",
        "The model's provider refuses this content by its policy. Change the input or the instructions.",
        "input"
      )
    case "rate_limited":
      return modelOverloaded(retryAfterSeconds)
    default:
      if (isOverloaded === true) return modelOverloaded(retryAfterSeconds)
      return generationFailed(
        "generation_failed",
        "The model could not produce an answer. Try again.",
        retryAfterSeconds ?? modelRetrySeconds
      )
  }
}

/** Why no model sees the images of a request, by what limits the choice, and what to do. */
const noVisionText: Readonly<Record<Errors.NoVisionModel["limit"], string>> = {
  service:
    "None of the models of this service sees images. The operator declares one that does in the model catalog (`vision`).",
  permits:
    "None of the models that your organization's plan and the license permit sees images. " +
    "Leave the images out, or ask the operator for a plan with another model.",
  model:
    "The model that `model` names doesn't see images. Name another one, or `auto`, or leave the images out."
}

/** Names that a message lists. */
const namesMax = 20

const someOf = (names: ReadonlyArray<string>): string =>
  names.slice(0, namesMax).join(", ") +
  (names.length > namesMax ? ` and ${names.length - namesMax} more` : "")

/** Such as `2026-11-23T00:00:00Z`, without the milliseconds. */
const utcTime = (time: DateTime.Utc): string => DateTime.formatIso(time).replace(/\.\d+Z$/, "Z")

const usageCodes = {
  user: { daily: "daily_token_limit_exceeded", monthly: "monthly_token_limit_exceeded" },
  key: { daily: "daily_quota_exceeded", monthly: "monthly_quota_exceeded" }
} as const

const usageLimitExceeded = (error: Errors.UsageLimitExceeded): Failure => {
  const { held, limit, owner, resetsAt, retryAfterSeconds, used, window } = error
  const isHeld = used < limit
  const name = `${window} token limit${owner === "key" ? " of this API key" : ""}`
  return failure(
    429,
    "rate_limit_error",
    isHeld ? "token_limit_held" : usageCodes[owner][window],
    isHeld
      ? `What is left of the ${name} is held by requests that are still running: ${used} of ${limit} tokens ` +
          `are used, and ${held} are held. Try again when one of them has ended, or in ${retryAfterSeconds} seconds.`
      : `The ${name} is used up: ${used} of ${limit} tokens. It resets at ${utcTime(resetsAt)}, in ` +
          `${retryAfterSeconds} seconds.`,
    {
      headers: {
        "retry-after": String(retryAfterSeconds),
        // Running requests end soon, so an automatic retry helps; a window takes hours.
        ...(isHeld ? {} : { "x-should-retry": "false" }),
        "x-token-limit-window": window,
        "x-token-limit-used": String(used),
        "x-token-limit-held": String(held),
        "x-token-limit": String(limit)
      }
    }
  )
}

const authorizationProblems = {
  no_scheme: "The `Authorization` header lacks the word `Bearer` before the key",
  other_scheme: "The `Authorization` header has another scheme than `Bearer`",
  no_key: "The `Authorization` header has no key"
} as const

const unmanaged = "Your role doesn't permit you to manage this user. Ask an owner of the installation."

const roleProblems = {
  email: unmanaged,
  id: unmanaged,
  role: "Your role doesn't permit you to give this role. Ask an owner of the installation.",
  organization:
    "Your role doesn't permit you to manage all users of this organization. Ask an owner of the installation.",
  with_key: "Users create their own keys in the web application: leave `with_key` out."
} as const

const userLimits = {
  requests: ["too_many_requests_at_once", "requests under way at once. Try again when one has ended."],
  rate: ["request_rate_exceeded", "requests a minute. Try again later."],
  connections: ["too_many_connections", "WebSocket connections at once. Close one."],
  bodies: [
    "too_many_body_bytes",
    "bytes for the bodies of all your requests under way. Try again when one has ended."
  ]
} as const

/**
 * The one table from error to status, type, code and message. It is total by its type. Codes are stable: a
 * client may rely on them, so a retired one stays here as a comment and is never used again.
 *
 * Retired: none so far.
 */
const table: {
  readonly [Tag in Expected["_tag"]]: (error: Extract<Expected, { readonly _tag: Tag }>) => Failure
} = {
  ApiKeyMissing: ({ found }) =>
    unauthorized(
      "api_key_missing",
      found === "other_header"
        ? "Send the API key as `Authorization: Bearer <key>`; it is read from no other header."
        : "Send an API key: `Authorization: Bearer <key>`."
    ),
  AuthorizationMalformed: ({ found }) =>
    unauthorized(
      "invalid_api_key",
      `${authorizationProblems[found]}: send \`Authorization: Bearer <key>\`.`,
      invalidToken
    ),
  ApiKeyRejected: () =>
    unauthorized(
      "invalid_api_key",
      "The API key is not valid. It may have expired or been revoked.",
      invalidToken
    ),
  UserDisabled: () =>
    forbidden("user_disabled", "Your account is disabled. Ask the operator of this service to enable it."),
  PlanForbids: ({ message, param }) => forbidden("plan_forbids", message, param),
  LicenseForbids: ({ message, param }) => forbidden("license_forbids", message, param),
  PlanNotFound: ({ plans }) =>
    notFound("plan_not_found", `There is no such plan. The plans are: ${someOf(plans)}.`, "plan"),
  InvalidRequest: ({ message, param }) => invalid("invalid_request", message, param),
  // 404 for a path that names no file, 400 for a body or a query that does.
  FileNotFound: ({ param }) =>
    (param === "file_id" ? notFound : invalid)("file_not_found", "The file does not exist.", param),
  CursorNotFound: ({ param }) => invalid("invalid_request", `\`${param}\` must be ${cursorWords}.`, param),
  ModelNotFound: ({ param }) =>
    notFound(
      "model_not_found",
      "There is no such model. Use `auto`, or one of GET /openai/v1/models.",
      param
    ),
  NoVisionModel: ({ limit }) =>
    invalid("image_input_unsupported", noVisionText[limit], limit === "model" ? "model" : "input"),
  // 404 for a path that names no item, 400 for a body or a query that does.
  EmbeddingsNotSet: () =>
    notFound(
      "embeddings_not_set",
      "This service has no embeddings. Its operator sets a server of them in PARLEY_EMBEDDINGS_URL.",
      ""
    ),
  EmbeddingsFailed: ({ isRefusal }) =>
    isRefusal
      ? invalid(
          "invalid_request",
          "The server of embeddings doesn't accept these texts, or these dimensions. One of the texts may be too long for its model.",
          "input"
        )
      : generationFailed(
          "embeddings_failed",
          "The server of embeddings could not answer. Try again.",
          modelRetrySeconds
        ),
  ItemNotFound: ({ param }) =>
    (param === "item_id" ? notFound : invalid)(
      "item_not_found",
      "The referenced item does not exist.",
      param
    ),
  IdempotencyKeyReused: () =>
    failure(
      422,
      "invalid_request_error",
      "idempotency_key_reused",
      "This Idempotency-Key was used for another request within the last 24 hours. Use a new one for each request.",
      { param: "Idempotency-Key" }
    ),
  TooManyJobs: ({ jobsMax }) =>
    tooMany(
      "too_many_open_responses",
      `At most ${jobsMax} responses of a user may wait or be made in the background. Try again when some of them have ended.`,
      5
    ),
  ResponseNotCancellable: () =>
    conflict(
      "response_not_cancellable",
      "Only a response in the background can be cancelled.",
      "response_id"
    ),
  ResponseNotComplete: ({ param }) =>
    conflict(
      "response_not_complete",
      "The response is still being made. Wait until GET /openai/v1/responses/{response_id} says that it has ended.",
      param
    ),
  ResponseWithoutAnswer: ({ status }) =>
    conflict(
      "response_without_answer",
      `The response that \`previous_response_id\` names has the status \`${status}\`, and no answer that could be continued. Continue the response ` +
        "before it, or ask again what it was asked.",
      "previous_response_id"
    ),
  AnswerInProgress: () =>
    conflict(
      "answer_in_progress",
      "Another question of this conversation is being answered. Wait for its answer, or stop it.",
      "conversation_id"
    ),
  ResponseNotLast: () =>
    conflict(
      "response_not_last",
      "The conversation has gone on since: only its last answer can be replaced. Load it again.",
      "replaces"
    ),
  ResponseInterrupted: () =>
    failure(
      500,
      "server_error",
      "interrupted",
      "The service was interrupted while it made the response. Ask again."
    ),
  ResponseCancelled: () => conflict("response_cancelled", "The response was cancelled.", "response_id"),
  ResponseNotFound: () =>
    notFound("response_not_found", "The response does not exist, or was not stored.", "response_id"),
  PreviousResponseNotFound: () =>
    notFound(
      "previous_response_not_found",
      "The response that `previous_response_id` names does not exist, or was not stored. Send the history as `input`.",
      "previous_response_id"
    ),
  ConversationNotFound: ({ param }) =>
    notFound(
      "conversation_not_found",
      param === "previous_response_id"
        ? "The response that `previous_response_id` names does not exist, or was not stored."
        : "The conversation does not exist.",
      param
    ),
  ProjectNotFound: ({ param = "project_id" }) =>
    notFound("project_not_found", "The project does not exist.", param),
  NotProjectMember: ({ param = "project_id" }) =>
    forbidden("not_project_member", "You are not a member of the project.", param),
  PromptTooLong: ({ document, ofHistory, promptTokens, tokensMax }) =>
    invalid(
      "context_length_exceeded",
      ofHistory === true
        ? `The conversation is too long: with its earlier messages, the input has more than the ${tokensMax} tokens that fit. ` +
            'Start a new conversation, or let the oldest messages be left out (`truncation`: "auto").'
        : document === undefined
          ? `The input is too long: about ${promptTokens} tokens, where at most ${tokensMax} fit.`
          : `The document in \`${document}\` is too long: with it the input has about ${promptTokens} tokens, where at most ` +
            `${tokensMax} fit. Upload it and name its \`file_id\`, so that only what fits is shown, or send a part of it.`,
      document ?? "input"
    ),
  FileTooLarge: ({ bytesMax }) =>
    failure(
      413,
      "invalid_request_error",
      "file_too_large",
      `The file is larger than ${formatBytes(bytesMax)} (${bytesMax} bytes).`,
      {
        param: "file",
        headers: { connection: "close" }
      }
    ),
  FileQuotaExceeded: ({ max, quota }) =>
    quota === "files"
      ? forbidden("file_count_quota_exceeded", `You have as many files as you may have: ${max}. Delete some.`)
      : forbidden(
          "file_bytes_quota_exceeded",
          `Your files may have ${max} bytes together, and this one is too much. Delete some.`
        ),
  TooManyUploads: ({ uploadsMax }) =>
    tooMany(
      "too_many_uploads",
      `${uploadsMax} of your uploads are under way, which is as many as may be. Try again.`
    ),
  UploadInvalid: ({ message, param }) => invalid("invalid_upload", message, param),
  UploadCut: ({ reason }) => (reason === "slow" ? requestTimeout : unreadableBody),
  FileNotReady: ({ param }) =>
    invalid(
      "file_not_ready",
      "The text of the file is still being read. Try again when its status is `processed`.",
      param
    ),
  FileUnreadable: ({ param, reason }) =>
    invalid("file_unreadable", `The text of the file can't be read. ${reason}`.trim(), param),
  StorageFailed: () => unavailable("storage_unavailable", "The service can't reach its files. Try again."),
  UsageLimitExceeded: usageLimitExceeded,
  KeyRateExceeded: ({ limit, resetsAt, retryAfterSeconds }) =>
    tooMany(
      "rate_limit_exceeded",
      `This API key has sent as many requests as it may send in a minute: ${limit}. The minute ends at ${utcTime(resetsAt)}, in ` +
        `${retryAfterSeconds} seconds.`,
      retryAfterSeconds
    ),
  ConversationBusy: ({ waitedSeconds }) =>
    unavailable(
      "conversation_busy",
      `An earlier message of this conversation is still being answered after ${waitedSeconds} seconds. Try again.`
    ),
  TurnLeaseLost: ({ isDeleted }) =>
    isDeleted === true
      ? notFound(
          "conversation_not_found",
          "The conversation was deleted while it was answered.",
          "conversation_id"
        )
      : generationFailed(
          "generation_failed",
          "The answer could not be stored. Try again.",
          modelRetrySeconds
        ),
  NoModelAvailable: ({ isRefused }) =>
    isRefused
      ? modelMisconfigured
      : generationFailed(
          "model_unavailable",
          "No model can answer at this moment. Try again later.",
          overloadedRetrySeconds
        ),
  // The model has tried twice, which costs tokens, so clients must not repeat the request by themselves.
  OutputMismatch: ({ mismatch }) =>
    failure(
      500,
      "server_error",
      "output_mismatch",
      `The model's answer does not match the format that was asked for. ${mismatch} Simplify the schema, describe it in the instructions, or try again.`,
      { headers: { "x-should-retry": "false" } }
    ),
  ModelFailure: modelFailure,
  OrganizationExists: () =>
    conflict("organization_exists", "An organization of that name exists already.", "name"),
  OrganizationNotFound: () =>
    notFound("organization_not_found", "The organization does not exist.", "organization"),
  UserExists: () => conflict("user_exists", "A user with that e-mail address exists already.", "email"),
  RoleForbids: ({ param }) => forbidden("role_forbids", roleProblems[param], param),
  LastOwner: () =>
    conflict(
      "last_owner",
      "This is the only owner of the installation who isn't disabled. Make another user an owner first.",
      "email"
    ),
  UserNotFound: () => notFound("user_not_found", "The user does not exist.", "email"),
  FilesHeirUnsuitable: () =>
    conflict(
      "files_heir_unsuitable",
      "Files can be handed over only to another user of the same organization who isn't disabled.",
      "files_to"
    ),
  UserHasFiles: ({ files, projects }) =>
    conflict(
      "user_has_files",
      `The user has ${files === 1 ? "a file" : `${files} files`}${inProjects(projects)}. Say what becomes of them: \`files_to\` with ` +
        'the e-mail address of the user who gets them, or `files`: "erase".',
      "files_to"
    ),
  ProjectsLoseOwner: ({ projects }) =>
    conflict(
      "projects_lose_owner",
      `The user is the only owner of projects: ${projects.join(", ")}. Name in \`files_to\` who gets them with the files, make another ` +
        "member an owner, or delete the projects.",
      "files_to"
    ),
  OrganizationNotEmpty: ({ projects, users }) =>
    conflict(
      "organization_not_empty",
      `The organization is not empty (users: ${users}, projects: ${projects}). Delete them first, or with it (\`with_contents\`).`,
      "organization"
    ),
  UserOfOtherOrganization: () =>
    conflict(
      "user_of_other_organization",
      "The user belongs to another organization than the project.",
      "email"
    ),
  ProjectExists: () =>
    conflict("project_exists", "A project of that name exists already in the organization.", "name"),
  ProjectMemberNotFound: ({ param }) =>
    notFound("project_member_not_found", "The user is not a member of the project.", param),
  NotProjectOwner: ({ param = "project_id" }) =>
    forbidden("not_project_owner", "Only an owner of the project may do this. Ask one of its owners.", param),
  FileBatchNotFound: () =>
    notFound(
      "file_batch_not_found",
      "The vector store has no such batch of files. Batches are kept for 30 days, and the newest 1000 of a store.",
      "batch_id"
    ),
  LastProjectOwner: ({ param }) =>
    conflict(
      "last_project_owner",
      "This is the only owner of the project. Make another member an owner first, or delete the project.",
      param
    ),
  TooManyProjects: ({ projectsMax }) =>
    forbidden(
      "project_quota_exceeded",
      `You own as many projects as one user may own: ${projectsMax}. Delete some, or make others their owners.`
    ),
  ProjectOwnerMissing: () =>
    conflict("project_owner_missing", "The project has no owner: say who is to own the file.", "email"),
  TooManyKeys: ({ keysMax }) =>
    forbidden(
      "api_key_quota_exceeded",
      `A user may have ${keysMax} valid keys, and has them. Revoke some that are not in use.`
    ),
  ApiKeyNotFound: () => notFound("api_key_not_found", "The key does not exist.", "id"),
  ApiKeyNotActive: () =>
    conflict("api_key_not_active", "The key was revoked or has expired. Create a new one.", "id"),
  AdminKeyRejected: () => unauthorized("invalid_admin_key", "The admin key is missing or not the right one."),
  ReloadRefused: ({ message }) => conflict("reload_refused", `Everything stays as it was. ${message}`, ""),
  AdminKeyExists: () =>
    conflict(
      "admin_key_exists",
      "An admin key of that name exists already. Revoke it, or take another name.",
      "name"
    ),
  AdminKeyNotFound: () =>
    notFound(
      "admin_key_not_found",
      "There is no admin key of that name; `parley admin-key list` shows them.",
      "name"
    ),
  TooManyAdminKeys: ({ keysMax }) =>
    forbidden(
      "admin_key_quota_exceeded",
      `There may be ${keysMax} valid admin keys, and there are. Revoke some that are not in use.`
    ),
  MetricsTokenRejected: () =>
    unauthorized("invalid_metrics_token", "The token for the metrics is missing or not the right one."),
  SessionEnded: () =>
    unauthorized("session_ended", "You are not signed in, or your session has ended. Sign in.", "Cookie"),
  SignInRefused: () =>
    unauthorized(
      "sign_in_refused",
      "The e-mail address or the password is not right, or the account is disabled.",
      "Cookie"
    ),
  SignInThrottled: ({ retryAfterSeconds }) =>
    tooMany(
      "sign_in_throttled",
      `Too many attempts to sign in have failed. Try again in ${retryAfterSeconds} seconds.`,
      retryAfterSeconds
    ),
  LinkInvalid: () =>
    notFound(
      "link_invalid",
      "The link is not valid: it was used, has expired, or was revoked or replaced. Ask for a new one.",
      "token"
    ),
  LinkNotFound: () =>
    notFound("link_not_found", "The link does not exist. It may have been used, or have expired.", "id"),
  SetUpDone: () =>
    conflict(
      "set_up_done",
      "The first administrator has been set up. A link for a new password comes from `parley user reset-password`.",
      ""
    ),
  WeakPassword: ({ message }) => invalid("weak_password", message, "password"),
  ForeignRequest: ({ publicUrl }) =>
    forbidden(
      "origin_rejected",
      publicUrl === null
        ? "The request does not come from a page of this service, or the service is reached by a name that it doesn't know. " +
            "Set PARLEY_PUBLIC_URL to the address in the browser's address bar."
        : `The request does not come from a page of this service. Open ${publicUrl}.`
    ),
  CsrfTokenRejected: () =>
    forbidden(
      "csrf_rejected",
      "The header `x-csrf-token` is missing, or has another session's token. Reload the page."
    ),
  EndpointForbidden: () =>
    forbidden(
      "role_forbids",
      "Your role doesn't include this. Ask an administrator of this service to do it."
    ),
  UserLimitReached: ({ limit, max, retryAfterSeconds }) =>
    tooMany(userLimits[limit][0], `You may have ${max} ${userLimits[limit][1]}`, retryAfterSeconds),
  ServerBusy: ({ retryAfterSeconds }) =>
    unavailable("server_busy", "The service is busy. Try again.", retryAfterSeconds),
  DatabaseUnavailable: () =>
    unavailable("database_unavailable", "The service can't reach its database. Try again."),
  ServerShuttingDown: () => unavailable("server_shutting_down", "The service is shutting down. Try again.")
}

export const envelopeOf = ({ body }: Failure): { readonly detail: string; readonly error: ErrorBody } => ({
  detail: body.message,
  error: body
})

export const describe = (error: Expected): Failure =>
  // The table's type pairs each tag with its own function; TypeScript can't follow that through an index by a
  // union.
  (table[error._tag] as (error: Expected) => Failure)(error)

/** The headers or the body didn't arrive in time. */
export const requestTimeout: Failure = failure(
  408,
  "invalid_request_error",
  "request_timeout",
  "The request took too long to arrive.",
  { headers: { connection: "close" } }
)

/** A body that was cut off, or that is not what its headers say. */
export const unreadableBody = invalid("unreadable_body", "The body could not be read.", "")

/** A body of which no text can be made without a loss. */
export const notUtf8 = invalid(
  "unreadable_body",
  "The body is not valid UTF-8. Send JSON that is encoded as UTF-8.",
  ""
)

export const defect = failure(
  500,
  "server_error",
  "internal_error",
  "Something went wrong inside the service."
)
