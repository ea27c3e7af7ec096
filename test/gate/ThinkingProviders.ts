import { type Asked, callingIn, type Fields, fieldsIn, textIn } from "./Asked.ts"
import { checkPairs } from "./ChatRules.ts"
import { bareUsage, fullUsage } from "./ChatStream.ts"
import { chatProvider, type Provider } from "./Provider.ts"
import { type Failures, maximumContext, openAiError, type Refusal } from "./Refusal.ts"

/** DeepSeek, Kimi and Qwen, which force no calls while they think. The first two demand the thinking back. */

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

export const thinkingProviders: ReadonlyArray<Provider> = [
  chatProvider({
    name: "deepseek",
    label: "DeepSeek",
    failures: deepSeekFailures,
    check: checkDeepSeek,
    style: {
      comment: "keep-alive",
      usage: (counts) => ({
        ...fullUsage(counts),
        prompt_cache_hit_tokens: counts.cached,
        prompt_cache_miss_tokens: counts.input - counts.cached
      }),
      usageIn: "last"
    },
    dialect: "deepseek",
    model: "deepseek-v4",
    lacks: ["vision", "structuredOutput"]
  }),
  chatProvider({
    name: "kimi",
    label: "Kimi",
    failures: kimiFailures,
    check: checkKimi,
    style: {
      callId: (_mark, name, before) => `functions.${name}:${before}`,
      usage: (counts) => ({ ...bareUsage(counts), cached_tokens: counts.cached }),
      usageIn: "choice"
    },
    dialect: "moonshot",
    model: "kimi-k3"
  }),
  chatProvider({
    name: "qwen",
    label: "Qwen",
    failures: qwenFailures,
    check: checkQwen,
    style: { laterIds: "empty" },
    model: "qwen3.7-plus"
  })
]
