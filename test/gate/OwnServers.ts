import { Option, Schema } from "effect"
import { type Asked, callingIn, fieldsIn, objectsIn, textIn } from "./Asked.ts"
import { checkPairs, openRounds } from "./ChatRules.ts"
import { bareUsage, event, fullUsage } from "./ChatStream.ts"
import { chatProvider, type Memory, type Provider } from "./Provider.ts"
import { openAiError, openAiFailures, ownFailures, refusal, type Refusal, streamed } from "./Refusal.ts"

/** Servers that people run themselves, and a gateway. */

const checkOllama = ({ messages }: Asked): Refusal | null =>
  messages.some(({ calls, fields }) => fields["content"] === null && calls.length === 0)
    ? openAiError(400, "invalid message content type: <nil>")
    : null

const hasOpenPattern = (schema: unknown): boolean => {
  if (typeof schema !== "object" || schema === null) return false
  const { pattern } = fieldsIn(schema)
  const isOpen = typeof pattern === "string" && !(pattern.startsWith("^") && pattern.endsWith("$"))
  return isOpen || Object.values(schema).some(hasOpenPattern)
}

const llamaError = (status: number, message: string, type: string, more: object = {}) =>
  refusal(status, message, { error: { code: status, message, type, ...more } })

const checkLlama = ({ tools }: Asked): Refusal | null =>
  tools.some(({ schema }) => hasOpenPattern(schema))
    ? llamaError(
        400,
        "Unable to generate parser for this template. Automatic parser generation failed: JSON schema conversion failed: Pattern must start with '^' and end with '$'",
        "invalid_request_error"
      )
    : null

const vllmError = (status: number, message: string, type: string) =>
  refusal(status, message, { error: { message, type, param: null, code: status } })

const decodeObject = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

const checkVllm = ({ messages }: Asked): Refusal | null =>
  callingIn(messages).some(({ calls }) => calls.some((call) => Option.isNone(decodeObject(call.arguments))))
    ? vllmError(400, "Expecting value: line 1 column 1 (char 0)", "BadRequestError")
    : null

const sglangError = (message: string) =>
  refusal(400, message, { object: "error", message, type: "BadRequestError", param: null, code: 400 })

const studioOverflow = (tokens: number, contextTokens: number) =>
  `Trying to keep the first ${tokens} tokens when context the overflows. However, the model is loaded with context length of only ${contextTokens} tokens, which is not enough.`

/** An error of Anthropic, as the gateway quotes it. */
const behindLiteLlm = (message: string): Refusal => {
  const quoted = JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } })
  return refusal(400, message, {
    error: {
      message: `litellm.BadRequestError: AnthropicException - ${quoted}`,
      type: null,
      param: null,
      code: "400"
    }
  })
}

const checkLiteLlm = (asked: Asked, { issued }: Memory): Refusal | null => {
  if (asked.forced !== null)
    return behindLiteLlm("Thinking may not be enabled when tool_choice forces tool use.")
  const bare = openRounds(asked).find(
    ({ fields }) =>
      !objectsIn(fields["thinking_blocks"]).some(({ signature }) => issued.has(textIn(signature)))
  )
  return bare === undefined
    ? checkPairs(asked)
    : behindLiteLlm(
        `messages.${bare.index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\`. When \`thinking\` is enabled, a final assistant message must start with a thinking block.`
      )
}

const loading = llamaError(503, "Loading model", "unavailable_error")

export const ownServers: ReadonlyArray<Provider> = [
  chatProvider({
    name: "ollama",
    label: "Ollama",
    key: null,
    failures: {
      ...ownFailures,
      overload: openAiError(503, "server busy, please try again. maximum pending requests exceeded", {
        type: "api_error"
      }),
      tooLong: null
    },
    check: checkOllama,
    style: {
      thoughts: "reasoning",
      calls: "whole",
      usage: bareUsage,
      inChunk: { system_fingerprint: "fp_ollama" }
    },
    model: "qwen3:32b",
    lacks: ["structuredOutput"]
  }),
  chatProvider({
    name: "llamacpp",
    label: "llama.cpp",
    key: null,
    failures: {
      ...ownFailures,
      overload: loading,
      tooLong: (tokens, contextTokens) =>
        llamaError(
          400,
          "the request exceeds the available context size. try increasing the context size or enable context shift",
          "exceed_context_size_error",
          { n_prompt_tokens: tokens, n_ctx: contextTokens }
        )
    },
    check: checkLlama,
    style: {
      usage: (counts) => ({ ...bareUsage(counts), prompt_tokens_details: { cached_tokens: counts.cached } }),
      inChunk: { timings: { prompt_n: 1 } }
    },
    model: "gpt-oss-20b.gguf"
  }),
  chatProvider({
    name: "vllm",
    label: "vLLM",
    key: null,
    failures: {
      ...ownFailures,
      overload: vllmError(503, "The engine is not ready", "ServiceUnavailableError"),
      tooLong: (tokens, contextTokens) =>
        vllmError(
          400,
          `This model's maximum context length is ${contextTokens} tokens. However, your request has ${tokens} input tokens. Please reduce the length of the input messages.`,
          "BadRequestError"
        )
    },
    check: checkVllm,
    style: {
      thoughts: "reasoning",
      callId: (mark) => `chatcmpl-tool-${mark}`,
      usage: (counts) => ({ ...bareUsage(counts), prompt_tokens_details: null }),
      inChunk: { prompt_token_ids: null }
    },
    model: "Qwen/Qwen3.6-32B"
  }),
  chatProvider({
    name: "sglang",
    label: "SGLang",
    key: null,
    failures: {
      ...ownFailures,
      tooLong: (tokens, contextTokens) =>
        sglangError(
          `The input (${tokens} tokens) is longer than the model's context length (${contextTokens} tokens).`
        )
    },
    check: checkPairs,
    style: {
      laterIds: "null",
      usage: (counts) => ({ ...bareUsage(counts), reasoning_tokens: counts.reasoning })
    },
    model: "zai-org/GLM-5"
  }),
  chatProvider({
    name: "lmstudio",
    label: "LM Studio",
    key: null,
    failures: {
      ...ownFailures,
      tooLong: (tokens, contextTokens) => {
        const message = studioOverflow(tokens, contextTokens)
        return streamed(message, [event({ error: { message } }, "error")])
      }
    },
    check: checkPairs,
    style: {
      thoughts: "reasoning",
      laterIds: "new",
      usage: (counts) => ({
        ...bareUsage(counts),
        completion_tokens_details: { reasoning_tokens: counts.reasoning }
      })
    },
    model: "openai/gpt-oss-20b"
  }),
  chatProvider({
    name: "litellm",
    label: "LiteLLM",
    failures: {
      ...openAiFailures,
      rate: openAiError(429, "litellm.RateLimitError: AnthropicException - rate_limit_error", {
        type: "throttling_error",
        code: "429"
      }),
      credit: openAiError(400, "Budget has been exceeded! Current cost: 12.3, Max budget: 10.0", {
        type: "budget_exceeded",
        code: "400"
      }),
      tooLong: (tokens, contextTokens) =>
        behindLiteLlm(`prompt is too long: ${tokens} tokens > ${contextTokens} maximum`)
    },
    check: checkLiteLlm,
    style: {
      thoughts: "blocks",
      usage: (counts) => ({
        ...fullUsage(counts),
        cache_creation_input_tokens: counts.written,
        cache_read_input_tokens: counts.cached
      })
    },
    model: "house/claude",
    lacks: ["structuredOutput"]
  })
]
