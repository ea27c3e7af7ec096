import { Clock, Data, Effect, Redacted } from "effect"
import { ModelFailure, type ModelFailureReason } from "../domain/Errors.ts"
import { sentenceOf } from "./ProviderSentence.ts"

interface FaultDetails {
  /** Says what happened. Of what the server sent it has nothing but codes and types, which are mere words. */
  readonly detail: string
  /** The server's own words, which may quote the prompt, the answer or the key. */
  readonly serverMessage?: Redacted.Redacted
  readonly status?: number
  readonly retryAfter?: RetryAfter
  /** What of a client's request the server refused, by its name in requests. */
  readonly parameter?: string
}

/** The values of the headers that ask for a wait. */
export interface RetryAfter {
  readonly seconds: string | undefined
  readonly milliseconds: string | undefined
}

/** No permit came free in time. */
export class PermitTimeout extends Data.TaggedError("PermitTimeout")<FaultDetails> {}
export class CircuitOpen extends Data.TaggedError("CircuitOpen")<FaultDetails> {}
export class ConnectionFailed extends Data.TaggedError("ConnectionFailed")<FaultDetails> {}
/** A kept-alive connection was closed before the request got through: nothing was processed. */
export class ConnectionStale extends Data.TaggedError("ConnectionStale")<FaultDetails> {}
/** The connection closed during the answer. */
export class ConnectionLost extends Data.TaggedError("ConnectionLost")<FaultDetails> {}
export class KeyRejected extends Data.TaggedError("KeyRejected")<FaultDetails> {}
/** No request should meet this: no credit left, or a wrong address or model. */
export class Misconfigured extends Data.TaggedError("Misconfigured")<FaultDetails> {}
export class RateLimited extends Data.TaggedError("RateLimited")<FaultDetails> {}
export class RequestRejected extends Data.TaggedError("RequestRejected")<FaultDetails> {}
/** The request has no room in the model's context. */
export class ContextExceeded extends Data.TaggedError("ContextExceeded")<FaultDetails> {}
export class ContentRefused extends Data.TaggedError("ContentRefused")<FaultDetails> {}
export class ServerFailed extends Data.TaggedError("ServerFailed")<FaultDetails> {}
export class FirstTokenTimeout extends Data.TaggedError("FirstTokenTimeout")<FaultDetails> {}
export class IdleTimeout extends Data.TaggedError("IdleTimeout")<FaultDetails> {}
export class AnswerMalformed extends Data.TaggedError("AnswerMalformed")<FaultDetails> {}
/** The stream ended with an error event. */
export class ErrorEvent extends Data.TaggedError("ErrorEvent")<FaultDetails> {}
export class FinishMissing extends Data.TaggedError("FinishMissing")<FaultDetails> {}

/** What went wrong in one exchange with a model server, before anything was decided about it. */
export type Fault =
  | PermitTimeout
  | CircuitOpen
  | ConnectionFailed
  | ConnectionStale
  | ConnectionLost
  | KeyRejected
  | Misconfigured
  | RateLimited
  | RequestRejected
  | ContextExceeded
  | ContentRefused
  | ServerFailed
  | FirstTokenTimeout
  | IdleTimeout
  | AnswerMalformed
  | ErrorEvent
  | FinishMissing

/** The reason that other rooms are given, and where the cause lies. A limit passes by itself, and the server works. */
const kinds: {
  readonly [Tag in Fault["_tag"]]: readonly [ModelFailureReason, "server" | "settings" | "limit" | "request"]
} = {
  PermitTimeout: ["refused", "server"],
  CircuitOpen: ["refused", "server"],
  ConnectionFailed: ["refused", "server"],
  ConnectionStale: ["refused", "server"],
  ConnectionLost: ["cut", "server"],
  KeyRejected: ["unauthorized", "settings"],
  Misconfigured: ["misconfigured", "settings"],
  RateLimited: ["rate_limited", "limit"],
  RequestRejected: ["bad_request", "request"],
  ContextExceeded: ["context_length", "request"],
  ContentRefused: ["content_refused", "request"],
  ServerFailed: ["server_error", "server"],
  FirstTokenTimeout: ["first_token_timeout", "server"],
  IdleTimeout: ["idle_timeout", "server"],
  AnswerMalformed: ["malformed", "server"],
  ErrorEvent: ["in_stream", "server"],
  FinishMissing: ["no_finish", "server"]
}

