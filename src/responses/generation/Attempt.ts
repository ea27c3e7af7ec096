import type { Stream } from "effect"
import type { ModelFailure } from "../../domain/Errors.ts"
import type { ModelSpec } from "../../domain/Model.ts"
import type { CallOptions, ModelMessage, ModelPart, ModelRequest } from "../../domain/ModelCall.ts"
import { messagesTokens } from "../prompt/PromptMessages.ts"

/** One way to get the answer: a model and the request for it. */
export interface Attempt {
  readonly model: ModelSpec
  readonly request: ModelRequest
  /** Estimated tokens of the request's messages. */
  readonly promptTokens: number
  /** Whether a token limit leaves its answer less room than the request asked for. */
  readonly isLimited: boolean
  /** Earlier turns that don't fit into the model's window. */
  readonly droppedTurns: number
  /** Whether its provider is cooling down, so that it is no reliable fallback. */
  readonly coolingDown: boolean
  readonly stream: (request: ModelRequest, options: CallOptions) => Stream.Stream<ModelPart, ModelFailure>
  /**
   * The attempt with a shorter prompt, for a server that finds it too long and may have stated the tokens of its context;
   * null if nothing more can be left out.
   */
  readonly shorter: (contextTokens: number | null) => Attempt | null
}

/** The attempt of the next call, with more messages in its prompt. `tokensLeft`: what the answer may still have. */
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
