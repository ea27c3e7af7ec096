import type { FinishReason, ModelUsage, ModelMessage, ModelRequest, ToolSpec } from "../domain/ModelCall.ts"
import {
  type AnswerChunk,
  callDelta,
  type CallFragment,
  type Decode,
  decodeCount,
  decodeDetail,
  decodeError,
  done,
  type Fields,
  isUnreadable,
  malformed,
  noFragments,
  parseEvent,
  textDelta,
  thinking,
  unknown,
  adaptTools,
  type Dialect,
  bearer,
  type Protocol,
  asOffered,
  inTurns
} from "./Protocol.ts"
import { Predicate } from "effect"

/** OpenAI refuses a smaller bound on the answer. What is written beyond the true bound is cut off afterwards. */
const outputTokensMin = 16

/** The request body of a Responses call, as JSON. */
export const encodeResponsesRequest = (model: string, request: ModelRequest, dialect: Dialect): string => {
  // System messages in front are the instructions; a later one keeps its place.
  const messages = asOffered(request, dialect)
  const begin = messages.findIndex((message) => message.role !== "system")
  const head = begin < 0 ? messages : messages.slice(0, begin)
  const rest = begin < 0 ? [] : messages.slice(begin)
  const instructions = head.map((message) => message.text).join("\n\n")
  return JSON.stringify({
    model,
    ...(instructions === "" ? {} : { instructions }),
    input: inTurns(rest).flatMap(encodeMessage),
    stream: true,
    store: false,
    max_output_tokens: Math.max(outputTokensMin, request.maxOutputTokens),
    ...(dialect.tools && request.tools.length > 0 ? { tools: request.tools.map(encodeTool) } : {})
  })
}

/** The input items of a message: a text and each call are items of their own. */
const encodeMessage = (message: ModelMessage): ReadonlyArray<object> => {
  switch (message.role) {
    case "system":
    case "user":
      return [{ role: message.role, content: message.text }]
    case "assistant":
      return [
        ...(message.text === "" && message.toolCalls.length > 0
          ? []
          : [{ role: "assistant", content: message.text }]),
        ...message.toolCalls.map((call) => ({
          type: "function_call",
          call_id: call.id,
          name: call.name,
          arguments: call.arguments
        }))
      ]
    case "tool":
      return [{ type: "function_call_output", call_id: message.callId, output: message.text }]
  }
}

/** Left to itself OpenAI takes a schema as strict, which most schemas of tools aren't. */
const encodeTool = (tool: ToolSpec): object => ({
  type: "function",
  name: tool.name,
  description: tool.description,
  parameters: tool.parameters,
  strict: false
})

/** Reads the events of one Responses stream, or one whole response. */
const makeDecodeResponses = (): Decode => {
  /** The calls whose arguments have begun to come, by their place in the output. */
  const begun = new Set<number>()

  const decodeArguments = (event: Fields): AnswerChunk => {
    const index = decodeCount(event["output_index"])
    const fragment = event["delta"]
    if (index === null || typeof fragment !== "string") return malformed("a piece of arguments is no text")
    begun.add(index)
    return callDelta({ index, id: "", name: "", arguments: fragment })
  }

  const decodeItem = (event: Fields): AnswerChunk => {
    const { item } = event
    if (!Predicate.isObject(item) || item["type"] !== "function_call") return unknown
    const index = decodeCount(event["output_index"])
    const call = decodeCall(item, index)
    if (index === null || call === undefined) return malformed("a tool call is not well-formed")
    // The whole arguments come at the end once more.
    if (begun.has(index)) return callDelta({ ...call, arguments: "" })
    if (call.arguments !== "") begun.add(index)
    return callDelta(call)
  }

  return (data) => {
    if (data === "[DONE]") return done
    const event = parseEvent(data)
    if (isUnreadable(event)) return data.trim() === "[DONE]" ? done : event
    switch (event["type"]) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        return decodeText(event["delta"])
      case "response.function_call_arguments.delta":
        return decodeArguments(event)
      case "response.output_item.added":
      case "response.output_item.done":
        return decodeItem(event)
      case "response.reasoning_text.delta":
      case "response.reasoning_summary_text.delta":
        return thinking
      case "response.completed":
        return decodeEnd(event["response"], "completed")
      case "response.incomplete":
        return decodeEnd(event["response"], "incomplete")
      case "response.failed":
        return decodeEnd(event["response"], "failed")
      case "response.cancelled":
        return decodeEnd(event["response"], "cancelled")
      case "error":
        // Some servers keep the error in a field of its own, as the refusals do.
        return decodeError(event["error"] ?? { ...event, type: null })
      default:
        return decodeUntyped(event)
    }
  }
}

