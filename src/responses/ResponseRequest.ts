import type { CreateResponse, InputEntry } from "../api/CreateResponse.ts"
import type { AnswerOptions, ToolName, ToolSpec } from "../domain/ModelCall.ts"

/**
 * What a request asks for beyond what `/v1` knows. Absent fields ask for nothing. Not a part of ResponseRequest, because a body of
 * `/v1` may have any fields, and none of them may turn into a demand.
 */
export interface Demands {
  /** The one model that may answer. */
  readonly model?: string
  /** The client's own functions; the model's calls of them are items of the answer, and end it. */
  readonly functions?: ReadonlyArray<ToolSpec>
  /** Those of the service's own tools that may be offered; all that are permitted if absent. */
  readonly ownTools?: ReadonlySet<ToolName>
  /** Keeps the client's function calls and their results as items, in place of context. */
  readonly functionItems?: boolean
  readonly answer?: AnswerOptions
  /** The most calls of the service's own tools in all rounds together. */
  readonly maxToolCalls?: number
  /** Refuses a request whose history doesn't fit, in place of leaving out its oldest turns. */
  readonly wholeHistory?: boolean
  /** A `previous_response_id` that isn't the conversation's last response begins a branch, in a conversation of its own. */
  readonly branches?: boolean
  /** What is kept with the response for the interface that asked for it: JSON that only it reads. */
  readonly echo?: unknown
}

/** A message to answer, as every interface hands it on. */
export interface ResponseRequest extends Omit<CreateResponse, "input" | "model" | "stream"> {
  readonly input: string | ReadonlyArray<InputEntry>
}
