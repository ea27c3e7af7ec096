import { Result } from "effect"
import type { ErrorBody } from "../api/ErrorEnvelope.ts"
import type { ChatBody, GivenMessage, Message } from "../api/openai/ChatBody.ts"
import type { ChatChunk, ChatCompletion, Delta, FinishReason } from "../api/openai/ChatCompletion.ts"
import type { ToolChoice } from "../api/openai/ChatTools.ts"
import { type InvalidRequest, invalid } from "../domain/Errors.ts"

/**
 * `functions` and `function_call`, which older clients send in place of `tools`: a call has no id, and an
 * answer one call at most.
 */

/** A chat in today's fields. */
export type ChatWithTools = Omit<ChatBody, "messages"> & { readonly messages: ReadonlyArray<Message> }

/** True if the client waits for `function_call` when the model calls. */
export const usesFunctions = ({ functions }: ChatBody): boolean => functions != null

/** No client has it: ids of clients come from answers, or from other services. */
const idOf = (index: number): string => `function_call_of_message_${index}`

const choiceOf = (call: ChatBody["function_call"]): ToolChoice | null => {
  if (call == null || typeof call === "string") return call ?? null
  return { type: "function", function: { name: call.name } }
}

/** The messages, with each result named after the last call of its function. */
const withIds = (
  given: ReadonlyArray<GivenMessage>
): Result.Result<ReadonlyArray<Message>, InvalidRequest> => {
  const called = new Map<string, string>()
  const messages: Array<Message> = []
  for (const [index, message] of given.entries()) {
    if (message.role === "assistant" && message.function_call != null) {
      const { function_call: call, tool_calls: others, ...said } = message
      if ((others ?? []).length > 0)
        return Result.fail(invalid(`messages[${index}].function_call`, "can't stand beside `tool_calls`."))
      called.set(call.name, idOf(index))
      messages.push({ ...said, tool_calls: [{ id: idOf(index), function: call }] })
    } else if (message.role === "function") {
      const id = called.get(message.name)
      if (id === undefined) {
        const problem =
          "names no function that an earlier message calls. Send the assistant's message with its `function_call` before it."
        return Result.fail(invalid(`messages[${index}].name`, problem))
      }
      messages.push({ role: "tool", tool_call_id: id, content: message.content ?? "" })
    } else messages.push(message)
  }
  return Result.succeed(messages)
}

/** The chat with `tools` and `tool_choice` in the place of `functions` and `function_call`. */
export const withTools = (body: ChatBody): Result.Result<ChatWithTools, InvalidRequest> => {
  const { function_call: call, functions } = body
  if (functions != null && body.tools != null)
    return Result.fail(invalid("functions", "can't be sent beside `tools`. Send `tools` alone."))
  if (call != null && functions == null)
    return Result.fail(
      invalid("function_call", "chooses among `functions`. Send them, or `tool_choice` with `tools`.")
    )
  return Result.map(withIds(body.messages), (messages) =>
    functions == null
      ? { ...body, messages }
      : {
          ...body,
          messages,
          tools: functions.map((one) => ({ type: "function" as const, function: one })),
          tool_choice: choiceOf(call)
        }
  )
}

/** An error names what the client sent. */
export const inFunctionNames = ({ message, param, ...error }: ErrorBody): ErrorBody => {
  const name =
    param === "tool_choice" ? "function_call" : param.replace(/^tools\[(\d+)\]\.function\b/, "functions[$1]")
  return { ...error, param: name, message: message.replaceAll(`\`${param}\``, `\`${name}\``) }
}

const finishOf = <F extends FinishReason | null>(finish: F): F | "function_call" =>
  finish === "tool_calls" ? "function_call" : finish

/** An answer whose first call is a `function_call`. */
export const completionWithFunction = (completion: ChatCompletion): ChatCompletion => ({
  ...completion,
  choices: completion.choices.map(({ finish_reason, message: { tool_calls: calls, ...said }, ...choice }) => {
    const call = calls?.[0]
    return {
      ...choice,
      message: call?.type === "function" ? { ...said, function_call: call.function } : said,
      finish_reason: finishOf(finish_reason)
    }
  })
})

/** The first call of a delta; null where there is nothing but other calls. */
const deltaWithFunction = ({ tool_calls: calls, ...said }: Delta): Delta | null => {
  if (calls === undefined) return said
  const call = calls.find(({ index }) => index === 0)?.function
  if (call !== undefined) return { ...said, function_call: call }
  return Object.keys(said).length === 0 ? null : said
}

/** The same of a chunk. */
export const chunkWithFunction = (chunk: ChatChunk): ReadonlyArray<ChatChunk> => {
  const choices = chunk.choices.flatMap(({ delta, finish_reason, ...choice }) => {
    const shown = deltaWithFunction(delta)
    return shown === null ? [] : [{ ...choice, delta: shown, finish_reason: finishOf(finish_reason) }]
  })
  return choices.length < chunk.choices.length ? [] : [{ ...chunk, choices }]
}
