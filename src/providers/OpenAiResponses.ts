import { Predicate } from "effect"
import type { FinishReason, ModelImage, ModelMessage, ModelRequest } from "../domain/ModelCall.ts"
import { dataUrl, offersTools, responsesFields, responsesLacks, withFormat } from "./AnswerFields.ts"
import {
  type Adapt,
  adaptAnswer,
  type Dialect,
  offeredTools,
  refusesField,
  withoutLogprobs
} from "./Dialect.ts"
import { followedByUser } from "./LastMessage.ts"
import { keyHeader } from "./OpenAiHosts.ts"
import {
  type AnswerChunk,
  type Decode,
  decodeRefusalDelta,
  decodeTextDelta,
  done,
  type Fields,
  isUnreadable,
  malformed,
  parseEvent,
  thinking,
  unknown,
  type Protocol
} from "./Protocol.ts"
import { customNames, encodeCall, isCall, makeReadCalls, wholeCall, withTools } from "./ResponsesCalls.ts"
import { makeReadReasoning, phaseBlock, phaseField, reasoningItems } from "./ResponsesReasoning.ts"
import { imagesOf, messagesFor, mergeSameRole } from "./SentMessages.ts"
import { decodeError, untypedError } from "./ServerError.ts"
import { decodeOpenAiUsage } from "./TokenCounts.ts"
import { TokenLogprobs } from "./TokenLogprobs.ts"

/** The least bound that OpenAI accepts. Text beyond the true bound is cut off afterwards. */
const outputTokensMin = 16

/** The request body of a Responses call, as JSON. */
export const encodeResponsesRequest = (model: string, request: ModelRequest, dialect: Dialect): string => {
  // Leading system messages are the instructions; later ones keep their place.
  const sent = withFormat(messagesFor(request, dialect), request, dialect.format)
  const messages = dialect.lastMessage === "followed" ? followedByUser(sent) : sent
  const begin = messages.findIndex((message) => message.role !== "system")
  // A request must have input.
  const head = begin < 0 ? [] : messages.slice(0, begin)
  const rest = begin < 0 ? messages : messages.slice(begin)
  const instructions = head.map((message) => message.text).join("\n\n")
  const customs = customNames(request, dialect)
  const json = JSON.stringify({
    model,
    ...(instructions === "" ? {} : { instructions }),
    input: mergeMessages(rest).flatMap((message) => encodeMessage(message, dialect, customs)),
    stream: true,
    store: false,
    ...includeIn(request, dialect),
    max_output_tokens: Math.max(outputTokensMin, request.maxOutputTokens),
    ...responsesFields(model, request, dialect)
  })
  return offersTools(request, dialect) ? withTools(json, offeredTools(request, dialect), dialect) : json
}

const includeIn = ({ options = {} }: ModelRequest, { encryptedReasoning }: Dialect): object => {
  const include = [
    ...(encryptedReasoning ? ["reasoning.encrypted_content"] : []),
    ...(options.logprobs === undefined ? [] : ["message.output_text.logprobs"])
  ]
  return include.length === 0 ? {} : { include }
}

/**
 * Merges consecutive messages of the same role, except answers with reasoning, which must directly precede
 * their output.
 */
const mergeMessages = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<ModelMessage> => {
  const starts = messages.flatMap((message, index) =>
    index === 0 || (message.role === "assistant" && message.reasoning !== undefined) ? [index] : []
  )
  return starts.flatMap((start, index) => mergeSameRole(messages.slice(start, starts[index + 1])))
}

/**
 * The input items of a message: one for the text, and one for each call, each behind the reasoning that led
 * to it.
 */
const encodeMessage = (
  message: ModelMessage,
  dialect: Dialect,
  customs: ReadonlySet<string>
): ReadonlyArray<object> => {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.text }]
    case "user":
      return [{ role: "user", content: encodeContent(message.text, imagesOf(message)) }]
    case "assistant": {
      const reasoning = dialect.thoughts ? message.reasoning : []
      return [
        ...reasoningItems(reasoning),
        ...(message.text === "" && message.toolCalls.length > 0
          ? []
          : [{ role: "assistant", content: message.text, ...phaseField(reasoning) }]),
        ...message.toolCalls.flatMap((call) => [
          ...reasoningItems(dialect.thoughts ? call.reasoning : []),
          encodeCall(call, customs)
        ])
      ]
    }
    case "tool":
      return [
        {
          type: customs.has(message.name) ? "custom_tool_call_output" : "function_call_output",
          call_id: message.callId,
          output: encodeContent(message.text, imagesOf(message))
        }
      ]
  }
}

