import { Predicate } from "effect"
import type { FinishReason, ModelUsage } from "../domain/ModelCall.ts"
import {
  type AnswerChunk,
  callDelta,
  type Decode,
  decodeTextDelta,
  type Fields,
  isUnreadable,
  malformed,
  parseEvent,
  thinking,
  thoughtBlock,
  thoughtDelta,
  unknown
} from "./Protocol.ts"
import { decodeError } from "./ServerError.ts"
import { decodeOpenAiUsage } from "./TokenCounts.ts"

/** The parts of a stream that are read. The others have files, sources and the like, which may be long. */
export const readParts: ReadonlySet<unknown> = new Set([
  "stream-start",
  "text-delta",
  "reasoning-start",
  "reasoning-delta",
  "reasoning-end",
  "tool-input-start",
  "tool-input-delta",
  "tool-call",
  "finish",
  "error"
])

interface Thought {
  readonly text: string
  /** The latest that the package gave, as the AI SDK itself keeps it. */
  readonly metadata: unknown
}

/** Reads the parts of one stream. */
export const makeDecodeSdk = (): Decode => {
  const thoughts = new Map<unknown, Thought>()
  let calls = 0

  const readThought = ({ delta = "", id, providerMetadata }: Fields): AnswerChunk => {
    const { metadata, text } = thoughts.get(id) ?? { text: "", metadata: undefined }
    thoughts.set(id, { text: `${text}${String(delta)}`, metadata: providerMetadata ?? metadata })
    return thoughtDelta(delta)
  }

  const endThought = (part: Fields): AnswerChunk => {
    readThought({ ...part, delta: "" })
    const { metadata, text } = thoughts.get(part["id"]) ?? { text: "", metadata: undefined }
    thoughts.delete(part["id"])
    return text === "" && metadata === undefined
      ? thinking
      : thoughtBlock({ text, data: JSON.stringify(metadata ?? {}) })
  }

  return (data) => {
    const part = parseEvent(data)
    if (isUnreadable(part)) return part
    switch (part["type"]) {
      case "text-delta":
        return decodeTextDelta(part["delta"])
      case "reasoning-start":
      case "reasoning-delta":
        return readThought(part)
      case "reasoning-end":
        return endThought(part)
      case "tool-input-start":
      case "tool-input-delta":
        return thinking
      case "tool-call":
        // Calls that the server makes itself are its own affair.
        return part["providerExecuted"] === true ? thinking : decodeCall(part, calls++)
      case "stream-start":
        return decodeWarnings(part["warnings"])
      case "finish":
        return decodeFinish(part)
      case "error":
        return decodeError(part["error"])
      default:
        return unknown
    }
  }
}

const decodeCall = ({ input, providerMetadata, toolCallId, toolName }: Fields, index: number): AnswerChunk =>
  Predicate.isString(input) && Predicate.isString(toolCallId) && Predicate.isString(toolName)
    ? callDelta({
        index,
        id: toolCallId,
        name: toolName,
        arguments: input,
        ...(providerMetadata === undefined ? {} : { data: JSON.stringify(providerMetadata) })
      })
    : malformed("a tool call is not well-formed")

/** What a client may have sent and a package may not support. */
const clientSetting =
  /^(temperature|topP|stopSequences|seed|(presence|frequency)Penalty|toolChoice|reasoning(Effort)?|responseFormat|tools)$/

/** What a package would leave out of a request is refused, as by a server that knows no such field. */
const decodeWarnings = (warnings: unknown): AnswerChunk => {
  const refused = (Array.isArray(warnings) ? warnings : []).flatMap((warning: unknown) => {
    if (!Predicate.isObject(warning) || !String(warning["type"]).startsWith("unsupported")) return []
    const isTool = warning["type"] === "unsupported-tool"
    const setting = isTool ? "tools" : String(warning["setting"] ?? warning["feature"])
    if (!clientSetting.test(setting)) return []
    const name = setting.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    return [`${name} is not supported: ${String(warning["details"] ?? "the package has no use for it")}`]
  })
  return refused.length === 0
    ? unknown
    : { type: "error", label: "unsupported_parameter", message: refused.join("; "), status: 400 }
}

const finishes: ReadonlyMap<unknown, FinishReason> = new Map<unknown, FinishReason>([
  ["stop", "stop"],
  ["other", "stop"],
  ["length", "length"],
  ["content-filter", "content_filter"],
  ["tool-calls", "tool_calls"]
])

const decodeFinish = ({ finishReason, usage }: Fields): AnswerChunk => {
  const isNamed = Predicate.isObject(finishReason)
  const reason = isNamed ? finishReason["unified"] : finishReason
  const raw = isNamed ? finishReason["raw"] : undefined
  if (reason === "error")
    return decodeError({
      code: raw === "MALFORMED_FUNCTION_CALL" ? "tool_use_failed" : raw,
      message: "finish_reason error"
    })
  const counted = decodeUsage(usage)
  // Packages end a stream that was cut between two events in one of these words.
  const isCut = reason === "other" && isNamed && raw === undefined
  const finish = isCut ? undefined : finishes.get(reason)
  return finish === undefined ? { type: "usage", usage: counted } : { ...thinking, finish, usage: counted }
}

/** The counts of `v2` are numbers, and those of later versions objects, whose total has all. */
const decodeUsage = (usage: unknown): ModelUsage | null => {
  if (!Predicate.isObject(usage)) return null
  const { inputTokens: input, outputTokens: output } = usage
  const [inputs, outputs] = [input, output].map((counts): Fields =>
    Predicate.isObject(counts) ? counts : { total: counts }
  )
  return decodeOpenAiUsage(
    {
      input_tokens: inputs?.["total"],
      output_tokens: outputs?.["total"],
      total_tokens: usage["totalTokens"],
      cached_tokens: usage["cachedInputTokens"] ?? inputs?.["cacheRead"],
      cache_write_tokens: inputs?.["cacheWrite"],
      reasoning_tokens: usage["reasoningTokens"] ?? outputs?.["reasoning"]
    },
    "input",
    "output"
  )
}
