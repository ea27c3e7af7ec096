import type { ConversationId, ResponseId } from "./Ids.ts"
import type { InputItem, OutputItem } from "./Item.ts"

export interface StoredTurn {
  /** 0 for the first turn of a conversation. */
  readonly position: number
  readonly responseId: ResponseId
  readonly input: ReadonlyArray<InputItem>
  readonly output: ReadonlyArray<OutputItem>
  /** Estimated tokens of the turn in a prompt, without the texts of its files. */
  readonly promptTokens: number
}

export interface ConversationState {
  readonly conversationId: ConversationId
  /** Also the position of the new turn. */
  readonly turnCount: number
  readonly systemMessage: string | null
}

/** The lease to add one turn to a conversation, from `open` until its scope closes. */
export interface OpenTurn extends ConversationState {
  /** Grows with each holder; a commit with an older fence is refused. */
  readonly fence: number
}
