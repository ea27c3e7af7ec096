import type { InputItem, StoredTurn } from "../domain/Conversation.ts"
import { beginningWithin, estimateTokens } from "../domain/Tokens.ts"
import { fairShares } from "./AttachedFiles.ts"
import { cutMark, cutMarkTokens } from "./ToolCalls.ts"

/** At most this share of the largest window goes to the results of the client's functions that one turn brings. */
const resultsShareMax = 0.5

/** The items as a prompt for a window shows them: their results are cut visibly, so that the rest has room beside them. */
export const withResultsWithin = (
  items: ReadonlyArray<InputItem>,
  contextWindow: number
): ReadonlyArray<InputItem> => {
  const tokensMax = Math.floor(contextWindow * resultsShareMax)
  const needs = items.map((item) => (item.type === "function_call_output" ? estimateTokens(item.output) : 0))
  if (needs.reduce((sum, need) => sum + need, 0) <= tokensMax) return items
  const shares = fairShares(needs, tokensMax)
  return items.map((item, index) => {
    const share = shares[index] ?? 0
    if (item.type !== "function_call_output" || share >= (needs[index] ?? 0)) return item
    return { ...item, output: beginningWithin(item.output, Math.max(0, share - cutMarkTokens)) + cutMark }
  })
}

/** The same for each of the earlier turns. */
export const historyWithin = (
  history: ReadonlyArray<StoredTurn>,
  contextWindow: number
): ReadonlyArray<StoredTurn> =>
  history.map((turn) => ({ ...turn, input: withResultsWithin(turn.input, contextWindow) }))
