import { Schema, Struct } from "effect"
import {
  FileSearchCall,
  FunctionCall,
  FunctionCallOutput,
  hiddenOfCalls,
  type InputItem,
  InputMessage,
  McpCall,
  type OutputItem,
  OutputMessage
} from "../domain/Conversation.ts"

/** Items as clients see them: without what only the service reads. */

const ShownMcpCall = McpCall.mapFields(Struct.omit(hiddenOfCalls)).annotate({ identifier: "McpCall" })
const ShownFunctionCall = FunctionCall.mapFields(Struct.omit(hiddenOfCalls)).annotate({
  identifier: "FunctionCall"
})

/** The items of an answer to a request that knows no functions of its own. */
export const OwnOutputItem = Schema.Union([OutputMessage, ShownMcpCall, FileSearchCall]).annotate({
  identifier: "OutputItem"
})

/** All items that an answer may have. */
export const ShownOutputItem = Schema.Union([OutputMessage, ShownMcpCall, FileSearchCall, ShownFunctionCall])

/** All items that a turn may have been asked. */
export const ShownInputItem = Schema.Union([
  InputMessage,
  ShownMcpCall,
  FileSearchCall,
  ShownFunctionCall,
  FunctionCallOutput
])

/** The item without what only the service reads; null for what the model thought. */
export const shownOutput = (item: OutputItem): typeof ShownOutputItem.Type | null => {
  switch (item.type) {
    case "mcp_call":
      return Struct.omit(item, hiddenOfCalls)
    case "function_call":
      return Struct.omit(item, hiddenOfCalls)
    case "reasoning":
      return null
    case "message":
    case "file_search_call":
      return item
  }
}

/** The same for an item that a turn was asked. */
const shownInput = (item: InputItem): typeof ShownInputItem.Type | null =>
  item.type === "message" || item.type === "function_call_output" ? item : shownOutput(item)

/** The items of an answer that are shown, in their order. */
export const shownOutputs = (items: ReadonlyArray<OutputItem>) =>
  items.flatMap((item) => shownOutput(item) ?? [])

/** The same for what a turn was asked. */
export const shownInputs = (items: ReadonlyArray<InputItem>) =>
  items.flatMap((item) => shownInput(item) ?? [])
