import { Schema } from "effect"
import { callIdCharactersMax } from "../../domain/ModelCall.ts"
import { StorableText } from "../../domain/StorableText.ts"
import { inSteps } from "../ReadInSteps.ts"
import { JsonObject, Label, maybe, ResultText } from "./Fields.ts"
import { InputFile, InputImage } from "./Parts.ts"
import { Tools } from "./Tools.ts"

/** Calls of tools and their results, as clients give them back in the input of a request. */

export const CallId = StorableText.check(
  Schema.isMinLength(1, { expected: "a string that is not empty" }),
  Schema.isMaxLength(callIdCharactersMax, { expected: `at most ${callIdCharactersMax} characters` })
)

const FunctionCall = Schema.Struct({
  type: Schema.Literal("function_call"),
  call_id: CallId,
  status: maybe(Label),
  name: StorableText,
  namespace: maybe(StorableText),
  arguments: StorableText
})

const ResultPart = Schema.Struct({ type: Schema.Literal("input_text"), text: ResultText })

const Output = Schema.Union([
  ResultText,
  Schema.Array(inSteps(Schema.Union([ResultPart, InputImage, InputFile])))
]).annotate({ expected: "a string or a list of input_text, input_image and input_file parts" })

const FunctionCallOutput = Schema.Struct({
  type: Schema.Literal("function_call_output"),
  call_id: CallId,
  output: Output
})

const CustomToolCall = Schema.Struct({
  type: Schema.Literal("custom_tool_call"),
  call_id: CallId,
  name: StorableText,
  namespace: maybe(StorableText),
  input: StorableText
})

const CustomToolCallOutput = Schema.Struct({
  type: Schema.Literal("custom_tool_call_output"),
  call_id: CallId,
  output: Output
})

const LocalShellCall = Schema.Struct({
  type: Schema.Literal("local_shell_call"),
  call_id: CallId,
  action: JsonObject
})

/** Its `id` is that of the call in the documentation of OpenAI; clients send `call_id`, too. */
const LocalShellCallOutput = Schema.Struct({
  type: Schema.Literal("local_shell_call_output"),
  call_id: maybe(CallId),
  id: maybe(CallId),
  output: ResultText
}).check(
  Schema.makeFilter(({ call_id, id }) => call_id != null || id != null, {
    expected: "an item with the `call_id` of its call"
  })
)

const ShellCall = Schema.Struct({
  type: Schema.Literal("shell_call"),
  call_id: CallId,
  action: JsonObject
})

const ShellCallOutput = Schema.Struct({
  type: Schema.Literal("shell_call_output"),
  call_id: CallId,
  output: Schema.Union([ResultText, Schema.Array(JsonObject)]).annotate({
    expected: "a string or a list of objects"
  })
})

const ApplyPatchCall = Schema.Struct({
  type: Schema.Literal("apply_patch_call"),
  call_id: CallId,
  operation: JsonObject
})

const ApplyPatchCallOutput = Schema.Struct({
  type: Schema.Literal("apply_patch_call_output"),
  call_id: CallId,
  status: maybe(Label),
  output: maybe(ResultText)
})

const ComputerCall = Schema.Struct({
  type: Schema.Literal("computer_call"),
  call_id: CallId,
  action: maybe(JsonObject),
  actions: maybe(Schema.Array(JsonObject))
})

const ComputerCallOutput = Schema.Struct({
  type: Schema.Literal("computer_call_output"),
  call_id: CallId,
  output: InputImage.mapFields((fields) => ({
    ...fields,
    type: Schema.Literals(["computer_screenshot", "input_image"])
  }))
})

const CodeInterpreterCall = Schema.Struct({
  type: Schema.Literal("code_interpreter_call"),
  code: maybe(StorableText),
  outputs: maybe(Schema.Array(JsonObject))
})

/** Tools that the client adds in the middle of a conversation, itself or by its search of tools. */
const AddedTools = Schema.Struct({
  type: Schema.Literals(["additional_tools", "tool_search_output"]),
  tools: Tools
})

/** Items of what OpenAI did in an earlier turn, which say nothing to another model. */
const unservedItems = [
  "image_generation_call",
  "mcp_approval_request",
  "mcp_approval_response",
  "mcp_list_tools",
  "tool_search_call"
] as const
const UnservedItem = Schema.Struct({ type: Schema.Literals(unservedItems) })
const unserved: ReadonlySet<unknown> = new Set<unknown>(unservedItems)

export const isUnservedItem = (item: object): boolean => "type" in item && unserved.has(item.type)

export const callItems = [
  FunctionCall,
  FunctionCallOutput,
  CustomToolCall,
  CustomToolCallOutput,
  LocalShellCall,
  LocalShellCallOutput,
  ShellCall,
  ShellCallOutput,
  ApplyPatchCall,
  ApplyPatchCallOutput,
  ComputerCall,
  ComputerCallOutput,
  CodeInterpreterCall,
  AddedTools,
  UnservedItem
] as const

export const callItemTypes = [
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "local_shell_call",
  "local_shell_call_output",
  "shell_call",
  "shell_call_output",
  "apply_patch_call",
  "apply_patch_call_output",
  "computer_call",
  "computer_call_output",
  "code_interpreter_call",
  "additional_tools",
  "tool_search_output",
  ...unservedItems
] as const
