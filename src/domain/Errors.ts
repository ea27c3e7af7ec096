/* oxlint-disable max-lines -- one list, which api/Failure covers in full */
import { Schema } from "effect"
import { failureReason } from "../runtime/failureReason.ts"

/**
 * The expected failures, without HTTP: api/Failure maps each to a status and an envelope. No field holds the
 * rejected value.
 */

// ---- authentication

export class ApiKeyMissing extends Schema.TaggedError<ApiKeyMissing>()("ApiKeyMissing", {
  /** The credential that the request has in place of a Bearer key. */
  found: Schema.Literals(["nothing", "other_header"])
}) {}

/** The `Authorization` header is not `Bearer <key>`. */
export class AuthorizationMalformed extends Schema.TaggedError<AuthorizationMalformed>()(
  "AuthorizationMalformed",
  { found: Schema.Literals(["no_scheme", "other_scheme", "no_key"]) }
) {}

/** A malformed, unknown, expired or revoked key. A client can't distinguish these cases. */
export class ApiKeyRejected extends Schema.TaggedError<ApiKeyRejected>()("ApiKeyRejected", {
  reason: Schema.Literals(["malformed", "unknown", "expired", "revoked"])
}) {}

/** The key is valid, but its user is disabled. */
export class UserDisabled extends Schema.TaggedError<UserDisabled>()("UserDisabled", {}) {}

// ---- plans and license

/** The plan of the caller's organization doesn't permit the request. `message` says what to change. */
export class PlanForbids extends Schema.TaggedError<PlanForbids>()("PlanForbids", {
  plan: Schema.String,
  /** The field of the request; "" if there is none. */
  param: Schema.String,
  message: Schema.String
}) {}

/** The license of the installation doesn't permit the request. `message` says what to change. */
export class LicenseForbids extends Schema.TaggedError<LicenseForbids>()("LicenseForbids", {
  param: Schema.String,
  message: Schema.String
}) {}

export class PlanNotFound extends Schema.TaggedError<PlanNotFound>()("PlanNotFound", {
  /** The names in the catalog. */
  plans: Schema.Array(Schema.String)
}) {}

// ---- requests

/** `param` is the path of the invalid field, such as `input[0].content[1].text`. */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", {
  param: Schema.String,
  message: Schema.String
}) {}

/** Says the problem behind the path of the field. */
export const invalid = (param: string, problem: string) =>
  new InvalidRequest({ param, message: `\`${param}\` ${problem}` })

/** The request names a file that doesn't exist or isn't the caller's; `param` says where. */
export class FileNotFound extends Schema.TaggedError<FileNotFound>()("FileNotFound", {
  param: Schema.String
}) {}

/**
 * A list can't continue from the id that the request names, because it has no such entry, or no longer has
 * it.
 */
export class CursorNotFound extends Schema.TaggedError<CursorNotFound>()("CursorNotFound", {
  param: Schema.Literals(["after", "before"])
}) {}

/** A request names a model that doesn't exist, or that its caller may not use. */
export class ModelNotFound extends Schema.TaggedError<ModelNotFound>()("ModelNotFound", {
  param: Schema.String
}) {}

/** A request has an image, and no model that it may use sees images. */
export class NoVisionModel extends Schema.TaggedError<NoVisionModel>()("NoVisionModel", {
  /**
   * The set that lacks a model that sees images: all models, those that the caller may use, or the named one.
   */
  limit: Schema.Literals(["service", "permits", "model"])
}) {}

/** The request asks for embeddings, and no server for them is configured. */
export class EmbeddingsNotSet extends Schema.TaggedError<EmbeddingsNotSet>()("EmbeddingsNotSet", {}) {}

/** The server of embeddings failed, or refused the texts. `detail` is for the log. */
export class EmbeddingsFailed extends Schema.TaggedError<EmbeddingsFailed>()("EmbeddingsFailed", {
  isRefusal: Schema.Boolean,
  detail: Schema.String
}) {}

/** An `item_reference` names an item that doesn't exist or isn't the caller's. */
export class ItemNotFound extends Schema.TaggedError<ItemNotFound>()("ItemNotFound", {
  param: Schema.String
}) {}

export class ResponseNotFound extends Schema.TaggedError<ResponseNotFound>()("ResponseNotFound", {}) {}

