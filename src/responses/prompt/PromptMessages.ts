import { Option, Schema } from "effect"
import {
  type InputFile,
  type InputImage,
  type McpCall,
  type StoredItem,
  unknownCall
} from "../../domain/Conversation.ts"
import type { FileId, ItemId } from "../../domain/Ids.ts"
import {
  isSaidByClient,
  type ModelImage,
  type ModelMessage,
  type Reasoning,
  type ToolCall
} from "../../domain/ModelCall.ts"
import { estimateMessageTokens, estimateTokens, imagesTokens } from "../../domain/Tokens.ts"
import { toolCallsAsText } from "../../providers/SentMessages.ts"
import type { ToolResult } from "../../tools/Toolkit.ts"
import { attachedTo, mentionImage, modelImages, noImages, type PromptImages } from "./Images.ts"
import type { LinkedItem, LinkedTurn, RunCall } from "./LinkedCalls.ts"

/** Some servers refuse longer ids, and ids with hyphens. */
const callIdCharacters = 9

/** The id of a call for models, whose own ids aren't always unique. */
export const callIdOf = (id: ItemId): string => id.replaceAll("-", "").slice(-callIdCharacters)

/** Characters of a tool's name that every server takes. */
const nameCharactersMax = 64

/** The name of a call as every server takes it; the model may have written anything. */
const sentName = (name: string): string =>
  name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, nameCharactersMax) || "unknown"

const decodeArguments = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

/** A call as it goes back to a model. Servers refuse arguments of earlier calls that are no JSON object. */
const sentCall = ({ arguments: args, id, name, opaque, reasoning = [] }: CallMade): ToolCall => ({
  id: callIdOf(id),
  name: sentName(name),
  arguments: Option.isSome(decodeArguments(args)) ? args : "{}",
  ...(opaque === undefined ? {} : { opaque }),
  ...(reasoning.length === 0 ? {} : { reasoning })
})

/** A call and its result, with the images that the model sees in it. */
type CallMade = Pick<McpCall, "id" | "name" | "arguments" | "output" | "error" | "opaque"> &
  Pick<ToolCall, "reasoning"> & { readonly images?: ReadonlyArray<ModelImage> }

/** The text and the reasoning of a message of the model, besides its calls. */
export interface Said {
  readonly text: string
  readonly reasoning: ReadonlyArray<Reasoning>
}

const assistantMessage = (
  { reasoning, text }: Said,
  toolCalls: ReadonlyArray<ToolCall>
): Extract<ModelMessage, { role: "assistant" }> => ({
  role: "assistant",
  text,
  toolCalls,
  ...(reasoning.length === 0 ? {} : { reasoning })
})

/** A result as the model reads it. */
const resultText = ({ error, output }: ToolResult): string => output ?? `Error: ${error ?? "unknown"}`

/** The text in place of a part that refers to a file. */
export type ShowFile = (id: FileId) => string

const messageText = (
  item: LinkedItem & { readonly type: "message" },
  show: ShowFile,
  images: PromptImages
): string =>
  item.content
    .flatMap((part) => ("text" in part ? [part.text] : attachedText([part], show, images)))
    .join("\n")

/** Files, and mentions of the images that the prompt doesn't show. */
const attachedText = (
  attached: ReadonlyArray<InputFile | InputImage>,
  show: ShowFile,
  images: PromptImages
): ReadonlyArray<string> =>
  attached.flatMap((part) =>
    part.type === "input_file" ? [show(part.file_id)] : mentionImage(part.image_id, images)
  )

const userMessage = (text: string, images: ReadonlyArray<ModelImage>): ModelMessage =>
  images.length === 0 ? { role: "user", text } : { role: "user", text, images }

/** The files that items refer to, each once. */
export const filesOf = (items: ReadonlyArray<StoredItem>): ReadonlyArray<FileId> => [
  ...new Set(items.flatMap(attachedTo).flatMap((part) => (part.type === "input_file" ? [part.file_id] : [])))
]

/** The message before an answer at the beginning. Some chat templates demand that the user begins. */
const unknownBeginning: ModelMessage = { role: "user", text: "[What was said before is left out.]" }

export const begunByUser = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<ModelMessage> => {
  const [first] = messages
  return first === undefined || first.role === "user" ? messages : [unknownBeginning, ...messages]
}

/** The calls of one round and their results. The text before the calls belongs to them. */
export const roundMessages = (said: Said, calls: ReadonlyArray<CallMade>): ReadonlyArray<ModelMessage> => [
  assistantMessage(said, calls.map(sentCall)),
  ...calls.map(({ error, id, images = [], name, output }): ModelMessage => ({
    role: "tool",
    callId: callIdOf(id),
    name: sentName(name),
    text: resultText({ error, output }),
    ...(images.length === 0 ? {} : { images })
  }))
]

/** An earlier call with its result as the model gets it, with its files as text. */
const ranCall = (
  call: RunCall,
  reasoning: ReadonlyArray<Reasoning>,
  show: ShowFile,
  images: PromptImages
) => {
  const { attached = [] } = call
  const shown = attachedText(attached, show, images)
  const output = shown.length === 0 ? call.output : [call.output ?? "", ...shown].join("\n").trim()
  return { ...call, output, reasoning, images: modelImages(attached, images) }
}

