import { Predicate, Schema } from "effect"
import { ApiKeyId, ConversationId, ResponseId, UserId } from "../domain/Ids.ts"

/** The rows of `response_jobs`. */

export const JobStatus = Schema.Literals([
  "queued",
  "in_progress",
  "completed",
  "incomplete",
  "failed",
  "cancelled"
])
export type JobStatus = typeof JobStatus.Type

/** The failure of a job, as its client sees it. */
export const JobFailure = Schema.Struct({
  status: Schema.Int,
  type: Schema.String,
  code: Schema.String,
  message: Schema.String,
  param: Schema.optionalKey(Schema.String),
  /** Headers of the HTTP response, such as Retry-After. */
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
})
export type JobFailure = typeof JobFailure.Type

/** The reason why a question has no answer. */
export type QuestionFailure = Pick<JobFailure, "code" | "message">

/**
 * The origin of a job: a response, a chat or embeddings of the OpenAI profile, or a question of the web
 * application.
 */
const JobKind = Schema.Literals(["profile", "question", "chat", "embeddings"])

export const JobRow = Schema.Struct({
  responseId: ResponseId,
  kind: JobKind,
  /** Known from the beginning for a question, and else from the first event on. */
  conversationId: Schema.NullOr(ConversationId),
  userId: UserId,
  apiKeyId: ApiKeyId,
  background: Schema.Boolean,
  status: JobStatus,
  /** The request. A long one lacks its `input`, or all of its fields if its kind isn't `profile`. */
  request: Schema.Unknown,
  requestBytes: Schema.Int,
  failure: Schema.NullOr(JobFailure),
  leaseFence: Schema.Int,
  runs: Schema.Int,
  eventCount: Schema.Int,
  createdAt: Schema.DateTimeUtcFromDate,
  endedAt: Schema.NullOr(Schema.DateTimeUtcFromDate)
})
export type ResponseJob = typeof JobRow.Type

/** True if the job makes a response that can be shown by its id. */
export const isOfResponse = ({ kind }: ResponseJob): boolean => kind === "profile" || kind === "question"

/** The columns of a row except `request`. */
export const columns =
  "response_id, kind, conversation_id, user_id, api_key_id, background, status, failure, lease_fence, runs, event_count, created_at, ended_at"

/**
 * Bytes of a request that every reader of its job is given whole; a longer one may have images, which only
 * its run needs.
 */
const shortRequestBytesMax = 65_536

/** The part of a long request that readers get. Only responses of the second profile show any of it. */
const shortened = (kind: ResponseJob["kind"], request: unknown): object =>
  kind === "profile" && Predicate.isObject(request) ? { ...request, input: "(long)" } : {}

/** The length of a request, which jobs of an earlier version have in no column. */
export const requestValues = (kind: ResponseJob["kind"], request: unknown) => {
  const text = JSON.stringify(request)
  const bytes = Buffer.byteLength(text)
  return {
    text,
    bytes,
    short: bytes > shortRequestBytesMax ? JSON.stringify(shortened(kind, request)) : null
  }
}

/** True if the whole request of a row has to be read apart from it. */
export const isShortened = ({ requestBytes }: Pick<ResponseJob, "requestBytes">): boolean =>
  requestBytes > shortRequestBytesMax

/** The length of a request. Jobs that an earlier version inserted have it in no column. */
export const requestBytesColumn = "coalesce(request_bytes, octet_length(request::text)) AS request_bytes"

/** The columns of a request that leave a long one unread, which would take hundreds of milliseconds. */
export const requestColumns = `coalesce(short_request, request) AS request, ${requestBytesColumn}`

/** The lease of a job that is being run. */
export type JobLease = Pick<ResponseJob, "responseId" | "leaseFence">
