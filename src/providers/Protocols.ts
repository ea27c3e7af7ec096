import { anthropicMessages } from "./AnthropicMessages.ts"
import { openAiChat } from "./OpenAiChat.ts"
import { openAiResponses } from "./OpenAiResponses.ts"
import type { Protocol } from "./Protocol.ts"

/** As a catalog file names them. */
export const protocolNames = ["openai-chat", "openai-responses", "anthropic"] as const

export type ProtocolName = (typeof protocolNames)[number]

/** Every protocol that a model server can be asked in. */
export const protocols: Readonly<Record<ProtocolName, Protocol>> = {
  "openai-chat": openAiChat,
  "openai-responses": openAiResponses,
  anthropic: anthropicMessages
}
