import { Clock, Data, Effect, Redacted } from "effect"
import { ModelFailure, type ModelFailureReason } from "../domain/Errors.ts"
import type { ModelMessage } from "../domain/ModelCall.ts"
import { anyOverload, contextTokensIn, temporary, withoutQuotations } from "./ErrorWords.ts"
import { logSentenceOf, sentenceOf } from "./ProviderSentence.ts"

interface FaultDetails {
  /** Describes the fault. Of the server's answer it contains only codes and types that are plain words. */
  readonly detail: string
  /** The server's own words, which may quote the prompt, the answer or the key. */
  readonly serverMessage?: Redacted.Redacted
  readonly status?: number
  readonly retryAfter?: RetryAfter
  /** The size of the context, where a field of its own states it. */
  readonly contextTokens?: number
  /** The parameter of a client's request that the server refused, by its name in requests. */
  readonly parameter?: string
}

/** The values of the headers, or of fields of the error, that ask for a wait. */
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
/** An error for every request, such as a wrong address or model. */
export class Misconfigured extends Data.TaggedError("Misconfigured")<FaultDetails> {}
/** The account of the key has no credit or no quota left. */
export class AccountExhausted extends Data.TaggedError("AccountExhausted")<FaultDetails> {}
/** The server refuses a field that the service adds by itself to a request. */
export class FormRefused extends Data.TaggedError("FormRefused")<FaultDetails> {}
/**
 * The server refuses a round behind results of the service's own tools, which says nothing about the client's
 * request.
 */
export class RoundRefused extends Data.TaggedError("RoundRefused")<FaultDetails> {}
export class RateLimited extends Data.TaggedError("RateLimited")<FaultDetails> {}
export class RequestRejected extends Data.TaggedError("RequestRejected")<FaultDetails> {}
/** The request has no room in the model's context. */
export class ContextExceeded extends Data.TaggedError("ContextExceeded")<FaultDetails> {}
export class ContentRefused extends Data.TaggedError("ContentRefused")<FaultDetails> {}
/** The model made a tool call that its server can't read. */
export class CallMalformed extends Data.TaggedError("CallMalformed")<FaultDetails> {}
export class ServerFailed extends Data.TaggedError("ServerFailed")<FaultDetails> {}
export class FirstTokenTimeout extends Data.TaggedError("FirstTokenTimeout")<FaultDetails> {}
export class IdleTimeout extends Data.TaggedError("IdleTimeout")<FaultDetails> {}
export class AnswerMalformed extends Data.TaggedError("AnswerMalformed")<FaultDetails> {}
/** The stream ended with an error event. */
export class ErrorEvent extends Data.TaggedError("ErrorEvent")<FaultDetails> {}
export class FinishMissing extends Data.TaggedError("FinishMissing")<FaultDetails> {}

/** A failure of one exchange with a model server, before any decision about it. */
export type Fault =
  | PermitTimeout
  | CircuitOpen
  | ConnectionFailed
  | ConnectionStale
  | ConnectionLost
  | KeyRejected
  | Misconfigured
  | AccountExhausted
  | FormRefused
  | RoundRefused
  | RateLimited
  | RequestRejected
  | ContextExceeded
  | ContentRefused
  | CallMalformed
  | ServerFailed
  | FirstTokenTimeout
  | IdleTimeout
  | AnswerMalformed
  | ErrorEvent
  | FinishMissing

/** The cause of a fault. After `limit`, which passes by itself, and `model`, the server counts as healthy. */
type CauseOfFault = "server" | "settings" | "limit" | "request" | "model"

/** The reason for other rooms, and the cause. */
const kinds: { readonly [Tag in Fault["_tag"]]: readonly [ModelFailureReason, CauseOfFault] } = {
  PermitTimeout: ["refused", "server"],
  CircuitOpen: ["refused", "server"],
  ConnectionFailed: ["refused", "server"],
  ConnectionStale: ["refused", "server"],
  ConnectionLost: ["cut", "server"],
  KeyRejected: ["unauthorized", "settings"],
  Misconfigured: ["misconfigured", "settings"],
  AccountExhausted: ["misconfigured", "settings"],
  // Another request of the same model may do without the field.
  FormRefused: ["misconfigured", "request"],
  RoundRefused: ["misconfigured", "settings"],
  RateLimited: ["rate_limited", "limit"],
  RequestRejected: ["bad_request", "request"],
  ContextExceeded: ["context_length", "request"],
  ContentRefused: ["content_refused", "request"],
  CallMalformed: ["malformed", "model"],
  ServerFailed: ["server_error", "server"],
  FirstTokenTimeout: ["first_token_timeout", "server"],
  IdleTimeout: ["idle_timeout", "server"],
  AnswerMalformed: ["malformed", "server"],
  ErrorEvent: ["in_stream", "server"],
  FinishMissing: ["no_finish", "server"]
}

