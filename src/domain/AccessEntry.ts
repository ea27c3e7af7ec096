import { Context } from "effect"
import type { ApiKeyId, ConversationId, OrganizationId, ResponseId, UserId } from "./Ids.ts"
import type { ModelSpec } from "./Model.ts"
import type { ModelUsage } from "./ModelCall.ts"

/**
 * Facts about one request, collected for its log line and its metrics: ids and numbers, never a text of a
 * user or a model.
 */
export interface AccessEntry {
  /** The time of the request's arrival, by the monotonic clock. */
  readonly beganNanos: bigint
  caller: AccessCaller | null
  /** The owner of the limits of requests and bodies: a user, or the address of a client; null: no limits. */
  boundedBy: string | null
  conversationId: ConversationId | null
  response: ResponseAccess | null
  /** The parameters of a request for embeddings. */
  embeddings: EmbeddingsAccess | null
  /** The time of the first output of a model, by the monotonic clock. */
  firstOutputNanos: bigint | null
  /** The time of the last byte, by the monotonic clock; null: the end of the request. */
  endedNanos: bigint | null
  /** The error code that the client received. */
  errorCode: string | null
}

/** The caller of the request. */
interface AccessCaller {
  readonly userId: UserId
  readonly organizationId: OrganizationId
  /** Null in the web application, where no key is used. */
  readonly keyId: ApiKeyId | null
}

interface EmbeddingsAccess {
  readonly model: string
  readonly provider: string
  readonly inputTokens: number
  readonly outcome: ResponseAccess["outcome"]
}

interface ResponseAccess {
  readonly responseId: ResponseId
  readonly model: ModelSpec
  readonly usage: ModelUsage
  readonly toolCalls: number
  readonly outcome: "completed" | "failed" | "abandoned"
}

export const newAccessEntry = (beganNanos: bigint): AccessEntry => ({
  beganNanos,
  caller: null,
  boundedBy: null,
  conversationId: null,
  response: null,
  embeddings: null,
  firstOutputNanos: null,
  endedNanos: null,
  errorCode: null
})

/** The entry of the current request; null outside of one. */
export const CurrentAccess = Context.Reference<AccessEntry | null>("parley/domain/CurrentAccess", {
  defaultValue: () => null
})
