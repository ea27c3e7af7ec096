import type { Array as Arr } from "effect"
import type { ErrorBody } from "../api/ErrorEnvelope.ts"
import type { ChatBody } from "../api/openai/ChatBody.ts"
import type { ChatChunk, ChatCompletion } from "../api/openai/ChatCompletion.ts"
import type { EventBody } from "../api/ResponseEvent.ts"
import type { ResponseObject } from "../api/ResponseObject.ts"
import { dataFrame, type Writing } from "../http/Sse.ts"
import { completionWithCustoms, customsOf, makeChunkWithCustoms } from "./ChatCustoms.ts"
import type { ReadChat } from "./ChatReading.ts"
import { chatError, type ChatView, makeChatRenderer, renderCompletion } from "./ChatRendering.ts"
import { makeChoicesRenderer, renderChoices } from "./ChoiceRendering.ts"
import type { ChoiceEvent } from "./Choices.ts"
import {
  chunkWithFunction,
  completionWithFunction,
  inFunctionNames,
  usesFunctions
} from "./LegacyFunctions.ts"

/** Shows a chat to its client in the fields that it knows. */

const lastFrame = "data: [DONE]\n\n"

/** Writes events as chunks. */
export const makeChunkWriting = <Event>(
  chunksOf: (event: Event) => ReadonlyArray<object>,
  named: (error: ErrorBody) => ErrorBody
): Writing<Event> => ({
  event: (event) => chunksOf(event).map(dataFrame).join(""),
  failure: (body) => dataFrame(chatError(named(body))),
  end: lastFrame
})

/** The names that a chat has for fields which the core calls otherwise. */
const chatNames: ReadonlyMap<string, string> = new Map([
  ["input", "messages"],
  ["text.format.schema", "response_format.json_schema.schema"],
  ["text.format", "response_format"],
  ["text.verbosity", "verbosity"],
  ["reasoning.effort", "reasoning_effort"],
  ["max_output_tokens", "max_completion_tokens"]
])

/** An error names what the chat has, and not what was made of it. */
const inChatNames =
  ({ paths }: Pick<ReadChat, "paths">) =>
  (error: ErrorBody): ErrorBody => {
    const { message, param } = error
    if (!param) return error
    const name =
      chatNames.get(param) ??
      param
        .replace(/^(tools\[\d+\])\.format\b/, "$1.custom.format.grammar")
        .replace(
          /^input\[(\d+)\](\.output)?/,
          (_, index: string, output: string | undefined) =>
            (paths[Number(index)] ?? "messages") + (output === undefined ? "" : ".content")
        )
    return { ...error, param: name, message: message.replaceAll(`\`${param}\``, `\`${name}\``) }
  }

export interface ChatShowing {
  readonly named: (error: ErrorBody) => ErrorBody
  readonly whole: (response: ResponseObject) => ChatCompletion
  readonly writing: () => Writing
  /** The same of several choices. */
  readonly allWhole: (responses: Arr.NonEmptyReadonlyArray<ResponseObject>) => ChatCompletion
  readonly allWriting: (count: number) => Writing<ChoiceEvent>
}

const viewOf = (body: ChatBody): ChatView => ({
  includeUsage: body.stream_options?.include_usage === true,
  metadata: body.metadata ?? null
})

export const showingOf = (body: ChatBody, read: Pick<ReadChat, "paths">): ChatShowing => {
  const view = viewOf(body)
  const isOld = usesFunctions(body)
  const customs = customsOf(body)
  const inNames = inChatNames(read)
  const named = isOld ? (error: ErrorBody) => inFunctionNames(inNames(error)) : inNames
  const shown = isOld ? completionWithFunction : completionWithCustoms(customs)
  const writing = <Event>(chunksOf: (event: Event) => ReadonlyArray<ChatChunk>) => {
    if (!isOld && customs.size === 0) return makeChunkWriting(chunksOf, named)
    const rewritten = isOld ? chunkWithFunction : makeChunkWithCustoms(customs)
    return makeChunkWriting((event: Event) => chunksOf(event).flatMap((chunk) => rewritten(chunk)), named)
  }
  return {
    named,
    whole: (response) => shown(renderCompletion(response, view)),
    writing: () => writing<EventBody>(makeChatRenderer(view)),
    allWhole: (responses) => shown(renderChoices(responses, view)),
    allWriting: (count) => writing(makeChoicesRenderer(view, count))
  }
}
