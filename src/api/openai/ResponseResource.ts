import { Schema } from "effect"
import { TokenLogprob } from "../../domain/ModelCall.ts"
import { WholeUsage } from "../ResponseObject.ts"
import { efforts, verbosities } from "./CreateBody.ts"
import { JsonObject, Metadata } from "./Fields.ts"

/** A response and the items in it, as clients of the OpenAI interface read them. */

const status = Schema.Literals(["in_progress", "completed", "incomplete", "failed"])

export const FileCitation = Schema.Struct({
  type: Schema.Literal("file_citation"),
  file_id: Schema.String,
  filename: Schema.String,
  index: Schema.Int
})

export const TextPart = Schema.Struct({
  type: Schema.Literal("output_text"),
  text: Schema.String,
  annotations: Schema.Array(FileCitation),
  /** Only where they were asked for, and of a response that isn't read again. */
  logprobs: Schema.Array(TokenLogprob)
}).annotate({ identifier: "OutputTextPart" })
export type TextPart = typeof TextPart.Type

export const MessagePart = Schema.Union([
  TextPart,
  Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String }).annotate({
    identifier: "RefusalPart",
    description: "Text by which the model refuses to answer, where its server tells."
  })
])
export type MessagePart = typeof MessagePart.Type

const Message = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("message"),
  status,
  role: Schema.Literal("assistant"),
  content: Schema.Array(MessagePart)
}).annotate({ identifier: "Message" })

const FunctionCall = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("function_call"),
  status,
  call_id: Schema.String,
  name: Schema.String,
  namespace: Schema.optionalKey(Schema.String),
  arguments: Schema.String
}).annotate({ identifier: "FunctionCall", description: "A call of one of the client's own functions." })

const CustomToolCall = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("custom_tool_call"),
  status,
  call_id: Schema.String,
  name: Schema.String,
  namespace: Schema.optionalKey(Schema.String),
  input: Schema.String
}).annotate({ identifier: "CustomToolCall", description: "A call of one of the client's own custom tools." })

const milliseconds = Schema.NullOr(Schema.Int)

const LocalShellCall = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("local_shell_call"),
  status,
  call_id: Schema.String,
  action: Schema.Struct({
    type: Schema.Literal("exec"),
    command: Schema.Array(Schema.String),
    env: Schema.Record(Schema.String, Schema.String),
    working_directory: Schema.optionalKey(Schema.NullOr(Schema.String)),
    timeout_ms: Schema.optionalKey(milliseconds)
  })
}).annotate({ identifier: "LocalShellCall", description: "Only where the request has the tool local_shell." })

const ShellCall = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("shell_call"),
  status,
  call_id: Schema.String,
  action: Schema.Struct({
    commands: Schema.Array(Schema.String),
    timeout_ms: milliseconds,
    max_output_length: Schema.NullOr(Schema.Int)
  })
}).annotate({ identifier: "ShellCall", description: "Only where the request has the tool shell." })

const ApplyPatchCall = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("apply_patch_call"),
  status,
  call_id: Schema.String,
  operation: Schema.Struct({
    type: Schema.Literals(["create_file", "update_file", "delete_file"]),
    path: Schema.String,
    diff: Schema.optionalKey(Schema.String)
  })
}).annotate({ identifier: "ApplyPatchCall", description: "Only where the request has the tool apply_patch." })

const WebSearchCall = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("web_search_call"),
  status,
  action: Schema.Union([
    Schema.Struct({ type: Schema.Literal("search"), query: Schema.String }),
    Schema.Struct({ type: Schema.Literal("open_page"), url: Schema.String })
  ])
}).annotate({ identifier: "WebSearchCall", description: "Only where the request has the tool web_search." })

const FileSearchCall = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("file_search_call"),
  status,
  queries: Schema.Array(Schema.String),
  results: Schema.NullOr(
    Schema.Array(
      Schema.Struct({
        file_id: Schema.String,
        filename: Schema.String,
        score: Schema.Finite,
        text: Schema.String,
        attributes: Schema.Record(Schema.String, Schema.Unknown)
      })
    )
  )
}).annotate({ identifier: "FileSearchCall", description: "Only where the request has the tool file_search." })

