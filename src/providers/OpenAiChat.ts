import { Predicate } from "effect"
import type {
  FinishReason,
  ModelImage,
  ModelUsage,
  ModelMessage,
  ModelRequest,
  ToolSpec
} from "../domain/ModelCall.ts"
import { chatFields, dataUrl, lacksNothing, offersTools, withFormat } from "./AnswerFields.ts"
import {
  callData,
  callFields,
  ChatThoughts,
  contentWithThoughts,
  reasoningFields,
  withDemandedReasoning,
  withoutThoughts
} from "./ChatReasoning.ts"
import {
  type Adapt,
  adaptAnswer,
  type Dialect,
  offeredTools,
  refusesField,
  type TokenParameter
} from "./Dialect.ts"
import { keyHeader } from "./OpenAiHosts.ts"
import {
  type AnswerChunk,
  type CallFragment,
  type Decode,
  done,
  type Fields,
  isUnreadable,
  malformed,
  noFragments,
  parseEvent,
  unknown,
  type Protocol,
  makeWithTools
} from "./Protocol.ts"
import { imagesOf, messagesFor, mergeSameRole, toolCallsAsText } from "./SentMessages.ts"
import { bareError, decodeError, type ServerError } from "./ServerError.ts"
import { ThinkTags } from "./ThinkTags.ts"
import { decodeOpenAiUsage } from "./TokenCounts.ts"

/** The request body of a Chat Completions call, as JSON. */
export const encodeChatRequest = (model: string, request: ModelRequest, dialect: Dialect): string => {
  const json = JSON.stringify({
    model,
    messages: mergeSameRole(
      unansweredAsText(
        withDemandedReasoning(withFormat(messagesFor(request, dialect), request, dialect.format), dialect)
      )
    ).map((message) => encodeMessage(message, dialect)),
    stream: true,
    ...(dialect.streamOptions ? { stream_options: { include_usage: true } } : {}),
    [dialect.tokenParameter]: request.maxOutputTokens,
    ...chatFields(request, dialect)
  })
  return offersTools(request, dialect) ? withTools(json, offeredTools(request, dialect)) : json
}

/** Strict servers and chat templates refuse a question behind tool results: such a round of calls is sent as text. */
const unansweredAsText = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<ModelMessage> => {
  const sent = [...messages]
  for (const [index, { role }] of messages.entries()) {
    let at = index - 1
    if (role !== "user" || messages[at]?.role !== "tool") continue
    while (messages[at]?.role === "tool") at--
    const round = messages.slice(Math.max(0, at), index)
    sent.splice(index - round.length, round.length, ...round.map(toolCallsAsText))
  }
  return sent
}

const encodeMessage = (message: ModelMessage, dialect: Dialect): object => {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text }
    case "user":
      return { role: "user", content: encodeContent(message.text, imagesOf(message)) }
    case "assistant":
      return encodeAnswer(message, dialect)
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: message.text }
  }
}

const encodeAnswer = (message: Extract<ModelMessage, { role: "assistant" }>, dialect: Dialect): object => {
  const { text, toolCalls } = message
  const content = contentWithThoughts(message, dialect) ?? (text === "" && toolCalls.length > 0 ? null : text)
  const said = { role: "assistant", content, ...reasoningFields(message, dialect) }
  if (toolCalls.length === 0) return said
  const calls = toolCalls.map((call, index) => ({
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: call.arguments },
    ...callFields(call, index, dialect)
  }))
  return { ...said, tool_calls: calls }
}

/** Servers without images take a plain text only. */
const encodeContent = (text: string, images: ReadonlyArray<ModelImage>): unknown =>
  images.length === 0
    ? text
    : [
        ...(text === "" ? [] : [{ type: "text", text }]),
        ...images.map((image) => ({
          type: "image_url",
          image_url: { url: dataUrl(image), ...(image.detail === "auto" ? {} : { detail: image.detail }) }
        }))
      ]

