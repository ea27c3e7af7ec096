import { Predicate } from "effect"
import type { FinishReason, ModelUsage } from "../domain/ModelCall.ts"
import { callData, ChatThoughts } from "./ChatReasoning.ts"
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
  unknown
} from "./Protocol.ts"
import { bareError, decodeError, type ServerError } from "./ServerError.ts"
import { ThinkTags } from "./ThinkTags.ts"
import { decodeOpenAiUsage } from "./TokenCounts.ts"
import { TokenLogprobs } from "./TokenLogprobs.ts"

const noFields: Fields = {}

/** Reads the events of one Chat Completions stream, or one whole answer. */
export const makeDecodeChat = (beginsThinking = false, topLogprobs?: number): Decode => {
  const logprobs = topLogprobs === undefined ? null : new TokenLogprobs(topLogprobs)
  const decode = makeDecodeParts(beginsThinking, logprobs)
  return logprobs === null ? decode : (data) => logprobs.beside(decode(data))
}

const makeDecodeParts = (beginsThinking: boolean, logprobs: TokenLogprobs | null): Decode => {
  const thoughts = new ChatThoughts()
  const tags = new ThinkTags(beginsThinking)
  /** True once the reasoning is over or known to be absent. Nearly all chunks are text then. */
  let isText = false
  return (data) => {
    const chunk = decodeChatChunk(data, thoughts, logprobs)
    if (chunk.type !== "delta" || (isText && chunk.thought === undefined)) return chunk
    const { finish, fragments, thought = "" } = chunk
    // The server separates the reasoning itself.
    if (thought !== "") tags.noteThought()
    const wasThinking = tags.isThinking
    const split = tags.split(chunk.text)
    if (split.thought !== "") thoughts.tagged()
    // Calls and refusals follow the reasoning, so the finish reason "stop" behind them doesn't count as the
    // end of a text.
    const isBehind = fragments.length > 0 || chunk.refusal !== undefined
    const rest = finish === null && !isBehind ? noRest : tags.end(finish === "stop" && !isBehind)
    const text = split.text + rest.text
    const thinks = thought + split.thought + rest.thought
    if (thinks !== "" || wasThinking || tags.isThinking) logprobs?.drop()
    const hasEnded = !tags.isThinking && (text !== "" || isBehind)
    const block = hasEnded || finish !== null ? thoughts.end() : null
    isText = tags.areOver && !thoughts.isOpen
    if (thinks === "" && block === null) return text === chunk.text ? chunk : { ...chunk, text }
    return { ...chunk, text, thought: thinks, ...(block === null ? {} : { blocks: [block] }) }
  }
}

const noRest = { thought: "", text: "" }

const decodeChatChunk = (
  data: string,
  thoughts: ChatThoughts,
  logprobs: TokenLogprobs | null
): AnswerChunk => {
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
  const [choice] = choices
  if (logprobs !== null && Predicate.isObject(choice)) logprobs.add(contentLogprobs(choice["logprobs"]))
  return decodeChoice(choice, usage, thoughts)
}

const contentLogprobs = (given: unknown): unknown => (Predicate.isObject(given) ? given["content"] : null)

const decodeUsage = (usage: unknown): ModelUsage | null => decodeOpenAiUsage(usage, "prompt", "completion")

/** Groq's usage of a stream, which is in a field of its own in the last chunk. */
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
  // A whole answer has `message` in place of a stream's `delta`.
  const delta = choice["delta"] ?? choice["message"] ?? noFields
  if (!Predicate.isObject(delta)) return malformed("a delta is no object")
  const content = delta["content"]
  const text = typeof content === "string" ? content : decodeContentParts(content)
  const refusal = delta["refusal"] ?? ""
  if (text === undefined || typeof refusal !== "string") return malformed("content is no text")
  const fragments = decodeFragments(delta["tool_calls"])
  if (fragments === undefined) return malformed("a tool call is not well-formed")
  const thinks = isThinking(delta)
  const progress = text !== "" || refusal !== "" || fragments.length > 0 || thinks
  // Kimi has the usage in the last choice.
  const counted = usage ?? decodeUsage(choice["usage"])
  const answer = { type: "delta", text, progress, fragments, finish, usage: counted } as const
  const told = thinks ? { ...answer, thought: thoughts.read(delta) } : answer
  return refusal === "" ? told : { ...told, refusal }
}

/**
 * Some servers send the content as a list of parts, reasoning among them. Undefined if it is neither a list
 * nor absent.
 */
const decodeContentParts = (content: unknown): string | undefined => {
  if (content === null || content === undefined) return ""
  if (!Array.isArray(content)) return undefined
  let text = ""
  for (const part of content) {
    if (Predicate.isObject(part) && typeof part["text"] === "string") text += part["text"]
  }
  return text
}

/** True if a delta has a piece of reasoning. */
const isThinking = (delta: Fields): boolean =>
  isFilled(delta["reasoning_content"]) ||
  isFilled(delta["reasoning"]) ||
  isFilled(delta["reasoning_details"]) ||
  isFilled(delta["thinking_blocks"]) ||
  Array.isArray(delta["content"])

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

/**
 * null while the answer goes on; undefined for a reason that isn't text. An unknown reason ends the answer as
 * well.
 */
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
