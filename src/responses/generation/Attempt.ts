import type { Stream } from "effect"
import type { ModelFailure } from "../../domain/Errors.ts"
import type { ModelSpec } from "../../domain/Model.ts"
import type { CallOptions, ModelMessage, ModelPart, ModelRequest } from "../../domain/ModelCall.ts"
import { messagesTokens } from "../prompt/PromptMessages.ts"

/** A model and the request that asks it for the answer. */
export interface Attempt {
  readonly model: ModelSpec
  readonly request: ModelRequest
  /** Estimated tokens of the request's messages. */
  readonly promptTokens: number
  /** True if a token limit leaves the answer less room than the request asked for. */
  readonly isLimited: boolean
  /** Earlier turns that don't fit into the model's window. */
  readonly droppedTurns: number
  /** True if the provider is cooling down, so that it is no reliable fallback. */
  readonly coolingDown: boolean
  readonly stream: (request: ModelRequest, options: CallOptions) => Stream.Stream<ModelPart, ModelFailure>
  /**
   * The attempt with a shorter prompt, after a server refused the prompt as too long. The server may have
   * stated the tokens of its context. null if nothing more can be left out.
   */
  readonly shorter: (contextTokens: number | null) => Attempt | null
}

/**
 * The attempt of the next call, with more messages in its prompt. `tokensLeft`: the tokens that the answer
 * may still have.
 */
export const continued = (
  attempt: Attempt,
  added: ReadonlyArray<ModelMessage>,
  tokensLeft: number,
  changes: Pick<ModelRequest, "tools" | "options" | "followsOwnCalls">
): Attempt => {
  const promptTokens = attempt.promptTokens + messagesTokens(added)
  return {
    ...attempt,
    promptTokens,
    request: {
      ...attempt.request,
      messages: [...attempt.request.messages, ...added],
      maxOutputTokens: Math.min(tokensLeft, attempt.model.contextWindow - promptTokens),
      ...changes
    }
  }
}
