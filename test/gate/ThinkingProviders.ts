import { type Asked, callingIn, type Fields, fieldsIn, objectsIn, textIn } from "./Asked.ts"
import { checkPairs, openRounds } from "./ChatRules.ts"
import { bareUsage, fullUsage } from "./ChatStream.ts"
import { chatProvider, type Memory, type Provider } from "./Provider.ts"
import {
  behindGateway,
  type Failures,
  googleError,
  maximumContext,
  openAiError,
  refusal,
  type Refusal
} from "./Refusal.ts"

/** Models of DeepSeek, Kimi, Qwen and Gemini on Chat Completions, alone and behind OpenRouter: they demand or refuse what others don't. */

const codeless = { code: "invalid_request_error" }

// ---- DeepSeek

const deepSeekFailures: Failures = {
  rate: openAiError(429, "Rate limit reached.", { code: "rate_limit_reached" }),
  overload: openAiError(503, "Service is too busy.", { type: "service_unavailable_error" }),
  credit: openAiError(402, "Insufficient Balance", { type: "unknown_error", ...codeless }),
  filter: openAiError(400, "Content Exists Risk", codeless),
  tooLong: (tokens, contextTokens) => openAiError(400, maximumContext(tokens, contextTokens), codeless)
}

const checkDeepSeek = (asked: Asked): Refusal | null => {
  const { body, forced, messages, tools } = asked
  if (fieldsIn(body["response_format"])["type"] === "json_schema")
    return openAiError(400, "This response_format type is unavailable now", codeless)
  const bad = tools.find(({ schema }) => schema["type"] !== "object")
  if (bad !== undefined)
    return openAiError(
      400,
      `Invalid schema for function '${bad.name}': schema must be a JSON Schema of 'type: "object"', got 'type: null'.`,
      codeless
    )
  if (fieldsIn(body["thinking"])["type"] === "disabled") return checkPairs(asked)
  if (forced !== null) return openAiError(400, "Thinking mode does not support this tool_choice", codeless)
  return callingIn(messages).some(({ fields }) => typeof fields["reasoning_content"] !== "string")
    ? openAiError(
        400,
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        codeless
      )
    : checkPairs(asked)
}

// ---- Kimi

const kimiFailures: Failures = {
  rate: openAiError(429, "Your account reached organization max RPM: 3, please try again later", {
    type: "rate_limit_reached_error"
  }),
  overload: openAiError(429, "The engine is currently overloaded, please try again later", {
    type: "engine_overloaded_error"
  }),
  credit: openAiError(429, "Your account is suspended, please check your plan and billing details", {
    type: "exceeded_current_quota_error"
  }),
  filter: openAiError(400, "The request was rejected because it was considered high risk", {
    type: "content_filter"
  }),
  tooLong: (tokens, contextTokens) =>
    openAiError(
      400,
      `Invalid request: Your request exceeded model token limit: ${contextTokens} (requested: ${tokens})`
    )
}

const untyped = (schema: Fields): string | undefined =>
  Object.entries(fieldsIn(schema["properties"])).find(
    ([, part]) => !["type", "anyOf", "oneOf", "allOf", "$ref"].some((word) => word in fieldsIn(part))
  )?.[0]

const checkKimi = (asked: Asked): Refusal | null => {
  const { body, forced, messages, tools } = asked
  const { temperature } = body
  if (temperature !== undefined && temperature !== 1)
    return openAiError(400, "invalid temperature: only 1 is allowed for this model")
  const path = tools.map(({ schema }) => untyped(schema)).find((name) => name !== undefined)
  if (path !== undefined)
    return openAiError(
      400,
      `Invalid request: tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'properties.${path}': type is not defined>`
    )
  if (forced !== null) return openAiError(400, "tool_choice specified is incompatible with thinking enabled")
  const silent = callingIn(messages).find(({ fields }) => textIn(fields["reasoning_content"]) === "")
  return silent === undefined
    ? checkPairs(asked)
    : openAiError(
        400,
        `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${silent.index}`
      )
}