/** The Idempotency-Key was used for another request. */
export class IdempotencyKeyReused extends Schema.TaggedError<IdempotencyKeyReused>()(
  "IdempotencyKeyReused",
  {}
) {}

/** Too many responses of the user are waiting or generated in the background. */
export class TooManyJobs extends Schema.TaggedError<TooManyJobs>()("TooManyJobs", { jobsMax: Schema.Int }) {}

/** A response in progress can't be continued, and its input can't be listed. */
export class ResponseNotComplete extends Schema.TaggedError<ResponseNotComplete>()("ResponseNotComplete", {
  param: Schema.Literals(["response_id", "previous_response_id"])
}) {}

/** A response that failed or was cancelled has no answer that could be continued. */
export class ResponseWithoutAnswer extends Schema.TaggedError<ResponseWithoutAnswer>()(
  "ResponseWithoutAnswer",
  { status: Schema.Literals(["failed", "cancelled"]) }
) {}

/** Only a response in the background can be cancelled. */
export class ResponseNotCancellable extends Schema.TaggedError<ResponseNotCancellable>()(
  "ResponseNotCancellable",
  {}
) {}

/** The process that made a response ended before the response did. */
export class ResponseInterrupted extends Schema.TaggedError<ResponseInterrupted>()(
  "ResponseInterrupted",
  {}
) {}

export class ResponseCancelled extends Schema.TaggedError<ResponseCancelled>()("ResponseCancelled", {}) {}

/** Another question of the conversation is being answered. */
export class AnswerInProgress extends Schema.TaggedError<AnswerInProgress>()("AnswerInProgress", {}) {}

/** The response whose turn was to be replaced is not the last one of its conversation any more. */
export class ResponseNotLast extends Schema.TaggedError<ResponseNotLast>()("ResponseNotLast", {}) {}

/** In the OpenAI profile, `previous_response_id` names a response that doesn't exist, or wasn't stored. */
export class PreviousResponseNotFound extends Schema.TaggedError<PreviousResponseNotFound>()(
  "PreviousResponseNotFound",
  {}
) {}

export class ConversationNotFound extends Schema.TaggedError<ConversationNotFound>()("ConversationNotFound", {
  param: Schema.Literals(["conversation_id", "conversation", "previous_response_id", "after"])
}) {}

export class ProjectNotFound extends Schema.TaggedError<ProjectNotFound>()("ProjectNotFound", {
  /** The field of the request that names it; absent: `project_id`. */
  param: Schema.optionalKey(Schema.String)
}) {}

export class NotProjectMember extends Schema.TaggedError<NotProjectMember>()("NotProjectMember", {
  param: Schema.optionalKey(Schema.String)
}) {}

/** The message with its instructions is longer than any model's context window. */
export class PromptTooLong extends Schema.TaggedError<PromptTooLong>()("PromptTooLong", {
  /** Estimated tokens of the prompt without any history. */
  promptTokens: Schema.Int,
  /** Tokens of the largest context window. */
  tokensMax: Schema.Int,
  /** True if the earlier turns don't fit, and none of them may be left out. */
  ofHistory: Schema.optionalKey(Schema.Boolean),
  /** The field of the document that is too long, if the request contains a document. */
  document: Schema.optionalKey(Schema.String)
}) {}

// ---- files

export class FileTooLarge extends Schema.TaggedError<FileTooLarge>()("FileTooLarge", {
  bytesMax: Schema.Int
}) {}

export class FileQuotaExceeded extends Schema.TaggedError<FileQuotaExceeded>()("FileQuotaExceeded", {
  quota: Schema.Literals(["files", "bytes"]),
  max: Schema.Int
}) {}

export class TooManyUploads extends Schema.TaggedError<TooManyUploads>()("TooManyUploads", {
  uploadsMax: Schema.Int
}) {}

/** `param` is the invalid part of the multipart body, or "". */
export class UploadInvalid extends Schema.TaggedError<UploadInvalid>()("UploadInvalid", {
  param: Schema.String,
  message: Schema.String
}) {}

/** The body of an upload ended early, or came too slowly. */
export class UploadCut extends Schema.TaggedError<UploadCut>()("UploadCut", {
  reason: Schema.Literals(["cut", "slow"])
}) {}

export class FileNotReady extends Schema.TaggedError<FileNotReady>()("FileNotReady", {
  param: Schema.String
}) {}

