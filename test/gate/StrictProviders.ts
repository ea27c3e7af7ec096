import { type Asked, objectsIn } from "./Asked.ts"
import { checkPairs, firstOf, unknownName } from "./ChatRules.ts"
import { bareUsage, fullUsage } from "./ChatStream.ts"
import { chatProvider, type Provider } from "./Provider.ts"
import { type Failures, openAiError, openAiFailures, refusal, type Refusal } from "./Refusal.ts"

/** Mistral, Groq and xAI refuse fields that they don't know. */

// ---- Mistral

const mistralFields =
  "model temperature top_p max_tokens stream stop random_seed metadata messages response_format tools tool_choice presence_penalty frequency_penalty n prediction parallel_tool_calls reasoning_effort prompt_mode safe_prompt".split(
    " "
  )

const mistralError = (status: number, message: string, type: string, code: string | null = null) =>
  refusal(status, message, { object: "error", message, type, param: null, code })

/** The message is an object here. */
const mistralExtra = (...names: ReadonlyArray<string | number>): Refusal => {
  const detail = [{ type: "extra_forbidden", loc: ["body", ...names], msg: "Extra inputs are not permitted" }]
  return refusal(422, `${names.join(".")}: Extra inputs are not permitted`, {
    object: "error",
    message: { detail },
    type: "invalid_request_error",
    param: null,
    code: null
  })
}

const mistralFailures: Failures = {
  rate: mistralError(429, "Requests rate limit exceeded", "rate_limited", "1300"),
  overload: mistralError(503, "Service unavailable.", "internal_server_error", "3000"),
  credit: mistralError(402, "Payment required: your account has no credit left.", "payment_required"),
  filter: mistralError(
    403,
    "The request was blocked by a guardrail: flagged by moderation.",
    "guardrail",
    "guardrail"
  ),
  tooLong: (tokens, contextTokens) =>
    mistralError(
      400,
      `Prompt contains ${tokens} tokens, too large for model with ${contextTokens} maximum context length`,
      "invalid_request_prompt",
      "3051"
    )
}

const mistralOrder = (message: string) => mistralError(400, message, "invalid_request_message_order", "3230")

const checkMistralMessage = ({ body, messages }: Asked, index: number): Refusal | null => {
  const message = messages[index]
  if (message === undefined) return null
  const extra = unknownName(message.fields, [
    "role",
    "content",
    "tool_calls",
    "tool_call_id",
    "name",
    "prefix"
  ])
  if (extra !== undefined) return mistralExtra("messages", index, message.role, extra)
  const ids = [...message.calls.map(({ id }) => id), ...(message.role === "tool" ? [message.callId] : [])]
  const odd = ids.find((id) => !/^[a-zA-Z0-9]{9}$/.test(id))
  if (odd !== undefined)
    return mistralError(
      400,
      `Tool call id was ${odd} but must be a-z, A-Z, 0-9, with a length of 9.`,
      "invalid_function_call",
      "3280"
    )
  const before = messages[index - 1]?.role
  if ((message.role === "user" && before === "tool") || (message.role === "tool" && before === "user"))
    return mistralOrder(`Unexpected role '${message.role}' after role '${before}'`)
  const isLast = index === objectsIn(body["messages"]).length - 1
  return isLast && message.role === "assistant" && message.fields["prefix"] !== true
    ? mistralOrder(
        "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
      )
    : null
}

const checkMistral = (asked: Asked): Refusal | null => {
  const extra = unknownName(asked.body, mistralFields)
  if (extra !== undefined) return mistralExtra(extra)
  return firstOf(...asked.messages.map((_, index) => checkMistralMessage(asked, index)), checkPairs(asked))
}

// ---- Groq

const groqFields =
  "model messages temperature top_p max_tokens max_completion_tokens stream stop seed response_format tools tool_choice presence_penalty frequency_penalty n parallel_tool_calls reasoning_effort reasoning_format include_reasoning service_tier user stream_options logit_bias logprobs top_logprobs".split(
    " "
  )

