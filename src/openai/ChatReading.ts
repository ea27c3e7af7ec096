import { Result } from "effect"
import type { ChatBody, Message, ResponseFormat, UserPart } from "../api/openai/ChatBody.ts"
import type { CalledTool, FunctionTool } from "../api/openai/ChatTools.ts"
import { argumentsOf } from "../domain/CustomInput.ts"
import { type InvalidRequest, invalid } from "../domain/Errors.ts"
import {
  type AnswerFormat,
  type AnswerOptions,
  saidByClient,
  type ToolChoice,
  type ToolSpec
} from "../domain/ModelCall.ts"
import type {
  Demands,
  RecalledEntry,
  RequestEntry,
  RequestPart,
  ResponseRequest
} from "../responses/prompt/ResponseRequest.ts"
import { customSpecOf, nameOf } from "./ChatCustoms.ts"
import { detailOf, resultEntry } from "./ItemReading.ts"
import { type ChatWithTools, withTools } from "./LegacyFunctions.ts"
import { given, namedModel } from "./RequestReading.ts"

/** From a chat to what the core understands. */

export interface ReadChat {
  readonly request: ResponseRequest
  readonly demands: Demands
  /** The path of the message that each entry of the input comes from. */
  readonly paths: ReadonlyArray<string>
}

type TextContent = Exclude<Message, { readonly role: "user" | "assistant" | "tool" }>["content"]

const textOf = (content: TextContent): string =>
  typeof content === "string" ? content : content.map(({ text }) => text).join("\n")

const partOf = (part: UserPart): RequestPart => {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text }
    case "image_url": {
      const { detail, url } = part.image_url
      return { type: "input_image", url, fileId: null, detail: detailOf(detail) }
    }
    case "file": {
      const { file_data: data = null, file_id, filename = null } = part.file
      return file_id == null
        ? { type: "input_document", filename, data, url: null }
        : { type: "input_file", file_id }
    }
  }
}

const contentOf = (content: string | ReadonlyArray<UserPart>): string | ReadonlyArray<RequestPart> =>
  typeof content === "string" ? content : content.map(partOf)

type AssistantMessage = Extract<Message, { readonly role: "assistant" }>

const answeredText = ({ content, refusal }: AssistantMessage): string => {
  const written =
    typeof content === "string"
      ? content
      : (content ?? []).map((part) => (part.type === "text" ? part.text : part.refusal)).join("")
  return written === "" ? (refusal ?? "") : written
}

/** Recalls what the model thought, as a client says: text, as it was shown. */
const thoughtEntry = (text: string, model: string): RecalledEntry => {
  const data = JSON.stringify({ field: "reasoning_content" })
  return { type: "reasoning", recalled: { thought: { text, opaque: { origin: saidByClient(model), data } } } }
}

const callEntry = (call: CalledTool): RequestEntry => ({
  type: "function_call",
  call_id: call.id,
  ...(call.type === "custom"
    ? { name: call.custom.name, arguments: argumentsOf(call.custom.input) }
    : call.function)
})

const answerEntries = (message: AssistantMessage, model: string | null): ReadonlyArray<RequestEntry> => {
  const text = answeredText(message)
  const thought = message.reasoning_content ?? ""
  return [
    ...(thought === "" || model === null ? [] : [thoughtEntry(thought, model)]),
    ...(text === "" ? [] : [{ type: "message", role: "assistant", content: text }]),
    ...(message.tool_calls ?? []).map(callEntry)
  ]
}

/** A client that names the model says whose thoughts it gives back. */
const entriesOf = (message: Message, model: string | null): ReadonlyArray<RequestEntry> => {
  switch (message.role) {
    case "user":
      return [{ type: "message", role: "user", content: contentOf(message.content) }]
    case "assistant":
      return answerEntries(message, model)
    case "tool":
      return [resultEntry(message.tool_call_id, contentOf(message.content))]
    default:
      return [{ type: "message", role: message.role, content: textOf(message.content) }]
  }
}

/** Why the messages are no chat that could be answered; null if they are one. */
const problemOf = (messages: ReadonlyArray<Message>): InvalidRequest | null => {
  const called = new Set<string>()
  for (const [index, message] of messages.entries()) {
    if (message.role === "assistant") {
      const ids = (message.tool_calls ?? []).map(({ id }) => id)
      const again = ids.findIndex((id, position) => ids.indexOf(id) < position)
      if (again >= 0) {
        const param = `messages[${index}].tool_calls[${again}].id`
        return invalid(param, "is that of another call of the message. Give each call its own.")
      }
      for (const id of ids) called.add(id)
    }
    if (message.role === "tool" && !called.has(message.tool_call_id)) {
      return invalid(
        `messages[${index}].tool_call_id`,
        "names no call of an earlier message. Send the assistant's message with its `tool_calls` before it."
      )
    }
  }
  return null
}

const noParameters = { type: "object", properties: {} }

const functionOf = (
  { function: { description, name, parameters, strict } }: FunctionTool,
  index: number
): ToolSpec => ({
  name,
  description: description ?? "",
  parameters: parameters ?? noParameters,
  param: `tools[${index}].function.parameters`,
  ...(strict === true ? { strict: true } : {})
})