interface FaultClass {
  readonly reason: ModelFailureReason
  /** Whether the same request may succeed a little later, as long as nothing of the answer was delivered. */
  readonly isRetryable: boolean
  readonly isRequestAtFault: boolean
  /** Whether it counts towards opening the circuit. */
  readonly countsAgainstServer: boolean
  /** Whether other models are better asked first: with an invalid key or an unknown model the next request fails as well. */
  readonly countsAgainstModel: boolean
}

export const classify = (fault: Fault): FaultClass => {
  const [reason, cause] = kinds[fault._tag]
  return {
    reason,
    isRetryable: isRetryable(fault),
    isRequestAtFault: cause === "request",
    countsAgainstServer: cause === "server",
    countsAgainstModel: cause === "server" || fault._tag === "Misconfigured" || fault.status === 401
  }
}

const retriedStatuses: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529])

/** Error events that are temporary, by what servers call them. */
const temporary = /overloaded|rate_limit|unavailable|server_error|api_error|internal|timeout|try_again/

const isRetryable = (fault: Fault): boolean => {
  switch (fault._tag) {
    case "ConnectionFailed":
    case "ConnectionStale":
    case "ConnectionLost":
      return true
    case "RateLimited":
    case "ServerFailed":
      return retriedStatuses.has(fault.status ?? 0)
    case "ErrorEvent":
      return temporary.test(fault.detail)
    default:
      return false
  }
}

/** All that a fault says of its cause. It may quote the request. */
export const textOf = ({ detail, serverMessage }: FaultDetails): string =>
  serverMessage === undefined ? detail : `${detail} ${Redacted.value(serverMessage)}`

const detailCharactersMax = 200

/** A longer wait than this is no hint any more. */
const retryAfterSecondsMax = 86_400

/** The failure as other rooms know it. Of the server's own words it has those about a client's parameter. */
export const toModelFailure = Effect.fnUntraced(function* (
  fault: Fault,
  from: {
    readonly provider: string
    readonly model: string
    readonly secrets: ReadonlyArray<Redacted.Redacted>
  }
) {
  const retryAfterSeconds = askedWait(fault, yield* Clock.currentTimeMillis)
  const contextTokensMax = contextTokensOf(fault)
  const { parameter } = fault
  return new ModelFailure({
    reason: classify(fault).reason,
    provider: from.provider,
    model: from.model,
    detail: bounded(fault.detail),
    ...(fault.status === undefined ? {} : { status: fault.status }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(parameter === undefined ? {} : { parameter, sentence: sentenceOf(fault, from.secrets) }),
    ...(contextTokensMax === undefined ? {} : { contextTokens: contextTokensMax })
  })
})

const contextTokensOf = (fault: Fault): number | undefined => {
  const tokens = fault._tag === "ContextExceeded" ? contextTokens.exec(textOf(fault))?.[1] : undefined
  return tokens === undefined ? undefined : Number(tokens)
}

/** Where some of them say how many tokens there is room for. */
const contextTokens =
  /(?:maximum context length (?:is|of)|maximum model length of|context size \(|context (?:length|window) of|context limit: [\d +]+>|tokens >)\D{0,12}(\d{3,8})/i

/** The seconds that a server asked clients to wait (Retry-After); undefined where it named none. */
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

/** What the operator has to check where a model server refuses what the settings say; null for other failures. */
export const adviceOn = ({ reason, status }: Pick<ModelFailure, "reason" | "status">): string | null => {
  if (reason === "unauthorized")
    return "Check the provider's key (OPENAI_API_KEY, or keyVariable in PARLEY_MODELS_FILE) and what it may do."
  if (reason !== "misconfigured") return null
  return status === 402 || status === 429
    ? "Check the account at the provider: its credit or quota is used up."
    : "Check the provider's address (OPENAI_BASE_URL, or baseUrl in PARLEY_MODELS_FILE) and the model's name (OPENAI_MODEL, or id)."
}

export const adviceOnFault = (fault: Fault): string | null =>
  adviceOn({
    reason: classify(fault).reason,
    ...(fault.status === undefined ? {} : { status: fault.status })
  })
