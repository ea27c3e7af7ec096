import { Schema } from "effect"
import { failureReason } from "./failureReason.ts"

/**
 * The failures that are expected. Each is named for what happened and knows nothing of HTTP: api/Failure decides how a
 * client sees it. A field here is for the log or for a number that the client may know; never the rejected value.
 */

// ---- who

export class ApiKeyMissing extends Schema.TaggedError<ApiKeyMissing>()("ApiKeyMissing", {
  /** What was sent in place of a Bearer key. */
  found: Schema.Literals(["nothing", "other_header"])
}) {}

/** The header that is to carry the key has another form than `Bearer <key>`. */
export class AuthorizationMalformed extends Schema.TaggedError<AuthorizationMalformed>()(
  "AuthorizationMalformed",
  { found: Schema.Literals(["no_scheme", "other_scheme", "no_key"]) }
) {}

/** Malformed, unknown, expired or revoked: a client can't tell which. */
export class ApiKeyRejected extends Schema.TaggedError<ApiKeyRejected>()("ApiKeyRejected", {
  reason: Schema.Literals(["malformed", "unknown", "expired", "revoked"])
}) {}

/** The key is good, but the operator has disabled its user. */
export class UserDisabled extends Schema.TaggedError<UserDisabled>()("UserDisabled", {}) {}

// ---- what the caller may

/** The plan of the caller's organization doesn't permit what was asked. `message` says what to change. */
export class PlanForbids extends Schema.TaggedError<PlanForbids>()("PlanForbids", {
  plan: Schema.String,
  /** The field of the request, "" where there is none. */
  param: Schema.String,
  message: Schema.String
}) {}

/** The license of the installation doesn't permit what was asked. `message` says what to change. */
export class LicenseForbids extends Schema.TaggedError<LicenseForbids>()("LicenseForbids", {
  param: Schema.String,
  message: Schema.String
}) {}

/** The catalog of plans has no plan of that name. */
export class PlanNotFound extends Schema.TaggedError<PlanNotFound>()("PlanNotFound", {
  /** The names of the plans that there are. */
  plans: Schema.Array(Schema.String)
}) {}

// ---- what was asked

/** A field of the request is not what it must be. `param` is its path, such as `input[0].content[1].text`. */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", {
  param: Schema.String,
  message: Schema.String
}) {}

/** The request names a file that doesn't exist or isn't the caller's; `param` says where. */
export class FileNotFound extends Schema.TaggedError<FileNotFound>()("FileNotFound", {
  param: Schema.String
}) {}

/** An `item_reference` names an item that doesn't exist or isn't the caller's. */
export class ItemNotFound extends Schema.TaggedError<ItemNotFound>()("ItemNotFound", {
  param: Schema.String
}) {}

export class ConversationNotFound extends Schema.TaggedError<ConversationNotFound>()("ConversationNotFound", {
  param: Schema.Literals(["conversation_id", "conversation", "previous_response_id"])
}) {}

export class ProjectNotFound extends Schema.TaggedError<ProjectNotFound>()("ProjectNotFound", {}) {}

/** The project exists, and the caller is none of its members. */
export class NotProjectMember extends Schema.TaggedError<NotProjectMember>()("NotProjectMember", {}) {}

/** The message with its instructions is longer than any model's context window. */
export class PromptTooLong extends Schema.TaggedError<PromptTooLong>()("PromptTooLong", {
  /** Estimated tokens of the prompt without any history. */
  promptTokens: Schema.Int,
  /** Tokens that the roomiest model takes. */
  tokensMax: Schema.Int
}) {}

// ---- files

/** The file is longer than a file may be. */
export class FileTooLarge extends Schema.TaggedError<FileTooLarge>()("FileTooLarge", {
  bytesMax: Schema.Int
}) {}

/** The user has as many files, or as many bytes in files, as a user may have. */
export class FileQuotaExceeded extends Schema.TaggedError<FileQuotaExceeded>()("FileQuotaExceeded", {
  quota: Schema.Literals(["files", "bytes"]),
  max: Schema.Int
}) {}