const SummaryText = Schema.Struct({ type: Schema.Literal("summary_text"), text: Schema.String })

const Reasoning = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("reasoning"),
  status,
  summary: Schema.Array(SummaryText),
  /**
   * Only where `include` has `reasoning.encrypted_content`: to be sent back as it is. Null for what can't be
   * given back.
   */
  encrypted_content: Schema.optionalKey(Schema.NullOr(Schema.String))
}).annotate({
  identifier: "Reasoning",
  description:
    "What the model thought, or what the service did by one of its own tools, in words: the type that all clients show."
})

export const Item = Schema.Union([
  Message,
  FunctionCall,
  CustomToolCall,
  LocalShellCall,
  ShellCall,
  ApplyPatchCall,
  WebSearchCall,
  FileSearchCall,
  Reasoning
]).annotate({
  identifier: "Item"
})
export type Item = typeof Item.Type

const Format = Schema.Union([
  Schema.Struct({ type: Schema.Literals(["text", "json_object"]) }),
  Schema.Struct({
    type: Schema.Literal("json_schema"),
    name: Schema.String,
    description: Schema.NullOr(Schema.String),
    schema: JsonObject,
    strict: Schema.Boolean
  })
])

/** The fields of its request that a response repeats, with the defaults of those that were left out. */
export const Echo = Schema.Struct({
  background: Schema.Boolean,
  frequency_penalty: Schema.Finite,
  max_tool_calls: Schema.NullOr(Schema.Int),
  metadata: Metadata,
  parallel_tool_calls: Schema.Boolean,
  presence_penalty: Schema.Finite,
  prompt_cache_key: Schema.NullOr(Schema.String),
  reasoning: Schema.NullOr(
    Schema.Struct({
      effort: Schema.NullOr(Schema.Literals(efforts)),
      summary: Schema.NullOr(Schema.String)
    })
  ),
  safety_identifier: Schema.NullOr(Schema.String),
  service_tier: Schema.Literal("default"),
  temperature: Schema.Finite,
  text: Schema.Struct({ format: Format, verbosity: Schema.optionalKey(Schema.Literals(verbosities)) }),
  tool_choice: Schema.Unknown,
  tools: Schema.Array(JsonObject),
  top_logprobs: Schema.Int,
  top_p: Schema.Finite,
  truncation: Schema.Literals(["auto", "disabled"]),
  user: Schema.NullOr(Schema.String)
})
export type Echo = typeof Echo.Type

export const ResponseResource = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("response"),
  /** Unix epoch in seconds, as `completed_at`. */
  created_at: Schema.Int,
  completed_at: Schema.NullOr(Schema.Int),
  status: Schema.Literals(["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]),
  error: Schema.NullOr(Schema.Struct({ code: Schema.String, message: Schema.String })),
  incomplete_details: Schema.NullOr(
    Schema.Struct({ reason: Schema.Literals(["max_output_tokens", "content_filter", "no_text"]) })
  ),
  /** The model that answers; before that is known, what the request named. */
  model: Schema.String,
  output: Schema.Array(Item),
  /**
   * All text of the messages, without refusals. Clients compute it themselves, but not every helper of theirs
   * does.
   */
  output_text: Schema.String,
  /** null where nothing is stored. */
  conversation: Schema.NullOr(Schema.Struct({ id: Schema.String })),
  instructions: Schema.NullOr(Schema.String),
  max_output_tokens: Schema.NullOr(Schema.Int),
  previous_response_id: Schema.NullOr(Schema.String),
  store: Schema.Boolean,
  usage: Schema.NullOr(WholeUsage),
  ...Echo.fields
}).annotate({ identifier: "Response", description: "The answer as one document." })
export type ResponseResource = typeof ResponseResource.Type
