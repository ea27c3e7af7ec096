import { type Answer, piecesOf } from "./Answer.ts"
import { type Asked, type Fields, fieldsIn, objectsIn, textIn } from "./Asked.ts"
import { firstOf, unknownName } from "./ChatRules.ts"
import { event } from "./ChatStream.ts"
import type { Memory, Provider } from "./Provider.ts"
import { anthropicError, type Failures, type Refusal } from "./Refusal.ts"

/**
 * Claude of 2026: a model that takes back its thinking only whole and in its place, and one that is content
 * without.
 */

const invalid = (message: string) => anthropicError(400, "invalid_request_error", message)

const known =
  "model messages max_tokens system stream tools tool_choice thinking output_config metadata stop_sequences temperature top_p top_k cache_control service_tier container".split(
    " "
  )

const checkFields = ({ body, headers, tools }: Asked): Refusal | null => {
  if (headers["anthropic-version"] === undefined) return invalid("anthropic-version: header is required")
  if (body["max_tokens"] === undefined) return invalid("max_tokens: Field required")
  const alien = unknownName(body, known)
  if (alien !== undefined) return invalid(`${alien}: Extra inputs are not permitted`)
  const sampled = ["temperature", "top_p", "top_k"].find((name) => body[name] !== undefined)
  if (sampled !== undefined) return invalid(`\`${sampled}\` is deprecated for this model.`)
  const isBound = fieldsIn(body["thinking"])["block_binding"] !== undefined
  if (isBound && !String(headers["anthropic-beta"]).includes("thinking-binding-controls"))
    return invalid("thinking.block_binding: Extra inputs are not permitted")
  const index = tools.findIndex(({ schema }) => ["oneOf", "allOf", "anyOf"].some((word) => word in schema))
  return index < 0
    ? null
    : invalid(
        `tools.${index}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`
      )
}

const cacheMarksMax = 4

const isMarked = (block: Fields | undefined): boolean =>
  fieldsIn(block?.["cache_control"])["type"] === "ephemeral"

/**
 * The cache begins anew where a mark is missing: behind the tools, the system prompt and the question or its
 * last results.
 */
const checkCache = (asked: Asked, { note }: Memory): Refusal | null => {
  const { body } = asked
  const tools = objectsIn(body["tools"])
  const system = objectsIn(body["system"])
  const turns = turnsOf(asked)
  const question = turns.findLast(({ role }) => role === "user")?.blocks ?? []
  if (tools.length > 0 && !isMarked(tools.at(-1))) note("tools without a mark of the cache")
  if (body["system"] !== undefined && !isMarked(system.at(-1)))
    note("a system prompt without a mark of the cache")
  if (!isMarked(question.at(-1))) note("a question without a mark of the cache")
  const marks = [...tools, ...system, ...turns.flatMap(({ blocks }) => blocks)].filter(isMarked).length
  return marks > cacheMarksMax
    ? invalid(`A maximum of ${cacheMarksMax} blocks with cache_control may be provided. Found ${marks}.`)
    : null
}

interface Turn {
  readonly role: unknown
  readonly blocks: ReadonlyArray<Fields>
}

const turnsOf = ({ body }: Asked): ReadonlyArray<Turn> =>
  objectsIn(body["messages"]).map(({ content, role }) => ({
    role,
    blocks: typeof content === "string" ? [{ type: "text", text: content }] : objectsIn(content)
  }))

const typed = ({ blocks }: Turn, type: string): ReadonlyArray<Fields> =>
  blocks.filter((block) => block["type"] === type)

