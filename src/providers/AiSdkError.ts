import { Predicate } from "effect"
import type { Fields } from "./Protocol.ts"

/**
 * An error status of a server, a failed connection, or an error that the package reports as an event of an
 * answer.
 */
export type SdkError =
  | {
      readonly type: "status"
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }
  | { readonly type: "connection"; readonly error: Error }
  | { readonly type: "event"; readonly data: string }

/**
 * Reads anything that a package throws: no error, a proxy, or an object whose fields throw in turn. Never
 * throws.
 */
export const readSdkError = (error: unknown): SdkError => {
  try {
    const status = fieldOf(error, "statusCode")
    if (typeof status === "number" && status >= 300) {
      const body = String(fieldOf(error, "responseBody") ?? "")
      return { type: "status", status, headers: headersOf(fieldOf(error, "responseHeaders")), body }
    }
    const cause = connectionError(error, causesMax)
    if (cause !== null) return { type: "connection", error: cause }
  } catch {
    // The event below reports an error that can't be read.
  }
  return { type: "event", data: errorEvent(error) }
}

/** The event of an error, as JSON. Never throws. */
export const errorEvent = (error: unknown): string => {
  try {
    return JSON.stringify({ type: "error", error: describeError(error) })
  } catch {
    return JSON.stringify({ type: "error", error: { message: "an error that can't be read" } })
  }
}

const fieldOf = (object: unknown, name: string): unknown =>
  Predicate.hasProperty(object, name) ? object[name] : undefined

/** The SDK's own errors that no server has caused, and the status that a server would have for them. */
const ownErrors: ReadonlyMap<unknown, number> = new Map([
  ["AI_LoadAPIKeyError", 401],
  ["AI_LoadSettingError", 404],
  ["AI_NoSuchModelError", 404],
  // The package complains about options of the catalog. Options of clients have no such form.
  ["AI_InvalidArgumentError", 404],
  ["AI_InvalidPromptError", 400],
  ["AI_UnsupportedFunctionalityError", 400]
])

/**
 * Fields of an error with the model's output that the package could not read. The error's message quotes that
 * output.
 */
const quotingFields = ["text", "value", "data"] as const

/** The error of a part or of a package in the fields of a server's error. */
const describeError = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error
  const { message, name } = error
  // An event that the package can't read may be an error of the server.
  const unread = fieldOf(error, "value")
  if (Predicate.hasProperty(unread, "error") || Predicate.hasProperty(unread, "message")) return unread
  const body = fieldOf(error, "responseBody")
  const status = fieldOf(error, "statusCode")
  // The body of a success is an answer, and no error.
  const isRefusal = typeof status === "number" && status >= 300
  if (isRefusal && Predicate.isString(body) && body !== "")
    return { code: name, message: body, status_code: status }
  const own = ownErrors.get(name)
  const isQuoting = own === undefined && quotingFields.some((field) => fieldOf(error, field) !== undefined)
  return {
    code: name,
    message: isQuoting ? "an event that the package can't read" : message,
    status_code: status ?? own
  } satisfies Fields
}

const headersOf = (headers: unknown): Readonly<Record<string, string>> =>
  Predicate.isObject(headers)
    ? Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
    : {}

/** The most nested causes of an error that are searched. */
const causesMax = 5

/** Connection error codes of the system, of TLS and of undici. Codes of files and of packages don't match. */
const connectionCode = new RegExp(
  [
    "^(ECONN|ENET|EHOST|EADDR|EAI_|UND_ERR_|HPE_|ERR_SSL_|ERR_TLS_|UNABLE_TO_)[A-Z_]+$",
    "^(ENOTFOUND|ETIMEDOUT|EPIPE|EPROTO|EMFILE|ENFILE)$",
    "^([A-Z]+_)*CERT(_[A-Z]+)*$"
  ].join("|")
)

/** The connection error among the causes of an error; null if there is none. */
const connectionError = (error: unknown, levels: number): Error | null => {
  if (!(error instanceof Error) || levels === 0) return null
  const code = fieldOf(error, "code")
  if (!Predicate.isString(code) || !connectionCode.test(code)) return connectionError(error.cause, levels - 1)
  // The message may be the package's own.
  const { message, name } = error
  return Object.assign(new Error(code), {
    code,
    name,
    serverMessage: message,
    socket: fieldOf(error, "socket")
  })
}
