import { Effect } from "effect"
import type { ToolCall } from "../domain/ModelCall.ts"
import { follow, over, type Rewritten, type State, type StepEffect } from "./AnswerState.ts"
import { misfitsIn, rewriting } from "./InputCheck.ts"
import { type Answer, type GenerationPart, type Round, tokensLeft } from "./Round.ts"
import { functionParts } from "./ToolCalls.ts"
import { unshown } from "./WrittenCalls.ts"

/** How an answer ends with calls that the client runs. */

/** Ends the answer with the calls. New ones take the places of those that were wrong, which stand where there are none. */
export const handedOver = (
  { meter, nextItemId }: Answer,
  { calls, callsId, wrong }: Rewritten,
  written: ReadonlyArray<ToolCall> = []
): ReadonlyArray<GenerationPart> => {
  const replaced = calls.map((call) => {
    const place = wrong.indexOf(call)
    return place < 0 ? call : (written[place] ?? call)
  })
  const all = [...replaced, ...written.slice(wrong.length)]
  return [
    ...functionParts(all, callsId, nextItemId),
    { type: "finish", reason: "tool_calls", usage: meter.usage }
  ]
}

/**
 * Ends a round with the calls that the client runs. Those whose text doesn't follow its grammar are written again first. What was
 * shown is not shown again.
 */
export const handOver = (
  answer: Answer,
  state: State,
  round: Round,
  functions: ReadonlyArray<ToolCall>
): StepEffect => {
  const { nextItemId, rules } = answer
  const calls = unshown(round, functions)
  const callsId = round.callsId ?? nextItemId()
  return Effect.flatMap(misfitsIn(calls, rules), (misfits) => {
    const rewritten = { calls, callsId, wrong: misfits.map(({ call }) => call) }
    const asTheyAre = Effect.sync(() => over(state, handedOver(answer, rewritten)))
    if (misfits.length === 0) return asTheyAre
    const said = { text: round.bound.text(), reasoning: round.reasoning }
    const again = rewriting(round.attempt, said, misfits, nextItemId, tokensLeft(answer))
    return follow(answer, { ...state, rewritten }, again, asTheyAre)
  })
}