// ---- Qwen

const qwenFailures: Failures = {
  rate: openAiError(429, "You exceeded your current requests list.", {
    type: "limit_requests",
    code: "limit_requests"
  }),
  overload: openAiError(503, "The service is overloaded, please try again later.", {
    code: "ServiceUnavailable"
  }),
  credit: openAiError(400, "Access denied, please make sure your account is in good standing.", {
    type: "Arrearage",
    code: "Arrearage"
  }),
  filter: openAiError(
    400,
    "InternalError.Algo.DataInspectionFailed: Input text data may contain inappropriate content.",
    {
      code: "data_inspection_failed"
    }
  ),
  tooLong: (_tokens, contextTokens) =>
    openAiError(400, `Range of input length should be [1, ${contextTokens}]`, {
      code: "invalid_parameter_error"
    })
}

const checkQwen = (asked: Asked): Refusal | null =>
  asked.forced === null
    ? checkPairs(asked)
    : openAiError(
        400,
        "The tool_choice parameter does not support being set to required or object in thinking mode",
        { code: "invalid_parameter_error" }
      )

// ---- Gemini

const invalid = (message: string) => googleError(400, "INVALID_ARGUMENT", message)

const geminiFailures: Failures = {
  rate: googleError(
    429,
    "RESOURCE_EXHAUSTED",
    "You exceeded your current quota, please check your plan and billing details.",
    [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "0.01s" }]
  ),
  overload: googleError(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
  credit: googleError(402, "FAILED_PRECONDITION", "Your prepayment credits are depleted."),
  filter: invalid("The prompt was blocked due to safety (PROHIBITED_CONTENT)."),
  tooLong: (_tokens, contextTokens) =>
    invalid(`The input token count exceeds the maximum number of tokens allowed (${contextTokens}).`)
}

const geminiUnknown = ["frequency_penalty", "verbosity", "reasoning", "top_k", "extra_body"]
const geminiKeywords = ["$ref", "propertyNames", "if"]

const unsignedCall = (name: string, position: number): string =>
  `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly. Additional data, function call \`default_api:${name}\` , position ${position}.`

const checkGemini = (asked: Asked, { issued }: Memory): Refusal | null => {
  const alien = geminiUnknown.find((name) => asked.body[name] !== undefined)
  if (alien !== undefined)
    return invalid(`Invalid JSON payload received. Unknown name "${alien}": Cannot find field.`)
  const keyword = geminiKeywords.find((word) =>
    asked.tools.some(({ schema }) => JSON.stringify(schema).includes(`"${word}":`))
  )
  if (keyword !== undefined)
    return invalid(
      `Invalid JSON payload received. Unknown name "${keyword}" at 'tools[0].function_declarations[0].parameters': Cannot find field.`
    )
  const signatureOf = (call: Fields | undefined) =>
    textIn(fieldsIn(fieldsIn(call?.["extra_content"])["google"])["thought_signature"])
  const bare = openRounds(asked).find(({ calls }) => {
    const signature = signatureOf(calls[0]?.fields)
    return signature !== "skip_thought_signature_validator" && !issued.has(signature)
  })
  return bare === undefined ? null : invalid(unsignedCall(bare.calls[0]?.name ?? "", bare.index))
}

// ---- OpenRouter, with a model of Google behind it

const openRouterError = (code: number, message: string, metadata?: object) =>
  refusal(code, message, { error: { message, code, ...(metadata === undefined ? {} : { metadata }) } })