const groqFailures: Failures = {
  ...openAiFailures,
  rate: openAiError(
    429,
    "Rate limit reached for model `openai/gpt-oss-120b` on tokens per minute (TPM): Limit 8000, Used 7972, Requested 4351. Please try again in 10ms.",
    { type: "tokens", code: "rate_limit_exceeded" },
    { "retry-after-ms": "10" }
  ),
  overload: openAiError(503, "Service unavailable", { type: "internal_server_error" }),
  filter: null,
  tooLong: () =>
    openAiError(400, "Please reduce the length of the messages or completion.", {
      param: "messages",
      code: "context_length_exceeded"
    })
}

const checkGroq = (asked: Asked): Refusal | null => {
  const alien = unknownName(asked.body, groqFields)
  if (alien !== undefined) return openAiError(400, `property '${alien}' is unsupported`)
  const extras = asked.messages.map(({ fields, role }, index) => {
    const own = role === "assistant" ? ["tool_calls"] : ["tool_call_id"]
    const extra = unknownName(fields, ["role", "content", "name", ...own])
    return extra === undefined
      ? null
      : openAiError(
          400,
          `'messages.${index}' : for 'role:${role}' the following must be satisfied[('messages.${index}' : property '${extra}' is unsupported)]`
        )
  })
  return firstOf(...extras, checkPairs(asked))
}

// ---- xAI

const xaiError = (status: number, code: string, error: string) => refusal(status, error, { code, error })
const xaiInvalid = (error: string) => xaiError(400, "Client specified an invalid argument", error)

const xaiFailures: Failures = {
  rate: xaiError(
    429,
    "Some resource has been exhausted",
    "Too many requests for team. Your team's rate limit is reached."
  ),
  overload: xaiError(
    503,
    "The service is currently unavailable",
    "The model is at capacity. Please try again later."
  ),
  credit: xaiError(
    403,
    "The caller does not have permission to execute the specified operation",
    "Your team has either used all available credits or reached its monthly spending limit."
  ),
  filter: xaiError(
    403,
    "The caller does not have permission",
    "Content violates usage guidelines: flagged by safety."
  ),
  tooLong: (tokens, contextTokens) =>
    xaiInvalid(
      `This model's maximum prompt length is ${contextTokens} but the request contains ${tokens} tokens.`
    )
}

const xaiRefused = [
  ["presence_penalty", "presencePenalty"],
  ["frequency_penalty", "frequencyPenalty"],
  ["stop", "stop"],
  ["reasoning_effort", "reasoningEffort"]
] as const

const checkXai = ({ body }: Asked): Refusal | null => {
  const refused = xaiRefused.find(([name]) => body[name] !== undefined)
  return refused === undefined
    ? null
    : xaiInvalid(`Model ${String(body["model"])} does not support parameter ${refused[1]}.`)
}

export const strictProviders: ReadonlyArray<Provider> = [
  chatProvider({
    name: "mistral",
    label: "Mistral",
    failures: mistralFailures,
    check: checkMistral,
    style: {
      thoughts: "chunks",
      calls: "together",
      callId: (mark) => `mi${mark.replaceAll(/\D/g, "").padStart(7, "0")}`,
      usage: (counts) => ({ ...bareUsage(counts), num_cached_tokens: counts.cached }),
      usageIn: "last"
    },
    dialect: "mistral",
    model: "mistral-medium-3.5"
  }),
  chatProvider({
    name: "groq",
    label: "Groq",
    failures: groqFailures,
    check: checkGroq,
    style: { thoughts: "reasoning", calls: "whole", usageIn: "groq" },
    dialect: "groq",
    model: "openai/gpt-oss-120b",
    lacks: ["vision"]
  }),
  chatProvider({
    name: "xai",
    label: "xAI",
    failures: xaiFailures,
    check: checkXai,
    style: {
      calls: "whole",
      // The output leaves the thoughts out.
      usage: (counts) => ({ ...fullUsage(counts), completion_tokens: counts.output - counts.reasoning }),
      usageIn: "last"
    },
    dialect: "xai",
    model: "grok-4.5"
  })
]