const saidNothing: Said = { text: "", reasoning: [] }

/** Removes the model's text from the end of the messages, if it stands there. */
const takeLastText = (messages: Array<ModelMessage>): Said => {
  const last = messages.at(-1)
  if (last?.role !== "assistant" || last.toolCalls.length > 0) return saidNothing
  messages.pop()
  return { text: last.text, reasoning: last.reasoning ?? [] }
}

/** The messages of items, with the calls of each round in one message. */
const plainMessages = (
  items: ReadonlyArray<LinkedItem>,
  show: ShowFile,
  images: PromptImages
): Array<ModelMessage> => {
  const messages: Array<ModelMessage> = []
  let calls: Array<McpCall & CallMade> = []
  /** The reasoning before the next item. */
  let thought: Array<Reasoning> = []
  const takeThought = () => {
    const taken = thought
    thought = []
    return taken
  }
  const endRound = () => {
    if (calls.length > 0) messages.push(...roundMessages(takeLastText(messages), calls))
    calls = []
  }
  for (const item of items) {
    if (item.type === "reasoning") {
      thought.push({ text: item.text, opaque: item.opaque })
    } else if (item.type === "mcp_call" && item.name !== unknownCall) {
      if (item.round === undefined || calls.at(-1)?.round !== item.round) endRound()
      calls.push(ranCall(item, takeThought(), show, images))
    } else if (item.type === "mcp_call") {
      endRound()
      const ran = ranCall(item, [], show, images)
      messages.push(userMessage(`[result of an earlier call]\n${resultText(ran)}`, ran.images))
    } else if (item.type === "message") {
      endRound()
      const text = messageText(item, show, images)
      // The output that this reasoning led to was removed.
      if (item.role === "user") thought = []
      messages.push(
        item.role === "user"
          ? userMessage(text, modelImages(attachedTo(item), images))
          : assistantMessage({ text, reasoning: takeThought() }, [])
      )
    }
  }
  endRound()
  // This reasoning belongs to calls that a later turn answers.
  if (thought.length > 0) messages.push(assistantMessage({ text: "", reasoning: thought }, []))
  return messages
}

/** True for an answer without text, calls and reasoning, which servers refuse. */
const isBlank = (message: ModelMessage): boolean =>
  message.role === "assistant" &&
  message.toolCalls.length === 0 &&
  message.text.trim() === "" &&
  message.reasoning === undefined

/** The index of the first of the user's last messages in a row, which are the question. */
export const questionStart = (items: ReadonlyArray<StoredItem>): number => {
  const isUser = (item: StoredItem) => item.type === "message" && item.role === "user"
  const last = items.findLastIndex(isUser)
  return items.slice(0, last + 1).findLastIndex((item) => !isUser(item)) + 1
}

/**
 * The messages of a turn, with `knowledge` before the question. The first is a user message, unless the turn
 * continues calls of an earlier turn. An answer without text is left out. For a model without tools, calls
 * and results are plain text.
 */
export const messagesOf = (
  { continues, items }: LinkedTurn,
  tools: boolean,
  show: ShowFile,
  knowledge: ModelMessage | null = null,
  images: PromptImages = noImages
): ReadonlyArray<ModelMessage> => {
  const start = questionStart(items)
  const messages = [
    ...plainMessages(items.slice(0, start), show, images),
    ...(knowledge === null ? [] : [knowledge]),
    ...plainMessages(items.slice(start), show, images)
  ].filter((message) => !isBlank(message))
  const begun = continues ? messages : begunByUser(messages)
  return tools ? begun : begun.map(toolCallsAsText)
}

/** The estimate for a message that may precede a turn with calls of an earlier turn. */
export const beginningTokens = estimateMessageTokens(unknownBeginning.text)

/** Characters of an opaque value for a token of the reasoning that it stands for. */
const opaqueCharactersPerToken = 6

/**
 * The tokens of reasoning that goes back to the model it came from. Reasoning that a client states counts 0:
 * few models get it, and they refuse a prompt that is too long.
 */
const thoughtTokens = ({ opaque, text }: Reasoning): number => {
  if (opaque === null) return estimateTokens(text)
  return isSaidByClient(opaque)
    ? 0
    : Math.max(estimateTokens(text), Math.ceil(opaque.data.length / opaqueCharactersPerToken))
}

const reasoningTokens = (reasoning: ReadonlyArray<Reasoning>): number =>
  reasoning.reduce((sum, one) => sum + thoughtTokens(one), 0)

/** The estimate for messages, including the template's tokens for each. */
export const messagesTokens = (messages: ReadonlyArray<ModelMessage>): number =>
  messages.reduce((sum, message) => {
    const calls = message.role === "assistant" ? message.toolCalls : []
    const inCalls = calls.reduce(
      (all, call) =>
        all + estimateMessageTokens(call.name + call.arguments) + reasoningTokens(call.reasoning ?? []),
      0
    )
    const inThought = message.role === "assistant" ? reasoningTokens(message.reasoning ?? []) : 0
    return sum + estimateMessageTokens(message.text) + inCalls + inThought + imagesTokens(message)
  }, 0)
