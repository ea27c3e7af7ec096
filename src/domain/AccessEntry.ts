import { Context } from "effect"
import type { Caller } from "./Account.ts"
import type { ConversationId, ResponseId } from "./Ids.ts"
import type { ModelUsage } from "./ModelCall.ts"
import type { ModelSpec } from "./Model.ts"

/**
 * What is found out about one request while it runs, for the line and the metrics at its end. It is written by whoever
 * knows; it holds ids and numbers, and never a text that a user or a model wrote.
 */
export interface AccessEntry {
  /** Of the monotonic clock, when the request came. */
  readonly beganNanos: bigint
  caller: Caller | null
  conversationId: ConversationId | null
  response: ResponseAccess | null
  /** Of the monotonic clock, when a model's first output came. */
  firstOutputNanos: bigint | null
  /** Of the monotonic clock, when the last byte was made; null leaves it to the end of the request. */
  endedNanos: bigint | null
  /** The code of the error that the client was told. */
  errorCode: string | null
}

/** What the account of a response says at its end. */
export interface ResponseAccess {
  readonly responseId: ResponseId
  readonly model: ModelSpec
  readonly usage: ModelUsage
  readonly toolCalls: number
  readonly outcome: "completed" | "failed" | "abandoned"
}

export const newAccessEntry = (beganNanos: bigint): AccessEntry => ({
  beganNanos,
  caller: null,
  conversationId: null,
  response: null,
  firstOutputNanos: null,
  endedNanos: null,
  errorCode: null
})

/** The entry of the request that is being answered; null where no request is. */
export const CurrentAccess = Context.Reference<AccessEntry | null>("parley/domain/AccessEntry", {
  defaultValue: () => null
})
