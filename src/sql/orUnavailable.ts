import { Cause, Effect, Predicate, Schema } from "effect"
import { SqlError } from "effect/sql"
import { DatabaseUnavailable } from "../domain/Errors.ts"

/**
 * SQLSTATE classes and codes of temporary failures, beyond those that the driver knows by name: insufficient
 * resources (53300 is "too many connections"), shutdown and crash, storage that fails, a session ended by an
 * idle limit, and a server that has become read-only after a failover.
 */
const unavailableStates = ["53", "57P", "58", "25P03", "25006"]

/**
 * The code that came with a failure: the server's SQLSTATE, or the operating system's name for a failed
 * connection.
 */
const sqlState = (error: SqlError.SqlError): string => {
  const cause = error.reason.cause
  return Predicate.hasProperty(cause, "code") && Predicate.isString(cause.code) ? cause.code : ""
}

/** True if the database, and not the statement, is the reason of a failure. */
export const isUnavailable = (error: SqlError.SqlError): boolean =>
  error.isRetryable ||
  error.reason.operation === "connect" ||
  unavailableStates.some((state) => sqlState(error).startsWith(state))

/**
 * Errors of a network, or of a PostgreSQL that is still starting; unlike a wrong password or URL, they may
 * pass.
 */
const passingCodes = [
  ["ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"],
  ["ENOENT", "57P01", "57P02", "57P03", "53300"]
].flat()
/** Failures to which the driver gives no code. */
const passingMessages = [
  "PgConnection: Connection timed out",
  "PgConnection: Connection closed during startup"
]

/** True if a connection that could not be opened is worth another attempt. */
export const isPassing = (error: SqlError.SqlError): boolean =>
  passingCodes.includes(sqlState(error)) || passingMessages.includes(error.message)

/**
 * Turns every failure of SQL into `DatabaseUnavailable` when the database can't be reached, is too slow or
 * out of connections, and into a defect otherwise, a row that doesn't decode included.
 */
export const orUnavailable = <A, E, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, NotOfSql<E> | DatabaseUnavailable, R> =>
  Effect.catchCause(self, (cause): Effect.Effect<never, NotOfSql<E> | DatabaseUnavailable> => {
    const failure = cause.reasons.map(errorOf).filter(SqlError.isSqlError).find(isUnavailable)
    return failure === undefined
      ? Effect.failCause(Cause.fromReasons(cause.reasons.map(unexpectedAsDefect)))
      : Effect.fail(new DatabaseUnavailable({ cause: failure }))
  })

type NotOfSql<E> = Exclude<E, SqlError.SqlError | Schema.SchemaError>

/** A transaction whose connection broke reports the failed ROLLBACK as a defect, so defects count too. */
const errorOf = (reason: Cause.Reason<unknown>): unknown => {
  if (Cause.isFailReason(reason)) return reason.error
  return Cause.isDieReason(reason) ? reason.defect : undefined
}

const unexpectedAsDefect = <E>(reason: Cause.Reason<E>): Cause.Reason<NotOfSql<E>> => {
  if (!Cause.isFailReason(reason)) return reason
  const { error } = reason
  return isNotOfSql(error) ? Cause.makeFailReason(error) : Cause.makeDieReason(error)
}

const isNotOfSql = <E>(error: E): error is NotOfSql<E> =>
  !SqlError.isSqlError(error) && !Schema.isSchemaError(error)
