import type { ModelImage, ModelMessage, ModelRequest, ToolSpec } from "../domain/ModelCall.ts"
import { chatFields, dataUrl, lacksNothing, offersTools, withFormat } from "./AnswerFields.ts"
import { makeDecodeChat } from "./ChatAnswer.ts"
import {
  callFields,
  contentWithThoughts,
  reasoningFields,
  withDemandedReasoning,
  withoutThoughts
} from "./ChatReasoning.ts"
import {
  type Adapt,
  adaptAnswer,
  type Dialect,
  offeredTools,
  refusesField,
  type TokenParameter
} from "./Dialect.ts"
import { endsWithAnswer, followedByUser } from "./LastMessage.ts"
import { keyHeader } from "./OpenAiHosts.ts"
import { makeWithTools, type Protocol } from "./Protocol.ts"
import { imagesOf, messagesFor, mergeSameRole, toolCallsAsText, withImagesBehind } from "./SentMessages.ts"

/** The request body of a Chat Completions call, as JSON. */
export const encodeChatRequest = (model: string, request: ModelRequest, dialect: Dialect): string => {
  const json = JSON.stringify({
    model,
    ...encodeMessages(sentMessages(request, dialect), dialect),
    stream: true,
    ...(dialect.streamOptions ? { stream_options: { include_usage: true } } : {}),
    [dialect.tokenParameter]: request.maxOutputTokens,
    ...chatFields(request, dialect)
  })
  return offersTools(request, dialect) ? withTools(json, offeredTools(request, dialect)) : json
}

const sentMessages = (request: ModelRequest, dialect: Dialect): ReadonlyArray<ModelMessage> => {
  const messages = withFormat(messagesFor(request, dialect), request, dialect.format)
  // A text and the calls behind it may come from two turns, and the first has the reasoning.
  const whole = withDemandedReasoning(mergeSameRole(messages), dialect)
  return mergeSameRole(
    dialect.imagesBehindResults
      ? withImagesBehind(unansweredAsText(whole))
      : unansweredAsText(withImagesBehind(whole))
  )
}

/** The messages, and the field that makes the model continue the last one. */
const encodeMessages = (messages: ReadonlyArray<ModelMessage>, dialect: Dialect): object => {
  const { lastMessage } = dialect
  const isContinued = lastMessage !== "sent" && lastMessage !== "followed" && endsWithAnswer(messages)
  const sent = lastMessage === "sent" || isContinued ? messages : followedByUser(messages)
  const encoded = sent.map((message) => encodeMessage(message, dialect))
  if (!isContinued) return { messages: encoded }
  return lastMessage === "prefix"
    ? { messages: [...encoded.slice(0, -1), { ...encoded.at(-1), prefix: true }] }
    : { messages: encoded, continue_final_message: true, add_generation_prompt: false }
}

/**
 * Sends a round of calls as text if a question follows its results: strict servers and chat templates refuse
 * that order.
 */
const unansweredAsText = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<ModelMessage> => {
  const sent = [...messages]
  for (const [index, { role }] of messages.entries()) {
    let at = index - 1
    if (role !== "user" || messages[at]?.role !== "tool") continue
    while (messages[at]?.role === "tool") at--
    const round = messages.slice(Math.max(0, at), index)
    sent.splice(index - round.length, round.length, ...round.map(toolCallsAsText))
  }
  return sent
}

const encodeMessage = (message: ModelMessage, dialect: Dialect): object => {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text }
    case "user":
      return { role: "user", content: encodeContent(message.text, imagesOf(message)) }
    case "assistant":
      return encodeAnswer(message, dialect)
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: message.text }
  }
}

const encodeAnswer = (message: Extract<ModelMessage, { role: "assistant" }>, dialect: Dialect): object => {
  const { text, toolCalls } = message
  const content = contentWithThoughts(message, dialect) ?? (text === "" && toolCalls.length > 0 ? null : text)
  const said = { role: "assistant", content, ...reasoningFields(message, dialect) }
  if (toolCalls.length === 0) return said
  const calls = toolCalls.map((call, index) => ({
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: call.arguments },
    ...callFields(call, index, dialect)
  }))
  return { ...said, tool_calls: calls }
}

/** Servers without images take a plain text only. */
const encodeContent = (text: string, images: ReadonlyArray<ModelImage>): unknown =>
  images.length === 0
    ? text
    : [
        ...(text === "" ? [] : [{ type: "text", text }]),
        ...images.map((image) => ({
          type: "image_url",
          image_url: { url: dataUrl(image), ...(image.detail === "auto" ? {} : { detail: image.detail }) }
        }))
      ]

const encodeTool = ({ description, name, parameters, strict }: ToolSpec): object => ({
  type: "function",
  function: { name, description, parameters, ...(strict === true ? { strict } : {}) }
})

const withTools = makeWithTools(encodeTool)

const adaptChatDialect: Adapt = (dialect, complaint, request) => {
  if (dialect.streamOptions && complaint.includes("stream_options"))
    return { ...dialect, streamOptions: false }
  if (refusesField(complaint, dialect.tokenParameter)) {
    return { ...dialect, tokenParameter: otherTokenParameter(dialect.tokenParameter) }
  }
  return withoutThoughts(dialect, complaint, request) ?? adaptAnswer(dialect, complaint, request)
}

const otherTokenParameter = (parameter: TokenParameter): TokenParameter =>
  parameter === "max_tokens" ? "max_completion_tokens" : "max_tokens"

/** OpenAI Chat Completions, which nearly every model server speaks. */
export const openAiChat: Protocol = {
  name: "openai-chat",
  path: "/chat/completions",
  headers: keyHeader,
  encode: encodeChatRequest,
  adapt: adaptChatDialect,
  lacks: lacksNothing,
  makeDecode: makeDecodeChat
}
