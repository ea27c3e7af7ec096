import { Array as Arr } from "effect"
import type { ChatUsage } from "../api/openai/ChatCompletion.ts"
import type { CompletionFinish, TextChunk, TextCompletion } from "../api/openai/CompletionsApi.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import type { ResponseObject } from "../api/ResponseObject.ts"
import { cutOf } from "../domain/Conversation.ts"
import { logprobsOf, usageOf } from "./ChatRendering.ts"
import { sumOf } from "./ChoiceRendering.ts"
import type { ChoiceEvent } from "./Choices.ts"
import { completionLogprobs, tokensLength } from "./Logprobs.ts"

/**
 * From the core's events to completions of texts. Of an answer only its text is shown, and that of a refusal.
 */

export interface CompletionView {
  /** True if a stream ends with the usage. */
  readonly includeUsage: boolean
  /** The text before that of each answer: its prompt, if the client wants to see it again. */
  readonly before: ReadonlyArray<string>
}

const millisPerSecond = 1_000

const headOf = ({ created_at, id, model }: ResponseObject) => ({
  id: shownId("completion", id),
  object: "text_completion" as const,
  created: Math.floor(created_at / millisPerSecond),
  model,
  system_fingerprint: null
})

const finishOf = ({ incomplete_details }: ResponseObject): CompletionFinish => {
  const cut = cutOf(incomplete_details)
  if (cut === null) return "stop"
  return cut === "content_filter" ? cut : "length"
}

const textOf = ({ output }: ResponseObject): string =>
  output.flatMap((item) => (item.type === "message" ? item.content.map(({ text }) => text) : [])).join("")

/** All answers, in the order of their choices. */
export const renderCompletions = (
  responses: Arr.NonEmptyReadonlyArray<ResponseObject>,
  { before }: CompletionView
): TextCompletion => ({
  ...headOf(responses[0]),
  choices: responses.map((response, index) => ({
    text: (before[index] ?? "") + textOf(response),
    index,
    logprobs: completionLogprobs(logprobsOf(response.output), (before[index] ?? "").length),
    finish_reason: finishOf(response)
  })),
  usage: responses.map(({ usage }) => usageOf(usage)).reduce(sumOf)
})

/**
 * Renders the events of so many answers, in the order in which they come. The usage follows the end of the
 * last one.
 */
export const makeCompletionRenderer = (
  view: CompletionView,
  count: number
): ((event: ChoiceEvent) => ReadonlyArray<TextChunk>) => {
  let head: ReturnType<typeof headOf> | null = null
  let usage: ChatUsage | null = null
  let ended = 0
  /** The places at which the next token of each answer begins. */
  const offsets = Arr.makeBy(count, (index) => (view.before[index] ?? "").length)

  const chunk = (
    index: number,
    text: string,
    finish: CompletionFinish | null,
    logprobs: ReturnType<typeof completionLogprobs> = null
  ): ReadonlyArray<TextChunk> =>
    head === null
      ? []
      : [
          {
            ...head,
            choices: [{ text, index, logprobs, finish_reason: finish }],
            ...(view.includeUsage ? { usage: null } : {})
          }
        ]

  const end = (index: number, response: ResponseObject): ReadonlyArray<TextChunk> => {
    const spent = usageOf(response.usage)
    usage = usage === null ? spent : sumOf(usage, spent)
    ended++
    const last = chunk(index, "", finishOf(response))
    return head !== null && view.includeUsage && ended === count
      ? [...last, { ...head, choices: [], usage }]
      : last
  }

  return ({ event, index }) => {
    switch (event.type) {
      case "response.created": {
        head ??= headOf(event.response)
        const before = view.before[index] ?? ""
        return before === "" ? [] : chunk(index, before, null)
      }
      case "response.output_text.delta": {
        if (event.delta === "") return []
        const offset = offsets[index] ?? 0
        offsets[index] = offset + tokensLength(event.logprobs)
        return chunk(index, event.delta, null, completionLogprobs(event.logprobs, offset))
      }
      case "response.refusal.delta":
        return event.delta === "" ? [] : chunk(index, event.delta, null)
      case "response.completed":
        return end(index, event.response)
      default:
        return []
    }
  }
}
