import type { FunctionCall, McpCall } from "../../domain/Conversation.ts"
import type { ItemId } from "../../domain/Ids.ts"
import type { Opaque } from "../../domain/ModelCall.ts"
import { storable } from "../../domain/storable.ts"
import type { ToolResult } from "../../tools/Toolkit.ts"

/** The label of the service's own tools. */
const builtinTools = "builtin"

/** A call as the model wrote it. */
export interface Called {
  readonly id: ItemId
  readonly name: string
  readonly arguments: string
  /** The id of the round, which all calls that the model made at once share. */
  readonly round: string
  readonly opaque?: Opaque
}

/** The item of a call that the service runs, while it runs. */
export const begunCall = ({ arguments: args, id, name, opaque, round }: Called): McpCall => ({
  id,
  type: "mcp_call",
  status: "in_progress",
  server_label: builtinTools,
  name: storable(name),
  arguments: storable(args),
  output: null,
  error: null,
  approval_request_id: null,
  round,
  ...(opaque === undefined ? {} : { opaque })
})

/** The item of a call that has ended. */
export const endedCall = (call: McpCall, { error, output }: ToolResult): McpCall => ({
  ...call,
  status: error === null ? "completed" : "failed",
  output: output === null ? null : storable(output),
  error: error === null ? null : storable(error)
})

/** A call of one of the client's own functions, which the client runs. */
export interface FunctionPart extends Called {
  readonly type: "function_call"
}

/** Hexadecimal digits of a call id. The last ones of an item's id are as unique as the item. */
const callIdDigits = 24

/** A piece of the arguments of a call that is shown while the model writes it. */
export interface FunctionText {
  readonly type: "function_text"
  /** The id of the whole call, which may follow. */
  readonly id: ItemId
  readonly name: string
  readonly text: string
}

/** The id by which the client's result refers to a call, by that of its item. */
export const callIdOf = (id: string): string => `call_${id.replaceAll("-", "").slice(-callIdDigits)}`

/** The item of a call that the client runs, while the model writes it. */
export const begunFunction = ({ id, name }: FunctionText): FunctionCall => ({
  id,
  type: "function_call",
  status: "in_progress",
  call_id: callIdOf(id),
  name: storable(name),
  arguments: ""
})

/** The item of a call that the client runs. */
export const functionCall = ({ arguments: args, id, name, opaque, round }: FunctionPart): FunctionCall => ({
  id,
  type: "function_call",
  status: "completed",
  call_id: callIdOf(id),
  name: storable(name),
  arguments: storable(args),
  round,
  ...(opaque === undefined ? {} : { opaque })
})
