import { Schema, Struct } from "effect"
import {
  FileSearchCall,
  FileSearchResult,
  FunctionCall,
  FunctionCallOutput,
  hiddenOfCalls,
  InputFile,
  InputImage,
  type InputItem,
  InputMessage,
  InputText,
  McpCall,
  type OutputItem,
  OutputMessage,
  OutputText,
  ReasoningItem
} from "../domain/Conversation.ts"

/** Items as clients see them: without what only the service reads. */

/** A refusal is text like any other. No request that sees it can ask for logprobs. */
export const ShownText = OutputText.mapFields(Struct.omit(["isRefusal"]))
  .mapFields(Struct.assign({ logprobs: Schema.Array(Schema.Unknown) }))
  .annotate({ identifier: "OutputText" })

const ShownMessage = OutputMessage.mapFields(Struct.assign({ content: Schema.Array(ShownText) })).annotate({
  identifier: "OutputMessage"
})

const ShownInputMessage = InputMessage.mapFields(
  Struct.assign({ content: Schema.Array(Schema.Union([InputText, InputFile, InputImage, ShownText])) })
)

const ShownMcpCall = McpCall.mapFields(Struct.omit(hiddenOfCalls)).annotate({ identifier: "McpCall" })
const ShownFunctionCall = FunctionCall.mapFields(Struct.omit(hiddenOfCalls)).annotate({
  identifier: "FunctionCall"
})

const ShownFunctionCallOutput = FunctionCallOutput.mapFields(Struct.omit(["attached"])).annotate({
  identifier: "FunctionCallOutput"
})

const ShownReasoning = Schema.Struct({
  id: ReasoningItem.fields.id,
  type: ReasoningItem.fields.type,
  status: ReasoningItem.fields.status,
  /** Empty if the model's server shows nothing of it. */
  summary: Schema.Array(Schema.Struct({ type: Schema.Literal("summary_text"), text: Schema.String }))
}).annotate({
  identifier: "Reasoning",
  description: "What the model thought. Only where the operator has it shown (`PARLEY_V1_REASONING`)."
})

/** Nothing notes attributes of files in requests that see these. */
const ShownFileSearchCall = FileSearchCall.mapFields(
  Struct.assign({
    results: Schema.NullOr(
      Schema.Array(
        FileSearchResult.mapFields(Struct.omit(["file_attributes"])).annotate({
          identifier: "FileSearchResult"
        })
      )
    )
  })
).annotate({ identifier: "FileSearchCall" })

/** The items of an answer to a request that knows no functions of its own. */
export const OwnOutputItem = Schema.Union([
  ShownMessage,
  ShownMcpCall,
  ShownFileSearchCall,
  ShownReasoning
]).annotate({ identifier: "OutputItem" })

/** All items that an answer may have. */
export const ShownOutputItem = Schema.Union([
  ShownMessage,
  ShownMcpCall,
  ShownFileSearchCall,
  ShownFunctionCall,
  ShownReasoning
])

/** All items that a turn may have been asked. */
export const ShownInputItem = Schema.Union([
  ShownInputMessage,
  ShownMcpCall,
  ShownFileSearchCall,
  ShownFunctionCall,
  ShownFunctionCallOutput
])

/** The thoughts of a model are shown not at all, as items when they are done, or piece by piece as well. */
export type ReasoningShown = "off" | "shown" | "streamed"

const isRefusal = (part: object): boolean => "isRefusal" in part

export const shownText = (part: OutputText): typeof ShownText.Type => Struct.omit(part, ["isRefusal"])

const shownReasoning = ({ id, status, text, type }: ReasoningItem): typeof ShownReasoning.Type => ({
  id,
  type,
  status,
  summary: text === "" ? [] : [{ type: "summary_text", text }]
})

/** The item without what only the service reads; null for what the model thought, unless that is shown. */
export const shownOutput = (
  item: OutputItem,
  reasoning: ReasoningShown
): typeof ShownOutputItem.Type | null => {
  switch (item.type) {
    case "mcp_call":
      return Struct.omit(item, hiddenOfCalls)
    case "function_call":
      return Struct.omit(item, hiddenOfCalls)
    case "reasoning":
      return reasoning === "off" ? null : shownReasoning(item)
    case "message":
      return item.content.some(isRefusal) ? { ...item, content: item.content.map(shownText) } : item
    case "file_search_call":
      return item
  }
}

/** The same for an item that a turn was asked. What the model thought is not among what was asked. */
const shownInput = (item: InputItem): typeof ShownInputItem.Type | null => {
  switch (item.type) {
    case "message":
      return item.content.some(isRefusal)
        ? {
            ...item,
            content: item.content.map((part) => (part.type === "output_text" ? shownText(part) : part))
          }
        : item
    case "mcp_call":
      return Struct.omit(item, hiddenOfCalls)
    case "function_call":
      return Struct.omit(item, hiddenOfCalls)
    case "reasoning":
      return null
    case "function_call_output":
      return Struct.omit(item, ["attached"])
    case "file_search_call":
      return item
  }
}

/** The items of an answer that are shown, in their order. */
export const shownOutputs = (items: ReadonlyArray<OutputItem>, reasoning: ReasoningShown) =>
  items.flatMap((item) => shownOutput(item, reasoning) ?? [])

/** The same for what a turn was asked. */
export const shownInputs = (items: ReadonlyArray<InputItem>) =>
  items.flatMap((item) => shownInput(item) ?? [])
