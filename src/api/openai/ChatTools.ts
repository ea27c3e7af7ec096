import { Schema } from "effect"
import { StorableText } from "../../domain/StorableText.ts"
import { CallId } from "./CallItems.ts"
import { few, FunctionName, maybe } from "./Fields.ts"
import { functionFields, grammarFields } from "./Tools.ts"

/** The tools of a chat, the choice among them, and the calls that a client gives back. */

export const toolsMax = 128

const FunctionTool = Schema.Struct({
  type: Schema.Literal("function"),
  function: Schema.Struct(functionFields)
})
export type FunctionTool = typeof FunctionTool.Type

const TextFormat = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text") }),
  Schema.Struct({ type: Schema.Literal("grammar"), grammar: Schema.Struct(grammarFields) })
]).annotate({ expected: "an object of the type text or grammar" })

/** A tool whose input is a text, and no JSON. */
const CustomTool = Schema.Struct({
  type: Schema.Literal("custom"),
  custom: Schema.Struct({
    name: FunctionName,
    description: maybe(StorableText),
    format: maybe(TextFormat)
  })
})
export type CustomTool = typeof CustomTool.Type

export const ChatTool = Schema.Union([FunctionTool, CustomTool]).annotate({
  expected: "a tool of the type function or custom: the service offers its own tools by itself"
})
export type ChatTool = typeof ChatTool.Type

const Named = Schema.Struct({ name: FunctionName })
const NamedFunction = Schema.Struct({ type: Schema.Literal("function"), function: Named })
const NamedCustom = Schema.Struct({ type: Schema.Literal("custom"), custom: Named })

export const ToolChoice = Schema.Union([
  Schema.Literals(["auto", "none", "required"]),
  NamedFunction,
  NamedCustom,
  Schema.Struct({
    type: Schema.Literal("allowed_tools"),
    allowed_tools: Schema.Struct({
      mode: Schema.Literals(["auto", "required"]),
      tools: few(Schema.Union([NamedFunction, NamedCustom]), toolsMax, "tools")
    })
  })
]).annotate({ expected: "auto, none, required, or an object of the type function, custom or allowed_tools" })
export type ToolChoice = typeof ToolChoice.Type

const CalledName = StorableText.check(Schema.isMinLength(1, { expected: "a string that is not empty" }))

export const CalledFunction = Schema.Struct({
  id: CallId,
  type: Schema.optionalKey(Schema.Literal("function")),
  function: Schema.Struct({ name: CalledName, arguments: StorableText })
})

const CalledCustom = Schema.Struct({
  id: CallId,
  type: Schema.Literal("custom"),
  custom: Schema.Struct({ name: CalledName, input: StorableText })
})

export const CalledTool = Schema.Union([CalledFunction, CalledCustom]).annotate({
  expected: "a call of the type function or custom"
})
export type CalledTool = typeof CalledTool.Type
