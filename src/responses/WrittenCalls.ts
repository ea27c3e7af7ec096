import type { CallText, ModelPart, ToolCall } from "../domain/ModelCall.ts"
import { isCheckedCall } from "./InputCheck.ts"
import { type Answer, type GenerationPart, offersTools, type Round } from "./Round.ts"
import { functionPart } from "./ToolCalls.ts"

/** The calls of the client's functions, whose arguments are shown as the model writes them. */

/**
 * Whether a call counts if the model ends it, and the client runs it. The same holds for whole calls in `sortCalls`. One that is to be
 * checked is shown when it is whole.
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

/** The round with an item for each call of which the parts have the first piece. */
export const withBegun = (answer: Answer, round: Round, parts: ReadonlyArray<ModelPart>): Round => {
  if (!offersTools(answer)) return round
  const whole = [
    ...round.toolCalls,
    ...parts.flatMap((part) => (part.type === "tool_call" ? [part.call] : []))
  ]
  // Those behind one that is to be checked wait for it, because a client may run them in their order.
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

/** A piece of a call as it is shown, behind what the model thought before it, or the end of such a call. */
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

/** Those of the calls of which nothing was shown. */
export const unshown = (round: Round, calls: ReadonlyArray<ToolCall>): ReadonlyArray<ToolCall> =>
  calls.filter((call) => itemOf(round, call) === undefined)
