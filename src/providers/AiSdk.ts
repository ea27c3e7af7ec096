import { Option, Schema } from "effect"
import type {
  AnswerFormat,
  ModelMessage,
  ModelRequest,
  Reasoning,
  ReasoningEffort,
  ToolCall,
  ToolChoice,
  ToolSpec
} from "../domain/ModelCall.ts"
import { makeDecodeSdk } from "./AiSdkAnswer.ts"
import { withFormat } from "./AnswerFields.ts"
import { droppedTurns } from "./AnthropicMessages.ts"
import { adaptAnswer, type Adapt, type Dialect, offeredTools } from "./Dialect.ts"
import { goOn } from "./LastMessage.ts"
import type { Fields, Protocol } from "./Protocol.ts"
import { imagesOf, mergeSameRole, messagesFor, toolCallsAsText, withImagesBehind } from "./SentMessages.ts"

/** The versions of the interface of language models that a package may have. */
export const sdkVersions = ["v2", "v3", "v4"] as const

/** Options by the name of a provider within the AI SDK, such as `google`. */
export type ProviderOptions = Readonly<Record<string, Fields>>

/** The properties of a package that the protocol depends on. */
export interface SdkTraits {
  readonly version: (typeof sdkVersions)[number]
  /** Sent with every request. */
  readonly providerOptions: ProviderOptions
  /**
   * Options that ask the package for each effort. Without them a `v4` package gets the effort in the
   * interface's own field.
   */
  readonly efforts: Readonly<Partial<Record<ReasoningEffort, ProviderOptions>>>
}

/** The options of a call as JSON, and the model beside them. JSON leaves out what is undefined. */
const encodeCall =
  (traits: SdkTraits) =>
  (model: string, request: ModelRequest, dialect: Dialect): string => {
    const { options = {} } = request
    const tools = offeredTools(request, dialect)
    // The server may also refuse calls without the reasoning that it refused.
    const readable = dialect.thoughts ? request.messages : request.messages.map(toolCallsAsText)
    const messages = messagesFor({ ...request, messages: readable }, dialect)
    const { reasoningEffort: effort } = options
    const efforts = effort === undefined ? undefined : traits.efforts[effort]
    return JSON.stringify({
      model,
      prompt: promptOf(withFormat(messages, request, dialect.format), traits, dialect),
      maxOutputTokens: request.maxOutputTokens,
      temperature: options.temperature,
      topP: options.topP,
      stopSequences: options.stop,
      seed: options.seed,
      // A penalty of 0 has no effect, and a package may refuse it.
      presencePenalty: options.presencePenalty || undefined,
      frequencyPenalty: options.frequencyPenalty || undefined,
      reasoning: efforts === undefined ? effort : undefined,
      ...(tools.length === 0
        ? {}
        : {
            tools: tools.map(encodeTool),
            toolChoice: options.toolChoice && encodeChoice(options.toolChoice)
          }),
      responseFormat: dialect.format && options.format ? encodeFormat(options.format) : undefined,
      providerOptions: merged(traits.providerOptions, efforts ?? {})
    })
  }

const merged = (one: ProviderOptions, other: ProviderOptions): ProviderOptions => ({
  ...one,
  ...Object.fromEntries(Object.entries(other).map(([name, fields]) => [name, { ...one[name], ...fields }]))
})

const encodeTool = ({ description, name, parameters, strict }: ToolSpec): Fields => ({
  type: "function",
  name,
  description,
  inputSchema: parameters,
  strict
})

const encodeChoice = (choice: ToolChoice): Fields =>
  typeof choice === "object" ? { type: "tool", toolName: choice.name } : { type: choice }

const encodeFormat = (format: AnswerFormat): Fields =>
  format.type === "json_object"
    ? { type: "json" }
    : { type: "json", schema: format.schema, name: format.name, description: format.description ?? undefined }

interface SdkMessage {
  readonly role: ModelMessage["role"]
  readonly content: string | ReadonlyArray<Fields>
}

/**
 * Puts the system prompt first and a user message behind it. All results of a round of calls form one
 * message.
 */
