import { type Asked, type AskedCall, callingIn, fieldsIn, objectsIn, sinceScript, textIn } from "./Asked.ts"
import { checkPairs, openRounds } from "./ChatRules.ts"
import { bareUsage, fullUsage } from "./ChatStream.ts"
import { hasMark } from "./Marks.ts"
import { chatProvider, type Memory, type Provider } from "./Provider.ts"
import { behindGateway, type Failures, googleError, refusal, type Refusal } from "./Refusal.ts"

/** Gemini, which signs its calls, alone and behind OpenRouter. */

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

const signatureOf = (call: AskedCall | undefined): string =>
  textIn(fieldsIn(fieldsIn(call?.fields["extra_content"])["google"])["thought_signature"])

const checkGemini = (asked: Asked, { issued, note, server }: Memory): Refusal | null => {
  const alien = geminiUnknown.find((name) => asked.body[name] !== undefined)
  if (alien !== undefined)
    return invalid(`Invalid JSON payload received. Unknown name "${alien}": Cannot find field.`)
  if (!["user", "tool"].includes(asked.messages.at(-1)?.role ?? ""))
    return invalid("Please ensure that multiturn requests end with a user turn or a function response turn.")
  const keyword = geminiKeywords.find((word) =>
    asked.tools.some(({ schema }) => JSON.stringify(schema).includes(`"${word}":`))
  )
  if (keyword !== undefined)
    return invalid(
      `Invalid JSON payload received. Unknown name "${keyword}" at 'tools[0].function_declarations[0].parameters': Cannot find field.`
    )
  const rounds = callingIn(asked.messages).map(({ calls, index }) => ({ call: calls[0], index }))
  const isStandIn = (call: AskedCall | undefined) => signatureOf(call) === "skip_thought_signature_validator"
  if (rounds.some(({ call }) => isStandIn(call) && hasMark(call?.id ?? "", server)))
    note("a call without the signature that it had")
  const from = asked.messages.length - sinceScript(asked).length
  const bare = rounds.find(
    ({ call, index }) => index >= from && !isStandIn(call) && !issued.has(signatureOf(call))
  )
  return bare === undefined ? null : invalid(unsignedCall(bare.call?.name ?? "", bare.index))
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

export const googleProviders: ReadonlyArray<Provider> = [
  chatProvider({
    name: "gemini",
    label: "Gemini",
    failures: geminiFailures,
    check: checkGemini,
    style: {
      thoughts: "hidden",
      calls: "whole",
      isUnindexed: true,
      isSigned: true,
      // The thoughts are in the total only.
      usage: (counts) => ({ ...bareUsage(counts), completion_tokens: counts.output - counts.reasoning }),
      usageIn: "last"
    },
    dialect: "gemini",
    model: "gemini-3.5-pro"
  }),
  chatProvider({
    name: "openrouter",
    label: "OpenRouter",
    failures: openRouterFailures,
    check: checkOpenRouter,
    style: {
      thoughts: "details",
      comment: "OPENROUTER PROCESSING",
      usage: (counts) => ({ ...fullUsage(counts), cost: 0.0012, is_byok: false }),
      inChunk: { provider: "Google AI Studio" },
      inChoice: { native_finish_reason: null }
    },
    dialect: "openrouter",
    model: "google/gemini-3.5-pro"
  })
]
