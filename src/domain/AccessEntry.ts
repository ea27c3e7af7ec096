import { Context } from "effect"
import type { ApiKeyId, ConversationId, OrganizationId, ResponseId, UserId } from "./Ids.ts"
import type { ModelSpec } from "./Model.ts"
import type { ModelUsage } from "./ModelCall.ts"

/**
 * Facts about one request, collected for its log line and its metrics: ids and numbers, never a text of a
 * user or a model.
 */
export interface AccessEntry {
  /** When the request arrived, by the monotonic clock. */
  readonly beganNanos: bigint
  caller: AccessCaller | null
  /**
   * Whose requests and bodies are bounded together with this one: a user, or the address of a client; null:
   * nobody's.
   */
  boundedBy: string | null
  conversationId: ConversationId | null
  response: ResponseAccess | null
  /** What a request for embeddings asked for. */
  embeddings: EmbeddingsAccess | null
  /** When the first output of a model arrived, by the monotonic clock. */
  firstOutputNanos: bigint | null
  /** When the last byte was produced, by the monotonic clock; null: at the end of the request. */
  endedNanos: bigint | null
  /** The error code that the client received. */
  errorCode: string | null
}

/** Whose request it is. */
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
