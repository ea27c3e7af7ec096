import { type ResponseObject, startedResponse, type WholeUsage } from "../../api/ResponseObject.ts"
import type { CommitTurn } from "../../conversations/Conversations.ts"
import type { StoredResponse } from "../../conversations/StoredResponses.ts"
import {
  cutOf,
  type FunctionCall,
  incompleteDetails,
  type InputItem,
  inputWithoutReasoning,
  type OutputItem,
  outputText,
  type TurnDetails,
  withoutReasoning
} from "../../domain/Conversation.ts"
import type { AppConfig } from "../../settings/AppConfig.ts"
import { imagesOf, type PromptImages } from "../prompt/Images.ts"
import { turnTokens } from "../prompt/PromptAssembly.ts"

/** The fields of a finished response that are kept besides its items. */
const detailsOf = (response: ResponseObject, echo: unknown): TurnDetails => ({
  createdAt: response.created_at,
  completedAt: response.completed_at ?? response.created_at,
  usage: response.usage && {
    inputTokens: response.usage.input_tokens,
    cachedInputTokens: response.usage.input_tokens_details.cached_tokens,
    cacheWriteInputTokens: response.usage.input_tokens_details.cache_write_tokens,
    outputTokens: response.usage.output_tokens,
    reasoningTokens: response.usage.output_tokens_details.reasoning_tokens
  },
  incompleteReason: cutOf(response.incomplete_details),
  instructions: response.instructions,
  maxOutputTokens: response.max_output_tokens,
  previousResponseId: response.previous_response_id,
  echo
})

/** Logprobs take many times the room of their text, and are not kept. */
const withoutLogprobs = (item: OutputItem): OutputItem =>
  item.type === "message" && item.content.some(({ logprobs }) => logprobs.length > 0)
    ? { ...item, content: item.content.map((part) => ({ ...part, logprobs: [] })) }
    : item

/** The turn of a finished response. */
export const turnContent = (
  response: ResponseObject,
  {
    calls,
    reasoning,
    echo = null,
    items,
    prepared,
    systemMessage
  }: {
    readonly items: ReadonlyArray<InputItem>
    readonly prepared: {
      readonly items: ReadonlyArray<InputItem>
      readonly files: Parameters<typeof turnTokens>[1]
      readonly images: PromptImages
    }
    readonly calls: ReadonlyArray<FunctionCall>
    readonly systemMessage: string | null
    readonly echo: unknown
    readonly reasoning: AppConfig["Service"]["models"]["reasoning"]
  }
): CommitTurn => {
  const isKept = reasoning === "keep"
  const output = (isKept ? response.output : withoutReasoning(response.output)).map(withoutLogprobs)
  return {
    responseId: response.id,
    model: response.model,
    input: isKept ? items : inputWithoutReasoning(items),
    output,
    systemMessage,
    promptTokens: turnTokens([...prepared.items, ...output], prepared.files, calls),
    details: detailsOf(response, echo),
    images: imagesOf(items).flatMap((id) => prepared.images.get(id) ?? [])
  }
}

export const usageOf = (usage: NonNullable<TurnDetails["usage"]>): WholeUsage => ({
  input_tokens: usage.inputTokens,
  input_tokens_details: {
    cached_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteInputTokens ?? 0
  },
  output_tokens: usage.outputTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  total_tokens: usage.inputTokens + usage.outputTokens
})

/** A stored response as it was answered. Earlier versions kept only its items and the time of storing. */
export const storedResponse = (stored: StoredResponse): ResponseObject => {
  const { details, output } = stored
  const storedAt = stored.storedAt.epochMilliseconds
  return {
    ...startedResponse({
      id: stored.responseId,
      createdAt: details?.createdAt ?? storedAt,
      model: stored.model,
      conversationId: stored.conversationId,
      instructions: details?.instructions ?? null,
      maxOutputTokens: details?.maxOutputTokens ?? null,
      previousResponseId: details?.previousResponseId ?? null,
      store: true
    }),
    status: "completed",
    output,
    output_text: outputText(output),
    completed_at: details?.completedAt ?? storedAt,
    incomplete_details: incompleteDetails(details?.incompleteReason ?? null, output),
    usage: details?.usage == null ? null : usageOf(details.usage)
  }
}
