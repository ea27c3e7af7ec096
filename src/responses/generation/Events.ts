import { Chunk } from "effect"
import type { EventBody } from "../../api/ResponseEvent.ts"
import { startedResponse, type ResponseStart } from "../../api/ResponseObject.ts"
import {
  type CutReason,
  incompleteDetails,
  type OutputMessage,
  outputText
} from "../../domain/Conversation.ts"
import type { ItemId } from "../../domain/Ids.ts"
import type { EndReason, Reasoning, TokenLogprob } from "../../domain/ModelCall.ts"
import { storable, storablePiece, type TextPiece } from "../../domain/storable.ts"
import { citationsIn, type Search, searchCall } from "../prompt/Citations.ts"
import {
  addFunctionCall,
  beginFunctionText,
  beginTool,
  endFunctionText,
  endTool,
  failOpenFunctions,
  moreFunctionText
} from "./CallEvents.ts"
import { andThen, type EventsState, type FinishedState, type Step } from "./EventsState.ts"
import {
  begunItem,
  itemEvents,
  openMessage,
  reasoningDelta,
  reasoningItem,
  refusalDelta,
  textDelta,
  textDone,
  textPart
} from "./ItemEvents.ts"
import type { GenerationPart } from "./Round.ts"
import { usageOf } from "./TurnDetails.ts"

/**
 * From the parts of a generation to the events of the stream: a pure state machine. For any parts in any
 * order the events obey the grammar of the wire contract, section 2.
 */

const none: ReadonlyArray<never> = []
const noLogprobs = Chunk.empty<TokenLogprob>()

/** The first events, and the state after them. A search of the project's files comes first. */
export const begin = (start: ResponseStart, search: Search | null = null): Step => {
  const created: EventBody = { type: "response.created", response: startedResponse(start) }
  const state: EventsState = {
    start,
    output: none,
    open: null,
    thought: null,
    refuses: false,
    text: "",
    logprobs: noLogprobs,
    carry: "",
    finish: null,
    passages: none
  }
  if (search === null) return [state, [created]]
  const { id, knowledge } = search
  const item = searchCall(id, knowledge, "completed")
  return [
    { ...state, output: [item], passages: knowledge.passages },
    [
      created,
      {
        type: "response.output_item.added",
        output_index: 0,
        item: searchCall(id, knowledge, "in_progress")
      },
      { type: "response.output_item.done", output_index: 0, item }
    ]
  ]
}

const addText = (
  state: EventsState,
  { carry, text }: TextPiece,
  nextId: () => ItemId,
  logprobs: ReadonlyArray<TokenLogprob> = none
): Step => {
  const { length: index } = state.output
  if (text === "") return [carry === state.carry ? state : { ...state, carry }, none]
  const all =
    logprobs.length === 0 ? state.logprobs : Chunk.appendAll(state.logprobs, Chunk.fromIterable(logprobs))
  const written = { ...state, carry, text: state.text + text, logprobs: all }
  if (state.open !== null) return [written, [textDelta(state.open, index, text, logprobs)]]
  const id = nextId()
  return [{ ...written, open: id }, [...openMessage(id, index, false), textDelta(id, index, text, logprobs)]]
}

/** A refusal of the model is a message of its own. */
const addRefusal = (state: EventsState, piece: string, nextId: () => ItemId): Step => {
  const text = storable(piece)
  if (text === "") return [state, none]
  const { length: index } = state.output
  if (state.open !== null && state.refuses)
    return [{ ...state, text: state.text + text }, [refusalDelta(state.open, index, text)]]
  return andThen(endOpen(state, nextId), (ended) => {
    const id = nextId()
    const at = ended.output.length
    return [
      { ...ended, open: id, refuses: true, text },
      [...openMessage(id, at, true), refusalDelta(id, at, text)]
    ]
  })
}

const closeMessage = (state: EventsState, id: ItemId): Step => {
  const { logprobs, refuses, text } = state
  const { length: index } = state.output
  const annotations = citationsIn(text, state.passages)
  const item: OutputMessage = {
    id,
    type: "message",
    status: "completed",
    role: "assistant",
    content: [textPart(text, annotations, refuses, Chunk.toReadonlyArray(logprobs))]
  }
  return [
    {
      ...state,
      open: null,
      refuses: false,
      text: "",
      logprobs: noLogprobs,
      output: [...state.output, item]
    },
    [textDone(item, index), { type: "response.output_item.done", output_index: index, item }]
  ]
}

/** Ends the open message or the open reasoning, if there is one. */
const endOpen = (state: EventsState, nextId: () => ItemId): Step =>
  state.thought === null
    ? andThen(addText(state, { text: storable(state.carry), carry: "" }, nextId), (rested) =>
        rested.open === null ? [rested, none] : closeMessage(rested, rested.open)
      )
    : closeThought(state, state.thought, { text: state.text, opaque: null })