/** The order of roles, and the pairs of calls and results. */
const checkTurn = (turns: ReadonlyArray<Turn>, index: number): Refusal | null => {
  const turn = turns[index]
  if (turn === undefined) return null
  if (turn.blocks.length === 0) return invalid(`messages.${index}: all messages must have non-empty content`)
  if (turn.role === turns[index - 1]?.role) return invalid(`messages.${index}: roles must alternate`)
  if (typed(turn, "text").some(({ text }) => textIn(text).trim() === ""))
    return invalid(`messages.${index}: text content blocks must contain non-whitespace text`)
  const ids = typed(turn, "tool_use").map(({ id }) => textIn(id))
  if (ids.some((id) => !/^[a-zA-Z0-9_-]+$/.test(id)))
    return invalid(`messages.${index}.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
  const next = turns[index + 1]
  const results =
    next === undefined ? [] : typed(next, "tool_result").map(({ tool_use_id: id }) => textIn(id))
  const open = ids.find((id) => !results.includes(id))
  if (open !== undefined)
    return invalid(
      `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open}.`
    )
  const alone = results.find((id) => !ids.includes(id))
  return alone === undefined
    ? null
    : invalid(`messages.${index + 1}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${alone}.`)
}

const checkTurns = (asked: Asked): Refusal | null => {
  const turns = turnsOf(asked)
  if (turns[0]?.role !== "user") return invalid('messages: first message must use the "user" role')
  if (turns.at(-1)?.role === "assistant")
    return invalid(
      "This model does not support assistant message prefill. The conversation must end with a user message."
    )
  return firstOf(...turns.map((_, index) => checkTurn(turns, index)))
}

/** The part of a request that a thinking block is bound to, without the marks of the cache. */
const prefixOf = ({ body }: Asked, messages: number): string =>
  JSON.stringify(
    [body["system"], body["tools"], objectsIn(body["messages"]).slice(0, messages)],
    (name, value) => (name === "cache_control" ? undefined : value)
  )

const bindingOf = (thinking: string, prefix: string): string => `${thinking}\n${prefix}`

/** Thinking comes back whole, and behind what it was written behind unless the request permits to drop it. */
const checkThinking = (asked: Asked, { issued }: Memory): Refusal | null => {
  const binding = fieldsIn(fieldsIn(asked.body["thinking"])["block_binding"])
  const mayDrop = binding["prefix_mismatch_behavior"] === "drop_block"
  const refusals = turnsOf(asked).flatMap((turn, index) =>
    typed(turn, "thinking").map(({ signature, thinking }) => {
      const bound = issued.get(textIn(signature))
      const place = `messages.${index}.content.0: Invalid \`signature\` in \`thinking\` block`
      if (bound === undefined || !bound.startsWith(bindingOf(textIn(thinking), ""))) return invalid(place)
      return mayDrop || bound === bindingOf(textIn(thinking), prefixOf(asked, index))
        ? null
        : invalid(
            `${place}. The block is bound to a different conversation. Remove the block, or set thinking.block_binding.prefix_mismatch_behavior to "drop_block".`
          )
    })
  )
  return firstOf(...refusals)
}

/** The rounds since the question. */
const openTurns = (asked: Asked): ReadonlyArray<Turn & { readonly index: number }> => {
  const turns = turnsOf(asked)
  const question = turns.findLastIndex(
    (turn) => turn.role === "user" && typed(turn, "tool_result").length === 0
  )
  return turns.flatMap((turn, index) =>
    index > question && typed(turn, "tool_use").length > 0 ? [{ ...turn, index }] : []
  )
}

const checkStrict = (asked: Asked): Refusal | null => {
  const { type } = fieldsIn(asked.body["thinking"])
  if (type === "enabled" || type === "disabled")
    return invalid(
      `"thinking.type.${type}" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`
    )
  if (asked.forced !== null) return invalid("tool_choice: forced tool use is not supported for this model.")
  const bare = openTurns(asked).find(
    ({ blocks }) => !["thinking", "redacted_thinking"].includes(String(blocks[0]?.["type"]))
  )
  return bare === undefined
    ? null
    : invalid(
        `messages.${bare.index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\`. When \`thinking\` is enabled, a final assistant message must start with a thinking block.`
      )
}

interface Demands {
  /** True if the server refuses calls without thinking, and forced calls. */
  readonly isStrict: boolean
  /** True if the server expects the marks of the cache. */
  readonly isMarked: boolean
}

const check =
  ({ isMarked, isStrict }: Demands) =>
  (asked: Asked, memory: Memory): Refusal | null => {
    const refused = firstOf(checkFields(asked), checkTurns(asked), isStrict ? checkStrict(asked) : null)
    return firstOf(refused, isMarked ? checkCache(asked, memory) : null, checkThinking(asked, memory))
  }

const typedEvent = (fields: Fields & { readonly type: string }): string => event(fields, fields.type)

