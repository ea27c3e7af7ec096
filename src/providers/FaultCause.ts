import { Predicate, Redacted } from "effect"
import {
  contentRefusal,
  contextLength,
  isAccountExhausted,
  isCallMalformed,
  keyRefusal,
  noEndpoint,
  overload,
  refusedAsFailure,
  requestRefusal,
  requestTooLarge,
  unknownModel,
  withoutQuotations
} from "./ErrorWords.ts"
import {
  AccountExhausted,
  AnswerMalformed,
  CallMalformed,
  ConnectionFailed,
  ConnectionLost,
  ConnectionStale,
  ContentRefused,
  ContextExceeded,
  ErrorEvent,
  type Fault,
  KeyRejected,
  Misconfigured,
  RateLimited,
  RequestRejected,
  type RetryAfter,
  ServerFailed
} from "./Fault.ts"
import type { ServerError } from "./ServerError.ts"

/** Statuses of a server with a timeout of its own, or whose model failed behind it, as at Bedrock. */
const temporaryStatuses: ReadonlySet<number> = new Set([408, 424, 425])

/** An address or a model that isn't there, or that moved. */
const misconfiguredStatuses: ReadonlySet<number> = new Set([404, 405, 410])

/** A field that a key may not use, such as OpenAI's summaries of reasoning: the request can do without it. */
const refusedField = /\bunsupported_(value|parameter)\b/

const unnamed: ServerError = { type: "error", label: "", message: "" }

/** The fault of an error status, together with the error in the body. */
export const statusFault = (status: number, error = unnamed, retryAfter?: RetryAfter): Fault =>
  new (kindOf(status, error))({ ...detailsOf(`HTTP ${status}`, error, retryAfter), status })

/** The fault of an error within an answer whose status is a success. */
export const errorEventFault = (error: ServerError): Fault => {
  const { status } = error
  const kind = kindOf(status ?? impliedStatus(error), error)
  return new (kind === ServerFailed ? ErrorEvent : kind)({
    ...detailsOf("an error in the stream", error),
    ...(status === undefined ? {} : { status })
  })
}

const detailsOf = (
  place: string,
  { contextTokens, label, message, retryAfterSeconds }: ServerError,
  header?: RetryAfter
) => {
  const isAsked = header?.seconds !== undefined || header?.milliseconds !== undefined
  const stated = retryAfterSeconds === undefined ? undefined : String(retryAfterSeconds)
  const retryAfter = isAsked || stated === undefined ? header : { seconds: stated, milliseconds: undefined }
  return {
    detail: `${place} ${label}`.trim(),
    serverMessage: Redacted.make(message),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(contextTokens === undefined ? {} : { contextTokens })
  }
}

/** A failure of the server, unless its codes say otherwise. */
const impliedStatus = ({ label, message }: ServerError): number => {
  if (requestRefusal.test(label) || unknownModel.test(label)) return 400
  return keyRefusal.test(label) || keyRefusal.test(message) ? 401 : 500
}

/**
 * The kind of an error, by its status, and by its words where statuses are too coarse or servers use others.
 */
const kindOf = (status: number, { label, message }: ServerError) => {
  const text = `${label} ${message}`
  const unquoted = withoutQuotations(text)
  if (isCallMalformed(label, message)) return CallMalformed
  if (status === 402 || isAccountExhausted(label, unquoted)) return AccountExhausted
  if (status === 401) return KeyRejected
  if (status === 403) return contentRefusal.test(unquoted) ? ContentRefused : KeyRejected
  if (status === 404 && noEndpoint.test(text)) return RequestRejected
  if (status < 400 || misconfiguredStatuses.has(status)) return Misconfigured
  if (requestTooLarge.test(text)) return ContextExceeded
  if (status === 429) return overload.test(unquoted) ? ServerFailed : RateLimited
  // Some servers answer with a server error when they should refuse the request.
  if (contextLength.test(text)) return ContextExceeded
  if (status >= 500 || temporaryStatuses.has(status)) return failureKind(label, unquoted)
  if (keyRefusal.test(unquoted)) return refusedField.test(label) ? RequestRejected : KeyRejected
  if (contentRefusal.test(unquoted)) return ContentRefused
  return unknownModel.test(unquoted) ? Misconfigured : RequestRejected
}

const failureKind = (label: string, unquoted: string) => {
  if (refusedAsFailure.test(unquoted)) return RequestRejected
  return contentRefusal.test(label) ? ContentRefused : ServerFailed
}

/** The fault of a failed connection, before or during the answer. */
export const transportFault = (error: unknown, answerBegun: boolean): Fault => {
  const { code, message, name } = describeError(error)
  // Messages of the system begin with what was tried, and name the code.
  const detail = code !== null && message.includes(code) ? message : `${code ?? name} ${message}`
  const said = Predicate.hasProperty(error, "serverMessage") ? error.serverMessage : null
  const details = { detail, ...(Predicate.isString(said) ? { serverMessage: Redacted.make(said) } : {}) }
  // The request itself is invalid, for example a key that can't be sent as a header.
  if (code === "UND_ERR_INVALID_ARG") return new Misconfigured(details)
  if (code === "UND_ERR_HEADERS_OVERFLOW" || isNotHttp(name, message)) return new AnswerMalformed(details)
  if (answerBegun) return new ConnectionLost(details)
  return new (isStale(error, code) ? ConnectionStale : ConnectionFailed)(details)
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