const promptOf = (
  messages: ReadonlyArray<ModelMessage>,
  traits: SdkTraits,
  dialect: Dialect
): ReadonlyArray<SdkMessage> => {
  const system = messages.flatMap(({ role, text }) => (role === "system" && text.trim() !== "" ? [text] : []))
  const turns: Array<{ readonly role: ModelMessage["role"]; readonly content: Array<Fields> }> = []
  for (const message of mergeSameRole(withImagesBehind(messages))) {
    const content = message.role === "system" ? [] : contentOf(message, traits, dialect)
    if (content.length === 0) continue
    const last = turns.at(-1)
    if (message.role === "tool" && last?.role === "tool") last.content.push(...content)
    else turns.push({ role: message.role, content: [...content] })
  }
  if (turns[0] !== undefined && turns[0].role !== "user")
    turns.unshift({ role: "user", content: textParts(droppedTurns) })
  const isAnswered = turns.at(-1)?.role === "assistant"
  if (turns.length === 0 || (isAnswered && dialect.lastMessage === "followed"))
    turns.push({ role: "user", content: textParts(goOn) })
  return system.length === 0 ? turns : [{ role: "system", content: system.join("\n\n") }, ...turns]
}

const contentOf = (
  message: Exclude<ModelMessage, { readonly role: "system" }>,
  { version }: SdkTraits,
  { thoughts }: Dialect
): ReadonlyArray<Fields> => {
  switch (message.role) {
    case "user":
      return [
        ...textParts(message.text),
        ...imagesOf(message).map(({ data, mediaType }) => ({
          type: "file",
          mediaType,
          data: version === "v4" ? { type: "data", data } : data
        }))
      ]
    case "assistant": {
      const reasoningParts = thoughts ? encodeReasoning : () => []
      return [
        ...reasoningParts(message.reasoning),
        ...textParts(message.text),
        ...message.toolCalls.flatMap((call) => [...reasoningParts(call.reasoning), encodeCallPart(call)])
      ]
    }
    case "tool":
      return [
        {
          type: "tool-result",
          toolCallId: message.callId,
          toolName: message.name,
          output: { type: "text", value: message.text }
        }
      ]
  }
}

/** Servers refuse a text of white space. */
const textParts = (text: string): Array<Fields> => (text.trim() === "" ? [] : [{ type: "text", text }])

const encodeReasoning = (reasoning: ReadonlyArray<Reasoning> = []): ReadonlyArray<Fields> =>
  reasoning.flatMap(({ opaque, text }) =>
    opaque === null ? [] : [{ type: "reasoning", text, providerOptions: fieldsIn(opaque.data) }]
  )

const encodeCallPart = ({ arguments: input, id, name, opaque }: ToolCall): Fields => ({
  type: "tool-call",
  toolCallId: id,
  toolName: name,
  // The tool has rejected arguments that are no object, and its result says so.
  input: fieldsIn(input) ?? {},
  providerOptions: opaque && fieldsIn(opaque.data)
})

const decodeFields = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

/** The fields of a JSON object; undefined for other texts. */
const fieldsIn = (json: string): Fields | undefined => Option.getOrUndefined(decodeFields(json))

/** A complaint about reasoning of earlier messages that the server can't use. */
const aboutThoughts = /\bthinking block|\bthought|\bsignature/i

const isThoughtful = (message: ModelMessage): boolean =>
  message.role === "assistant" && (message.reasoning !== undefined || message.toolCalls.length > 0)

const adaptSdk: Adapt = (dialect, complaint, request) =>
  dialect.thoughts && aboutThoughts.test(complaint) && request.messages.some(isThoughtful)
    ? { ...dialect, thoughts: false }
    : adaptAnswer(dialect, complaint, request)

/**
 * The protocol for language models of the AI SDK. Encodes what a package takes, and decodes the events it
 * gives.
 */
export const makeAiSdk = (traits: SdkTraits): Protocol => ({
  name: "ai-sdk",
  path: "",
  headers: () => ({}),
  encode: encodeCall(traits),
  adapt: adaptSdk,
  lacks: ({ effortIsHint = false, parallelToolCalls, reasoningEffort: effort }) => {
    const isKnown =
      effortIsHint || effort === undefined || traits.version === "v4" || traits.efforts[effort] !== undefined
    if (!isKnown) return "reasoning.effort"
    return parallelToolCalls === false ? "parallel_tool_calls" : null
  },
  makeDecode: makeDecodeSdk
})
