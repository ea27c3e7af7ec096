import type { ModelMessage, ModelRequest } from "../domain/ModelCall.ts"
import type { Dialect } from "./Dialect.ts"

/**
 * A message in which nothing is called, for a model that knows no tools: earlier calls and their results are told, so that
 * nothing is lost of them.
 */
export const tellCalls = (message: ModelMessage): ModelMessage => {
  switch (message.role) {
    case "system":
    case "user":
      return message
    case "assistant": {
      const calls = message.toolCalls.map((call) => `[called ${call.name} with ${call.arguments}]`)
      const text = [message.text, ...calls].filter((part) => part !== "").join("\n")
      return { role: "assistant", text, toolCalls: [] }
    }
    case "tool":
      return { role: "user", text: `[result of ${message.name}]\n${message.text}` }
  }
}

/**
 * The messages of a request, with calls told where no tools are offered: Anthropic refuses calls without the definitions of
 * tools, and so do gateways that pass other protocols on to it.
 */
export const asOffered = (
  { messages, tools }: Pick<ModelRequest, "messages" | "tools">,
  dialect: Dialect
): ReadonlyArray<ModelMessage> => (dialect.tools && tools.length > 0 ? messages : messages.map(tellCalls))

/** Two messages of one role as one; null where they must stay apart. */
const merged = (first: ModelMessage, second: ModelMessage): ModelMessage | null => {
  const text = [first.text, second.text].filter((part) => part !== "").join("\n\n")
  if (first.role === "assistant") {
    // Results belong behind the calls of the first one.
    return second.role === "assistant" && first.toolCalls.length === 0 ? { ...second, text } : null
  }
  return first.role === second.role && (first.role === "user" || first.role === "system")
    ? { role: first.role, text }
    : null
}

/** Messages of which no two in a row have one role: the chat templates of some models refuse them. */
export const inTurns = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<ModelMessage> => {
  const turns: Array<ModelMessage> = []
  for (const message of messages) {
    const last = turns.at(-1)
    const both = last === undefined ? null : merged(last, message)
    if (both === null) turns.push(message)
    else turns[turns.length - 1] = both
  }
  return turns
}
