import { Array as Arr } from "effect"
import type { ChatChunk, ChatCompletion, ChatUsage } from "../api/openai/ChatCompletion.ts"
import type { ResponseObject } from "../api/ResponseObject.ts"
import { type ChatView, makeChatRenderer, renderCompletion } from "./ChatRendering.ts"
import type { ChoiceEvent } from "./Choices.ts"

/**
 * Several answers as the choices of one answer of Chat Completions, which is named and dated like the first
 * of them.
 */

/** The tokens of all answers: each has read the prompt. */
export const sumOf = (one: ChatUsage, other: ChatUsage): ChatUsage => ({
  prompt_tokens: one.prompt_tokens + other.prompt_tokens,
  completion_tokens: one.completion_tokens + other.completion_tokens,
  total_tokens: one.total_tokens + other.total_tokens,
  prompt_tokens_details: {
    ...one.prompt_tokens_details,
    cached_tokens: one.prompt_tokens_details.cached_tokens + other.prompt_tokens_details.cached_tokens,
    cache_write_tokens:
      one.prompt_tokens_details.cache_write_tokens + other.prompt_tokens_details.cache_write_tokens
  },
  completion_tokens_details: {
    ...one.completion_tokens_details,
    reasoning_tokens:
      one.completion_tokens_details.reasoning_tokens + other.completion_tokens_details.reasoning_tokens
  }
})

export const renderChoices = (
  responses: Arr.NonEmptyReadonlyArray<ResponseObject>,
  view: ChatView
): ChatCompletion => {
  const completions = Arr.map(responses, (response) => renderCompletion(response, view))
  return {
    ...completions[0],
    choices: completions.flatMap(({ choices }, index) => choices.map((choice) => ({ ...choice, index }))),
    usage: completions.map(({ usage }) => usage).reduce(sumOf)
  }
}

/**
 * Renders the events of so many answers, in the order in which they come. The usage follows the end of the
 * last one.
 */
export const makeChoicesRenderer = (
  view: ChatView,
  count: number
): ((event: ChoiceEvent) => ReadonlyArray<ChatChunk>) => {
  const renderers = Arr.makeBy(count, () => makeChatRenderer({ ...view, includeUsage: true }))
  let head: Pick<ChatChunk, "id" | "created" | "model"> | null = null
  let usage: ChatUsage | null = null
  let ended = 0

  const withUsage = (chunk: ChatChunk, spent: ChatUsage): ReadonlyArray<ChatChunk> => {
    usage = usage === null ? spent : sumOf(usage, spent)
    ended++
    return view.includeUsage && ended === count ? [{ ...chunk, usage }] : []
  }

  return ({ event, index }) =>
    (renderers[index]?.(event) ?? []).flatMap((rendered): ReadonlyArray<ChatChunk> => {
      const { usage: spent, ...bare } = rendered
      head ??= { id: bare.id, created: bare.created, model: bare.model }
      const chunk = { ...bare, ...head, choices: bare.choices.map((choice) => ({ ...choice, index })) }
      if (spent != null) return withUsage(chunk, spent)
      return [view.includeUsage ? { ...chunk, usage: null } : chunk]
    })
}