const openRouterFailures: Failures = {
  rate: openRouterError(429, "Rate limit exceeded: free-models-per-min.", {
    headers: { "X-RateLimit-Limit": "20" }
  }),
  overload: openRouterError(502, "Provider returned error", {
    raw: "overloaded",
    provider_name: "Google AI Studio"
  }),
  credit: openRouterError(402, "Insufficient credits. Add more using https://openrouter.ai/settings/credits"),
  filter: openRouterError(403, "Your chosen model requires moderation and your input was flagged", {
    reasons: ["violence"],
    provider_name: "OpenAI"
  }),
  tooLong: (tokens, contextTokens) =>
    openRouterError(
      400,
      `This endpoint's maximum context length is ${contextTokens} tokens. However, you requested about ${tokens} tokens. Please reduce the length of either one.`
    )
}

const checkOpenRouter = (asked: Asked, { issued }: Memory): Refusal | null => {
  const lost = openRounds(asked).find(
    ({ fields }) =>
      !objectsIn(fields["reasoning_details"]).some(
        ({ data, type }) => type === "reasoning.encrypted" && issued.has(textIn(data))
      )
  )
  return lost === undefined
    ? checkPairs(asked)
    : behindGateway("Google AI Studio", invalid(unsignedCall(lost.calls[0]?.name ?? "", lost.index)))
}

export const thinkingProviders: ReadonlyArray<Provider> = [
  chatProvider({
    name: "deepseek",
    label: "DeepSeek",
    key: "authorization",
    failures: deepSeekFailures,
    check: checkDeepSeek,
    style: {
      thoughts: "reasoning_content",
      calls: "pieces",
      refusal: "finish",
      comment: "keep-alive",
      usage: (counts) => ({
        ...fullUsage(counts),
        prompt_cache_hit_tokens: counts.cached,
        prompt_cache_miss_tokens: counts.input - counts.cached
      }),
      usageIn: "last"
    },
    entry: { dialect: "deepseek" },
    model: { id: "deepseek-v4" }
  }),
  chatProvider({
    name: "kimi",
    label: "Kimi",
    key: "authorization",
    failures: kimiFailures,
    check: checkKimi,
    style: {
      thoughts: "reasoning_content",
      calls: "pieces",
      callId: (_mark, name, before) => `functions.${name}:${before}`,
      refusal: "finish",
      usage: (counts) => ({ ...bareUsage(counts), cached_tokens: counts.cached }),
      usageIn: "choice"
    },
    entry: { dialect: "moonshot" },
    model: { id: "kimi-k3", vision: true, structuredOutput: true }
  }),
  chatProvider({
    name: "qwen",
    label: "Qwen",
    key: "authorization",
    failures: qwenFailures,
    check: checkQwen,
    style: {
      thoughts: "reasoning_content",
      calls: "pieces",
      laterIds: "empty",
      refusal: "finish",
      usage: fullUsage,
      usageIn: "event"
    },
    model: { id: "qwen3.7-plus", vision: true, structuredOutput: true }
  }),
  chatProvider({
    name: "gemini",
    label: "Gemini",
    key: "authorization",
    failures: geminiFailures,
    check: checkGemini,
    style: {
      thoughts: "hidden",
      calls: "whole",
      isUnindexed: true,
      isSigned: true,
      refusal: "finish",
      // The thoughts are in the total only.
      usage: (counts) => ({ ...bareUsage(counts), completion_tokens: counts.output - counts.reasoning }),
      usageIn: "last"
    },
    entry: { dialect: "gemini" },
    model: { id: "gemini-3.5-pro", vision: true, structuredOutput: true }
  }),
  chatProvider({
    name: "openrouter",
    label: "OpenRouter",
    key: "authorization",
    failures: openRouterFailures,
    check: checkOpenRouter,
    style: {
      thoughts: "details",
      calls: "pieces",
      refusal: "finish",
      comment: "OPENROUTER PROCESSING",
      usage: (counts) => ({ ...fullUsage(counts), cost: 0.0012, is_byok: false }),
      usageIn: "event",
      inChunk: { provider: "Google AI Studio" },
      inChoice: { native_finish_reason: null }
    },
    entry: { dialect: "openrouter" },
    model: { id: "google/gemini-3.5-pro", vision: true, structuredOutput: true }
  })
]