/** `reason` is for the file's owner. */
export class FileUnreadable extends Schema.TaggedError<FileUnreadable>()("FileUnreadable", {
  param: Schema.String,
  reason: Schema.String
}) {}

/** `message` is for the file's owner. */
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

/** The queue of this process is full; a later attempt may succeed. */
export class ExtractionBusy extends Schema.TaggedError<ExtractionBusy>()("ExtractionBusy", {}) {}

/** The store failed: for example a full disk, a bucket that doesn't answer, or missing bytes. */
export class StorageFailed extends Schema.TaggedError<StorageFailed>()("StorageFailed", {
  operation: Schema.Literals(["put", "get", "remove", "list", "sweep", "trash", "start"]),
  cause: Schema.Defect()
}) {
  override get message(): string {
    return failureReason(this.cause)
  }
}

// ---- limits

/** A token limit is used up, or the rest of it is reserved by running requests. */
export class UsageLimitExceeded extends Schema.TaggedError<UsageLimitExceeded>()("UsageLimitExceeded", {
  /** The owner of the limit. */
  owner: Schema.Literals(["user", "key"]),
  window: Schema.Literals(["daily", "monthly"]),
  /** Below the limit if the rest is reserved. */
  used: Schema.Int,
  /** Reserved by running requests, besides `used`. */
  held: Schema.Int,
  limit: Schema.Int,
  /** The end of the window. */
  resetsAt: Schema.DateTimeUtc,
  retryAfterSeconds: Schema.Int
}) {}

/** A key has sent as many requests as it may send in a minute. */
export class KeyRateExceeded extends Schema.TaggedError<KeyRateExceeded>()("KeyRateExceeded", {
  /** Requests per minute. */
  limit: Schema.Int,
  /** The end of the minute. */
  resetsAt: Schema.DateTimeUtc,
  retryAfterSeconds: Schema.Int
}) {}

// ---- conversations

/** An earlier turn of the conversation is still running after the time that a request waits. */
export class ConversationBusy extends Schema.TaggedError<ConversationBusy>()("ConversationBusy", {
  waitedSeconds: Schema.Int
}) {}

/**
 * Another process acquired the lease of the conversation, or it was deleted, so this turn can't be stored.
 */
export class TurnLeaseLost extends Schema.TaggedError<TurnLeaseLost>()("TurnLeaseLost", {
  isDeleted: Schema.optionalKey(Schema.Boolean)
}) {}

// ---- models

/**
 * The answer doesn't have the form that the client asked for, even after the model was asked to repair it.
 */
export class OutputMismatch extends Schema.TaggedError<OutputMismatch>()("OutputMismatch", {
  /** The mismatch, without a quotation of the answer. */
  mismatch: Schema.String
}) {}

/** No model is known, for instance because the provider's list could not be read yet. */
export class NoModelAvailable extends Schema.TaggedError<NoModelAvailable>()("NoModelAvailable", {
  /** Detail for the log only. */
  detail: Schema.String,
  /**
   * True if the provider refuses the key or the address of the settings, which only the operator can change.
   */
  isRefused: Schema.Boolean
}) {}

/** Models could serve the request, but the caller may use none of them. */
export class ModelForbidden extends Schema.TaggedError<ModelForbidden>()("ModelForbidden", {
  /** The ids of the models whose window fits the prompt. */
  models: Schema.Array(Schema.String)
}) {}

export const ModelFailureReason = Schema.Literals([
  "refused",
  // The key, the account, the address or the model's name in the settings.
  "unauthorized",
  "misconfigured",
  "rate_limited",
  "bad_request",
  // The prompt and the answer don't fit into the context window.
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
  /** The provider's HTTP status, if there was a response. */
  status: Schema.optionalKey(Schema.Int),
  /** The wait that the provider asks for. */
  retryAfterSeconds: Schema.optionalKey(Schema.Finite),
  /** True if the provider states that it is overloaded. */
  isOverloaded: Schema.optionalKey(Schema.Literal(true)),
  /** The field of the request that a provider refuses, by its name in requests. */
  parameter: Schema.optionalKey(Schema.String),
  /** The provider's message, bounded, without keys. */
  sentence: Schema.optionalKey(Schema.String),
  /**
   * The provider's message about any failure, for the log only: bounded, without keys and quotations of the
   * prompt.
   */
  logSentence: Schema.optionalKey(Schema.String),
  /** The remedy for the operator, for the log only. */
  advice: Schema.optionalKey(Schema.String),
  /** The context window, if a provider that refuses a long request reports it. */
  contextTokens: Schema.optionalKey(Schema.Int),
  /** Detail for the log only; bounded, without the prompt. */
  detail: Schema.String
}) {}

