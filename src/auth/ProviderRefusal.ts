import { Predicate } from "effect"
import { AuthorizationResponseError, ResponseBodyError } from "openid-client"
import type { IdentityRefused } from "../domain/IdentityRefused.ts"
import type { SignInRefusal } from "../domain/SignInRefusal.ts"
import { failureReason } from "../runtime/failureReason.ts"
import { refused } from "./IdentityClaims.ts"

/**
 * Errors that a person can cause at the provider. Source: RFC 6749, section 4.1.2.1, and OpenID Connect Core
 * 1.0, section 3.1.2.6.
 */
const endedThere = [
  "access_denied",
  "login_required",
  "interaction_required",
  "consent_required",
  "account_selection_required"
]
const unavailableThere = ["temporarily_unavailable", "server_error"]

const reasonCharactersMax = 500
/** Errors that one error may have below it. */
const depthMax = 6

const chainOf = (error: unknown): ReadonlyArray<unknown> => {
  const chain: Array<unknown> = []
  let current = error
  while (chain.length < depthMax && current !== undefined && current !== null) {
    chain.push(current)
    current = Predicate.hasProperty(current, "cause") ? current.cause : undefined
  }
  return chain
}

/** True if no answer came, or a part of one, or one after which a later attempt may succeed. */
const isPassing = (error: unknown): boolean => {
  if (error instanceof DOMException) return error.name === "TimeoutError" || error.name === "AbortError"
  if (error instanceof TypeError) return !Predicate.hasProperty(error, "code")
  const status = Predicate.hasProperty(error, "status") ? error.status : undefined
  return typeof status === "number" && (status >= 500 || status === 429)
}

const problemOf = (error: unknown): SignInRefusal => {
  if (error instanceof AuthorizationResponseError) {
    if (endedThere.includes(error.error)) return "provider_denied"
    return unavailableThere.includes(error.error) ? "provider_unavailable" : "provider_invalid"
  }
  // The provider sends this error also for a used code, and for a code that expired.
  if (error instanceof ResponseBodyError && error.error === "invalid_grant") return "sign_in_expired"
  return chainOf(error).some(isPassing) ? "provider_unavailable" : "provider_invalid"
}

/** The reason why openid-client failed. */
export const refusalOf = (error: unknown): IdentityRefused => {
  const codes =
    error instanceof AuthorizationResponseError || error instanceof ResponseBodyError ? [error.error] : []
  const reason = [failureReason(error), ...codes].join(": ")
  return refused(problemOf(error), reason.slice(0, reasonCharactersMax).toWellFormed())
}
