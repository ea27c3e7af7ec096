import { Effect } from "effect"
import type { CallText, ModelPart, ToolCall } from "../../domain/ModelCall.ts"
import { follow, over, type Rewritten, type State, type StepEffect } from "./AnswerState.ts"
import { isCheckedCall, misfitsIn, rewriting } from "./InputCheck.ts"
import { type Answer, type GenerationPart, offersTools, type Round, tokensLeft } from "./Round.ts"
import { functionPart, functionParts } from "./ToolCalls.ts"

/** The end of an answer with calls that the client runs. */

/**
 * Ends the answer with the calls. A call written again replaces the first wrong one of its name. Wrong calls
 * without a replacement stay, and calls beyond the wrong ones are dropped.
 */
export const handedOver = (
  { meter, nextItemId }: Answer,
  { calls, callsId, wrong }: Rewritten,
  written: ReadonlyArray<ToolCall> = []
): ReadonlyArray<GenerationPart> => {
  const unused = new Set(written)
  const replaced = calls.map((call) => {
    if (!wrong.includes(call)) return call
    const again = [...unused].find(({ name }) => name === call.name) ?? call
    unused.delete(again)
    return again
  })
  return [
    ...functionParts(replaced, callsId, nextItemId),
    { type: "finish", reason: "tool_calls", usage: meter.usage }
  ]
}

/**
 * Ends a round with the calls that the client runs. Calls that violate their grammar are written again first.
 * Nothing is shown twice.
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

/** The calls of the client's functions, whose arguments are shown as the model writes them. */

/**
 * True if the client runs the call and it counts once the model ends it. `sortCalls` applies the same rule to
 * whole calls. A call with a check is shown only when it is complete.
 */
const isFunction = ({ attempt, rules }: Answer, part: CallText): boolean => {
  const { parallelToolCalls, toolChoice } = attempt.request.options ?? {}
  return (
    rules.functions.has(part.name) &&
    toolChoice !== "none" &&
    (parallelToolCalls !== false || part.position === 0) &&
    !isCheckedCall(rules, part)
  )
}

/** The round with an item for each call that begins in these parts. */
export const withBegun = (answer: Answer, round: Round, parts: ReadonlyArray<ModelPart>): Round => {
  if (!offersTools(answer)) return round
  const whole = [
    ...round.toolCalls,
    ...parts.flatMap((part) => (part.type === "tool_call" ? [part.call] : []))
  ]
  // Calls behind one with a check wait for it, because a client may run them in their order.
  const held = whole.findIndex((call) => isCheckedCall(answer.rules, call))
  const positions = parts.flatMap((part) =>
    part.type === "call_text" &&
    (held < 0 || part.position < held) &&
    !round.begun.has(part.position) &&
    isFunction(answer, part)
      ? [part.position]
      : []
  )
  if (positions.length === 0) return round
  const begun = [...new Set(positions)].map((position) => [position, answer.nextItemId()] as const)
  const callsId = round.callsId ?? answer.nextItemId()
  return { ...round, callsId, begun: new Map([...round.begun, ...begun]) }
}

const itemOf = ({ begun, toolCalls }: Round, call: ToolCall) => begun.get(toolCalls.indexOf(call))

/** A piece of a call as it is shown, behind the reasoning before the call, or the end of such a call. */
export const shownCall = (round: Round, part: ModelPart): ReadonlyArray<GenerationPart> => {
  if (part.type === "tool_call") {
    const id = itemOf(round, part.call)
    return id === undefined || round.callsId === null ? [] : [functionPart(part.call, id, round.callsId)]
  }
  if (part.type !== "call_text") return []
  const { name, position, reasoning, text } = part
  const id = round.begun.get(position)
  return id === undefined
    ? []
    : [
        ...reasoning.map((one) => ({ type: "reasoning", reasoning: one }) as const),
        { type: "function_text", id, name, text }
      ]
}

/** The calls of which nothing was shown. */
export const unshown = (round: Round, calls: ReadonlyArray<ToolCall>): ReadonlyArray<ToolCall> =>
  calls.filter((call) => itemOf(round, call) === undefined)
