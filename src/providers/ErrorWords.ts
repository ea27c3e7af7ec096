/** Words in which servers describe the causes of errors. */

const anyOf = (...patterns: ReadonlyArray<string>): RegExp => new RegExp(patterns.join("|"), "i")

/** Quotations in a message, which may be a client's name of a function or a piece of the prompt. */
const quotations = /(?<!\w)(['"`])[^'"`]*\1/g

export const withoutQuotations = (text: string): string => text.replaceAll(quotations, "")

/** A request that has no room in the model's context. */
export const contextLength = anyOf(
  // OpenAI, and vLLM, which words it in three ways.
  "context_length_exceeded|maximum context length|exceeds the context window|maximum model length",
  "input tokens exceed the configured limit",
  // llama.cpp.
  "exceed_context_size|context size",
  // Ollama, SGLang, LM Studio.
  "exceeds? (the |max )?context length|prompt too long|longer than the model's context length",
  "when context the overflows",
  // Anthropic, also by Bedrock.
  "prompt is too long|exceed context limit|input is too long for requested model",
  // Groq, Gemini, Qwen, Kimi, xAI.
  "reduce the length of the|input token count|range of input length should be",
  "exceeded model token limit|maximum prompt length is"
)

/**
 * A request with more tokens than the account may send in a minute: Groq (413) and OpenAI (429). A retry
 * never succeeds.
 */
export const requestTooLarge = /request too large[^\n]{0,300}\btokens per min/i

/** The stated size of the context in tokens, behind the words that precede it or before those that follow. */
const contextTokensBehind = [
  "maximum context length (?:is|of)|maximum model length of|context size \\(|context (?:length|window) of",
  "context length \\(|context limit: [\\d +]{1,40}>|tokens >|configured limit of|length should be \\[\\d{1,8},",
  "model token limit:|maximum prompt length is|tokens allowed|while limit is|\\btokens per min[^\\n:]{0,30}: limit"
].join("|")
const contextTokens = new RegExp(
  `(?:${contextTokensBehind})\\D{0,12}(\\d{3,8})|(\\d{3,8}) maximum context length`,
  "i"
)

/** The tokens of the context, where a refusal of a long request says how many; undefined otherwise. */
export const contextTokensIn = (text: string): number | undefined => {
  const found = contextTokens.exec(text)
  const tokens = found?.[1] ?? found?.[2]
  return tokens === undefined ? undefined : Number(tokens)
}

/** A refusal of the content of a prompt or an answer. */
export const contentRefusal = anyOf(
  "content[_ ]?(filter|policy|management)|moderation|flagged|safety|responsible_?ai|invalid_prompt|usage policy",
  // Mistral, Qwen, DeepSeek, Kimi, Gemini.
  "guardrail|data_?inspection_?failed|inappropriate content|content exists risk|high risk|prohibited_content"
)

/** Codes and types for an account without credit or quota. */
const accountCodes = anyOf(
  "insufficient_(quota|balance|credit|funds)|exceeded_current_quota|credit_balance|budget_exceeded",
  "billing_(error|hard_limit|limit|not_active)|allocation_?quota|payment_required|arrearage"
)

/**
 * Words for an account without credit. "You exceeded your current quota" isn't among them: Gemini says it
 * about a rate, and other servers send a code beside it.
 */
const accountWords = anyOf(
  "credit balance is too low|insufficient (account )?(balance|credits?|funds|quota)|budget has been exceeded",
  "all available credits|monthly spending limit|purchase (more )?credits|credits are depleted|key limit exceeded"
)

export const isAccountExhausted = (label: string, unquoted: string): boolean =>
  accountCodes.test(label) || accountWords.test(unquoted)

/** Words for an invalid key, or one without permission, if the status doesn't show that. */
export const keyRefusal = anyOf(
  "invalid_?api_?key|api_key_invalid|(api key|x-api-key)( is)? not valid|(incorrect|invalid) api key",
  "authentication_error|unauthenticated|permission_?(error|denied)|^\\s*unauthorized\\s*$",
  "user location is not supported|organization must be verified"
)

/** Words for a model that the server doesn't have, if the status doesn't show that. */
export const unknownModel = anyOf(
  "model_not_found|invalid_model|invalid model:|not a valid model|unknown model|invalid model name",
  "model not exist|model_decommissioned|has been decommissioned|no models? (is |are )?loaded|not_found_error"
)

/** A router of many servers has no server for this request. Other requests may find one. */
export const noEndpoint = /no endpoints found that (support|can handle)/i

/** An overload of the server, where the status is that of a rate limit. */
export const overload = /engine_overloaded|engine is currently overloaded/i

/** Words for overload in a failure of the server. */
export const anyOverload = /overloaded/i

/**
 * A tool call of the model that the server can't read: Groq, Ollama, llama.cpp. The next try may do better.
 */
const callMalformed = {
  label: /tool_use_failed/,
  text: /^(error parsing tool call|failed to parse input at pos)/i
}

export const isCallMalformed = (label: string, message: string): boolean =>
  callMalformed.label.test(label) || callMalformed.text.test(message)

/** Refusals that llama.cpp and Ollama send with the status of a server failure. */
export const refusedAsFailure =
  /requires --jinja|does not support tools|unable to generate parser|failed to (parse grammar|initialize samplers)/i

/** A refusal of a request, in an error that states no status. */
export const requestRefusal =
  /invalid_?request|invalid_?argument|invalid_?parameter|bad_?request|unprocessable|extra_forbidden|unsupported_/i

/** An error that passes by itself, in a stream. */
export const temporary = anyOf(
  "overload|rate_?limit|unavailable|server_?error|api_error|internal|time_?out|try[ _]again|busy|at capacity",
  "insufficient_system_resource|finish_reason error|server had an error|has crashed"
)

/** A refusal of a field of the request, rather than of its texts. */
export const formRefusal = anyOf(
  "extra_forbidden|extra inputs are not permitted|unsupported[_ ]parameter|unrecognized request argument",
  "unknown (name|field|parameter)|property .{1,80} is unsupported"
)
