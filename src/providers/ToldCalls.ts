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

/** Whether a message goes on with the one before it. Results belong behind the calls of a message. */
const goesOn = (before: ModelMessage, message: ModelMessage): boolean =>
  before.role === message.role &&
  before.role !== "tool" &&
  (before.role !== "assistant" || before.toolCalls.length === 0)

/** Messages of which no two in a row have one role: the chat templates of some models refuse them. */
export const inTurns = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<ModelMessage> => {
  const turns: Array<{ readonly texts: Array<string>; last: ModelMessage }> = []
  for (const message of messages) {
    const turn = turns.at(-1)
    if (turn === undefined || !goesOn(turn.last, message))
      turns.push({ texts: [message.text], last: message })
    else {
      turn.texts.push(message.text)
      turn.last = message
    }
  }
  return turns.map(({ last, texts }) =>
    texts.length === 1 ? last : { ...last, text: texts.filter((text) => text !== "").join("\n\n") }
  )
}
