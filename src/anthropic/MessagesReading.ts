import { Effect } from "effect"
import { isOtherBlock } from "../api/anthropic/ContentBlocks.ts"
import type { Message, MessagesBody } from "../api/anthropic/MessagesBody.ts"
import { type InvalidRequest, invalid } from "../domain/Errors.ts"
import {
  type AnswerFormat,
  type AnswerOptions,
  type ReasoningEffort,
  reasoningEfforts
} from "../domain/ModelCall.ts"
import { given, namedModel } from "../openai/RequestReading.ts"
import { sealingOnce, type UserSealing } from "../openai/Sealing.ts"
import type { Demands, ResponseRequest } from "../responses/prompt/ResponseRequest.ts"
import { entriesOf, type Placed, textOf } from "./BlockReading.ts"
import type { MessagesView } from "./MessagesRendering.ts"
import { readTools } from "./ToolReading.ts"

/** From the body of a request to what the core understands. */

export interface ReadMessages {
  readonly request: ResponseRequest
  readonly demands: Demands
  readonly view: MessagesView
  /** The origin of each entry of the input. */
  readonly places: ReadonlyArray<Pick<Placed, "path" | "parts">>
  /** The paths of what nothing is made of, and that a caller would miss. */
  readonly unused: ReadonlyArray<string>
}

/** Why the calls and results of messages don't fit together; null if they do. */
const problemOf = (messages: ReadonlyArray<Message>): InvalidRequest | null => {
  const called = new Set<string>()
  for (const [index, message] of messages.entries()) {
    if (typeof message.content === "string" || message.role === "system") continue
    const path = (position: number) => `messages[${index}].content[${position}]`
    if (message.role === "user") {
      const unknown = message.content.findIndex(
        (block) => block.type === "tool_result" && !called.has(block.tool_use_id)
      )
      if (unknown < 0) continue
      return invalid(
        `${path(unknown)}.tool_use_id`,
        "names no call of an earlier message. Send the assistant's message with its tool_use block before it."
      )
    }
    const ids = message.content.map((block) => ("input" in block ? block.id : null))
    const own = new Set<string>()
    const again = ids.findIndex((id) => id !== null && own.size === own.add(id).size)
    if (again >= 0)
      return invalid(`${path(again)}.id`, "is that of another call of the message. Give each call its own.")
    for (const id of ids) if (id !== null) called.add(id)
  }
  return null
}

/**
 * Claude Code's note for Anthropic's accounts. It differs in each request, and would keep prompts out of
 * caches.
 */
const accountNote = /^x-anthropic-billing-header:/

const instructionsOf = ({ system }: MessagesBody): string | null => {
  if (system == null) return null
  const text =
    typeof system === "string" ? system : textOf(system.filter((block) => !accountNote.test(block.text)))
  return text === "" ? null : text
}

/** Budgets of thinking, in tokens, up to which an effort is low or medium. */
const lowBudgetMax = 4_096
const mediumBudgetMax = 16_384

/** Returns the effort of a request; null stands for the model's default. */
const effortOf = ({ output_config: config, thinking }: MessagesBody): ReasoningEffort | null => {
  if (thinking?.type === "disabled") return "none"
  const effort = reasoningEfforts.find((known) => known === config?.effort)
  if (effort !== undefined) return effort
  const budget = thinking?.type === "enabled" ? thinking.budget_tokens : null
  if (budget == null) return null
  return budget <= lowBudgetMax ? "low" : budget <= mediumBudgetMax ? "medium" : "high"
}

const formatOf = ({ output_config: config, output_format }: MessagesBody): AnswerFormat | null => {
  const format = config?.format ?? output_format
  return format == null
    ? null
    : // The service checks the answer: strict modes of other providers refuse schemas that Anthropic takes.
      { ...format, name: "answer", description: null, strict: false }
}

const answerOptions = (body: MessagesBody): AnswerOptions => {
  const effort = effortOf(body)
  return given({
    temperature: body.temperature,
    topP: body.top_p,
    stop: body.stop_sequences?.length === 0 ? null : body.stop_sequences,
    format: formatOf(body),
    reasoningEffort: effort,
    effortIsHint: effort === null ? null : (true as const)
  })
}

const displays = ["summarized", "omitted"]

const viewOf = ({ thinking }: MessagesBody, sealing: UserSealing): MessagesView =>
  thinking == null || thinking.type === "disabled"
    ? { thinking: null, seal: null }
    : { thinking: thinking.display === "omitted" ? "omitted" : "summarized", seal: sealingOnce(sealing) }

/** Values of hints that have no meaning here. */
const unusedHints = ({ output_config: config, thinking }: MessagesBody): ReadonlyArray<string> => {
  const display = thinking != null && "display" in thinking ? thinking.display : null
  return [
    ...(display == null || displays.includes(display) ? [] : ["thinking.display"]),
    ...(config?.effort == null || reasoningEfforts.some((known) => known === config.effort)
      ? []
      : ["output_config.effort"])
  ]
}

/** Citations that aren't made, and blocks of which nothing is made. */
const unusedBlocks = (messages: ReadonlyArray<Message>): ReadonlyArray<string> =>
  messages.flatMap(({ content }, index) =>
    typeof content === "string"
      ? []
      : content.flatMap((block, position) => {
          const path = `messages[${index}].content[${position}]`
          if ("citations" in block && block.citations?.enabled === true) return [`${path}.citations`]
          return isOtherBlock(block) ? [path] : []
        })
  )

export const readMessages = Effect.fnUntraced(function* (body: MessagesBody, sealing: UserSealing) {
  const problem = problemOf(body.messages)
  if (problem !== null) return yield* problem
  const tools = yield* Effect.fromResult(readTools(body))
  // Each message is an operation of its own, for much may have to be decrypted.
  const placed = yield* Effect.forEach(body.messages, (message, index) =>
    Effect.sync(() => entriesOf(message, `messages[${index}]`, sealing))
  )
  const entries = placed.flat()
  const read: ReadMessages = {
    request: {
      input: entries.map(({ entry }) => entry),
      store: false,
      ...given({ instructions: instructionsOf(body), max_output_tokens: body.max_tokens })
    },
    demands: {
      ...given({ model: namedModel(body) }),
      ...tools.demands,
      passingInstructions: true,
      functionItems: true,
      answer: { ...answerOptions(body), ...tools.options }
    },
    view: viewOf(body, sealing),
    places: entries,
    unused: [...tools.unused, ...unusedHints(body), ...unusedBlocks(body.messages)]
  }
  return read
})
