import { Array as Arr, Effect } from "effect"
import type { ConversationState, StoredTurn } from "../domain/Conversation.ts"
import { PromptTooLong } from "../domain/Errors.ts"
import type { Attempt } from "./Attempt.ts"

/** The attempts whose prompt has all earlier turns. */
export const withAllTurns = (
  attempts: Arr.NonEmptyReadonlyArray<Attempt>,
  { turnCount }: ConversationState,
  history: ReadonlyArray<StoredTurn>
) => {
  const whole = attempts.flatMap((attempt): ReadonlyArray<Attempt> => {
    if (attempt.droppedTurns > 0 || history.length < turnCount) return []
    const shorter: Attempt["shorter"] = (contextTokens) => {
      const less = attempt.shorter(contextTokens)
      return less === null || less.droppedTurns > 0 ? null : less
    }
    return [{ ...attempt, shorter }]
  })
  const tokensMax = Math.max(...attempts.map(({ model }) => model.contextWindow)) - 1
  return Arr.isReadonlyArrayNonEmpty(whole)
    ? Effect.succeed(whole)
    : Effect.fail(new PromptTooLong({ promptTokens: tokensMax + 1, tokensMax, ofHistory: true }))
}
