import type { ModelMessage, ModelRequest, ToolSpec } from "../domain/ModelCall.ts"

/** The two names under which servers know the bound on the answer. */
export type TokenParameter = "max_tokens" | "max_completion_tokens"

/** What a server is asked in; each of these some server refuses. */
export interface Dialect {
  readonly tokenParameter: TokenParameter
  /** Whether to ask for the usage of a stream. */
  readonly streamOptions: boolean
  readonly tools: boolean
}

/** The request body of a Chat Completions call, as JSON. */
export const encodeChatRequest = (model: string, request: ModelRequest, dialect: Dialect): string =>
  JSON.stringify({
    model,
    messages: request.messages.map(dialect.tools ? encodeMessage : encodeMessageAsText),
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

/** For a model that knows no tools: earlier calls and their results are told, so that nothing is lost of them. */
const encodeMessageAsText = (message: ModelMessage): object => {
  switch (message.role) {
    case "system":
    case "user":
      return { role: message.role, content: message.text }
    case "assistant": {
      const calls = message.toolCalls.map((call) => `[called ${call.name} with ${call.arguments}]`)
      return { role: "assistant", content: [message.text, ...calls].filter((text) => text !== "").join("\n") }
    }
    case "tool":
      return { role: "user", content: `[result of ${message.name}]\n${message.text}` }
  }
}

const encodeTool = (tool: ToolSpec): object => ({
  type: "function",
  function: { name: tool.name, description: tool.description, parameters: tool.parameters }
})

/**
 * What to ask differently after a server refused a request as badly formed, by what it complains of; null where nothing
 * helps. The refusals are free text, so that the name of the parameter is all there is to go by.
 */
export const adaptDialect = (dialect: Dialect, complaint: string): Dialect | null => {
  if (dialect.streamOptions && complaint.includes("stream_options"))
    return { ...dialect, streamOptions: false }
  if (complaint.includes(dialect.tokenParameter)) {
    return { ...dialect, tokenParameter: otherTokenParameter(dialect.tokenParameter) }
  }
  return dialect.tools && refusesTools.test(complaint) ? { ...dialect, tools: false } : null
}

/** Tells "this model has no tools" from a complaint about one of them, which must be heard. */
const refusesTools =
  /tool.*(not support|n't support|unsupported|requires)|(not support|n't support|unsupported).*tool/s

const otherTokenParameter = (parameter: TokenParameter): TokenParameter =>
  parameter === "max_tokens" ? "max_completion_tokens" : "max_tokens"