/** The choice as a provider takes it, and the functions that it leaves. */
const chosen = ({
  tool_choice: choice,
  tools
}: ChatBody): { readonly toolChoice?: ToolChoice; readonly functions: ReadonlyArray<ToolSpec> } => {
  const functions = (tools ?? []).map((tool, index) =>
    tool.type === "custom" ? customSpecOf(tool, index) : functionOf(tool, index)
  )
  if (choice == null) return { functions }
  if (typeof choice === "string") return { toolChoice: choice, functions }
  if (choice.type !== "allowed_tools") return { toolChoice: { name: nameOf(choice) }, functions }
  const { mode, tools: allowed } = choice.allowed_tools
  const names = new Set(allowed.map(nameOf))
  return { toolChoice: mode, functions: functions.filter(({ name }) => names.has(name)) }
}

const anyObject = { type: "object" }

const formatOf = (format: ResponseFormat | null | undefined): AnswerFormat | null => {
  if (format == null || format.type === "text") return null
  if (format.type === "json_object") return format
  const { description, name, schema, strict } = format.json_schema
  return {
    type: "json_schema",
    name,
    description: description ?? null,
    schema: schema ?? anyObject,
    strict: strict ?? false
  }
}

const answerOptions = (body: ChatBody, toolChoice: ToolChoice | undefined): AnswerOptions =>
  given({
    temperature: body.temperature,
    topP: body.top_p,
    presencePenalty: body.presence_penalty,
    frequencyPenalty: body.frequency_penalty,
    reasoningEffort: body.reasoning_effort,
    verbosity: body.verbosity,
    parallelToolCalls: body.parallel_tool_calls,
    format: formatOf(body.response_format),
    seed: body.seed,
    stop: typeof body.stop === "string" ? [body.stop] : body.stop,
    logprobs: body.logprobs === true ? (body.top_logprobs ?? 0) : null,
    toolChoice
  })

const noTools: ReadonlySet<never> = new Set<never>()

/**
 * A client that brings functions, or that demands or forbids a call, gets the service's own tools only where
 * it asks for them.
 */
const ownToolsOf = ({ own_tools: own, tool_choice: choice, tools }: ChatBody): ReadonlySet<never> | null => {
  if (own === "off" || (choice != null && choice !== "auto")) return noTools
  return own === "on" || (tools ?? []).length === 0 ? null : noTools
}

const demandsOf = (body: ChatBody): Demands => {
  const { functions, toolChoice } = chosen(body)
  return {
    ...given({
      model: namedModel(body),
      functions: functions.length === 0 ? null : functions,
      cacheKey: body.prompt_cache_key,
      ownTools: ownToolsOf(body)
    }),
    functionItems: true,
    questionless: true,
    answer: answerOptions(body, toolChoice)
  }
}

/** Both names are in use; the smaller bound honours both. */
const boundOf = ({ max_completion_tokens, max_tokens }: ChatBody): number | null => {
  const bounds = [max_completion_tokens, max_tokens].filter((bound) => bound != null)
  return bounds.length === 0 ? null : Math.min(...bounds)
}

const namedAgain = ({ tools }: ChatBody): InvalidRequest | null => {
  const names = new Set<string>()
  const given = tools ?? []
  const again = given.findIndex((tool) => names.size === names.add(nameOf(tool)).size)
  return again < 0
    ? null
    : invalid(`tools[${again}].${given[again]?.type}.name`, "is that of another tool. Give each its own.")
}

/** The first allowed tool that the chat doesn't have would be allowed in vain. */
const allowedUnknown = ({ tool_choice: choice, tools }: ChatBody): InvalidRequest | null => {
  if (choice == null || typeof choice === "string" || choice.type !== "allowed_tools") return null
  const names = new Set((tools ?? []).map(nameOf))
  const unknown = choice.allowed_tools.tools.findIndex((tool) => !names.has(nameOf(tool)))
  return unknown < 0
    ? null
    : invalid(
        `tool_choice.allowed_tools.tools[${unknown}]`,
        "names a tool that `tools` doesn't have: add it, or leave it out."
      )
}

/** A conversation goes on after one answer. */
const storedChoices = ({ n, store }: ChatBody): InvalidRequest | null =>
  store === true && (n ?? 1) > 1
    ? invalid("store", "can't be true where `n` asks for several answers. Leave one of them out.")
    : null

const likeliestAlone = ({ logprobs, top_logprobs: top }: ChatBody): InvalidRequest | null =>
  logprobs === true || top == null || top === 0
    ? null
    : invalid("top_logprobs", "needs `logprobs: true`. Send both, or leave it out.")

export const readChat = (body: ChatBody): Result.Result<ReadChat, InvalidRequest> =>
  Result.flatMap(withTools(body), readToolChat)

const readToolChat = (body: ChatWithTools): Result.Result<ReadChat, InvalidRequest> => {
  const problem =
    problemOf(body.messages) ??
    namedAgain(body) ??
    allowedUnknown(body) ??
    storedChoices(body) ??
    likeliestAlone(body)
  if (problem !== null) return Result.fail(problem)
  const model = namedModel(body)
  const placed = body.messages.flatMap((message, index) =>
    entriesOf(message, model).map((entry) => ({ entry, path: `messages[${index}]` }))
  )
  return Result.succeed({
    request: {
      input: placed.map(({ entry }) => entry),
      store: body.store ?? false,
      ...given({ max_output_tokens: boundOf(body) })
    },
    demands: demandsOf(body),
    paths: placed.map(({ path }) => path)
  })
}
