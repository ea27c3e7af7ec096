import { Predicate, Redacted } from "effect"
import {
  AnswerMalformed,
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
  ServerFailed,
  textOf
} from "./Fault.ts"
import type { ServerError } from "./Protocol.ts"

/** Statuses of a server that ran into a timeout of its own. */
const temporaryStatuses: ReadonlySet<number> = new Set([408, 425])

/** No credit left, or an address or a model that isn't there, or that moved. */
const misconfiguredStatuses: ReadonlySet<number> = new Set([402, 404, 405, 410])

/** How servers name a refusal of what a prompt or an answer says. */
const contentRefusal = /content[_ ]?(filter|policy)|moderation|flagged|safety|responsible_?ai/i

/** How servers name a model that they don't have, in place of a 404. */
const unknownModel = /model_not_found|invalid_model|invalid model:|not a valid model|unknown model/i

/** A router of many servers has none for what a request asks for. Other requests find one. */
const noEndpoint = /no endpoints found that (support|can handle)/i

/** What a message quotes, which may be a client's name of a function or a piece of the prompt. */
const quotations = /(?<!\w)(['"`])[^'"`]*\1/g

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

/** How servers name an account without credit; otherwise such a refusal looks like one for the rate. */
const noCredit = /insufficient_quota|billing|credit/i

/** What a status that isn't a success means, together with what the body says of the error. */
export const statusFault = (
  status: number,
  error: ServerError = { type: "error", label: "", message: "" },
  retryAfter?: RetryAfter
): Fault => {
  const details = {
    status,
    detail: `HTTP ${status} ${error.label}`.trim(),
    serverMessage: Redacted.make(error.message),
    ...(retryAfter === undefined ? {} : { retryAfter })
  }
  const text = textOf(details)
  if (status === 403 && contentRefusal.test(text)) return new ContentRefused(details)
  if (status === 401 || status === 403) return new KeyRejected(details)
  if (status === 404 && noEndpoint.test(text)) return new RequestRejected(details)
  if (status < 400 || misconfiguredStatuses.has(status)) return new Misconfigured(details)
  if (status === 429) return new (noCredit.test(details.detail) ? Misconfigured : RateLimited)(details)
  // Some servers fail on what they should refuse.
  if (contextLength.test(text)) return new ContextExceeded(details)
  if (status >= 500 || temporaryStatuses.has(status)) return new ServerFailed(details)
  if (contentRefusal.test(text)) return new ContentRefused(details)
  return new (unknownModel.test(text.replaceAll(quotations, "")) ? Misconfigured : RequestRejected)(details)
}

/** What an error event in the stream means. */
export const errorEventFault = ({ label, message }: ServerError): Fault => {
  const details = { detail: `an error in the stream ${label}`, serverMessage: Redacted.make(message) }
  if (contextLength.test(textOf(details))) return new ContextExceeded(details)
  if (contentRefusal.test(label)) return new ContentRefused(details)
  return new (noCredit.test(label) ? Misconfigured : ErrorEvent)(details)
}

/** What an error of the connection means, by whether the answer had begun. */
export const transportFault = (error: unknown, answerBegun: boolean): Fault => {
  const { code, message, name } = describeError(error)
  // Messages of the system begin with what was tried, and name the code.
  const details = { detail: code !== null && message.includes(code) ? message : `${code ?? name} ${message}` }
  // Such as a key that can't be sent as a header.
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