/** The user has as many uploads under way as a user may have. */
export class TooManyUploads extends Schema.TaggedError<TooManyUploads>()("TooManyUploads", {
  uploadsMax: Schema.Int
}) {}

/** The multipart body is not what it must be. `param` is the part at fault, "" where there is none. */
export class UploadInvalid extends Schema.TaggedError<UploadInvalid>()("UploadInvalid", {
  param: Schema.String,
  message: Schema.String
}) {}

/** The body of an upload ended early, or came too slowly. */
export class UploadCut extends Schema.TaggedError<UploadCut>()("UploadCut", {
  reason: Schema.Literals(["cut", "slow"])
}) {}

/** The text of a file is still being read. */
export class FileNotReady extends Schema.TaggedError<FileNotReady>()("FileNotReady", {
  param: Schema.String
}) {}

/** The text of a file could not be read; `reason` is what its owner sees. */
export class FileUnreadable extends Schema.TaggedError<FileUnreadable>()("FileUnreadable", {
  param: Schema.String,
  reason: Schema.String
}) {}

/** The text of a file can't be read. `message` is for the file's owner. */
export class ExtractionFailed extends Schema.TaggedError<ExtractionFailed>()("ExtractionFailed", {
  reason: Schema.Literals([
    "unsupported",
    "encrypted",
    "corrupt",
    "too_large",
    "too_long",
    "no_text",
    "crashed"
  ]),
  message: Schema.String
}) {}

/** More files wait for their texts than this process takes; a later attempt may do. */
export class ExtractionBusy extends Schema.TaggedError<ExtractionBusy>()("ExtractionBusy", {}) {}

/** The store of files can't do its work: a full disk, a bucket that is away, bytes that are missing. */
export class StorageFailed extends Schema.TaggedError<StorageFailed>()("StorageFailed", {
  operation: Schema.Literals(["put", "get", "remove", "list", "sweep", "trash", "start"]),
  cause: Schema.Defect()
}) {
  override get message(): string {
    return failureReason(this.cause)
  }
}

// ---- limits

/** Nothing is left of a token limit: it is spent, or what was left of it is held by requests that still run. */
export class UsageLimitExceeded extends Schema.TaggedError<UsageLimitExceeded>()("UsageLimitExceeded", {
  window: Schema.Literals(["daily", "monthly"]),
  /** What was spent. It is below the limit where only running requests stand in the way. */
  used: Schema.Int,
  /** What requests that still run hold, beyond that. */
  held: Schema.Int,
  limit: Schema.Int,
  /** When the window ends. */
  resetsAt: Schema.DateTimeUtc,
  retryAfterSeconds: Schema.Int
}) {}

// ---- conversations

/** An earlier turn of the conversation is still being answered, and it took longer than a request may wait. */
export class ConversationBusy extends Schema.TaggedError<ConversationBusy>()("ConversationBusy", {
  waitedSeconds: Schema.Int
}) {}

/** Another process has taken the conversation over; this turn can't be stored any more. */
export class TurnLeaseLost extends Schema.TaggedError<TurnLeaseLost>()("TurnLeaseLost", {}) {}

// ---- models

/** Nothing in the catalog can serve the request, for instance because the provider's list could not be read yet. */
export class NoModelAvailable extends Schema.TaggedError<NoModelAvailable>()("NoModelAvailable", {
  /** For the log only. */
  detail: Schema.String,
  /** Whether the provider refuses the key or the address of the settings, which only the operator can change. */
  isRefused: Schema.Boolean
}) {}

/** Models could serve the request, but the caller may use none of them. */
export class ModelForbidden extends Schema.TaggedError<ModelForbidden>()("ModelForbidden", {
  /** The ids of the models whose window fits the prompt. */
  models: Schema.Array(Schema.String)
}) {}

