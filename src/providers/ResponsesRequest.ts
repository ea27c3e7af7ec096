import type { ModelMessage, ModelRequest, ToolSpec } from "../domain/ModelCall.ts"
import type { Dialect } from "./Dialect.ts"
import { asOffered, inTurns } from "./ToldCalls.ts"

/** OpenAI refuses a smaller bound on the answer. What is written beyond the true bound is cut off afterwards. */
const outputTokensMin = 16

/** The request body of a Responses call, as JSON. */
export const encodeResponsesRequest = (model: string, request: ModelRequest, dialect: Dialect): string => {
  // System messages in front are the instructions; a later one keeps its place.
  const messages = asOffered(request, dialect)
  const begin = messages.findIndex((message) => message.role !== "system")
  const head = begin < 0 ? messages : messages.slice(0, begin)
  const rest = begin < 0 ? [] : messages.slice(begin)
  const instructions = head.map((message) => message.text).join("\n\n")
  return JSON.stringify({
    model,
    ...(instructions === "" ? {} : { instructions }),
    input: inTurns(rest).flatMap(encodeMessage),
    stream: true,
    store: false,
    max_output_tokens: Math.max(outputTokensMin, request.maxOutputTokens),
    ...(dialect.tools && request.tools.length > 0 ? { tools: request.tools.map(encodeTool) } : {})
  })
}

/** The input items of a message: a text and each call are items of their own. */
const encodeMessage = (message: ModelMessage): ReadonlyArray<object> => {
  switch (message.role) {
    case "system":
    case "user":
      return [{ role: message.role, content: message.text }]
    case "assistant":
      return [
        ...(message.text === "" && message.toolCalls.length > 0
          ? []
          : [{ role: "assistant", content: message.text }]),
        ...message.toolCalls.map((call) => ({
          type: "function_call",
          call_id: call.id,
          name: call.name,
          arguments: call.arguments
        }))
      ]
    case "tool":
      return [{ type: "function_call_output", call_id: message.callId, output: message.text }]
  }
}

/** Left to itself OpenAI takes a schema as strict, which most schemas of tools aren't. */
const encodeTool = (tool: ToolSpec): object => ({
  type: "function",
  name: tool.name,
  description: tool.description,
  parameters: tool.parameters,
  strict: false
})
