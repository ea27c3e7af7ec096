import type { FailureName } from "./Script.ts"

/** An error that a server sends in place of an answer. */
export interface Refusal {
  /** Its own words, as far as documentation or a report quotes them. */
  readonly sentence: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** JSON, or the events of a stream whose status is 200. */
  readonly body: string
  readonly isStream: boolean
}

/** The failures of a server; null for one that it doesn't have. */
export interface Failures extends Readonly<Record<FailureName, Refusal | null>> {
  /**
   * A prompt with so many tokens, of which the context has room for fewer; null for a server that cuts
   * prompts silently.
   */
  readonly tooLong: ((tokens: number, contextTokens: number) => Refusal) | null
}

type Headers = Readonly<Record<string, string>>

export const refusal = (status: number, sentence: string, body: object, headers: Headers = {}): Refusal => ({
  sentence,
  status,
  headers,
  body: JSON.stringify(body),
  isStream: false
})

/** A refusal within a stream. */
export const streamed = (sentence: string, events: ReadonlyArray<string>): Refusal => ({
  sentence,
  status: 200,
  headers: {},
  body: events.join(""),
  isStream: true
})

interface Named {
  readonly type?: string | null
  readonly code?: string | number | null
  readonly param?: string | null
}

/** In the shape of OpenAI, which many others use. */
export const openAiError = (
  status: number,
  message: string,
  { code = null, param = null, type = "invalid_request_error" }: Named = {},
  headers?: Headers
): Refusal => refusal(status, message, { error: { message, type, param, code } }, headers)

/** In the shape of Google, whose errors of this interface are a list. */
export const googleError = (
  status: number,
  name: string,
  message: string,
  details?: ReadonlyArray<object>
): Refusal =>
  refusal(status, message, [
    { error: { code: status, message, status: name, ...(details === undefined ? {} : { details }) } }
  ])

export const anthropicError = (status: number, type: string, message: string, headers?: Headers): Refusal =>
  refusal(status, message, { type: "error", error: { type, message }, request_id: "req_1" }, headers)

/** In the shape of a gateway that quotes the provider behind it. */
export const behindGateway = (provider: string, cause: Refusal): Refusal =>
  refusal(cause.status, cause.sentence, {
    error: {
      message: "Provider returned error",
      code: cause.status,
      metadata: { raw: cause.body, provider_name: provider }
    }
  })

/** The oldest words for a prompt that is too long, which many servers still use. */
export const maximumContext = (tokens: number, contextTokens: number): string =>
  `This model's maximum context length is ${contextTokens} tokens. However, you requested ${tokens} tokens. Please reduce the length of the messages or completion.`

export const openAiFailures: Failures = {
  rate: openAiError(
    429,
    "Rate limit reached on requests per min (RPM): Limit 500, Used 500, Requested 1.",
    { type: "requests", code: "rate_limit_exceeded" },
    { "retry-after-ms": "10" }
  ),
  overload: openAiError(503, "The server is currently overloaded. Please try again later.", {
    type: "service_unavailable_error",
    code: "server_is_overloaded"
  }),
  credit: openAiError(429, "You exceeded your current quota, please check your plan and billing details.", {
    type: "insufficient_quota",
    code: "insufficient_quota"
  }),
  filter: openAiError(
    400,
    "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt.",
    { code: "invalid_prompt" }
  ),
  tooLong: (tokens, contextTokens) =>
    openAiError(
      400,
      `Input tokens exceed the configured limit of ${contextTokens} tokens. Your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
      { param: "messages", code: "context_length_exceeded" }
    )
}

/** A server of one's own limits no rates, sells nothing and has no policy. */
export const ownFailures: Failures = { ...openAiFailures, rate: null, credit: null, filter: null }
