import { Schema } from "effect"
import { defect } from "../../src/api/Failure.ts"
import { errorEvent, type EventBody } from "../../src/api/ResponseEvent.ts"
import type { ResponseStart } from "../../src/api/ResponseObject.ts"
import { ConversationId, ItemId, ResponseId } from "../../src/domain/Ids.ts"
import type { ModelUsage } from "../../src/domain/ModelCall.ts"
import * as Events from "../../src/responses/generation/Events.ts"
import { isFinished } from "../../src/responses/generation/EventsState.ts"
import type { GenerationPart } from "../../src/responses/generation/Round.ts"

export const start: ResponseStart = {
  id: ResponseId.make("019845e1-682f-4b02-a706-3b2422d13aec"),
  createdAt: 1_795_257_700_065,
  model: "scripted",
  conversationId: ConversationId.make("019845e1-682f-4b02-a706-3b2422d13aed"),
  instructions: null,
  maxOutputTokens: null,
  previousResponseId: null,
  store: true
}

export const usage: ModelUsage = {
  inputTokens: 11,
  cachedInputTokens: 2,
  cacheWriteInputTokens: 4,
  outputTokens: 7,
  reasoningTokens: 1,
  source: "provider"
}

export const counter = () => {
  let next = 0
  return () => ItemId.make(`00000000-0000-4000-8000-${String(next++).padStart(12, "0")}`)
}

/** UTF-16 code units of any kind, lone surrogates and NUL included. */
const AnyText = Schema.Array(
  Schema.Union([
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff })),
    Schema.Literals([0, 0xd83d, 0xde00, 0x2028, 0x0a])
  ])
)
const textOf = (units: ReadonlyArray<number>) => String.fromCharCode(...units)

/** Calls of one round: how many, and how they end. */
const Calls = Schema.Struct({
  calls: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3 })),
  reversed: Schema.Boolean,
  failing: Schema.Boolean
})
/** Reasoning: the units of its pieces, and whether it is completed. */
const Thought = Schema.Struct({ thought: Schema.Array(AnyText), completed: Schema.Boolean })
/** Text by which the model refuses to answer. */
const Refused = Schema.Struct({ refused: AnyText })
type Said = string | typeof Calls.Type | typeof Thought.Type | { readonly refused: string }

export const Ending = Schema.Literals([
  "stop",
  "length",
  "content_filter",
  "functions",
  "cut function",
  "failure",
  "nothing"
])
export const Script = {
  said: Schema.Array(Schema.Union([AnyText, Calls, Thought, Refused])),
  ending: Ending,
  batch: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 7 }))
}

export const saidOf = (
  script: ReadonlyArray<ReadonlyArray<number> | typeof Calls.Type | typeof Thought.Type | typeof Refused.Type>
): ReadonlyArray<Said> =>
  script.map((one) => {
    if ("refused" in one) return { refused: textOf(one.refused) }
    return "calls" in one || "thought" in one ? one : textOf(one)
  })

/** Some texts have logprobs, as their model's server tells them. */
const logprobsOf = (said: string) => {
  if (said.length % 4 !== 3) return {}
  const likely = (token: string, logprob: number) => ({ token, logprob, bytes: [...Buffer.from(token)] })
  const tokens = [storable(said.slice(0, 1)), storable(said.slice(1))]
  return {
    logprobs: tokens.map((token) => ({ ...likely(token, -0.5), top_logprobs: [likely("other", -2)] }))
  }
}

let calls = 0
const partsOf = (said: Said): ReadonlyArray<GenerationPart> => {
  if (typeof said === "string") return [{ type: "text", text: said, ...logprobsOf(said) }]
  if ("refused" in said) return [{ type: "text", text: said.refused, isRefusal: true }]
  if ("thought" in said) {
    const pieces = said.thought.map(textOf)
    const reasoning = { text: pieces.join(""), opaque: { origin: "o", data: "\ud800" } }
    return [
      ...pieces.map((text) => ({ type: "reasoning_text", text }) as const),
      ...(said.completed ? [{ type: "reasoning", reasoning } as const] : [])
    ]
  }
  const ids = Array.from({ length: said.calls }, () =>
    ItemId.make(`00000000-0000-4000-9000-${String(calls++).padStart(12, "0")}`)
  )
  const result = said.failing ? { output: null, error: "a\0\ud800" } : { output: "b\0\ud800", error: null }
  return [
    ...ids.map((id) => ({ type: "tool_begin", id, name: "n\0", arguments: "\ud800", round: "one" }) as const),
    ...(said.reversed ? ids.toReversed() : ids).map((id) => ({ type: "tool_end", id, result }) as const)
  ]
}

const nextFunction = () => ItemId.make(`00000000-0000-4000-a000-${String(calls++).padStart(12, "0")}`)

/** Calls of the client's functions, which end an answer. The pieces of all but the first are shown before. */
const functionParts = (count: number): ReadonlyArray<GenerationPart> => {
  const whole = Array.from({ length: count }, (_, index) => ({
    type: "function_call" as const,
    id: nextFunction(),
    name: "f\0",
    arguments: `{"${index}":"\0\ud800"}`,
    round: "last",
    opaque: { origin: "o", data: count === 1 ? "" : "signature" }
  }))
  return whole.flatMap((call, index) => {
    const { arguments: args, id, name } = call
    const texts = [args.slice(0, 3), args.slice(3, index === 1 ? undefined : 5)]
    return [
      ...(index === 0 ? [] : texts.map((text) => ({ type: "function_text" as const, id, name, text }))),
      call
    ]
  })
}

/** A call that the model doesn't write to its end. */
const cutFunction = (): GenerationPart => ({
  type: "function_text",
  id: nextFunction(),
  name: "f",
  text: '{"a'
})

/** True if this part ends a message. Reasoning without a text and an end doesn't begin. */
const endsMessage = (said: Exclude<Said, string>): boolean => {
  if ("refused" in said) return said.refused !== ""
  return "calls" in said || said.completed || said.thought.some((units) => units.length > 0)
}

const storable = (text: string): string => text.toWellFormed().replaceAll("\0", "\u{fffd}")

/**
 * The text between two rounds of calls is storable by itself, and so is that between two thoughts, and each
 * piece of a refusal.
 */
export const expectedText = (said: ReadonlyArray<Said>): string => {
  let text = ""
  let open = ""
  for (const one of [...said, { calls: 1, reversed: false, failing: false }]) {
    if (typeof one === "string") open += one
    else if (endsMessage(one)) {
      text += storable(open) + ("refused" in one ? storable(one.refused) : "")
      open = ""
    }
  }
  return text
}

/** The bodies of a whole generation, its parts handed over in batches. */
export const play = (
  said: ReadonlyArray<Said>,
  ending: typeof Ending.Type,
  batch: number
): ReadonlyArray<EventBody> => {
  const parts: Array<GenerationPart> = said.flatMap(partsOf)
  if (ending === "functions") {
    parts.push(...functionParts(3), { type: "finish", reason: "tool_calls", usage })
  }
  if (ending === "cut function") parts.push(cutFunction(), { type: "finish", reason: "length", usage })
  if (ending === "stop" || ending === "length" || ending === "content_filter") {
    parts.push({ type: "finish", reason: ending, usage })
  }
  const nextId = counter()
  let [state, events] = Events.begin(start)
  const all = [...events]
  for (let i = 0; i < parts.length; i += batch) {
    ;[state, events] = Events.steps(state, parts.slice(i, i + batch), nextId)
    all.push(...events)
  }
  all.push(isFinished(state) ? Events.complete(state, 1_795_257_700_999) : errorEvent(defect.body))
  return all
}
