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
import { decodeCount, decodeOpenAiUsage } from "./TokenCounts.ts"

/**
 * The parts of a stream that are read. Other parts are skipped: files, sources and similar ones, which may be
 * long.
 */
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

/** Thoughts that are open at once. */
const openThoughtsMax = 64

interface Thought {
  readonly text: string
  /** The latest metadata from the package, as in the AI SDK itself. */
  readonly metadata: unknown
}

/** Reads the calls of one stream. Their arguments may come in pieces, whole, or both. */
const makeReadCalls = () => {
  const begun = new Map<unknown, { readonly index: number; isWritten: boolean }>()
  let calls = 0

  const begin = ({ id, toolName }: Fields): AnswerChunk => {
    if (!Predicate.isString(id) || !Predicate.isString(toolName) || begun.size >= callsMax) return notACall
    const index = calls++
    begun.set(id, { index, isWritten: false })
    return callDelta({ index, id, name: toolName, arguments: "" })
  }

  const write = ({ delta, id }: Fields): AnswerChunk => {
    const call = begun.get(id)
    if (call === undefined) return thinking
    if (!Predicate.isString(delta)) return notACall
    if (delta !== "") call.isWritten = true
    return callDelta({ index: call.index, id: "", name: "", arguments: delta })
  }

  const end = ({ input, providerMetadata, toolCallId: id, toolName: name }: Fields): AnswerChunk => {
    if (!Predicate.isString(input) || !Predicate.isString(id) || !Predicate.isString(name)) return notACall
    const call = begun.get(id)
    return callDelta({
      index: call?.index ?? calls++,
      id,
      name,
      arguments: call?.isWritten === true ? "" : input,
      ...(providerMetadata === undefined ? {} : { data: JSON.stringify(providerMetadata) })
    })
  }

  return { begin, write, end }
}

const callsMax = 128
const notACall = malformed("a tool call is not well-formed")

/** Reads the parts of one stream. */
export const makeDecodeSdk = (): Decode => {
  const thoughts = new Map<unknown, Thought>()
  const calls = makeReadCalls()

  const readThought = ({ delta = "", id, providerMetadata }: Fields): AnswerChunk => {
    if (thoughts.size >= openThoughtsMax && !thoughts.has(id))
      return malformed(`more than ${openThoughtsMax} thoughts at once`)
    const { metadata, text } = thoughts.get(id) ?? { text: "", metadata: undefined }
    thoughts.set(id, { text: `${text}${String(delta)}`, metadata: providerMetadata ?? metadata })
    return thoughtDelta(delta)
  }

  const endThought = (id: unknown): AnswerChunk => {
    const { metadata, text } = thoughts.get(id) ?? { text: "", metadata: undefined }
    thoughts.delete(id)
    return text === "" && metadata === undefined
      ? thinking
      : thoughtBlock({ text, data: JSON.stringify(metadata ?? {}) })
  }

  /** Some packages don't end open thoughts, and end their stream after the finish. */
  const endAnswer = (finish: AnswerChunk): AnswerChunk => ({
    type: "chunks",
    chunks: [...[...thoughts.keys()].map(endThought), finish, { type: "done" }]
  })

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
        readThought({ ...part, delta: "" })
        return endThought(part["id"])
      // Calls that the server runs itself are ignored.
      case "tool-input-start":
        // An open thought belongs to the reasoning before the call, so the call waits for its end.
        return part["providerExecuted"] === true || thoughts.size > 0 ? thinking : calls.begin(part)
      case "tool-input-delta":
        return calls.write(part)
      case "tool-call":
        return part["providerExecuted"] === true ? thinking : calls.end(part)
      case "stream-start":
        return decodeWarnings(part["warnings"])
      case "finish":
        return endAnswer(decodeFinish(part))
      case "error":
        return decodeError(part["error"])
      default:
        return unknown
    }
  }
}

/** Settings that a client may have sent and a package may not support. */
const clientSetting =
  /^(temperature|topP|stopSequences|seed|(presence|frequency)Penalty|toolChoice|reasoning(Effort)?|responseFormat|tools)$/

/** Reports settings that a package would leave out as refused, as a server does for an unknown field. */
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

const decodeFinish = ({ finishReason, providerMetadata, usage }: Fields): AnswerChunk => {
  const isNamed = Predicate.isObject(finishReason)
  const reason = isNamed ? finishReason["unified"] : finishReason
  const raw = isNamed ? finishReason["raw"] : undefined
  if (reason === "error")
    return decodeError({
      code: raw === "MALFORMED_FUNCTION_CALL" ? "tool_use_failed" : raw,
      message: "finish_reason error"
    })
  const counted = decodeUsage(usage, providerMetadata)
  // Packages end a stream that was cut between two events in one of these words.
  const isCut = reason === "other" && isNamed && raw === undefined
  const finish = isCut ? undefined : finishes.get(reason)
  return finish === undefined ? { type: "usage", usage: counted } : { ...thinking, finish, usage: counted }
}

/** Counts are numbers in `v2`, and in later versions objects with a total. */
const decodeUsage = (usage: unknown, metadata: unknown): ModelUsage | null => {
  if (!Predicate.isObject(usage)) return null
  const { inputTokens: input, outputTokens: output } = usage
  const [inputs, outputs] = [input, output].map((counts): Fields =>
    Predicate.isObject(counts) ? counts : { total: counts }
  )
  return decodeOpenAiUsage(
    {
      input_tokens: totalOf(inputs, ["noCache", "cacheRead", "cacheWrite"]),
      output_tokens: totalOf(outputs, ["text", "reasoning"]),
      total_tokens: usage["totalTokens"],
      cached_tokens: usage["cachedInputTokens"] ?? inputs?.["cacheRead"],
      cache_write_tokens: inputs?.["cacheWrite"] ?? writtenIn(metadata),
      reasoning_tokens: usage["reasoningTokens"] ?? outputs?.["reasoning"]
    },
    "input",
    "output"
  )
}

/** The total, or the sum of its parts if the total is absent. */
const totalOf = (counts: Fields = {}, parts: ReadonlyArray<string>): unknown => {
  const known = parts.map((part) => decodeCount(counts[part])).filter(Predicate.isNotNull)
  return counts["total"] ?? (known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0))
}

/**
 * Tokens written to a cache, from the metadata of Anthropic's and Bedrock's packages. The interface `v2` has
 * no field for them.
 */
const writtenIn = (metadata: unknown): number | undefined =>
  (Predicate.isObject(metadata) ? Object.values(metadata) : [])
    .flatMap((own) => (Predicate.isObject(own) ? [own["cacheCreationInputTokens"], usageOf(own)] : []))
    .map(decodeCount)
    .find(Predicate.isNotNull)

const usageOf = ({ usage }: Fields): unknown =>
  Predicate.isObject(usage) ? usage["cacheWriteInputTokens"] : undefined
