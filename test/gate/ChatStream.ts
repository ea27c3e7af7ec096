import { type Answer, type Counts, piecesOf } from "./Answer.ts"
import type { Asked, Fields } from "./Asked.ts"
import type { ScriptedCall } from "./Script.ts"

/** The style in which a server of Chat Completions streams. */
export interface ChatStyle {
  /**
   * The place of the reasoning: between tags of the text, in chunks of the content, or in fields of its
   * own.
   */
  readonly thoughts: "hidden" | "tags" | "chunks" | "reasoning_content" | "reasoning" | "details" | "blocks"
  /** Calls come in pieces, one by one, or together with the end. */
  readonly calls: "pieces" | "whole" | "together"
  /** True if calls have no index. */
  readonly isUnindexed?: true
  /** The ids of the pieces behind the first. */
  readonly laterIds?: "empty" | "null" | "new"
  /** The id of a call, of which there are so many before it. */
  readonly callId?: (mark: string, name: string, before: number) => string
  /** True if the first call of a round is signed. */
  readonly isSigned?: true
  /** The form of a refusal: a field, or only a finish reason. */
  readonly refusal: "field" | "finish"
  readonly usage: (counts: Counts) => Fields
  /** An event of its own if it is asked for, or a part of the last chunk. */
  readonly usageIn: "event" | "last" | "choice" | "groq"
  /** Comments that keep the connection open. */
  readonly comment?: string
  /** Events before the first chunk, and behind the text. */
  readonly before?: Fields
  readonly behindText?: Fields
  /** Fields of every chunk, and of every choice. */
  readonly inChunk?: Fields
  readonly inChoice?: Fields
}

/** The usage with the details of OpenAI. */
export const fullUsage = ({ cached, input, output, reasoning }: Counts): Fields => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: reasoning }
})

export const bareUsage = ({ input, output }: Counts): Fields => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output
})

