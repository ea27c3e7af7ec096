import { Schema } from "effect"
import { FileId } from "../../domain/Ids.ts"
import { topLogprobsMax } from "../../domain/ModelCall.ts"
import { StorableText } from "../../domain/StorableText.ts"
import { MaxOutputTokens } from "../CreateResponse.ts"
import { withUnknownFields } from "../ReadInSteps.ts"
import { CallId } from "./CallItems.ts"
import { CalledFunction, CalledTool, ChatTool, ToolChoice, toolsMax } from "./ChatTools.ts"
import { efforts, verbosities } from "./CreateBody.ts"
import {
  between,
  few,
  FunctionName,
  JsonObject,
  Label,
  likeliest,
  maybe,
  Metadata,
  only,
  ResultText,
  unsupported
} from "./Fields.ts"
import { Detail } from "./Parts.ts"
import { givenId } from "./ProfileIds.ts"
import { OwnTools } from "./Tools.ts"

/** The body of `POST /openai/v1/chat/completions`. Each field is honoured or refused. */

const messagesMax = 10_000
const partsMax = 10_000
const callsMax = 128
const stopsMax = 4
/** Answers to one request. */
const choicesMax = 8
const stopCharactersMax = 512

// Parts.

const TextPart = Schema.Struct({ type: Schema.Literal("text"), text: StorableText })

const FilePart = Schema.Struct({
  type: Schema.Literal("file"),
  file: Schema.Struct({
    file_id: maybe(givenId(FileId, "file")),
    filename: maybe(Label),
    file_data: maybe(Schema.String)
  }).check(
    Schema.makeFilter(({ file_data, file_id }) => (file_data == null) !== (file_id == null), {
      expected: "a file with either a `file_id` or `file_data`"
    })
  )
})

const ImagePart = Schema.Struct({
  type: Schema.Literal("image_url"),
  image_url: Schema.Struct({ url: Schema.String, detail: maybe(Detail) })
})

const UserPart = Schema.Union([TextPart, ImagePart, FilePart]).annotate({
  expected: "a text, image_url or file part"
})
export type UserPart = typeof UserPart.Type

const AssistantPart = Schema.Union([
  TextPart,
  Schema.Struct({ type: Schema.Literal("refusal"), refusal: StorableText })
]).annotate({ expected: "a text or refusal part" })

const textContent = Schema.Union([StorableText, few(TextPart, partsMax, "text parts")]).annotate({
  expected: "a string or a list of text parts"
})

// Messages.

const name = maybe(Label)

const Instructions = Schema.Struct({
  role: Schema.Literals(["system", "developer"]),
  content: textContent,
  name
})

const userContent = Schema.Union([StorableText, few(UserPart, partsMax, "parts")]).annotate({
  expected: "a string or a list of parts"
})

const UserMessage = Schema.Struct({ role: Schema.Literal("user"), content: userContent, name })

const AssistantMessage = Schema.Struct({
  role: Schema.Literal("assistant"),
  content: maybe(
    Schema.Union([StorableText, few(AssistantPart, partsMax, "parts")]).annotate({
      expected: "a string, a list of parts or null"
    })
  ),
  refusal: maybe(StorableText),
  reasoning_content: maybe(StorableText),
  tool_calls: maybe(few(CalledTool, callsMax, "calls")),
  function_call: maybe(CalledFunction.fields.function),
  name
})

const ResultPart = Schema.Struct({ type: Schema.Literal("text"), text: ResultText })

const ToolMessage = Schema.Struct({
  role: Schema.Literal("tool"),
  tool_call_id: CallId,
  content: Schema.Union([
    ResultText,
    few(Schema.Union([ResultPart, ImagePart, FilePart]), partsMax, "parts")
  ]).annotate({ expected: "a string or a list of parts" })
})

/** The result of a `function_call`. */
const FunctionMessage = Schema.Struct({
  role: Schema.Literal("function"),
  name: StorableText,
  content: Schema.NullOr(StorableText)
})

const roles = "system, developer, user, assistant, tool or function"

const Message = Schema.Union([
  UserMessage,
  AssistantMessage,
  ToolMessage,
  FunctionMessage,
  Instructions
]).annotate({
  expected: `a message whose role is ${roles}`
})
export type GivenMessage = typeof Message.Type
export type Message = Exclude<GivenMessage, { readonly role: "function" }>

/** Older clients send this in place of a tool. */
const PlainFunction = Schema.Struct({
  name: FunctionName,
  description: maybe(StorableText),
  parameters: maybe(JsonObject)
})

const FunctionChoice = Schema.Union([
  Schema.Literals(["auto", "none"]),
  Schema.Struct({ name: FunctionName })
]).annotate({ expected: "auto, none, or an object with the name of a function" })

