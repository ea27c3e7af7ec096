import { checkPairs, checkReasoningModel } from "./ChatRules.ts"
import { bareUsage, type ChatStyle, fullUsage } from "./ChatStream.ts"
import { chatProvider, type Provider } from "./Provider.ts"
import { type Failures, openAiError, openAiFailures, refusal } from "./Refusal.ts"

/** OpenAI's own models on Chat Completions, and a server that merely speaks it. */

const openAiStyle: Partial<ChatStyle> = {
  thoughts: "hidden",

  refusal: "field",
  usage: (counts) => ({
    ...fullUsage(counts),
    prompt_tokens_details: { cached_tokens: counts.cached, cache_write_tokens: counts.written }
  }),

  inChunk: { service_tier: "default", obfuscation: "x7Qa" }
}

const azureFailures: Failures = {
  ...openAiFailures,
  rate: refusal(
    429,
    "Requests to the ChatCompletions_Create Operation have exceeded token rate limit of your current pricing tier.",
    {
      error: {
        code: "429",
        message:
          "Requests to the ChatCompletions_Create Operation have exceeded token rate limit of your current pricing tier."
      }
    },
    { "retry-after-ms": "10" }
  ),
  filter: refusal(
    400,
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    {
      error: {
        message:
          "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        type: null,
        param: "prompt",
        code: "content_filter",
        status: 400,
        innererror: { code: "ResponsibleAIPolicyViolation" }
      }
    }
  ),
  credit: openAiError(429, "You exceeded your current quota, please check your plan and billing details.", {
    type: "insufficient_quota",
    code: "insufficient_quota"
  })
}

const harmless = { hate: { filtered: false, severity: "safe" } }

export const openAiProviders: ReadonlyArray<Provider> = [
  chatProvider({
    name: "openaichat",
    label: "OpenAI Chat Completions (gpt-5.6)",
    failures: openAiFailures,
    check: checkReasoningModel({ efforts: ["none", "low", "medium", "high", "xhigh"], takesTools: false }),
    style: openAiStyle,
    dialect: "openai",
    model: "gpt-5.6-terra"
  }),
  chatProvider({
    name: "gpt6chat",
    label: "OpenAI Chat Completions (gpt-6)",
    failures: openAiFailures,
    check: checkReasoningModel({ efforts: ["low", "medium", "high", "xhigh", "max"], takesTools: false }),
    style: openAiStyle,
    dialect: "openai",
    model: "gpt-6"
  }),
  chatProvider({
    name: "azurechat",
    label: "Azure OpenAI Chat Completions",
    key: "api-key",
    failures: azureFailures,
    check: checkReasoningModel({ efforts: ["minimal", "low", "medium", "high"], takesTools: true }),
    style: {
      ...openAiStyle,
      refusal: "finish",
      inChunk: {},
      inChoice: { content_filter_results: harmless },
      before: {
        choices: [],
        created: 0,
        id: "",
        model: "",
        object: "",
        prompt_filter_results: [{ prompt_index: 0 }]
      },
      behindText: {
        id: "",
        object: "",
        choices: [{ index: 0, finish_reason: null, content_filter_offsets: { check_offset: 44 } }],
        usage: null
      }
    },
    dialect: "openai",
    model: "gpt-5-mini-deployment"
  }),
  chatProvider({
    name: "plain",
    label: "a plain server",
    key: null,
    failures: openAiFailures,
    check: checkPairs,
    style: { thoughts: "tags", calls: "whole", usage: bareUsage },
    model: "some-model",
    lacks: ["structuredOutput"]
  })
]
