import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { ModelFailureReason } from "../../src/domain/Errors.ts"
import { AnswerReader } from "../../src/providers/AnswerReader.ts"
import { askedWait, classify, type Fault, toModelFailure } from "../../src/providers/Fault.ts"
import { statusFault } from "../../src/providers/FaultCause.ts"
import { type ProtocolName, protocols } from "../../src/providers/ModelServer.ts"
import { decodeErrorBody } from "../../src/providers/ServerError.ts"

interface Expected {
  readonly reason: ModelFailureReason
  readonly contextTokens?: number
  readonly isRetryable?: true
  /** The log's advice to the operator. */
  readonly advice?: RegExp
  /** The server's words in the log. */
  readonly says?: RegExp
}

const account: Expected = { reason: "misconfigured", advice: /credit or quota/ }
const wrongKey: Expected = { reason: "unauthorized", advice: /the provider's key/ }
const wrongModel: Expected = { reason: "misconfigured", advice: /the model's name/ }
const limited: Expected = { reason: "rate_limited", isRetryable: true }
const failing: Expected = { reason: "server_error", isRetryable: true }
const broken: Expected = { reason: "in_stream", isRetryable: true }
const badCall: Expected = { reason: "malformed", isRetryable: true }
const refused: Expected = { reason: "content_refused" }
const rejected = (says: RegExp): Expected => ({ reason: "bad_request", says })
const tooLong = (contextTokens?: number): Expected => ({
  reason: "context_length",
  ...(contextTokens === undefined ? {} : { contextTokens })
})

const openAi = (message: string, more: Readonly<Record<string, unknown>> = {}) => ({
  error: { message, type: "invalid_request_error", param: null, code: null, ...more }
})
const anthropic = (type: string, message: string) => ({ type: "error", error: { type, message } })
const google = (code: number, status: string, message: string, details: ReadonlyArray<unknown> = []) => [
  { error: { code, message, status, details } }
]
const mistral = (message: unknown, type: string, code: string | null) => ({
  object: "error",
  message,
  type,
  param: null,
  code
})
const xAi = (code: string, error: string) => ({ code, error })
const openRouter = (code: number, message: string, metadata?: unknown) => ({
  error: { code, message, ...(metadata === undefined ? {} : { metadata }) }
})
const behindOpenRouter = (code: number, raw: unknown) =>
  openRouter(code, "Provider returned error", { raw, provider_name: "Some Provider" })
const liteLlm = (message: string, type: string | null, code: string) => openAi(message, { type, code })
const extraField = [
  {
    type: "extra_forbidden",
    loc: ["body", "stream_options", "include_usage"],
    msg: "Extra inputs are not permitted",
    input: "a part of the request"
  }
]

type Row = readonly [provider: string, cause: string, status: number, body: unknown, expected: Expected]

const bodies: ReadonlyArray<Row> = [
  // ---- no room in the context
  [
    "OpenAI",
    "context, old text",
    400,
    openAi(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9011 tokens.",
      { code: "context_length_exceeded" }
    ),
    tooLong(8192)
  ],
  [
    "OpenAI",
    "context, new text",
    400,
    openAi(
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 477469 tokens.",
      {
        code: "context_length_exceeded"
      }
    ),
    tooLong(272_000)
  ],
  [
    "OpenAI",
    "more tokens than a minute has",
    429,
    openAi(
      "Request too large for gpt-x in organization org-a on tokens per min (TPM): Limit 30000, Requested 41000.",
      { type: "tokens", code: "rate_limit_exceeded" }
    ),
    tooLong(30_000)
  ],
  [
    "Groq",
    "more tokens than a minute has",
    413,
    openAi(
      "Request too large for model `m` in organization `org_a` service tier `on_demand` on tokens per minute (TPM): Limit 8000, Requested 12345, please reduce your message size and try again.",
      { type: "tokens", code: "rate_limit_exceeded" }
    ),
    tooLong(8000)
  ],
  [
    "Groq",
    "context",
    400,
    openAi("Please reduce the length of the messages or completion.", { code: "context_length_exceeded" }),
    tooLong()
  ],
  [
    "Anthropic",
    "context",
    400,
    anthropic("invalid_request_error", "prompt is too long: 1009303 tokens > 1000000 maximum"),
    tooLong(1_000_000)
  ],
  [
    "Gemini",
    "context",
    400,
    google(
      400,
      "INVALID_ARGUMENT",
      "The input token count exceeds the maximum number of tokens allowed (1048576)."
    ),
    tooLong(1_048_576)
  ],
  [
    "DeepSeek",
    "context",
    400,
    openAi(
      "This model's maximum context length is 131072 tokens. However, you requested 141980 tokens (133980 in the messages, 8000 in the completion).",
      { code: "invalid_request_error" }
    ),
    tooLong(131_072)
  ],
  [
    "Kimi",
    "context",
    400,
    openAi("Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)"),
    tooLong(262_144)
  ],
  [
    "Qwen",
    "context",
    400,
    openAi("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]", {
      code: "invalid_parameter_error"
    }),
    tooLong(204_800)
  ],
  [
    "Mistral",
    "context",
    400,
    mistral(
      "Prompt contains 131100 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
      "invalid_request_prompt",
      "3051"
    ),
    tooLong(131_072)
  ],
  [
    "xAI",
    "context",
    400,
    xAi(
      "Client specified an invalid argument",
      "This model's maximum prompt length is 131072 but the request contains 136973 tokens."
    ),
    tooLong(131_072)
  ],
  [
    "OpenRouter",
    "context",
    400,
    openRouter(
      400,
      "This endpoint's maximum context length is 163840 tokens. However, you requested about 243013 tokens."
    ),
    tooLong(163_840)
  ],
  [
    "OpenRouter",
    "context, said by the provider behind it",
    400,
    behindOpenRouter(
      400,
      JSON.stringify(anthropic("invalid_request_error", "prompt is too long: 209303 tokens > 200000 maximum"))
    ),
    tooLong(200_000)
  ],
  [
    "LiteLLM",
    "context, said by the provider behind it",
    400,
    liteLlm(
      `litellm.BadRequestError: AnthropicException - ${JSON.stringify(anthropic("invalid_request_error", "prompt is too long: 209303 tokens > 200000 maximum"))}. Received Model Group=claude`,
      null,
      "400"
    ),
    tooLong(200_000)
  ],
  [
    "LiteLLM",
    "context, as a failure",
    503,
    liteLlm(
      "litellm.ServiceUnavailableError: prompt is too long: 209303 tokens > 200000 maximum",
      null,
      "503"
    ),
    tooLong(200_000)
  ],
  [
    "llama.cpp",
    "context",
    400,
    {
      error: {
        code: 400,
        message: "the request exceeds the available context size. try increasing the context size",
        type: "exceed_context_size_error",
        n_prompt_tokens: 14_429,
        n_ctx: 8192
      }
    },
    tooLong(8192)
  ],
  [
    "vLLM",
    "context",
    400,
    openAi(
      "This model's maximum context length is 32768 tokens. However, your request has 40000 input tokens.",
      {
        type: "BadRequestError",
        code: 400
      }
    ),
    tooLong(32_768)
  ],
  [
    "SGLang",
    "context",
    400,
    mistral(
      "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
      "BadRequestError",
      "400"
    ),
    tooLong(40_960)
  ],
  // ---- what the provider's policy forbids
  [
    "OpenAI",
    "content",
    400,
    openAi("Invalid prompt: your prompt was rejected. Try again with a different prompt.", {
      code: "invalid_prompt"
    }),
    refused
  ],
  [
    "Azure",
    "content",
    400,
    {
      error: {
        message: "The response was filtered. Please modify your prompt and retry.",
        type: null,
        param: "prompt",
        code: "400",
        status: 400,
        innererror: { code: "ResponsibleAIPolicyViolation", content_filter_result: {} }
      }
    },
    refused
  ],
  [
    "Anthropic",
    "content",
    400,
    anthropic("invalid_request_error", "Output blocked by content filtering policy"),
    refused
  ],
  [
    "Gemini",
    "content",
    400,
    google(400, "INVALID_ARGUMENT", "The prompt was blocked (PROHIBITED_CONTENT)."),
    refused
  ],
  ["DeepSeek", "content", 400, openAi("Content Exists Risk", { code: "invalid_request_error" }), refused],
  ["Kimi", "content", 400, openAi("The request was rejected because it was considered high risk"), refused],
  [
    "Qwen",
    "content",
    400,
    openAi(
      "<400> InternalError.Algo.DataInspectionFailed: Input text data may contain inappropriate content."
    ),
    refused
  ],
  ["Mistral", "content", 403, mistral("The input was blocked by a guardrail", "guardrail", "3800"), refused],
  [
    "OpenRouter",
    "content",
    403,
    openRouter(403, "Your chosen model requires moderation and your input was flagged", {
      reasons: ["violence"],
      flagged_input: "a piece of the prompt"
    }),
    refused
  ],
  // ---- an account without credit or quota
  [
    "OpenAI",
    "quota",
    429,
    openAi("You exceeded your current quota, please check your plan and billing details.", {
      type: "insufficient_quota",
      code: "credit_balance_exhausted"
    }),
    account
  ],
  [
    "Anthropic",
    "credit",
    400,
    anthropic(
      "invalid_request_error",
      "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
    ),
    { ...account, says: /^Your credit balance is too low/ }
  ],
  [
    "Gemini",
    "credit",
    402,
    google(402, "FAILED_PRECONDITION", "Your prepayment credits are depleted."),
    account
  ],
  [
    "Qwen",
    "credit",
    400,
    openAi("Access denied, please make sure your account is in good standing.", {
      type: "Arrearage",
      code: "Arrearage"
    }),
    account
  ],
  ["DeepSeek", "credit", 402, openAi("Insufficient Balance", { code: "invalid_request_error" }), account],
  [
    "Kimi",
    "quota",
    429,
    openAi("Your account org-a is suspended, please check your plan", {
      type: "exceeded_current_quota_error"
    }),
    account
  ],
  [
    "Kimi",
    "quota",
    403,
    openAi("Your account is suspended", { type: "exceeded_current_quota_error" }),
    account
  ],
  [
    "Qwen",
    "quota",
    403,
    openAi("The free tier of the model has been exhausted.", { code: "AllocationQuota.FreeTierOnly" }),
    account
  ],
  ["Mistral", "limit of spending", 402, { message: "You have reached your monthly spending limit" }, account],
  [
    "xAI",
    "credit",
    403,
    xAi(
      "The caller does not have permission to execute the operation",
      "Your team has used all available credits."
    ),
    account
  ],
  ["OpenRouter", "credit", 402, openRouter(402, "Insufficient credits. Add more."), account],
  [
    "OpenRouter",
    "credit, said by the provider behind it",
    400,
    behindOpenRouter(
      400,
      anthropic("invalid_request_error", "Your credit balance is too low to access the API.")
    ),
    account
  ],
  [
    "LiteLLM",
    "budget",
    400,
    liteLlm("Budget has been exceeded! Current cost: 12.3, Max budget: 10.0", "budget_exceeded", "400"),
    account
  ],
  [
    "LiteLLM",
    "credit, said by the provider behind it",
    400,
    liteLlm(
      `litellm.BadRequestError: AnthropicException - b'${JSON.stringify(anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."))}'`,
      null,
      "400"
    ),
    account
  ],
  // ---- a key, or a model, of the settings
  [
    "OpenAI",
    "key",
    401,
    openAi("Incorrect API key provided: sk-scri***pted.", { code: "invalid_api_key" }),
    { ...wrongKey, says: /^Incorrect API key provided: \[redacted\]/ }
  ],
  [
    "DeepSeek",
    "key",
    401,
    openAi("Authentication Fails, Your api key: ****pted is invalid"),
    { ...wrongKey, says: /api key: \[redacted\] is/ }
  ],
  [
    "Azure",
    "key",
    401,
    { error: { code: "401", message: "Access denied due to invalid subscription key." } },
    wrongKey
  ],
  [
    "Gemini",
    "key",
    400,
    google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    wrongKey
  ],
  [
    "xAI",
    "key",
    400,
    xAi("Client specified an invalid argument", "Incorrect API key provided: xa***ed."),
    { ...wrongKey, says: /provided: \[redacted\]/ }
  ],
  ["Mistral", "key", 401, { detail: "Unauthorized" }, { ...wrongKey, says: /^Unauthorized$/ }],
  ["vLLM", "key", 401, { error: "Unauthorized" }, { ...wrongKey, says: /^Unauthorized$/ }],
  [
    "Groq",
    "model",
    400,
    openAi("The model `m` has been decommissioned.", { code: "model_decommissioned" }),
    wrongModel
  ],
  ["DeepSeek", "model", 400, openAi("Model Not Exist", { code: "invalid_request_error" }), wrongModel],
  // ---- limits and overload
  [
    "OpenAI",
    "rate",
    429,
    openAi("Please slow down.", { type: "rate_limit_error", code: "slow_down" }),
    limited
  ],
  [
    "Gemini",
    "rate",
    429,
    google(
      429,
      "RESOURCE_EXHAUSTED",
      "You exceeded your current quota, please check your plan and billing details."
    ),
    limited
  ],
  [
    "Groq",
    "rate",
    429,
    openAi(
      "Rate limit reached for model `m` on tokens per minute (TPM): Limit 8000, Used 7972, Requested 4351. Please try again in 1.2s. Need more tokens? Upgrade today at https://console.groq.com/settings/billing",
      { type: "tokens", code: "rate_limit_exceeded" }
    ),
    limited
  ],
  [
    "xAI",
    "rate",
    429,
    xAi("Some resource has been exhausted", "Too many requests for team."),
    { ...limited, says: /^Some resource has been exhausted: Too many/ }
  ],
  [
    "Kimi",
    "overload",
    429,
    openAi("The engine is currently overloaded, please try again later", { type: "engine_overloaded_error" }),
    failing
  ],
  [
    "OpenAI",
    "overload",
    503,
    openAi("Overloaded.", { type: "service_unavailable_error", code: "server_is_overloaded" }),
    failing
  ],
  ["Anthropic", "overload", 529, anthropic("overloaded_error", "Overloaded"), failing],
  [
    "llama.cpp",
    "loading",
    503,
    { error: { code: 503, message: "Loading model", type: "unavailable_error" } },
    { ...failing, says: /^Loading model$/ }
  ],
  [
    "OpenRouter",
    "overload, said by the provider behind it",
    502,
    behindOpenRouter(502, "overloaded"),
    { ...failing, says: /^overloaded$/ }
  ],
  [
    "a proxy",
    "failure",
    502,
    "<html><head><title>502 Bad Gateway</title></head><body>…</body></html>",
    { ...failing, says: /^502 Bad Gateway$/ }
  ],
  // ---- a bad call of the model
  [
    "Groq",
    "bad call",
    400,
    openAi("Failed to call a function.", { code: "tool_use_failed", failed_generation: "<function" }),
    badCall
  ],
  [
    "Ollama",
    "bad call",
    500,
    openAi("error parsing tool call: raw='{\"a', err=unexpected end of JSON input", { type: "api_error" }),
    { ...badCall, says: /^error parsing tool call: raw= \[withheld\]$/ }
  ],
  [
    "llama.cpp",
    "bad call",
    500,
    openAi("Failed to parse input at pos 12: <tool_call>{", { code: 500, type: "server_error" }),
    { ...badCall, says: /^Failed to parse input at pos 12: \[withheld\]$/ }
  ],
  // ---- what the request asks for
  [
    "Mistral",
    "a field",
    422,
    mistral({ detail: extraField }, "invalid_request_error", null),
    rejected(/^stream_options\.include_usage: Extra inputs are not permitted \(extra_forbidden\)$/)
  ],
  [
    "Mistral",
    "a field, as a list",
    422,
    mistral(extraField, "invalid_request_error", null),
    rejected(/^stream_options/)
  ],
  ["vLLM", "a field", 422, { detail: extraField }, rejected(/^stream_options/)],
  [
    "xAI",
    "a field",
    400,
    xAi("Client specified an invalid argument", "Model m does not support parameter stop."),
    rejected(/does not support parameter stop/)
  ],
  [
    "OpenRouter",
    "a field, said by the provider behind it",
    400,
    behindOpenRouter(400, JSON.stringify(openAi("Unsupported parameter: 'stop'."))),
    rejected(/^Unsupported parameter: 'stop'/)
  ],
  [
    "llama.cpp",
    "a schema, as a failure",
    500,
    openAi("Unable to generate parser for this template. Pattern must start with '^'", {
      code: 500,
      type: "server_error"
    }),
    rejected(/^Unable to generate parser/)
  ],
  [
    "OpenAI",
    "a function named like a cause",
    400,
    openAi("Invalid schema for function 'content_filter': 'billing' is no type.", {
      code: "invalid_function_parameters"
    }),
    rejected(/^Invalid schema/)
  ],
  [
    "OpenAI",
    "a prompt that quotes a cause",
    400,
    openAi("Invalid value: 'Your credit balance is too low, unknown model'."),
    rejected(/^Invalid value/)
  ]
]

const event = (data: unknown, name?: string): string =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`

const chunk = { choices: [{ index: 0, delta: { content: "So" }, finish_reason: null }] }
const lastChunk = (reason: string, more: Readonly<Record<string, unknown>> = {}) => ({
  choices: [{ index: 0, delta: { content: "" }, finish_reason: reason }],
  ...more
})

type StreamRow = readonly [
  provider: string,
  cause: string,
  bytes: string,
  expected: Expected,
  protocol?: ProtocolName
]

/** Answers whose status is 200. */
const streams: ReadonlyArray<StreamRow> = [
  [
    "Gemini",
    "overload",
    event(chunk) + event(google(503, "UNAVAILABLE", "The model is overloaded.")),
    broken
  ],
  [
    "Gemini",
    "key, as a whole list",
    JSON.stringify(google(400, "INVALID_ARGUMENT", "API key not valid.")),
    wrongKey
  ],
  ["xAI", "overload", event(xAi("The service is currently unavailable", "The model is at capacity")), broken],
  ["Mistral", "failure", event(mistral("Service unavailable.", "internal_server_error", "3000")), broken],
  ["Mistral", "key", JSON.stringify({ detail: "Unauthorized" }), wrongKey],
  [
    "OpenRouter",
    "failure",
    event(
      lastChunk("error", openRouter(502, "Provider disconnected", { error_type: "provider_unavailable" }))
    ),
    broken
  ],
  ["OpenRouter", "rate", event(lastChunk("error", openRouter(429, "Rate limit exceeded"))), limited],
  ["OpenRouter", "finish without a reason", event(lastChunk("error")), broken],
  ["DeepSeek", "overload", event(lastChunk("insufficient_system_resource")), broken],
  [
    "LM Studio",
    "context",
    event(
      {
        error: {
          message:
            "Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."
        }
      },
      "error"
    ),
    tooLong(4096)
  ],
  [
    "LM Studio",
    "crash",
    event(
      { error: { message: "The model has crashed without additional information. (Exit code: null)" } },
      "error"
    ),
    broken
  ],
  [
    "SGLang",
    "context",
    event(
      mistral(
        "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
        "BadRequestError",
        "400"
      )
    ),
    tooLong(40_960)
  ],
  [
    "vLLM",
    "failure",
    event({ error: { message: "EngineCore encountered an issue.", type: "Oops", code: 500 } }),
    broken
  ],
  [
    "LiteLLM",
    "context",
    event(
      liteLlm(
        "litellm.ContextWindowExceededError: prompt is too long: 209303 tokens > 200000 maximum",
        null,
        "400"
      )
    ),
    tooLong(200_000)
  ],
  ["LiteLLM", "credit", event(liteLlm("Budget has been exceeded!", "budget_exceeded", "400")), account],
  [
    "Groq",
    "bad call",
    event({
      error: {
        message: "Failed to call a function.",
        type: "invalid_request_error",
        code: "tool_use_failed",
        status_code: 400
      }
    }),
    badCall
  ],
  [
    "Qwen",
    "content",
    event({
      error: {
        message: "Output data may contain inappropriate content.",
        type: "data_inspection_failed",
        code: "data_inspection_failed"
      }
    }),
    refused
  ],
  [
    "a gateway",
    "refusal, as a whole answer",
    JSON.stringify(openAi("Unsupported parameter: 'stop'", { code: "400" })),
    rejected(/^Unsupported parameter/)
  ],
  [
    "OpenAI",
    "context",
    event({
      type: "error",
      error: {
        type: "invalid_request_error",
        code: "context_length_exceeded",
        message: "Your input exceeds the context window of this model.",
        param: "input"
      }
    }),
    tooLong(),
    "openai-responses"
  ],
  [
    "OpenAI",
    "content",
    event({
      type: "response.failed",
      response: { status: "failed", error: { code: "invalid_prompt", message: "Rejected." } }
    }),
    refused,
    "openai-responses"
  ],
  [
    "xAI",
    "key",
    JSON.stringify(xAi("Client specified an invalid argument", "Incorrect API key provided")),
    wrongKey,
    "openai-responses"
  ],
  [
    "a gateway",
    "failure",
    event(mistral("Service unavailable.", "internal_server_error", "3000")),
    broken,
    "openai-responses"
  ],
  ["Anthropic", "overload", event(anthropic("overloaded_error", "Overloaded"), "error"), broken, "anthropic"],
  [
    "Anthropic",
    "credit",
    event(
      anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
      "error"
    ),
    account,
    "anthropic"
  ],
  [
    "a gateway",
    "failure",
    event(mistral("Service unavailable.", "internal_server_error", "3000")),
    broken,
    "anthropic"
  ]
]

const readFault = (bytes: string, protocol: ProtocolName): Fault => {
  const reader = new AnswerReader(protocols[protocol].makeDecode(), "a server")
  reader.write(Buffer.from(bytes))
  reader.end()
  assert.isNotNull(reader.fault)
  return reader.fault
}

const bodyText = (body: unknown): string => (typeof body === "string" ? body : JSON.stringify(body))

const check = (fault: Fault, expected: Expected) =>
  Effect.gen(function* () {
    const failure = yield* toModelFailure(fault, { provider: "a", model: "b", secrets: [], messages: [] })
    const isRetryable = classify(fault).isRetryable
    assert.deepStrictEqual(
      { reason: failure.reason, contextTokens: failure.contextTokens, isRetryable },
      {
        reason: expected.reason,
        contextTokens: expected.contextTokens,
        isRetryable: expected.isRetryable === true
      }
    )
    if (expected.advice === undefined) assert.isUndefined(failure.advice)
    else assert.match(failure.advice ?? "", expected.advice)
    if (expected.says !== undefined) assert.match(failure.logSentence ?? "", expected.says)
    assert.notInclude(failure.logSentence ?? "", "a part of the request")
    assert.isUndefined(failure.sentence)
  })

describe("the error of a provider", () => {
  it.effect.each(bodies)("an error by %s is recognized: %s (%i)", ([, , status, body, expected]) =>
    check(statusFault(status, decodeErrorBody(bodyText(body))), expected)
  )

  it.effect.each(streams)(
    "an error by %s in an answer with status 200 is recognized: %s",
    ([, , bytes, expected, protocol]) => check(readFault(bytes, protocol ?? "openai-chat"), expected)
  )

  it.each<readonly [unknown, string | undefined, number | undefined]>([
    [
      google(429, "RESOURCE_EXHAUSTED", "Wait.", [{ "@type": "google.rpc.RetryInfo", retryDelay: "12.5s" }]),
      undefined,
      12.5
    ],
    [google(429, "RESOURCE_EXHAUSTED", "Wait.", [{ retryDelay: "12.5s" }]), "3", 3],
    [
      behindOpenRouter(
        429,
        JSON.stringify(google(429, "RESOURCE_EXHAUSTED", "Wait.", [{ retryDelay: "7s" }]))
      ),
      undefined,
      7
    ],
    [google(429, "RESOURCE_EXHAUSTED", "Wait.", [{ retryDelay: "soon" }]), undefined, undefined]
  ])("an error asks for a wait in its body, unless its headers do: %j", (body, header, seconds) => {
    const headers = { seconds: header, milliseconds: undefined }
    assert.strictEqual(askedWait(statusFault(429, decodeErrorBody(bodyText(body)), headers), 0), seconds)
  })

  it("an error is read to a bounded depth", () => {
    const deep = `${"[".repeat(3000)}${"]".repeat(3000)}`
    assert.strictEqual(statusFault(500, decodeErrorBody(deep))._tag, "ServerFailed")
    const nested = `${'{"error":'.repeat(3000)}1${"}".repeat(3000)}`
    assert.strictEqual(statusFault(500, decodeErrorBody(nested))._tag, "ServerFailed")
  })

  it("an error has codes in its label, and words in its message only", () => {
    const body = behindOpenRouter(400, openAi("Not 'my question'", { code: "some_code" }))
    const { detail, serverMessage } = statusFault(400, decodeErrorBody(bodyText(body)))
    assert.strictEqual(detail, "HTTP 400 400 some_code invalid_request_error")
    assert.strictEqual(Redacted.value(serverMessage ?? Redacted.make("")), "Not 'my question'")
  })
})