const closeThought = (state: EventsState, id: ItemId, { opaque }: Reasoning): Step => {
  const { length: index } = state.output
  // The text of the item is that of its deltas.
  const item = reasoningItem(id, { text: state.text, opaque })
  return [
    { ...state, thought: null, text: "", output: [...state.output, item] },
    [{ type: "response.output_item.done", output_index: index, item }]
  ]
}

const addThoughtText = (state: EventsState, text: string, nextId: () => ItemId): Step => {
  const piece = storable(text)
  if (piece === "") return [state, none]
  const { length: index } = state.output
  if (state.thought !== null)
    return [{ ...state, text: state.text + piece }, [reasoningDelta(state.thought, index, piece)]]
  return andThen(endOpen(state, nextId), (ended) => {
    const id = nextId()
    const at = ended.output.length
    const item = begunItem(reasoningItem(id, { text: "", opaque: null }))
    return [
      { ...ended, thought: id, text: piece },
      [{ type: "response.output_item.added", output_index: at, item }, reasoningDelta(id, at, piece)]
    ]
  })
}

const addReasoning = (state: EventsState, reasoning: Reasoning, nextId: () => ItemId): Step => {
  if (state.thought !== null) return closeThought(state, state.thought, reasoning)
  if (reasoning.text === "" && reasoning.opaque === null) return [state, none]
  return andThen(endOpen(state, nextId), (ended) => {
    const { length: index } = ended.output
    const item = reasoningItem(nextId(), reasoning)
    return [{ ...ended, output: [...ended.output, item] }, itemEvents(item, index)]
  })
}

type TextPart = Extract<GenerationPart, { type: "text" }>

/** Text of the answer, behind the reasoning. */
const addAnswer = (state: EventsState, { logprobs, text }: TextPart, nextId: () => ItemId): Step =>
  state.thought === null && !state.refuses
    ? addText(state, storablePiece(state.carry, text), nextId, logprobs)
    : andThen(endOpen(state, nextId), (ended) => addText(ended, storablePiece("", text), nextId, logprobs))

const finish = (
  state: EventsState,
  part: Extract<GenerationPart, { type: "finish" }>,
  nextId: () => ItemId
): Step =>
  andThen(andThen(endOpen(state, nextId), failOpenFunctions), (ended) => {
    const last = ended.output.findLast(({ type }) => type !== "reasoning")?.type
    const finished = { ...ended, finish: part }
    if (last === "message" || ended.output.some(({ type }) => type === "function_call"))
      return [finished, none]
    // The answer ends without a text: a message of one empty delta.
    const id = nextId()
    const empty = [...openMessage(id, ended.output.length, false), textDelta(id, ended.output.length, "")]
    return andThen([finished, empty], (opened) => closeMessage(opened, id))
  })

/** The events that one part adds. A part after the finish adds nothing. */
export const step = (state: EventsState, part: GenerationPart, nextId: () => ItemId): Step => {
  if (state.finish !== null) return [state, none]
  switch (part.type) {
    case "text":
      return part.isRefusal === true ? addRefusal(state, part.text, nextId) : addAnswer(state, part, nextId)
    case "reasoning_text":
      return addThoughtText(state, part.text, nextId)
    case "reasoning":
      return addReasoning(state, part.reasoning, nextId)
    case "tool_begin":
      return andThen(endOpen(state, nextId), (ended) => beginTool(ended, part))
    case "tool_end":
      return endTool(state, part)
    case "function_text":
      return (
        moreFunctionText(state, part) ??
        andThen(endOpen(state, nextId), (ended) => beginFunctionText(ended, part))
      )
    case "function_call":
      return (
        endFunctionText(state, part) ??
        andThen(endOpen(state, nextId), (ended) => addFunctionCall(ended, part))
      )
    case "finish":
      return finish(state, part, nextId)
  }
}

/** The events that several parts of one round add. */
export const steps = (
  state: EventsState,
  parts: ReadonlyArray<GenerationPart>,
  nextId: () => ItemId
): Step => {
  const [only] = parts
  if (only !== undefined && parts.length === 1) return step(state, only, nextId)
  let current = state
  const events: Array<EventBody> = []
  for (const part of parts) {
    const [next, added] = step(current, part, nextId)
    current = next
    for (const event of added) events.push(event)
  }
  return [current, events]
}

const cutBy = (reason: EndReason): CutReason | null => {
  if (reason === "length") return "max_output_tokens"
  return reason === "content_filter" || reason === "token_limit" ? reason : null
}

/** The terminal event of a generation that finished; `completedAt` in milliseconds since the Unix epoch. */
export const complete = (
  state: FinishedState,
  completedAt: number
): Extract<EventBody, { type: "response.completed" }> => ({
  type: "response.completed",
  response: {
    ...startedResponse(state.start),
    status: "completed",
    output: state.output,
    output_text: outputText(state.output),
    completed_at: completedAt,
    incomplete_details: incompleteDetails(cutBy(state.finish.reason), state.output),
    usage: usageOf(state.finish.usage)
  }
})