interface FaultClass {
  readonly reason: ModelFailureReason
  /** True if the same request may succeed a little later, as long as no output was delivered. */
  readonly isRetryable: boolean
  readonly isRequestAtFault: boolean
  /** True if the fault counts towards opening the circuit. */
  readonly countsAgainstServer: boolean
  /**
   * True if other models are preferred from now on. With an invalid key or an unknown model the next request
   * fails as well.
   */
  readonly countsAgainstModel: boolean
}

export const classify = (fault: Fault): FaultClass => {
  const [reason, cause] = kinds[fault._tag]
  return {
    reason,
    isRetryable: isRetryable(fault),
    isRequestAtFault: cause === "request",
    countsAgainstServer: cause === "server",
    countsAgainstModel: cause === "server" || (cause === "settings" && !isForbidden(fault))
  }
}

/** A key without the permission for this request may have the one for the next. */
const isForbidden = ({ _tag, status }: Fault): boolean => _tag === "KeyRejected" && status === 403

const retriedStatuses: ReadonlySet<number> = new Set([
  408, 424, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529
])

const isRetryable = (fault: Fault): boolean => {
  switch (fault._tag) {
    case "ConnectionFailed":
    case "ConnectionStale":
    case "ConnectionLost":
    case "CallMalformed":
      return true
    case "RateLimited":
    case "ServerFailed":
      return retriedStatuses.has(fault.status ?? 0)
    case "ErrorEvent":
      return fault.status === undefined
        ? temporary.test(withoutQuotations(textOf(fault)))
        : retriedStatuses.has(fault.status)
    default:
      return false
  }
}

/** The description and the server's words. The text may quote the request. */
export const textOf = ({ detail, serverMessage }: FaultDetails): string =>
  serverMessage === undefined ? detail : `${detail} ${Redacted.value(serverMessage)}`

const detailCharactersMax = 200

/** Longer waits than this are ignored as hints. */
const retryAfterSecondsMax = 86_400

/** The failure as other rooms know it. Clients may read the server's own words only about their parameter. */
export const toModelFailure = Effect.fnUntraced(function* (
  fault: Fault,
  from: {
    readonly provider: string
    readonly model: string
    readonly secrets: ReadonlyArray<Redacted.Redacted>
    /** The messages that the server's words may quote. */
    readonly messages: ReadonlyArray<ModelMessage>
  }
) {
  const retryAfterSeconds = askedWait(fault, yield* Clock.currentTimeMillis)
  const contextTokensMax = contextTokensOf(fault)
  const advice = adviceOnFault(fault)
  const logSentence = logSentenceOf(fault, from.secrets, from.messages)
  const { parameter } = fault
  return new ModelFailure({
    reason: classify(fault).reason,
    provider: from.provider,
    model: from.model,
    detail: bounded(fault.detail),
    ...(fault.status === undefined ? {} : { status: fault.status }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(isOverloaded(fault) ? { isOverloaded: true } : {}),
    ...(parameter === undefined ? {} : { parameter, sentence: sentenceOf(fault, from.secrets) }),
    ...(contextTokensMax === undefined ? {} : { contextTokens: contextTokensMax }),
    ...(logSentence === null ? {} : { logSentence }),
    ...(advice === null ? {} : { advice })
  })
})

/** Source: Anthropic's API, errors. */
const overloadedStatus = 529

const isOverloaded = (fault: Fault): boolean =>
  (fault._tag === "ServerFailed" || fault._tag === "ErrorEvent") &&
  (fault.status === overloadedStatus || anyOverload.test(withoutQuotations(textOf(fault))))

const contextTokensOf = (fault: Fault): number | undefined =>
  fault._tag === "ContextExceeded" ? (fault.contextTokens ?? contextTokensIn(textOf(fault))) : undefined

/** The seconds that a server asked clients to wait (Retry-After); undefined if it named none. */
export const askedWait = (fault: Fault, nowMillis: number): number | undefined =>
  fault.retryAfter === undefined ? undefined : parseRetryAfter(fault.retryAfter, nowMillis)

const bounded = (text: string): string => text.replaceAll(/\s+/g, " ").trim().slice(0, detailCharactersMax)

/** Seconds, or an HTTP date; undefined if the header is neither. */
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

/** Advice for the operator where the fault lies in the settings; null for other faults. */
export const adviceOnFault = (fault: Fault): string | null => {
  switch (fault._tag) {
    case "KeyRejected":
      return "Check the provider's key (OPENAI_API_KEY, or keyVariable in PARLEY_MODELS_FILE) and what it may do."
    case "AccountExhausted":
      return "Check the account at the provider: its credit or quota is used up."
    case "FormRefused":
      return "The provider refuses a field that the service sends. Check its protocol and its tokenParameter in PARLEY_MODELS_FILE."
    case "RoundRefused":
      return "The provider refuses what follows a tool call. Check its protocol and its dialect in PARLEY_MODELS_FILE."
    case "Misconfigured":
      return "Check the provider's address (OPENAI_BASE_URL, or baseUrl in PARLEY_MODELS_FILE) and the model's name (OPENAI_MODEL, or id)."
    default:
      return null
  }
}
