import type { ErrorBody } from "../api/ErrorEnvelope.ts"
import type { Expected } from "../api/Failure.ts"
import type { ReadMessages } from "./MessagesReading.ts"

/** Fields that the core calls by other names. */
const names: ReadonlyMap<string, string> = new Map([
  ["input", "messages"],
  ["instructions", "system"],
  ["text.format.schema", "output_config.format.schema"],
  ["text.format", "output_config.format"],
  ["reasoning.effort", "output_config.effort"],
  ["max_output_tokens", "max_tokens"],
  ["stop", "stop_sequences"],
  ["parallel_tool_calls", "tool_choice.disable_parallel_tool_use"]
])

const fieldNames: ReadonlyMap<string, string> = new Map([
  ["image_url", "source"],
  ["file_url", "source"],
  ["file_data", "source"],
  ["file_id", "source.file_id"],
  ["call_id", "tool_use_id"],
  ["output", "content"]
])

const entryPath = /^input\[(\d+)\](?:\.(?:content|output)\[(\d+)\])?(?:\.(\w+))?$/

const nameOf = (param: string, places: ReadMessages["places"]): string => {
  const known = names.get(param)
  if (known !== undefined) return known
  const found = entryPath.exec(param)
  if (found === null) return param
  const [, entry, part, field] = found
  const place = places[Number(entry)]
  const path = (part === undefined ? undefined : place?.parts[Number(part)]) ?? place?.path ?? "messages"
  return field === undefined ? path : `${path}.${fieldNames.get(field) ?? field}`
}

const noModel =
  "There is no such model. Use `auto`, or one of GET /anthropic/v1/models. Claude Code takes it from ANTHROPIC_MODEL, and for " +
  "small tasks from ANTHROPIC_DEFAULT_HAIKU_MODEL."

/** Clients recognize a prompt that is too long by these words, and shorten it. */
const tooLong = (message: string, cause: Expected | null): string =>
  cause?._tag === "PromptTooLong"
    ? `prompt is too long: ${cause.promptTokens} tokens > ${cause.tokensMax} maximum. ${message}`
    : `prompt is too long. ${message}`

/** An error names what the messages have, and not what was made of them. */
export const inMessagesWords =
  (places: ReadMessages["places"]) =>
  (error: ErrorBody, cause: Expected | null = null): ErrorBody => {
    const param = nameOf(error.param, places)
    const message = error.message.replaceAll(`\`${error.param}\``, `\`${param}\``)
    switch (error.code) {
      case "model_not_found":
        return { ...error, param, message: noModel }
      case "context_length_exceeded":
        return { ...error, param, message: tooLong(message, cause) }
      default:
        return { ...error, param, message }
    }
  }