// The form of the answer.

const ResponseFormat = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text") }),
  Schema.Struct({ type: Schema.Literal("json_object") }),
  Schema.Struct({
    type: Schema.Literal("json_schema"),
    json_schema: Schema.Struct({
      name: FunctionName,
      description: maybe(StorableText),
      schema: maybe(JsonObject),
      strict: maybe(Schema.Boolean)
    })
  })
]).annotate({ expected: "an object of the type text, json_object or json_schema" })
export type ResponseFormat = typeof ResponseFormat.Type

const StopText = StorableText.check(
  Schema.isMinLength(1, { expected: "a string that is not empty" }),
  Schema.isMaxLength(stopCharactersMax, { expected: `at most ${stopCharactersMax} characters` })
)

export const ChatBody = Schema.Struct({
  model: maybe(StorableText).annotate({
    description: "A model of GET /openai/v1/models. `auto`, or none, leaves the choice to the service.",
    default: "auto"
  }),
  messages: Schema.Array(Message)
    .annotate({ expected: "a list of messages" })
    .check(
      Schema.isMinLength(1, { expected: "a list with at least one message" }),
      Schema.isMaxLength(messagesMax, { expected: `a list of at most ${messagesMax} messages` })
    ),
  stream: maybe(Schema.Boolean).annotate({ expected: "true, false or null", default: false }),
  stream_options: maybe(
    Schema.Struct({ include_usage: maybe(Schema.Boolean), include_obfuscation: maybe(Schema.Boolean) })
  ),
  store: maybe(Schema.Boolean).annotate({
    description: "True stores the exchange as a new conversation. False, and absent, store nothing.",
    expected: "true, false or null",
    default: false
  }),
  n: maybe(
    Schema.Int.annotate({ expected: `an integer from 1 to ${choicesMax}` }).check(
      Schema.isBetween(
        { minimum: 1, maximum: choicesMax },
        { expected: `an integer from 1 to ${choicesMax}` }
      )
    )
  ).annotate({ description: "How many answers there are. Each is generated, and counted, by itself." }),
  max_tokens: maybe(MaxOutputTokens),
  max_completion_tokens: maybe(MaxOutputTokens),
  temperature: maybe(between(0, 2)),
  top_p: maybe(between(0, 1)),
  presence_penalty: maybe(between(-2, 2)),
  frequency_penalty: maybe(between(-2, 2)),
  seed: maybe(Schema.Int.annotate({ expected: "an integer" })),
  stop: maybe(
    Schema.Union([StopText, few(StopText, stopsMax, "strings")]).annotate({
      expected: `a string or a list of at most ${stopsMax} strings, none of which is empty`
    })
  ),
  logprobs: maybe(Schema.Boolean),
  top_logprobs: maybe(likeliest(topLogprobsMax)),
  logit_bias: maybe(
    Schema.Record(Schema.String, Schema.Unknown).check(
      Schema.makeFilter((biases) => Object.keys(biases).length === 0, {
        expected: "{}: tokens can't be made likelier",
        toJsonSchema: () => ({ maxProperties: 0 })
      })
    )
  ),
  tools: maybe(few(ChatTool, toolsMax, "tools")),
  own_tools: maybe(OwnTools),
  tool_choice: maybe(ToolChoice),
  parallel_tool_calls: maybe(Schema.Boolean),
  functions: maybe(few(PlainFunction, toolsMax, "functions")).annotate({
    description: "Of older clients, in place of `tools`."
  }),
  function_call: maybe(FunctionChoice).annotate({
    description: "Of older clients, in place of `tool_choice`."
  }),
  response_format: maybe(ResponseFormat),
  reasoning_effort: maybe(Schema.Literals(efforts).annotate({ expected: `one of ${efforts.join(", ")}` })),
  verbosity: maybe(Schema.Literals(verbosities).annotate({ expected: verbosities.join(", ") })),
  modalities: maybe(few(only("text", "an answer is text"), 1, "modalities")),
  audio: unsupported("an answer is text"),
  metadata: maybe(Metadata),
  service_tier: maybe(Label),
  user: maybe(Label),
  safety_identifier: maybe(Label),
  prompt_cache_key: maybe(Label),
  prompt_cache_retention: maybe(Label)
}).annotate({ identifier: "CreateChatCompletionBody", expected: "a JSON object" })
export type ChatBody = typeof ChatBody.Type

/** The body with its unknown fields, which a response names as ignored. */
export const ChatBodyWithRest = withUnknownFields(ChatBody).annotate({
  identifier: "CreateChatCompletionBody",
  expected: "a JSON object"
})
