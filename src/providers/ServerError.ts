import { Option, Predicate, Schema } from "effect"

/** An error that the server reports: `label` is safe to log, `message` may quote the request. */
export interface ServerError {
  readonly type: "error"
  /** The codes and types of the error, and the field that it names. */
  readonly label: string
  readonly message: string
  /** The HTTP status that the error itself states, such as that of a server behind a gateway. */
  readonly status?: number
  /** The wait that the error itself asks for. */
  readonly retryAfterSeconds?: number
  /** The size of the context, where a field states it. */
  readonly contextTokens?: number
}

type Fields = Readonly<Record<PropertyKey, unknown>>

/** An error lies at most so deep within lists, other errors and quotations. */
const levelsMax = 5

const messageCharactersMax = 16 * 1024
const listedMax = 8

const nothing: ServerError = { type: "error", label: "", message: "" }

/**
 * An error in any form that servers send: an object, a text, a list of one, or an object around one of these.
 */
export const decodeError = (error: unknown): ServerError => decodeAt(error, levelsMax)

/** The error of a body whose status is an error. A body that isn't JSON is the message. */
export const decodeErrorBody = (body: string): ServerError =>
  Option.match(decodeJson(body), {
    onNone: () => ({
      ...nothing,
      message: page.test(body) ? (pageTitle.exec(body)?.[1] ?? "") : bounded(body)
    }),
    onSome: decodeError
  })

/** The error that an object without a field `error` is; null where it is none. */
export const bareError = (event: Fields): ServerError | null => {
  const isNamed = event["object"] === "error"
  if (!isNamed && event["message"] === undefined && event["detail"] === undefined) return null
  const error = decodeError(event)
  return isNamed || error.message !== "" ? error : null
}

/** The error that an event or a document without a type is; null where it is none. */
export const untypedError = (event: Fields): ServerError | null => {
  if (event["type"] !== undefined && event["object"] !== "error") return null
  const { error } = event
  return error === undefined || error === null ? bareError(event) : decodeError(event)
}

/** The first of a list, where it has an error; some servers wrap the error of a stream in one. */
export const errorInList = (list: unknown): Fields | null => {
  const first: unknown = Array.isArray(list) ? list[0] : null
  return Predicate.isObject(first) && Predicate.isObject(first["error"]) ? first : null
}

const decodeAt = (error: unknown, levels: number): ServerError => {
  if (levels === 0) return nothing
  if (Predicate.isString(error)) return { ...nothing, message: bounded(unwrapped(error, levels)) }
  if (Array.isArray(error)) return decodeAt(error[0], levels - 1)
  if (!Predicate.isObject(error)) return nothing
  const inner = Predicate.isString(error["error"]) ? nothing : decodeAt(error["error"], levels - 1)
  if (inner.label !== "" || inner.message !== "") return inner
  return withCause(decodeFields(error, levels), decodeAt(causeIn(error["metadata"]), levels - 1))
}

/** A code or a type that is a mere word quotes nothing and is safe to log. */
const word = /^[\w.:-]{1,64}$/

const labelOf = (values: ReadonlyArray<unknown>): string => {
  const words = values.filter((value) => Predicate.isString(value) || Predicate.isNumber(value)).map(String)
  return [...new Set(words.filter((value) => word.test(value)))].join(" ")
}

const decodeFields = (error: Fields, levels: number): ServerError => {
  const { code, innererror, message, metadata, param, status, type } = error
  const details = objectsIn(error["details"])
  const label = labelOf([
    code,
    type,
    Predicate.isString(status) ? status : null,
    param,
    fieldOf(innererror, "code"),
    fieldOf(metadata, "error_type"),
    ...details.map(({ reason }) => reason),
    ...[message, error["detail"]].flatMap(problemsIn).map((problem) => problem["type"])
  ])
  const said = [message, error["error"], error["detail"], error["msg"]]
    .map(sentenceIn)
    .find((text) => text !== "")
  const sentence = unwrapped(said ?? "", levels)
  const stated = statusOf(error)
  const seconds = details.map(({ retryDelay }) => secondsOf(retryDelay)).find(Predicate.isNotNull)
  const contextTokens = error["n_ctx"]
  return {
    type: "error",
    label,
    // A code that is a sentence states the kind of the error that the message is about.
    message: bounded(Predicate.isString(code) && code.includes(" ") ? `${code}: ${sentence}` : sentence),
    ...(stated === undefined ? {} : { status: stated }),
    ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
    ...(Number.isSafeInteger(contextTokens) ? { contextTokens: Number(contextTokens) } : {})
  }
}