const events = (asked: Asked, answer: Answer, { issued }: Memory): ReadonlyArray<string> => {
  const { calls, counts, end, mark, text, thought } = answer
  const shown = fieldsIn(asked.body["thinking"])["display"] === "summarized" ? thought : ""
  const thinks = thought !== "" && fieldsIn(asked.body["thinking"])["type"] !== "disabled"
  const signature = mark()
  if (thinks)
    issued.set(signature, bindingOf(shown, prefixOf(asked, objectsIn(asked.body["messages"]).length)))
  const usage = {
    input_tokens: counts.input - counts.cached - counts.written,
    cache_creation_input_tokens: counts.written,
    cache_read_input_tokens: counts.cached
  }
  const blocks = [
    ...(thinks
      ? [
          {
            block: { type: "thinking", thinking: "", signature: "" },
            deltas: [
              ...piecesOf(shown).map((thinking) => ({ type: "thinking_delta", thinking })),
              { type: "signature_delta", signature }
            ]
          }
        ]
      : []),
    ...(text === "" || end === "refusal"
      ? []
      : [
          {
            block: { type: "text", text: "" },
            deltas: piecesOf(text).map((piece) => ({ type: "text_delta", text: piece }))
          }
        ]),
    ...calls.map(({ arguments: args, name }) => ({
      block: { type: "tool_use", id: `toolu_${mark()}`, name, input: {} },
      deltas: ["", ...piecesOf(args)].map((partial_json) => ({ type: "input_json_delta", partial_json }))
    }))
  ]
  const stop_reason = calls.length > 0 ? "tool_use" : end === "refusal" ? "refusal" : "end_turn"
  const stop_details = end === "refusal" ? { type: "refusal", category: "cyber", explanation: text } : null
  const sent = [
    typedEvent({
      type: "message_start",
      message: { type: "message", role: "assistant", content: [], usage: { ...usage, output_tokens: 1 } }
    }),
    typedEvent({ type: "ping" }),
    ...blocks.flatMap(({ block, deltas }, index) => [
      typedEvent({ type: "content_block_start", index, content_block: block }),
      ...deltas.map((delta) => typedEvent({ type: "content_block_delta", index, delta })),
      typedEvent({ type: "content_block_stop", index })
    ])
  ]
  if (end === "cut") return sent.slice(0, -2)
  return [
    ...sent,
    typedEvent({
      type: "message_delta",
      delta: { stop_reason, stop_sequence: null, stop_details },
      usage: {
        ...usage,
        output_tokens: counts.output,
        output_tokens_details: { thinking_tokens: counts.reasoning }
      }
    }),
    typedEvent({ type: "message_stop" })
  ]
}

const failures: Failures = {
  rate: anthropicError(
    429,
    "rate_limit_error",
    "This request would exceed your organization's rate limit of 50,000 input tokens per minute.",
    { "anthropic-ratelimit-requests-remaining": "0" }
  ),
  overload: anthropicError(529, "overloaded_error", "Overloaded"),
  credit: invalid(
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
  ),
  filter: invalid("Output blocked by content filtering policy"),
  tooLong: (tokens, contextTokens) =>
    invalid(`prompt is too long: ${tokens} tokens > ${contextTokens} maximum`)
}

const common = { protocol: "messages", key: "x-api-key", failures, events } as const

export const anthropicProviders: ReadonlyArray<Provider> = [
  {
    ...common,
    name: "claude",
    label: "Claude Opus 5.5",
    check: check({ isMarked: true, isStrict: true }),
    model: { id: "claude-opus-5-5", vision: true, structuredOutput: true }
  },
  {
    ...common,
    name: "claudelenient",
    label: "Claude Haiku 5.5",
    check: check({ isMarked: true, isStrict: false }),
    model: { id: "claude-haiku-5-5", vision: true }
  },
  {
    ...common,
    name: "claudepackage",
    label: "Claude by @ai-sdk/anthropic",
    check: check({ isMarked: false, isStrict: false }),
    entry: {
      protocol: "ai-sdk",
      package: "@ai-sdk/anthropic",
      packageFolder: import.meta.dirname,
      providerOptions: { anthropic: { thinking: { type: "adaptive", display: "summarized" } } }
    },
    model: { id: "claude-opus-4-6", vision: true, structuredOutput: true }
  }
]