const encodeTool = ({ description, name, parameters, strict }: ToolSpec): object => ({
  type: "function",
  function: { name, description, parameters, ...(strict === true ? { strict } : {}) }
})

const withTools = makeWithTools(encodeTool)

const adaptChatDialect: Adapt = (dialect, complaint, request) => {
  if (dialect.streamOptions && complaint.includes("stream_options"))
    return { ...dialect, streamOptions: false }
  if (refusesField(complaint, dialect.tokenParameter)) {
    return { ...dialect, tokenParameter: otherTokenParameter(dialect.tokenParameter) }
  }
  return withoutThoughts(dialect, complaint, request) ?? adaptAnswer(dialect, complaint, request)
}

const otherTokenParameter = (parameter: TokenParameter): TokenParameter =>
  parameter === "max_tokens" ? "max_completion_tokens" : "max_tokens"

const noFields: Fields = {}

/** Reads the events of one Chat Completions stream, or one whole answer. */
const makeDecodeChat = (): Decode => {
  const thoughts = new ChatThoughts()
  const tags = new ThinkTags()
  return (data) => {
    const chunk = decodeChatChunk(data, thoughts)
    if (chunk.type !== "delta") return chunk
    const { finish, fragments, thought = "" } = chunk
    const split = tags.split(chunk.text)
    if (split.thought !== "") thoughts.tagged()
    const rest = finish === null && fragments.length === 0 ? noRest : tags.end()
    const text = split.text + rest.text
    const thinks = thought + split.thought + rest.thought
    const hasEnded = !tags.isThinking && (text !== "" || fragments.length > 0)
    const block = hasEnded || finish !== null ? thoughts.end() : null
    if (thinks === "" && block === null) return text === chunk.text ? chunk : { ...chunk, text }
    return { ...chunk, text, thought: thinks, ...(block === null ? {} : { blocks: [block] }) }
  }
}

const noRest = { thought: "", text: "" }

const decodeChatChunk = (data: string, thoughts: ChatThoughts): AnswerChunk => {
  if (data === "[DONE]") return done
  const json = parseEvent(data)
  if (isUnreadable(json)) return data.trim() === "[DONE]" ? done : json
  const error = json["error"]
  if (error !== undefined && error !== null) return decodeError(json)
  const choices = json["choices"]
  if (choices === undefined) return bareError(json) ?? unknown
  const usage = decodeUsage(json["usage"] ?? groqUsage(json["x_groq"]))
  if (choices === null) return { type: "usage", usage }
  if (!Array.isArray(choices)) return malformed("choices is no list")
  return decodeChoice(choices[0], usage, thoughts)
}

const decodeUsage = (usage: unknown): ModelUsage | null => decodeOpenAiUsage(usage, "prompt", "completion")

/** Groq's usage of a stream, which its last chunk has in a field of Groq's own. */
const groqUsage = (own: unknown): unknown => (Predicate.isObject(own) ? own["usage"] : null)

/** Finish reasons by which a server says that it failed. */
const failures: ReadonlySet<unknown> = new Set(["error", "insufficient_system_resource"])

const decodeFailure = ({ error, finish_reason: reason }: Fields): ServerError => {
  const { label, ...rest } = decodeError(error)
  return { ...rest, label: `finish_reason ${String(reason)} ${label}`.trim() }
}

