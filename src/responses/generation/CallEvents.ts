import type { FunctionCall } from "../../domain/Conversation.ts"
import type { ItemId } from "../../domain/Ids.ts"
import { storable } from "../../domain/storable.ts"
import {
  begunCall,
  begunFunction,
  endedCall,
  functionCall,
  type FunctionPart,
  type FunctionText
} from "./CallItems.ts"
import { andThen, type EventsState, type Step } from "./EventsState.ts"
import { argumentsDelta, itemEvents } from "./ItemEvents.ts"
import type { ToolPart } from "./ToolCalls.ts"

/** Adds calls to the events of a stream. When a call begins, no message and no reasoning is open. */

const none: ReadonlyArray<never> = []

export const beginTool = (state: EventsState, part: Extract<ToolPart, { type: "tool_begin" }>): Step => {
  const item = begunCall(part)
  return [
    { ...state, output: [...state.output, item] },
    [{ type: "response.output_item.added", output_index: state.output.length, item }]
  ]
}

export const endTool = (state: EventsState, part: Extract<ToolPart, { type: "tool_end" }>): Step => {
  const index = state.output.findIndex(({ id }) => id === part.id)
  const call = state.output[index]
  if (call?.type !== "mcp_call" || call.status !== "in_progress") return [state, none]
  const item = endedCall(call, part.result)
  return [
    { ...state, output: state.output.with(index, item) },
    [{ type: "response.output_item.done", output_index: index, item }]
  ]
}

interface OpenFunction {
  readonly call: FunctionCall
  readonly index: number
}

/** The open call of the client's function with this id; null if there is none. */
const openFunction = ({ output }: EventsState, callId: ItemId): OpenFunction | null => {
  const index = output.findLastIndex(({ id }) => id === callId)
  const call = output[index]
  return call?.type === "function_call" && call.status === "in_progress" ? { call, index } : null
}

/** The first piece of a call's arguments. */
export const beginFunctionText = (state: EventsState, part: FunctionText): Step => {
  const { length: index } = state.output
  const item = begunFunction(part)
  const text = storable(part.text)
  return [
    { ...state, output: [...state.output, { ...item, arguments: text }] },
    [{ type: "response.output_item.added", output_index: index, item }, argumentsDelta(item.id, index, text)]
  ]
}

/** A further piece; null if no piece came before. */
export const moreFunctionText = (state: EventsState, part: FunctionText): Step | null => {
  const open = openFunction(state, part.id)
  if (open === null) return null
  const { call, index } = open
  const text = storable(part.text)
  const written = { ...call, arguments: call.arguments + text }
  return [{ ...state, output: state.output.with(index, written) }, [argumentsDelta(call.id, index, text)]]
}

/** A call that comes at once. */
export const addFunctionCall = (state: EventsState, part: FunctionPart): Step => {
  const item = functionCall(part)
  return [{ ...state, output: [...state.output, item] }, itemEvents(item, state.output.length)]
}

const withEnd = (state: EventsState, { call, index }: OpenFunction, item: FunctionCall): Step => {
  // The arguments shown so far are the beginning of the whole.
  const rest = item.arguments.slice(call.arguments.length)
  return [
    { ...state, output: state.output.with(index, item) },
    [
      ...(rest === "" ? [] : [argumentsDelta(item.id, index, rest)]),
      { type: "response.output_item.done", output_index: index, item }
    ]
  ]
}

/** The end of a call whose pieces came before; null if none came. */
export const endFunctionText = (state: EventsState, part: FunctionPart): Step | null => {
  const open = openFunction(state, part.id)
  return open && withEnd(state, open, functionCall(part))
}

/** Ends the calls that are incomplete because the answer was cut. */
export const failOpenFunctions = (state: EventsState): Step =>
  state.output.reduce<Step>(
    (step, call, index) =>
      call.type === "function_call" && call.status === "in_progress"
        ? andThen(step, (before) => withEnd(before, { call, index }, { ...call, status: "failed" }))
        : step,
    [state, none]
  )
