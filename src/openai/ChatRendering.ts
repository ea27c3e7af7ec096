import type { ErrorBody } from "../api/ErrorEnvelope.ts"
import type {
  ChatChunk,
  ChatCompletion,
  ChatUsage,
  Delta,
  FinishReason
} from "../api/openai/ChatCompletion.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import type { EventBody } from "../api/ResponseEvent.ts"
import type { ResponseObject, WholeUsage } from "../api/ResponseObject.ts"
import { cutOf, type FunctionCall, type OutputItem, type OutputMessage } from "../domain/Conversation.ts"
import { chatLogprobs } from "./Logprobs.ts"

/**
 * The third rendering: from the core's events to an answer of Chat Completions. Of what the service's own
 * tools do, only the text that is written before, between and after them is shown.
 */

/** The parts of a request on which its answer depends. */
export interface ChatView {
  /** True if a stream ends with the usage. */
  readonly includeUsage: boolean
  readonly metadata: Readonly<Record<string, string>> | null
}

const millisPerSecond = 1_000

/** Between two texts, of which the service's own tools ran in the middle. */
const betweenTexts = "\n\n"

const headOf = (response: ResponseObject) => ({
  id: shownId("chatCompletion", response.id),
  created: Math.floor(response.created_at / millisPerSecond),
  model: response.model,
  service_tier: "default" as const,
  system_fingerprint: null
})

export const usageOf = (usage: WholeUsage | null): ChatUsage => ({
  prompt_tokens: usage?.input_tokens ?? 0,
  completion_tokens: usage?.output_tokens ?? 0,
  total_tokens: usage?.total_tokens ?? 0,
  prompt_tokens_details: {
    cached_tokens: usage?.input_tokens_details.cached_tokens ?? 0,
    cache_write_tokens: usage?.input_tokens_details.cache_write_tokens ?? 0,
    audio_tokens: 0
  },
  completion_tokens_details: {
    reasoning_tokens: usage?.output_tokens_details.reasoning_tokens ?? 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0
  }
})

const isFunctionCall = (item: OutputItem): item is FunctionCall => item.type === "function_call"

const finishReason = ({ incomplete_details, output }: ResponseObject): FinishReason => {
  const cut = cutOf(incomplete_details)
  if (cut !== null) return cut === "content_filter" ? cut : "length"
  return output.some(isFunctionCall) ? "tool_calls" : "stop"
}

const isRefusing = ({ content }: OutputMessage): boolean =>
  content.some(({ isRefusal }) => isRefusal === true)

/** The texts of the messages: of those by which the model refuses to answer, or of the others. */
const textsOf = (output: ReadonlyArray<OutputItem>, refusing: boolean): ReadonlyArray<string> =>
  output.flatMap((item) =>
    item.type === "message" && isRefusing(item) === refusing
      ? [item.content.map(({ text }) => text).join("")]
      : []
  )

export const logprobsOf = (output: ReadonlyArray<OutputItem>) =>
  output.flatMap((item) => (item.type === "message" ? item.content.flatMap(({ logprobs }) => logprobs) : []))

/** The thoughts of the model, as far as they are shown. */
const thoughtsOf = (output: ReadonlyArray<OutputItem>): ReadonlyArray<string> =>
  output.flatMap((item) => (item.type === "reasoning" && item.text !== "" ? [item.text] : []))

const calledFunction = ({ arguments: args, call_id, name }: FunctionCall) => ({
  id: call_id,
  type: "function" as const,
  function: { name, arguments: args }
})

