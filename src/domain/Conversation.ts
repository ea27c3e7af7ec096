import type { ConversationId, ResponseId } from "./Ids.ts"
import type { InputItem, OutputItem } from "./Item.ts"

/** One stored exchange: what was said, and the whole answer to it. */
export interface StoredTurn {
  /** 0 for the first turn of a conversation. */
  readonly position: number
  readonly responseId: ResponseId
  readonly input: ReadonlyArray<InputItem>
  readonly output: ReadonlyArray<OutputItem>
  /** What the turn adds to a prompt without the texts of its files, by `estimateTokens`. */
  readonly promptTokens: number
}

/** What a new turn of a conversation starts from. */
export interface ConversationState {
  readonly conversationId: ConversationId
  /** How many turns the conversation has; the new turn gets this position. */
  readonly turnCount: number
  /** The stored system message; null where there is none. */
  readonly systemMessage: string | null
}

/** The right to add one turn to a conversation, held from `open` until its scope closes. */
export interface OpenTurn extends ConversationState {
  /** Grows with each holder; a commit with an older fence is refused. */
  readonly fence: number
}