// ---- accounts

export class OrganizationExists extends Schema.TaggedError<OrganizationExists>()("OrganizationExists", {}) {}

export class OrganizationNotFound extends Schema.TaggedError<OrganizationNotFound>()(
  "OrganizationNotFound",
  {}
) {}

export class UserExists extends Schema.TaggedError<UserExists>()("UserExists", {}) {}

/** The actor's role doesn't permit managing a user of that role, or assigning the role. */
export class RoleForbids extends Schema.TaggedError<RoleForbids>()("RoleForbids", {
  /**
   * The field of the request: the user, the new role, a key or link of the user, a key for another user, or
   * their organization.
   */
  param: Schema.Literals(["email", "role", "id", "with_key", "organization"])
}) {}

/** The only owner who isn't disabled can't be disabled or get another role. */
export class LastOwner extends Schema.TaggedError<LastOwner>()("LastOwner", {}) {}

/** Files are handed over to another user of the same organization, who isn't disabled. */
export class FilesHeirUnsuitable extends Schema.TaggedError<FilesHeirUnsuitable>()(
  "FilesHeirUnsuitable",
  {}
) {}

/** A user who has files is deleted only if the request states what happens to the files. */
export class UserHasFiles extends Schema.TaggedError<UserHasFiles>()("UserHasFiles", {
  files: Schema.Int,
  /** The projects that some of the files are in. */
  projects: Schema.Array(Schema.Struct({ name: Schema.String, files: Schema.Int }))
}) {}

/** Deleting the user would leave these projects without an owner. */
export class ProjectsLoseOwner extends Schema.TaggedError<ProjectsLoseOwner>()("ProjectsLoseOwner", {
  projects: Schema.Array(Schema.String)
}) {}

/** An organization is deleted when it has no users and projects, or together with them. */
export class OrganizationNotEmpty extends Schema.TaggedError<OrganizationNotEmpty>()("OrganizationNotEmpty", {
  users: Schema.Int,
  projects: Schema.Int
}) {}

export class UserNotFound extends Schema.TaggedError<UserNotFound>()("UserNotFound", {}) {}

/** A project has only members and files of its own organization. */
export class UserOfOtherOrganization extends Schema.TaggedError<UserOfOtherOrganization>()(
  "UserOfOtherOrganization",
  {}
) {}

export class ProjectExists extends Schema.TaggedError<ProjectExists>()("ProjectExists", {}) {}

export class ProjectMemberNotFound extends Schema.TaggedError<ProjectMemberNotFound>()(
  "ProjectMemberNotFound",
  {
    /** The field of the request that names the user. */
    param: Schema.Literals(["email", "user_id"])
  }
) {}

/** The user is a member of the project, and only its owners may do this. */
export class NotProjectOwner extends Schema.TaggedError<NotProjectOwner>()("NotProjectOwner", {
  /** The field of the request that names the project; absent: `project_id`. */
  param: Schema.optionalKey(Schema.String)
}) {}

/** The project has no batch of files with that id. */
export class FileBatchNotFound extends Schema.TaggedError<FileBatchNotFound>()("FileBatchNotFound", {}) {}

/** The change would leave the project without an owner. */
export class LastProjectOwner extends Schema.TaggedError<LastProjectOwner>()("LastProjectOwner", {
  /** The field of the request that names the user. */
  param: Schema.Literals(["email", "user_id"])
}) {}

/** The user owns as many projects as one user may own. */
export class TooManyProjects extends Schema.TaggedError<TooManyProjects>()("TooManyProjects", {
  projectsMax: Schema.Int
}) {}

/** No owner of a file was named, and the project has no owner. */
export class ProjectOwnerMissing extends Schema.TaggedError<ProjectOwnerMissing>()(
  "ProjectOwnerMissing",
  {}
) {}

/** The user has as many valid keys as one user may have. */
export class TooManyKeys extends Schema.TaggedError<TooManyKeys>()("TooManyKeys", {
  keysMax: Schema.Int
}) {}

