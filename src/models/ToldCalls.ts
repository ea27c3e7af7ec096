import type { ModelMessage } from "../domain/ModelCall.ts"

/** A message in which nothing is called. */
export interface PlainMessage {
  readonly role: "system" | "user" | "assistant"
  readonly text: string
}

/** For a model that knows no tools: earlier calls and their results are told, so that nothing is lost of them. */
export const tellCalls = (message: ModelMessage): PlainMessage => {
  switch (message.role) {
    case "system":
    case "user":
      return message
    case "assistant": {
      const calls = message.toolCalls.map((call) => `[called ${call.name} with ${call.arguments}]`)
      return { role: "assistant", text: [message.text, ...calls].filter((text) => text !== "").join("\n") }
    }
    case "tool":
      return { role: "user", text: `[result of ${message.name}]\n${message.text}` }
  }
}
