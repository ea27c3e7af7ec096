import { Predicate } from "effect"
import type { SqlError } from "effect/sql"

/**
 * Sentences of class 22, data exception, quote the value that could not be used, which may be what a user wrote. Source:
 * PostgreSQL 18, appendix A.
 */
const quotingClass = "22"

/** What the server or the operating system said, or null where the driver itself failed. */
const sentence = (cause: unknown): string | null => {
  if (!Predicate.hasProperty(cause, "code") || !Predicate.isString(cause.code)) return null
  const message = cause instanceof Error ? cause.message : ""
  if (!Predicate.hasProperty(cause, "severity")) return message === "" ? cause.code : message
  const shown = cause.code.startsWith(quotingClass) ? message.replace(/["'].*$/s, "…") : message
  return `${shown} (SQLSTATE ${cause.code})`
}

/**
 * The same error, whose message is what the server said and its SQLSTATE. It is for the operator: a client never sees it.
 * The error is the driver's own and new, so it is changed and not copied, which keeps its class and its stack.
 */
export const withServerSentence = (error: SqlError.SqlError): SqlError.SqlError => {
  const message = sentence(error.reason.cause)
  if (message !== null) Object.defineProperty(error.reason, "message", { value: message, configurable: true })
  return error
}
