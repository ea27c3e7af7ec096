import { Schema } from "effect"
import { StorableText } from "../../domain/StorableText.ts"
import { MaxOutputTokens } from "../CreateResponse.ts"
import { between, JsonObject, Label, maybe, positiveInteger } from "../openai/Fields.ts"
import { inSteps, withUnknownFields } from "../ReadInSteps.ts"
import { AssistantBlock, blocks, SystemBlock, TextBlock, UserBlock } from "./ContentBlocks.ts"

/** The body of `POST /anthropic/v1/messages`, and of the endpoint that counts its tokens. */

const messagesMax = 10_000
const toolsMax = 512
const stopsMax = 64
const stopCharactersMax = 512
const nameCharactersMax = 128

const few = <S extends Schema.Top>(schema: S, max: number, name: string) =>
  Schema.Array(inSteps(schema)).check(
    Schema.isMaxLength(max, { expected: `a list of at most ${max} ${name}` })
  )

const textContent = Schema.Union([StorableText, blocks(TextBlock)]).annotate({
  expected: "a string or a list of text blocks"
})

const content = <S extends Schema.Top>(block: S) =>
  Schema.Union([StorableText, blocks(block)]).annotate({ expected: "a string or a list of blocks" })

const Message = Schema.Union([
  Schema.Struct({ role: Schema.Literal("user"), content: content(UserBlock) }),
  Schema.Struct({ role: Schema.Literal("assistant"), content: content(AssistantBlock) }),
  Schema.Struct({ role: Schema.Literal("system"), content: content(SystemBlock) })
]).annotate({ expected: "a message whose role is user, assistant or system" })
export type Message = typeof Message.Type

// Tools.

const nameWords = `1 to ${nameCharactersMax} letters, digits, hyphens and underscores`

const ToolName = Schema.String.annotate({ expected: nameWords }).check(
  Schema.isPattern(/^[a-zA-Z0-9_-]{1,128}$/, { expected: nameWords })
)

const ClientTool = Schema.Struct({
  type: maybe(Schema.Literal("custom")),
  name: ToolName,
  description: maybe(StorableText),
  input_schema: JsonObject,
  strict: maybe(Schema.Boolean)
})
type ClientTool = typeof ClientTool.Type

/** A tool that Anthropic defines; its type ends with a date. */
const DefinedTool = Schema.Struct({
  type: Schema.String.check(
    Schema.makeFilter((type) => type !== "custom", { expected: "custom, or the type of a tool of Anthropic" })
  ),
  name: maybe(ToolName),
  max_uses: maybe(positiveInteger),
  allowed_domains: maybe(Schema.Any),
  blocked_domains: maybe(Schema.Any),
  user_location: maybe(Schema.Any)
})
export type DefinedTool = typeof DefinedTool.Type

const Tool = Schema.Union([ClientTool, DefinedTool]).annotate({
  expected: "a tool with `name` and `input_schema`, or with the `type` of a tool of Anthropic"
})
export type Tool = typeof Tool.Type

const parallel = { disable_parallel_tool_use: maybe(Schema.Boolean) }

const ToolChoice = Schema.Union([
  Schema.Struct({ type: Schema.Literal("auto"), ...parallel }),
  Schema.Struct({ type: Schema.Literal("any"), ...parallel }),
  Schema.Struct({ type: Schema.Literal("tool"), name: ToolName, ...parallel }),
  Schema.Struct({ type: Schema.Literal("none") })
]).annotate({ expected: "an object of the type auto, any, tool or none" })
type ToolChoice = typeof ToolChoice.Type

// The fields from here on say how to answer.

/** A hint of how the thinking is shown: `omitted`, or any other for its text. */
const display = maybe(Label)

const Thinking = Schema.Union([
  Schema.Struct({ type: Schema.Literal("enabled"), budget_tokens: maybe(positiveInteger), display }),
  Schema.Struct({ type: Schema.Literal("adaptive"), display }),
  Schema.Struct({ type: Schema.Literal("disabled") })
]).annotate({ expected: "an object of the type enabled, adaptive or disabled" })

const Format = Schema.Struct({ type: Schema.Literal("json_schema"), schema: JsonObject }).annotate({
  expected: "an object of the type json_schema with a `schema`"
})

const OutputConfig = Schema.Struct({
  /** A hint: low, medium, high, xhigh or max. */
  effort: maybe(Label),
  format: maybe(Format)
})

const StopText = StorableText.check(
  Schema.isMinLength(1, { expected: "a string that is not empty" }),
  Schema.isMaxLength(stopCharactersMax, { expected: `at most ${stopCharactersMax} characters` })
)

export const MessagesBody = Schema.Struct({
  model: maybe(StorableText).annotate({
    description: "A model of GET /anthropic/v1/models. `auto`, or none, leaves the choice to the service.",
    default: "auto"
  }),
  max_tokens: maybe(MaxOutputTokens),
  messages: Schema.Array(inSteps(Message))
    .annotate({ expected: "a list of messages" })
    .check(
      Schema.isMinLength(1, { expected: "a list with at least one message" }),
      Schema.isMaxLength(messagesMax, { expected: `a list of at most ${messagesMax} messages` })
    ),
  system: maybe(textContent),
  stream: maybe(Schema.Boolean).annotate({ expected: "true, false or null", default: false }),
  temperature: maybe(between(0, 1)),
  top_p: maybe(between(0, 1)),
  stop_sequences: maybe(few(StopText, stopsMax, "strings")),
  tools: maybe(few(Tool, toolsMax, "tools")),
  tool_choice: maybe(ToolChoice),
  thinking: maybe(Thinking),
  output_config: maybe(OutputConfig),
  output_format: maybe(Format).annotate({ description: "An older name of `output_config.format`." })
}).annotate({ identifier: "MessagesBody", expected: "a JSON object" })
export type MessagesBody = typeof MessagesBody.Type

/** The body with its unknown fields, which a response names as ignored. */
export const MessagesBodyWithRest = withUnknownFields(MessagesBody).annotate({
  identifier: "MessagesBody",
  expected: "a JSON object"
})