const encodeContent = (text: string, images: ReadonlyArray<ModelImage>): unknown =>
  images.length === 0
    ? text
    : [
        ...(text === "" ? [] : [{ type: "input_text", text }]),
        ...images.map((image) => ({
          type: "input_image",
          image_url: dataUrl(image),
          detail: image.detail
        }))
      ]

/**
 * Refusals of earlier reasoning: the key may now belong to another organization, or the model may have
 * changed.
 */
const refusesEarlier =
  /invalid_encrypted_content|encrypted content\b.*\b(verified|decrypted|parsed)|\binput\[\d+\]\.(phase|summary|encrypted)|provided without its required/is

/** Refusals to encrypt reasoning. */
const refusesEncryption = /encrypted[_ ]content|\binclude\b/i

/** Refusals of a summary. OpenAI gives none to an organization that it has not verified. */
const refusesSummary = /reasoning[._ ]summar/i

/** Refusals of tools whose input is a text. The tools are sent as functions then. */
const refusesCustom = /\bcustom\b.*\btools?\b|\btools?\b.*\bcustom\b|\bgrammar\b|\blark\b/is

/** Leaves out the reasoning fields that the service adds, one after the other. A client's effort stays. */
const adaptResponses: Adapt = (dialect, complaint, request) => {
  // The complaint may be about `include`, which also asks for the encrypted reasoning.
  const bare = withoutLogprobs(dialect, complaint, request)
  if (bare !== null) return bare
  if (dialect.thoughts && refusesEarlier.test(complaint)) {
    return { ...dialect, thoughts: false }
  }
  if (dialect.encryptedReasoning && refusesEncryption.test(complaint)) {
    return { ...dialect, encryptedReasoning: false }
  }
  const isSummaryAlone =
    request.options?.reasoningEffort === undefined && refusesField(complaint, "reasoning")
  if (dialect.reasoningSummary && (refusesSummary.test(complaint) || isSummaryAlone)) {
    return { ...dialect, reasoningSummary: false }
  }
  if (dialect.customTools && refusesCustom.test(complaint)) return { ...dialect, customTools: false }
  return adaptAnswer(dialect, complaint, request)
}

/** Reads the events of one Responses stream, or one whole response. */
const makeDecodeResponses = (_beginsThinking = false, topLogprobs?: number): Decode => {
  const logprobs = topLogprobs === undefined ? null : new TokenLogprobs(topLogprobs)
  const calls = makeReadCalls()
  const reasoning = makeReadReasoning()

  const decodeItem = (event: Fields, isDone: boolean): AnswerChunk => {
    const { item } = event
    if (!Predicate.isObject(item)) return unknown
    // The encrypted form is complete only at the end, and the phase must be known before the text.
    if (item["type"] === "reasoning") return isDone ? reasoning.item(item) : unknown
    if (item["type"] === "message") return isDone ? unknown : phaseBlock(item)
    return isCall(item) ? calls.item(item, event, isDone) : unknown
  }

  return (data) => {
    if (data === "[DONE]") return done
    const event = parseEvent(data)
    if (isUnreadable(event)) return data.trim() === "[DONE]" ? done : event
    switch (event["type"]) {
      case "response.output_text.delta":
        return logprobs === null
          ? decodeTextDelta(event["delta"])
          : withLogprobs(decodeTextDelta(event["delta"]), event["logprobs"], logprobs)
      case "response.refusal.delta":
        return decodeRefusalDelta(event["delta"])
      case "response.function_call_arguments.delta":
        return calls.argumentsPiece(event)
      case "response.custom_tool_call_input.delta":
        return calls.inputPiece(event)
      case "response.output_item.added":
        return decodeItem(event, false)
      case "response.output_item.done":
        return decodeItem(event, true)
      case "response.reasoning_text.delta":
      case "response.reasoning_summary_text.delta":
        return reasoning.piece(event)
      case "response.completed":
        return decodeEnd(event["response"], "completed")
      case "response.incomplete":
        return decodeEnd(event["response"], "incomplete")
      case "response.failed":
        return decodeEnd(event["response"], "failed")
      case "response.cancelled":
        return decodeEnd(event["response"], "cancelled")
      case "error":
        // Some servers nest the error in a field of its own.
        return decodeError(event["error"] ?? { ...event, type: null })
      default:
        return decodeUntyped(event, logprobs)
    }
  }
}

