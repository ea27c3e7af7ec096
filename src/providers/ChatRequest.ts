import type { ModelMessage, ModelRequest, ToolSpec } from "../domain/ModelCall.ts"
import { type Adapt, adaptTools, type Dialect, type TokenParameter } from "./Dialect.ts"
import { asOffered, inTurns } from "./ToldCalls.ts"

/** The request body of a Chat Completions call, as JSON. */
export const encodeChatRequest = (model: string, request: ModelRequest, dialect: Dialect): string =>
  JSON.stringify({
    model,
    messages: inTurns(asOffered(request, dialect)).map(encodeMessage),
    stream: true,
    ...(dialect.streamOptions ? { stream_options: { include_usage: true } } : {}),
    [dialect.tokenParameter]: request.maxOutputTokens,
    ...(dialect.tools && request.tools.length > 0 ? { tools: request.tools.map(encodeTool) } : {})
  })

const encodeMessage = (message: ModelMessage): object => {
  switch (message.role) {
    case "system":
    case "user":
      return { role: message.role, content: message.text }
    case "assistant":
      return message.toolCalls.length === 0
        ? { role: "assistant", content: message.text }
        : {
            role: "assistant",
            content: message.text === "" ? null : message.text,
            tool_calls: message.toolCalls.map((call) => ({
              id: call.id,
              type: "function",
              function: { name: call.name, arguments: call.arguments }
            }))
          }
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: message.text }
  }
}

const encodeTool = (tool: ToolSpec): object => ({
  type: "function",
  function: { name: tool.name, description: tool.description, parameters: tool.parameters }
})

export const adaptChatDialect: Adapt = (dialect, complaint) => {
  if (dialect.streamOptions && complaint.includes("stream_options"))
    return { ...dialect, streamOptions: false }
  if (complaint.includes(dialect.tokenParameter)) {
    return { ...dialect, tokenParameter: otherTokenParameter(dialect.tokenParameter) }
  }
  return adaptTools(dialect, complaint)
}

const otherTokenParameter = (parameter: TokenParameter): TokenParameter =>
  parameter === "max_tokens" ? "max_completion_tokens" : "max_tokens"
