import { Schema } from "effect"
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

/** Why a job failed, as its client sees it. */
export const JobFailure = Schema.Struct({
  status: Schema.Int,
  type: Schema.String,
  code: Schema.String,
  message: Schema.String,
  param: Schema.optionalKey(Schema.String),
  /** Of the HTTP response, such as when to ask again. */
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
})
export type JobFailure = typeof JobFailure.Type

/** What a question says of why it has no answer. */
export type QuestionFailure = Pick<JobFailure, "code" | "message">

/** Whose request a job has: a response of the second profile, a chat of it, or a question of the web application. */
const JobKind = Schema.Literals(["profile", "question", "chat"])

export const JobRow = Schema.Struct({
  responseId: ResponseId,
  kind: JobKind,
  /** Known from the beginning for a question, and else from the first event on. */
  conversationId: Schema.NullOr(ConversationId),
  userId: UserId,
  apiKeyId: ApiKeyId,
  background: Schema.Boolean,
  status: JobStatus,
  request: Schema.Unknown,
  failure: Schema.NullOr(JobFailure),
  leaseFence: Schema.Int,
  runs: Schema.Int,
  eventCount: Schema.Int,
  createdAt: Schema.DateTimeUtcFromDate,
  endedAt: Schema.NullOr(Schema.DateTimeUtcFromDate)
})
export type ResponseJob = typeof JobRow.Type

export const columns =
  "response_id, kind, conversation_id, user_id, api_key_id, background, status, request, failure, lease_fence, runs, event_count, created_at, ended_at"

/** The lease of a job that is being run. */
export type JobLease = Pick<ResponseJob, "responseId" | "leaseFence">
