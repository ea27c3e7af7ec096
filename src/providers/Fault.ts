import { ModelFailure, type ModelFailureReason } from "../domain/Errors.ts"
import { Clock, Effect, Predicate } from "effect"

/** What went wrong in one exchange with a model server, before anyone decided what to do about it. */
export interface Fault {
  readonly reason: ModelFailureReason
  /** Says what happened: of what the server sent nothing but codes and types, which are mere words. */
  readonly detail: string
  /** What the server said about it, in its own words. It may quote the prompt, the answer or the key: never to be logged. */
  readonly message?: string
  readonly status?: number
  readonly retryAfter?: RetryAfter
  /** A kept-alive connection turned out to be closed before the request got through: nothing was processed. */
  readonly staleConnection?: boolean
}

/** The values of the headers that ask for patience. */
export interface RetryAfter {
  readonly seconds: string | undefined
  readonly milliseconds: string | undefined
}

const detailCharactersMax = 200

/** A longer wait than this is no hint any more. */
const retryAfterSecondsMax = 86_400

/** The failure as everyone outside this room knows it. What the server said in its own words stays here. */
export const toModelFailure = Effect.fnUntraced(function* (
  fault: Fault,
  from: { readonly provider: string; readonly model: string }
) {
  const retryAfterSeconds = askedWait(fault, yield* Clock.currentTimeMillis)
  const contextTokensMax = contextTokensOf(fault)
  return new ModelFailure({
    reason: fault.reason,
    provider: from.provider,
    model: from.model,
    detail: bounded(fault.detail),
    ...(fault.status === undefined ? {} : { status: fault.status }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(contextTokensMax === undefined ? {} : { contextTokens: contextTokensMax })
  })
})

const contextTokensOf = ({ message, reason }: Fault): number | undefined => {
  const tokens = reason === "context_length" ? contextTokens.exec(message ?? "")?.[1] : undefined
  return tokens === undefined ? undefined : Number(tokens)
}

/** The seconds that a server asked to be left alone; undefined where it asked for nothing. */
export const askedWait = (fault: Fault, nowMillis: number): number | undefined =>
  fault.retryAfter === undefined ? undefined : parseRetryAfter(fault.retryAfter, nowMillis)

const bounded = (text: string): string => text.replaceAll(/\s+/g, " ").trim().slice(0, detailCharactersMax)

/** Seconds, or an HTTP date; undefined where it is neither. */
const parseRetryAfter = (header: RetryAfter, nowMillis: number): number | undefined => {
  const milliseconds = Number(header.milliseconds ?? Number.NaN)
  const seconds = Number(header.seconds ?? Number.NaN)
  const wait = Number.isFinite(milliseconds)
    ? milliseconds / 1000
    : Number.isFinite(seconds)
      ? seconds
      : (Date.parse(header.seconds ?? "") - nowMillis) / 1000
  return Number.isFinite(wait) ? Math.min(Math.max(wait, 0), retryAfterSecondsMax) : undefined
}

/** What servers answer that have gone a time-out of their own. */
const passingStatuses: ReadonlySet<number> = new Set([408, 425])

/** What no request of ours should meet: no credit left, an address or a model that isn't there, or that moved. */
const misconfiguredStatuses: ReadonlySet<number> = new Set([402, 404, 405, 410])

/** What a status that isn't a success means. */
export const statusReason = (status: number): ModelFailureReason => {
  if (status === 401 || status === 403) return "unauthorized"
  if (status < 400 || misconfiguredStatuses.has(status)) return "misconfigured"
  if (status === 429) return "rate_limited"
  return status >= 500 || passingStatuses.has(status) ? "server_error" : "bad_request"
}

/** How servers name a refusal of what a prompt or an answer says. */
const contentRefusal = /content[_ ]?(filter|policy)|moderation|flagged|safety|responsible_?ai/i

/** How servers name a model that they don't have, in place of a 404. */
const unknownModel = /model_not_found|invalid_model|invalid model:|not a valid model|unknown model/i

/** How servers name a request that has no room in the model's context. */
const contextLength = new RegExp(
  [
    // OpenAI, and vLLM, which words it in three ways.
    "context_length_exceeded|maximum context length|exceeds the context window|maximum model length",
    // llama.cpp.
    "exceed_context_size|context size",
    // Ollama.
    "exceeds? (the |max )?context length|prompt too long",
    // Anthropic.
    "prompt is too long|exceed context limit",
    // Groq, and Gemini by its OpenAI interface.
    "reduce the length of the|input token count"
  ].join("|"),
  "i"
)

/** Where some of them say how many tokens there is room for. */
const contextTokens =
  /(?:maximum context length (?:is|of)|maximum model length of|context size \(|context (?:length|window) of|context limit: [\d +]+>|tokens >)\D{0,12}(\d{3,8})/i

/** How servers name an account without credit; their refusals look like those of a rate else. */
const noCredit = /insufficient_quota|billing|credit/i

/** The same fault with what its text says of the cause, which a status leaves open. */
export const refined = (fault: Fault): Fault => {
  const said = `${fault.detail} ${fault.message ?? ""}`
  const is = (reason: ModelFailureReason): Fault => ({ ...fault, reason })
  switch (fault.reason) {
    case "unauthorized":
      return fault.status === 403 && contentRefusal.test(said) ? is("content_refused") : fault
    case "server_error":
      // Some servers fail on what they should refuse.
      return fault.status !== undefined && contextLength.test(said) ? is("context_length") : fault
    case "bad_request":
      if (contextLength.test(said)) return is("context_length")
      if (contentRefusal.test(said)) return is("content_refused")
      return unknownModel.test(said) ? is("misconfigured") : fault
    case "in_stream":
      if (contextLength.test(said)) return is("context_length")
      if (contentRefusal.test(fault.detail)) return is("content_refused")
      return noCredit.test(fault.detail) ? is("misconfigured") : fault
    case "rate_limited":
      return noCredit.test(fault.detail) ? is("misconfigured") : fault
    default:
      return fault
  }
}

/** What the operator has to check where a model server refuses what the settings say; null where it is nothing of theirs. */
export const adviceOn = ({ reason, status }: Pick<ModelFailure, "reason" | "status">): string | null => {
  if (reason === "unauthorized")
    return "Check the provider's key (OPENAI_API_KEY, or keyVariable in PARLEY_MODELS_FILE) and what it may do."
  if (reason !== "misconfigured") return null
  return status === 402 || status === 429
    ? "Check the account at the provider: its credit or quota is used up."
    : "Check the provider's address (OPENAI_BASE_URL, or baseUrl in PARLEY_MODELS_FILE) and the model's name (OPENAI_MODEL, or id)."
}

/** What an error of the connection means, by whether the answer had begun. */
export const transportFault = (error: unknown, answerBegun: boolean): Fault => {
  const { code, message, name } = describeError(error)
  const detail = `${code ?? name} ${message}`
  // Such as a key that can't be sent as a header.
  if (code === "UND_ERR_INVALID_ARG") return { reason: "misconfigured", detail }
  if (code === "UND_ERR_HEADERS_OVERFLOW" || isNotHttp(name, message)) return { reason: "malformed", detail }
  if (answerBegun) return { reason: "cut", detail }
  return { reason: "refused", detail, staleConnection: isStale(error, code) }
}

const describeError = (error: unknown) => ({
  code: Predicate.hasProperty(error, "code") && Predicate.isString(error.code) ? error.code : null,
  name: Predicate.hasProperty(error, "name") ? String(error.name) : "Error",
  message: Predicate.hasProperty(error, "message") ? String(error.message) : ""
})

/** A body that ends too early also ends in the parser, but is merely cut. */
const isNotHttp = (name: string, message: string): boolean =>
  name === "HTTPParserError" && !message.includes("EOF")

const isStale = (error: unknown, code: string | null): boolean =>
  code === "UND_ERR_SOCKET" &&
  Predicate.hasProperty(error, "socket") &&
  Predicate.hasProperty(error.socket, "bytesRead") &&
  Number(error.socket.bytesRead) > 0

/** How often a request is put again at most, and how long after it was put first. */
interface RetryBudget {
  readonly retriesMax: number
  readonly seconds: number
}

/** However much time is left, a request is put again no more often than this. */
const retriesMax = 4

/** Where another model can answer, asking again must be worth it at once. */
const fallbackBudget: RetryBudget = { retriesMax: 1, seconds: 0.5 }

export const retryBudget = (seconds: number, hasFallback: boolean): RetryBudget =>
  hasFallback
    ? { ...fallbackBudget, seconds: Math.min(seconds, fallbackBudget.seconds) }
    : { retriesMax, seconds }

/** The first wait, which doubles with each that follows; up to half of a wait is left to chance. */
const firstWaitSeconds = 0.25
const waitSecondsMax = 8

/** Up to this share is added to a wait that the server asked for, so that not everyone comes back at once. */
const askedWaitJitter = 0.1

/** Errors in a stream that pass by themselves, by what servers call them. */
const passing = /overloaded|rate_limit|unavailable|server_error|api_error|internal|timeout|try_again/

const retriedStatuses: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529])

/** Whether the same request may well succeed a little later. Nothing of the answer may have been shown. */
export const isPassing = (fault: Fault): boolean => {
  if (fault.reason === "misconfigured" || fault.reason === "context_length") return false
  if (fault.status !== undefined) return retriedStatuses.has(fault.status)
  if (fault.reason === "in_stream") return passing.test(fault.detail)
  return fault.reason === "refused" || fault.reason === "cut"
}

/**
 * How many seconds to wait before a failed request is put again; null where that isn't worth it, or wouldn't happen within
 * the budget. `chance` is between 0 and 1.
 */
export const retryWait = (
  fault: Fault,
  past: { readonly retries: number; readonly seconds: number; readonly askedSeconds: number | undefined },
  budget: RetryBudget,
  chance: number
): number | null => {
  if (past.retries >= budget.retriesMax || !isPassing(fault)) return null
  const backoff = Math.min(waitSecondsMax, firstWaitSeconds * 2 ** past.retries) * (1 - chance / 2)
  const wait = Math.max(backoff, (past.askedSeconds ?? 0) * (1 + askedWaitJitter * chance))
  return past.seconds + wait <= budget.seconds ? wait : null
}
