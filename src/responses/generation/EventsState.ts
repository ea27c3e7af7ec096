import type { Chunk } from "effect"
import type { EventBody } from "../../api/ResponseEvent.ts"
import type { ResponseStart } from "../../api/ResponseObject.ts"
import type { OutputItem } from "../../domain/Conversation.ts"
import type { ItemId } from "../../domain/Ids.ts"
import type { TokenLogprob } from "../../domain/ModelCall.ts"
import type { Passage } from "../prompt/Citations.ts"
import type { GenerationPart } from "./Round.ts"

/** The state of the machine that produces the events of a stream, and its steps. */

export interface EventsState {
  readonly start: ResponseStart
  /** The items so far, without the open one: all are done, except tool calls that run. */
  readonly output: ReadonlyArray<OutputItem>
  /** The message that is being written. */
  readonly open: ItemId | null
  /** The reasoning that is being written. No message is open at the same time. */
  readonly thought: ItemId | null
  /** True if the open message is a refusal to answer. */
  readonly refuses: boolean
  /** The text of the open item so far, as its deltas have it. */
  readonly text: string
  /** The logprobs of the open message so far. */
  readonly logprobs: Chunk.Chunk<TokenLogprob>
  /** The first half of a surrogate pair whose second half may follow. */
  readonly carry: string
  readonly finish: Extract<GenerationPart, { type: "finish" }> | null
  /** The passages that the answer may cite. */
  readonly passages: ReadonlyArray<Passage>
}

/** The state after the finish: every item is done. */
export type FinishedState = EventsState & { readonly finish: NonNullable<EventsState["finish"]> }

export const isFinished = (state: EventsState): state is FinishedState => state.finish !== null

export type Step = readonly [state: EventsState, events: ReadonlyArray<EventBody>]

/** Two steps, one after the other. */
export const andThen = ([state, events]: Step, next: (state: EventsState) => Step): Step => {
  const [after, more] = next(state)
  return [after, [...events, ...more]]
}
