import { Option, Schema } from "effect"
import type { ModelMessage, ModelRequest, ToolCall, ToolSpec } from "../domain/ModelCall.ts"
import type { Dialect } from "./Dialect.ts"
import { asOffered } from "./ToldCalls.ts"

type Block = Readonly<Record<string, unknown>>

interface Turn {
  readonly role: "user" | "assistant"
  readonly content: Array<Block>
}

/** The request body of a Messages call, as JSON. */
export const encodeAnthropicRequest = (model: string, request: ModelRequest, dialect: Dialect): string => {
  const tools = dialect.tools ? request.tools : []
  const messages = asOffered(request, dialect)
  const system = messages.flatMap(({ role, text }) => (role === "system" && text !== "" ? [text] : []))
  return JSON.stringify({
    model,
    max_tokens: request.maxOutputTokens,
    ...(system.length === 0 ? {} : { system: system.join("\n\n") }),
    messages: turnsOf(messages),
    stream: true,
    ...(tools.length === 0 ? {} : { tools: tools.map(encodeTool) })
  })
}

/** In front of a conversation whose beginning was forgotten: the first word must be the user's. */
const forgottenBeginning = "[The beginning of the conversation is left out.]"

/** The two sides take turns: the results of all calls of an answer are one message, and a text behind them belongs to it. */
const turnsOf = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<Turn> => {
  const turns: Array<Turn> = []
  for (const message of messages) {
    const content = blocksOf(message)
    if (message.role === "system" || content.length === 0) continue
    const role = message.role === "assistant" ? "assistant" : "user"
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content: [...content] })
  }
  return turns[0]?.role === "user"
    ? turns
    : [{ role: "user", content: textBlocks(forgottenBeginning) }, ...turns]
}

const blocksOf = (message: ModelMessage): ReadonlyArray<Block> => {
  switch (message.role) {
    case "system":
      return []
    case "user":
      return textBlocks(message.text)
    case "assistant":
      return [...textBlocks(message.text), ...message.toolCalls.map(encodeCall)]
    case "tool":
      return [{ type: "tool_result", tool_use_id: callId(message.callId), content: message.text }]
  }
}

/** A text without anything to see is refused. */
const textBlocks = (text: string): Array<Block> => (text.trim() === "" ? [] : [{ type: "text", text }])

const encodeCall = (call: ToolCall): Block => ({
  type: "tool_use",
  id: callId(call.id),
  name: call.name,
  // What is no object was refused by the tool, and the model was told so.
  input: Option.getOrElse(decodeArguments(call.arguments), () => ({}))
})

const decodeArguments = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

/** An id that another server gave may have letters that this one refuses. */
const callId = (id: string): string => id.replaceAll(/[^a-zA-Z0-9_-]/g, "_")

const encodeTool = (tool: ToolSpec): Block => ({
  name: tool.name,
  description: tool.description,
  input_schema: tool.parameters
})