/** An event of a stream. */
export const event = (data: unknown, name?: string): string =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`

/** The delta of a thought, and the signatures behind it. */
const thoughtDeltas = (style: ChatStyle, thought: string, sign: () => string): ReadonlyArray<Fields> => {
  const pieces = piecesOf(thought)
  switch (style.thoughts) {
    case "hidden":
      return []
    case "tags":
      return [...piecesOf(`<think>${thought}</think>`), "\n\n"].map((content) => ({ content }))
    case "chunks":
      return pieces.map((text) => ({ content: [{ type: "thinking", thinking: [{ type: "text", text }] }] }))
    case "reasoning_content":
      return pieces.map((text) => ({ content: null, reasoning_content: text }))
    case "reasoning":
      return pieces.map((text) => ({ content: "", reasoning: text }))
    case "details":
      return [
        ...pieces.map((text) => ({
          content: "",
          reasoning: text,
          reasoning_details: [{ type: "reasoning.text", text, index: 0, format: "google-gemini-v1" }]
        })),
        { content: "", reasoning_details: [{ type: "reasoning.encrypted", data: sign(), index: 1 }] }
      ]
    case "blocks":
      return [
        ...pieces.map((thinking) => ({
          content: "",
          reasoning_content: thinking,
          thinking_blocks: [{ type: "thinking", thinking, signature: null }]
        })),
        {
          content: "",
          reasoning_content: "",
          thinking_blocks: [{ type: "thinking", thinking: "", signature: sign() }]
        }
      ]
  }
}

/** The fields of a call without its arguments. */
interface StreamedCall {
  readonly index?: number
  readonly id: string
  readonly type: "function"
  readonly extra_content?: Fields
}

const callDeltas = (
  style: ChatStyle,
  head: StreamedCall,
  call: ScriptedCall,
  mark: () => string
): ReadonlyArray<{ readonly tool_calls: ReadonlyArray<Fields> }> => {
  const { arguments: args, name } = call
  if (style.calls !== "pieces") return [{ tool_calls: [{ ...head, function: { name, arguments: args } }] }]
  const place = head.index === undefined ? {} : { index: head.index }
  const laterId = (): Fields => {
    if (style.laterIds === undefined) return {}
    return { id: style.laterIds === "new" ? mark() : style.laterIds === "null" ? null : "" }
  }
  const laterName = style.laterIds === "null" ? { name: null } : {}
  return [
    { tool_calls: [{ ...head, function: { name, arguments: "" } }] },
    ...piecesOf(args).map((piece) => ({
      tool_calls: [{ ...place, ...laterId(), function: { ...laterName, arguments: piece } }]
    }))
  ]
}

const finishOf = (style: ChatStyle, { calls, end }: Answer): string => {
  if (calls.length > 0) return style.isUnindexed === true ? "stop" : "tool_calls"
  return end === "refusal" && style.refusal === "finish" ? "content_filter" : "stop"
}

/**
 * The events of an answer. `sign` makes a signature that must come back, and `keep` notes an id that was
 * given.
 */
export const chatEvents = (
  style: ChatStyle,
  asked: Asked,
  answer: Answer,
  sign: () => string
): ReadonlyArray<string> => {
  const { calls, counts, end, mark, text, thought } = answer
  const usage = style.usage(counts)
  const chunk = (
    delta: Fields | null,
    finish: string | null = null,
    more: Fields = {},
    inChoice: Fields = {}
  ) =>
    event({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1,
      model: asked.body["model"],
      ...style.inChunk,
      choices: [
        {
          index: 0,
          ...(delta === null ? {} : { delta }),
          finish_reason: finish,
          ...style.inChoice,
          ...inChoice
        }
      ],
      ...more
    })
  const before = asked.messages.reduce((all, message) => all + message.calls.length, 0)
  const heads = calls.map(({ name }, index): StreamedCall => ({
    ...(style.isUnindexed === true ? {} : { index }),
    id: style.callId?.(mark(), name, before + index) ?? `call_${mark()}`,
    type: "function",
    ...(style.isSigned === true && index === 0
      ? { extra_content: { google: { thought_signature: sign() } } }
      : {})
  }))
  const isRefusal = end === "refusal" && style.refusal === "field"
  const texts = piecesOf(text).map((content) => chunk(isRefusal ? { refusal: content } : { content }))
  const begin = [
    ...(style.comment === undefined ? [] : [`: ${style.comment}\n\n`, "\n"]),
    ...(style.before === undefined ? [] : [event(style.before)]),
    chunk({ role: "assistant", content: style.thoughts === "reasoning_content" ? null : "" }),
    ...(thought === "" ? [] : thoughtDeltas(style, thought, sign)).map((delta) => chunk(delta))
  ]
  if (end === "cut") return [...begin, ...texts.slice(0, 1)]
  const deltas = calls.map((call, index) =>
    callDeltas(style, heads[index] ?? { id: "", type: "function" }, call, mark)
  )
  const inTop = style.usageIn === "last" ? { usage } : style.usageIn === "groq" ? { x_groq: { usage } } : {}
  const inChoice = style.usageIn === "choice" ? { usage } : {}
  const finish = finishOf(style, answer)
  const isTogether = style.calls === "together" && calls.length > 0
  const together = deltas.flat().flatMap(({ tool_calls }) => tool_calls)
  const wantsUsage = JSON.stringify(asked.body["stream_options"])?.includes("true") === true
  return [
    ...begin,
    ...texts,
    ...(text === "" || style.behindText === undefined ? [] : [event(style.behindText)]),
    ...(isTogether ? [] : deltas.flat().map((delta) => chunk(delta))),
    chunk(isTogether ? { content: "", tool_calls: together } : {}, finish, inTop, inChoice),
    ...(style.usageIn === "event" && wantsUsage ? [chunkOfUsage(asked, usage)] : []),
    event("[DONE]")
  ]
}

const chunkOfUsage = ({ body }: Asked, usage: Fields): string =>
  event({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: body["model"],
    choices: [],
    usage
  })