/** What went wrong between the service and a model. */
export const ModelFailureReason = Schema.Literals([
  "refused",
  // Our key, our account, or the address or the model's name in the settings.
  "unauthorized",
  "misconfigured",
  "rate_limited",
  // What the request asks for.
  "bad_request",
  // The prompt, or the answer beside it, has no room in the model's context.
  "context_length",
  "content_refused",
  "server_error",
  "first_token_timeout",
  "idle_timeout",
  "cut",
  "malformed",
  "in_stream",
  "no_finish"
])
export type ModelFailureReason = typeof ModelFailureReason.Type

export class ModelFailure extends Schema.TaggedError<ModelFailure>()("ModelFailure", {
  reason: ModelFailureReason,
  provider: Schema.String,
  model: Schema.String,
  /** The provider's HTTP status, where there was one. */
  status: Schema.optionalKey(Schema.Int),
  /** How long the provider asked to be left alone. */
  retryAfterSeconds: Schema.optionalKey(Schema.Finite),
  /** The tokens of the model's context, where a provider that finds a request too long says how many they are. */
  contextTokens: Schema.optionalKey(Schema.Int),
  /** For the log only; bounded, without the prompt. */
  detail: Schema.String
}) {}

// ---- accounts

export class OrganizationExists extends Schema.TaggedError<OrganizationExists>()("OrganizationExists", {}) {}

export class OrganizationNotFound extends Schema.TaggedError<OrganizationNotFound>()(
  "OrganizationNotFound",
  {}
) {}

export class UserExists extends Schema.TaggedError<UserExists>()("UserExists", {}) {}

export class UserNotFound extends Schema.TaggedError<UserNotFound>()("UserNotFound", {}) {}

/** A project has members and files of its own organization only. */
export class UserOfOtherOrganization extends Schema.TaggedError<UserOfOtherOrganization>()(
  "UserOfOtherOrganization",
  {}
) {}

export class ProjectExists extends Schema.TaggedError<ProjectExists>()("ProjectExists", {}) {}

export class ProjectMemberNotFound extends Schema.TaggedError<ProjectMemberNotFound>()(
  "ProjectMemberNotFound",
  {}
) {}

/** Nobody was named as the owner of a file, and the project has no owner either. */
export class ProjectOwnerMissing extends Schema.TaggedError<ProjectOwnerMissing>()(
  "ProjectOwnerMissing",
  {}
) {}

export class ApiKeyNotFound extends Schema.TaggedError<ApiKeyNotFound>()("ApiKeyNotFound", {}) {}

/** The operator's key is missing or wrong. */
export class AdminKeyRejected extends Schema.TaggedError<AdminKeyRejected>()("AdminKeyRejected", {}) {}

/** The token for the metrics is missing or wrong. */
export class MetricsTokenRejected extends Schema.TaggedError<MetricsTokenRejected>()(
  "MetricsTokenRejected",
  {}
) {}

// ---- the service itself

/** The user has as many requests under way, or sent as many, as one user may. */
export class UserLimitReached extends Schema.TaggedError<UserLimitReached>()("UserLimitReached", {
  /** Requests at once, requests a minute, or bytes of bodies at once. */
  limit: Schema.Literals(["requests", "rate", "bodies"]),
  max: Schema.Int,
  retryAfterSeconds: Schema.Int
}) {}

/** All users together have as much under way as the process can hold. */
export class ServerBusy extends Schema.TaggedError<ServerBusy>()("ServerBusy", {
  retryAfterSeconds: Schema.Finite
}) {}

/** PostgreSQL is away, too slow, or out of connections. */
export class DatabaseUnavailable extends Schema.TaggedError<DatabaseUnavailable>()("DatabaseUnavailable", {
  cause: Schema.Defect()
}) {}

/** The process is going down and takes no new work, or can't finish this one. */
export class ServerShuttingDown extends Schema.TaggedError<ServerShuttingDown>()("ServerShuttingDown", {}) {}