export class ApiKeyNotFound extends Schema.TaggedError<ApiKeyNotFound>()("ApiKeyNotFound", {}) {}

/** The key was revoked or has expired, so that no other one can replace it. */
export class ApiKeyNotActive extends Schema.TaggedError<ApiKeyNotActive>()("ApiKeyNotActive", {}) {}

export class AdminKeyRejected extends Schema.TaggedError<AdminKeyRejected>()("AdminKeyRejected", {}) {}

/** A file of the settings has a fault, so that it is not read again. `message` is for the operator. */
export class ReloadRefused extends Schema.TaggedError<ReloadRefused>()("ReloadRefused", {
  message: Schema.String
}) {}

/** Another admin key that isn't revoked has the name. */
export class AdminKeyExists extends Schema.TaggedError<AdminKeyExists>()("AdminKeyExists", {}) {}

/** No admin key that isn't revoked has the name. */
export class AdminKeyNotFound extends Schema.TaggedError<AdminKeyNotFound>()("AdminKeyNotFound", {}) {}

/** There are as many valid admin keys as there may be. */
export class TooManyAdminKeys extends Schema.TaggedError<TooManyAdminKeys>()("TooManyAdminKeys", {
  keysMax: Schema.Int
}) {}

export class MetricsTokenRejected extends Schema.TaggedError<MetricsTokenRejected>()(
  "MetricsTokenRejected",
  {}
) {}

// ---- the web application

/**
 * There is no session, or it has ended, expired or belongs to a disabled user. A client can't distinguish
 * these cases.
 */
export class SessionEnded extends Schema.TaggedError<SessionEnded>()("SessionEnded", {}) {}

/** The address, the password or the account is wrong. A client can't distinguish these cases. */
export class SignInRefused extends Schema.TaggedError<SignInRefused>()("SignInRefused", {}) {}

/** Too many failed attempts to sign in, to one account or from one address. */
export class SignInThrottled extends Schema.TaggedError<SignInThrottled>()("SignInThrottled", {
  retryAfterSeconds: Schema.Int
}) {}

/** The link is unknown, expired, revoked or used already. A client can't distinguish these cases. */
export class LinkInvalid extends Schema.TaggedError<LinkInvalid>()("LinkInvalid", {}) {}

export class LinkNotFound extends Schema.TaggedError<LinkNotFound>()("LinkNotFound", {}) {}

/** The first administrator has been set up already. */
export class SetUpDone extends Schema.TaggedError<SetUpDone>()("SetUpDone", {}) {}

/** A new password that is too easy to guess. */
export class WeakPassword extends Schema.TaggedError<WeakPassword>()("WeakPassword", {
  /** The problem and its remedy. */
  message: Schema.String
}) {}

/**
 * The request does not come from a page of this service, or its `Host` is a name that anybody could point
 * here.
 */
export class ForeignRequest extends Schema.TaggedError<ForeignRequest>()("ForeignRequest", {
  /** The address of the application, if the settings have it. */
  publicUrl: Schema.NullOr(Schema.String)
}) {}

/** The header with the token of the session is missing or wrong. */
export class CsrfTokenRejected extends Schema.TaggedError<CsrfTokenRejected>()("CsrfTokenRejected", {}) {}

/** The role of the user doesn't admit it to the endpoint. */
export class EndpointForbidden extends Schema.TaggedError<EndpointForbidden>()("EndpointForbidden", {}) {}

// ---- the service itself

export class UserLimitReached extends Schema.TaggedError<UserLimitReached>()("UserLimitReached", {
  /** Requests at once, requests a minute, bytes of bodies at once, or WebSocket connections at once. */
  limit: Schema.Literals(["requests", "rate", "bodies", "connections"]),
  max: Schema.Int,
  retryAfterSeconds: Schema.Int
}) {}

/** The requests of all users together reach a limit of the process. */
export class ServerBusy extends Schema.TaggedError<ServerBusy>()("ServerBusy", {
  retryAfterSeconds: Schema.Finite
}) {}

/** PostgreSQL doesn't answer, is too slow, or has no free connection. */
export class DatabaseUnavailable extends Schema.TaggedError<DatabaseUnavailable>()("DatabaseUnavailable", {
  cause: Schema.Defect()
}) {}

export class ServerShuttingDown extends Schema.TaggedError<ServerShuttingDown>()("ServerShuttingDown", {}) {}