/** A whole response where a stream was asked for, or an error without a type. */
const decodeUntyped = (event: Fields, logprobs: TokenLogprobs | null): AnswerChunk => {
  if (event["object"] === "response") return decodeDocument(event, logprobs)
  return untypedError(event) ?? unknown
}

const decodeEnd = (response: unknown, status: unknown): AnswerChunk => {
  if (!Predicate.isObject(response)) return malformed("a response is no object")
  const finish = decodeFinish(response, status)
  if (typeof finish === "object") return finish
  return { ...thinking, finish, usage: decodeOpenAiUsage(response["usage"], "input", "output") }
}

/** The finish reason, or the error of a failed response. */
const decodeFinish = (response: Fields, status: unknown): FinishReason | AnswerChunk => {
  switch (status) {
    case "completed":
      // The finish reason for tool calls is derived from the calls themselves.
      return "stop"
    case "incomplete": {
      const details = response["incomplete_details"]
      const reason = Predicate.isObject(details) ? details["reason"] : null
      return reason === "content_filter" ? "content_filter" : "length"
    }
    case "failed":
    case "cancelled":
      return decodeError(response["error"] ?? { code: status })
    default:
      return malformed("a response ended without a status")
  }
}

const decodeDocument = (response: Fields, logprobs: TokenLogprobs | null): AnswerChunk => {
  const { output } = response
  const end = decodeEnd(response, response["status"])
  if (end.type !== "delta") return end
  if (!Array.isArray(output)) return malformed("output is no list")
  const reasoning = makeReadReasoning()
  const items = output.flatMap((item, index): ReadonlyArray<AnswerChunk> => {
    if (!Predicate.isObject(item)) return [malformed("an output item is no object")]
    switch (item["type"]) {
      case "reasoning":
        return [reasoning.item(item)]
      case "message":
        return [phaseBlock(item), decodeContent(item["content"], logprobs)]
      default:
        return isCall(item) ? [wholeCall(item, index)] : []
    }
  })
  return items.find(({ type }) => type === "malformed") ?? { type: "chunks", chunks: [...items, end] }
}

const withLogprobs = (chunk: AnswerChunk, list: unknown, logprobs: TokenLogprobs): AnswerChunk => {
  logprobs.add(list)
  return logprobs.beside(chunk)
}

const decodeContent = (content: unknown, logprobs: TokenLogprobs | null): AnswerChunk => {
  const refusal = contentText(content, "refusal")
  const chunk = {
    ...thinking,
    text: contentText(content, "text"),
    ...(refusal === "" ? {} : { refusal })
  }
  if (logprobs === null || !Array.isArray(content)) return chunk
  const lists = content.flatMap((part) => (Predicate.isObject(part) ? part["logprobs"] : []))
  return withLogprobs(chunk, lists, logprobs)
}

const contentText = (content: unknown, field: "text" | "refusal"): string =>
  Array.isArray(content)
    ? content
        .map((part) => (Predicate.isObject(part) ? part[field] : ""))
        .filter(Predicate.isString)
        .join("")
    : ""

/** OpenAI Responses, without its storage: every request has the whole conversation. */
export const openAiResponses: Protocol = {
  name: "openai-responses",
  path: "/responses",
  headers: keyHeader,
  encode: encodeResponsesRequest,
  adapt: adaptResponses,
  lacks: responsesLacks,
  makeDecode: makeDecodeResponses
}