/** A gateway's error, with the words of the server behind it. The status stays the gateway's. */
const withCause = (error: ServerError, cause: ServerError): ServerError =>
  cause === nothing
    ? error
    : {
        ...cause,
        ...error,
        label: [...new Set(`${error.label} ${cause.label}`.trim().split(" "))].join(" "),
        message: cause.message === "" ? error.message : cause.message
      }

/**
 * The provider's own error behind OpenRouter's "Provider returned error": JSON, as a text or not, or plain
 * words.
 */
const causeIn = (metadata: unknown): unknown => {
  const raw = fieldOf(metadata, "raw")
  return Predicate.isString(raw) ? Option.getOrElse(decodeJson(raw), () => raw) : raw
}

/** The status that an error states as its code, also as a text. */
const statusOf = (error: Fields): number | undefined =>
  [error["code"], error["status"], error["status_code"], error["statusCode"]]
    .filter((value) => Predicate.isNumber(value) || Predicate.isString(value))
    .filter((value) => /^[45]\d\d$/.test(String(value)))
    .map(Number)[0]

/** The seconds of a duration such as "1.5s". Source: google.rpc.RetryInfo. */
const secondsOf = (duration: unknown): number | null =>
  Predicate.isString(duration) && /^\d{1,9}(\.\d{1,9})?s$/.test(duration)
    ? Number(duration.slice(0, -1))
    : null

/** The words of a message, which is a text or the problems of a validation. */
const sentenceIn = (message: unknown): string => {
  if (Predicate.isString(message)) return message
  const problems = problemsIn(message).map(problemText)
  return problems.length > 0 ? problems.join("; ") : sentenceOfField(fieldOf(message, "message"))
}

const sentenceOfField = (text: unknown): string => (Predicate.isString(text) ? text : "")

/**
 * The problems that a validation found: a list, which may stand in a field of its own. Source: the errors of
 * Pydantic.
 */
const problemsIn = (message: unknown): ReadonlyArray<Fields> =>
  objectsIn(Predicate.isObject(message) ? message["detail"] : message)

/**
 * The field that a problem is about, and the words for it. Never includes the value, which is a part of the
 * prompt.
 */
const problemText = ({ loc, msg, type }: Fields): string => {
  const path = (Array.isArray(loc) ? loc : []).filter((name) => name !== "body").join(".")
  const said = [path, sentenceOfField(msg)].filter((part) => part !== "").join(": ")
  return Predicate.isString(type) ? `${said} (${type})` : said
}

/** Replaces a gateway's message by the error that it quotes, alone or behind the name of an exception. */
const unwrapped = (message: string, levels: number): string => {
  const from = message.indexOf("{")
  const to = message.lastIndexOf("}") + 1
  if (from < 0 || to < from || !/^\s*$|exception|error/i.test(message.slice(0, from))) return message
  const quoted = Option.getOrNull(decodeJson(message.slice(from, to)))
  const said = Predicate.isObject(quoted) ? decodeAt(quoted, levels - 1).message : ""
  return said === "" ? message : message.slice(0, from) + said + message.slice(to)
}

const objectsIn = (list: unknown): ReadonlyArray<Fields> =>
  Array.isArray(list) ? list.slice(0, listedMax).filter((one) => Predicate.isObject(one)) : []

const fieldOf = (object: unknown, name: string): unknown =>
  Predicate.isObject(object) ? object[name] : undefined

const bounded = (text: string): string => text.slice(0, messageCharactersMax)

/** A page for a browser, as proxies send it. */
const page = /^\s*<(!doctype|html)/i
const pageTitle = /<title[^>]{0,100}>([^<]{0,200})/i

const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))