/** An event that is none: a whole response where a stream was asked for, or a bare error. */
const decodeUntyped = (event: Fields): AnswerChunk => {
  if (event["object"] === "response") return decodeDocument(event)
  const error = event["error"]
  return event["type"] === undefined && error !== undefined && error !== null ? decodeError(error) : unknown
}

const decodeText = (delta: unknown): AnswerChunk =>
  typeof delta === "string" ? textDelta(delta) : malformed("a piece of text is no text")

const decodeCall = (item: Fields, index: number | null): CallFragment | undefined => {
  const { arguments: args = "", call_id: id, name } = item
  return typeof id === "string" && typeof name === "string" && typeof args === "string"
    ? { index, id, name, arguments: args }
    : undefined
}

const decodeEnd = (response: unknown, status: string): AnswerChunk => {
  if (!Predicate.isObject(response)) return malformed("a response is no object")
  const finish = decodeFinish(response, status)
  return typeof finish === "object"
    ? finish
    : {
        type: "delta",
        text: "",
        progress: true,
        fragments: noFragments,
        finish,
        usage: decodeUsage(response["usage"])
      }
}

/** How a response ended, or what it says about its failure. */
const decodeFinish = (response: Fields, status: unknown): FinishReason | AnswerChunk => {
  switch (status) {
    case "completed":
      // That there are tool calls is known from the calls.
      return "stop"
    case "incomplete": {
      const details = response["incomplete_details"]
      const reason = Predicate.isObject(details) ? details["reason"] : null
      return reason === "content_filter" ? "content_filter" : "length"
    }
    case "failed":
    case "cancelled":
      return decodeError(response["error"] ?? { code: status })
    default:
      return malformed("a response ended without a status")
  }
}

const decodeDocument = (response: Fields): AnswerChunk => {
  const finish = decodeFinish(response, response["status"])
  if (typeof finish === "object") return finish
  const { output } = response
  if (!Array.isArray(output)) return malformed("output is no list")
  const fragments: Array<CallFragment> = []
  let text = ""
  for (const [index, item] of output.entries()) {
    if (!Predicate.isObject(item)) return malformed("an output item is no object")
    if (item["type"] === "message") text += contentText(item["content"])
    if (item["type"] !== "function_call") continue
    const call = decodeCall(item, index)
    if (call === undefined) return malformed("a tool call is not well-formed")
    fragments.push(call)
  }
  return { type: "delta", text, progress: true, fragments, finish, usage: decodeUsage(response["usage"]) }
}

const contentText = (content: unknown): string =>
  Array.isArray(content)
    ? content
        .map((part) => (Predicate.isObject(part) ? (part["text"] ?? part["refusal"]) : ""))
        .filter(Predicate.isString)
        .join("")
    : ""

/** null where the counts are absent or unusable; they are estimated then. */
const decodeUsage = (usage: unknown): ModelUsage | null => {
  if (!Predicate.isObject(usage)) return null
  const inputTokens = decodeCount(usage["input_tokens"])
  const outputTokens = decodeCount(usage["output_tokens"])
  if (inputTokens === null || outputTokens === null) return null
  return {
    inputTokens,
    cachedInputTokens: decodeDetail(usage["input_tokens_details"], "cached_tokens"),
    outputTokens,
    reasoningTokens: decodeDetail(usage["output_tokens_details"], "reasoning_tokens"),
    source: "provider"
  }
}

/** OpenAI Responses. Nothing is kept there: every request brings the whole conversation. */
export const openAiResponses: Protocol = {
  path: "/responses",
  headers: bearer,
  encode: encodeResponsesRequest,
  adapt: adaptTools,
  makeDecode: makeDecodeResponses
}