const decodeChoice = (choice: unknown, usage: ModelUsage | null, thoughts: ChatThoughts): AnswerChunk => {
  if (choice === undefined) return { type: "usage", usage }
  if (!Predicate.isObject(choice)) return malformed("a choice is no object")
  if (failures.has(choice["finish_reason"])) return decodeFailure(choice)
  const finish = decodeFinish(choice["finish_reason"])
  if (finish === undefined) return malformed("finish_reason is no text")
  // A whole answer says `message` where a stream says `delta`.
  const delta = choice["delta"] ?? choice["message"] ?? noFields
  if (!Predicate.isObject(delta)) return malformed("a delta is no object")
  const text = decodeText(delta)
  if (text === undefined) return malformed("content is no text")
  const fragments = decodeFragments(delta["tool_calls"])
  if (fragments === undefined) return malformed("a tool call is not well-formed")
  const thought = thoughts.read(delta)
  const progress = text !== "" || fragments.length > 0 || thought !== "" || isThinking(delta)
  const answer = {
    type: "delta",
    text,
    progress,
    fragments,
    finish,
    // Kimi has it in the last choice.
    usage: usage ?? decodeUsage(choice["usage"]),
    ...(thought === "" ? {} : { thought })
  } as const
  return delta["refusal"] ? { ...answer, isRefusal: true } : answer
}

/** Text of the answer; a refusal is text too. Undefined where it is neither text nor absent. */
const decodeText = (delta: Fields): string | undefined => {
  const content = delta["content"]
  const refusal = delta["refusal"]
  const text = typeof content === "string" ? content : decodeContentParts(content)
  if (refusal === undefined || refusal === null) return text
  return typeof refusal === "string" && text !== undefined ? text + refusal : undefined
}

/** Some servers send the content as a list of parts, reasoning among them. */
const decodeContentParts = (content: unknown): string | undefined => {
  if (content === null || content === undefined) return ""
  if (!Array.isArray(content)) return undefined
  let text = ""
  for (const part of content) {
    if (Predicate.isObject(part) && typeof part["text"] === "string") text += part["text"]
  }
  return text
}

const isThinking = (delta: Fields): boolean =>
  isFilled(delta["reasoning_content"]) || isFilled(delta["reasoning"]) || isFilled(delta["content"])

const isFilled = (value: unknown): boolean =>
  (typeof value === "string" || Array.isArray(value)) && value.length > 0

const decodeFragments = (calls: unknown): ReadonlyArray<CallFragment> | undefined => {
  if (calls === undefined || calls === null) return noFragments
  if (!Array.isArray(calls)) return undefined
  const fragments = calls.flatMap((call) => decodeFragment(call) ?? [])
  return fragments.length === calls.length ? fragments : undefined
}

const decodeFragment = (call: unknown): CallFragment | undefined => {
  if (!Predicate.isObject(call)) return undefined
  const called = call["function"] ?? noFields
  const index = call["index"] ?? null
  if (!Predicate.isObject(called) || !(index === null || Predicate.isNumber(index))) return undefined
  const id = decodeOptionalText(call["id"])
  const name = decodeOptionalText(called["name"])
  // Some servers send the arguments as an object in place of its JSON.
  const args = Predicate.isObject(called["arguments"])
    ? JSON.stringify(called["arguments"])
    : decodeOptionalText(called["arguments"])
  if (id === undefined || name === undefined || args === undefined) return undefined
  const kept = callData(call)
  return { index, id, name, arguments: args, ...(kept === undefined ? {} : { data: kept }) }
}

const decodeOptionalText = (value: unknown): string | undefined => {
  if (value === undefined || value === null) return ""
  return typeof value === "string" ? value : undefined
}

/** null while the answer goes on; undefined where it isn't text. An unknown reason ends the answer as well. */
const decodeFinish = (reason: unknown): FinishReason | null | undefined => {
  if (reason === undefined || reason === null || reason === "") return null
  if (typeof reason !== "string") return undefined
  switch (reason) {
    case "length":
    case "max_tokens":
    case "model_length":
      return "length"
    case "tool_calls":
    case "function_call":
    case "tool_use":
      return "tool_calls"
    case "content_filter":
    case "safety":
      return "content_filter"
    default:
      return "stop"
  }
}

/** OpenAI Chat Completions, which nearly every model server speaks. */
export const openAiChat: Protocol = {
  name: "openai-chat",
  path: "/chat/completions",
  headers: keyHeader,
  encode: encodeChatRequest,
  adapt: adaptChatDialect,
  lacks: lacksNothing,
  makeDecode: makeDecodeChat
}