/** A whole answer. */
export const renderCompletion = (response: ResponseObject, view: ChatView): ChatCompletion => {
  const texts = textsOf(response.output, false)
  const refusals = textsOf(response.output, true)
  const written = texts.filter((text) => text !== "")
  const calls = response.output.filter(isFunctionCall).map(calledFunction)
  const thoughts = thoughtsOf(response.output).join(betweenTexts)
  return {
    ...headOf(response),
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: texts.length === 0 ? null : written.join(betweenTexts),
          ...(thoughts === "" ? {} : { reasoning_content: thoughts }),
          refusal: refusals.length === 0 ? null : refusals.join(betweenTexts),
          annotations: [],
          ...(calls.length === 0 ? {} : { tool_calls: calls })
        },
        logprobs: chatLogprobs(logprobsOf(response.output)),
        finish_reason: finishReason(response)
      }
    ],
    usage: usageOf(response.usage),
    ...(view.metadata === null ? {} : { metadata: view.metadata })
  }
}

const beginCall = (call: FunctionCall, index: number): Delta => ({
  tool_calls: [{ index, ...calledFunction(call) }]
})

/** A line of a stream that fails, in place of a chunk. */
interface ChatError {
  readonly error: Omit<ErrorBody, "param"> & { readonly param: string | null }
}

export const chatError = ({ code, message, param, type }: ErrorBody): ChatError => ({
  error: { message, type, code, param: param === "" ? null : param }
})

/** The text before a piece of an item, behind the item whose piece was the last of its kind. */
const separatorAfter = (last: string | null, itemId: string): string =>
  last === null || last === itemId ? "" : betweenTexts

type TextDelta = Extract<EventBody, { readonly type: "response.output_text.delta" }>
type Logprobs = ReturnType<typeof chatLogprobs>
type Chunks = ReadonlyArray<ChatChunk>

/** Renders the events of one response, in their order, each as the chunks that stand for it. */
export const makeChatRenderer = (view: ChatView): ((event: EventBody) => Chunks) => {
  let head: ReturnType<typeof headOf> | null = null
  let lastText: string | null = null
  let lastThought: string | null = null
  let lastRefusal: string | null = null
  /** The place of each call, by its item. */
  const calls = new Map<string, number>()

  const chunk = (delta: Delta, finish: FinishReason | null, logprobs: Logprobs = null): Chunks =>
    head === null
      ? []
      : [
          {
            ...head,
            object: "chat.completion.chunk",
            choices: [{ index: 0, delta, logprobs, finish_reason: finish }],
            ...(view.includeUsage ? { usage: null } : {})
          }
        ]

  const textChunk = ({ delta, item_id: itemId, logprobs }: TextDelta) => {
    if (delta === "" && lastText !== null) return []
    const separator = separatorAfter(lastText, itemId)
    lastText = itemId
    return chunk({ content: separator + delta }, null, chatLogprobs(logprobs))
  }

  return (event) => {
    switch (event.type) {
      case "response.created":
        head = headOf(event.response)
        return chunk({ role: "assistant", content: "" }, null)
      case "response.output_text.delta":
        return textChunk(event)
      case "response.refusal.delta": {
        const separator = separatorAfter(lastRefusal, event.item_id)
        lastRefusal = event.item_id
        return chunk({ refusal: separator + event.delta }, null)
      }
      case "response.reasoning_text.delta": {
        const separator = separatorAfter(lastThought, event.item_id)
        lastThought = event.item_id
        return chunk({ reasoning_content: separator + event.delta }, null)
      }
      case "response.output_item.added": {
        const { item } = event
        if (item.type !== "function_call") return []
        const { size: index } = calls
        calls.set(item.id, index)
        return chunk(beginCall(item, index), null)
      }
      case "response.function_call_arguments.delta": {
        const index = calls.get(event.item_id)
        return index === undefined
          ? []
          : chunk({ tool_calls: [{ index, function: { arguments: event.delta } }] }, null)
      }
      case "response.completed": {
        const end = chunk({}, finishReason(event.response))
        if (head === null || !view.includeUsage) return end
        const usage = usageOf(event.response.usage)
        return [...end, { ...head, object: "chat.completion.chunk", choices: [], usage }]
      }
      default:
        return []
    }
  }
}
