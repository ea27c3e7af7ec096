import { DateTime, Effect, type Redacted } from "effect"
import { HttpEffect, type HttpServerRequest } from "effect/http"
import { ClientAddress } from "../auth/ClientAddress.ts"
import { IdentityProvider } from "../auth/IdentityProvider.ts"
import { Links } from "../auth/Links.ts"
import { Sessions } from "../auth/Sessions.ts"
import type { StartedSession } from "../auth/SessionTable.ts"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import { CurrentActor, type Person } from "../domain/Actor.ts"
import type { KnownSession, SessionClient } from "../domain/Session.ts"
import { thisBuild } from "../settings/Build.ts"
import { makeSessionCookie } from "./SessionCookie.ts"

type Request = HttpServerRequest.HttpServerRequest

const signedOut = { user: null, csrf_token: null, expires_at: null, version: null }

/** Names the user in the access log. */
const nameUser = ({ organizationId, userId }: Person) =>
  Effect.map(CurrentAccess, (entry) => {
    if (entry !== null) entry.caller = { userId, organizationId, keyId: null }
  })

/** Gives handlers the session of a request: it finds the session, changes its cookie, and describes it. */
export const makeSessionAccess = Effect.gen(function* () {
  const address = yield* ClientAddress
  const cookie = yield* makeSessionCookie
  const links = yield* Links
  const provider = yield* IdentityProvider
  const sessions = yield* Sessions

  const clientOf = (request: Request): SessionClient => ({
    address: address.of(request).address,
    userAgent: request.headers["user-agent"] ?? null
  })

  /** Has the response to the request set the cookie. */
  const keep = Effect.fnUntraced(function* (
    request: Request,
    secret: Redacted.Redacted,
    expiresAt: DateTime.Utc
  ) {
    const set = cookie.keep(request, secret, expiresAt, yield* DateTime.now)
    yield* HttpEffect.appendPreResponseHandler((_, response) => Effect.succeed(set(response)))
  })

  /** The session of the request; null without one. When its expiry slides, the cookie's does. */
  const find = Effect.fnUntraced(function* (request: Request) {
    const secret = cookie.secretOf(request)
    const since = yield* DateTime.now
    const known = secret === null ? null : yield* sessions.find(secret)
    if (secret === null || known === null) return null
    yield* nameUser(known.person)
    const { expiresAt, lastSeenAt } = known.session
    if (DateTime.isGreaterThanOrEqualTo(lastSeenAt, since)) yield* keep(request, secret, expiresAt)
    return known
  })

  /**
   * Ends the session that the request already had, so that a browser has one at most, and never one that was
   * given to it.
   */
  const begin = Effect.fnUntraced(function* (request: Request, { person, secret, session }: StartedSession) {
    const earlier = yield* find(request)
    if (earlier !== null) {
      const end = sessions.end(earlier.person.userId, earlier.session.id)
      const actor = { ...earlier.person, address: clientOf(request).address }
      yield* Effect.provideService(end, CurrentActor, actor)
    }
    yield* keep(request, secret, session.expiresAt)
    yield* nameUser(person)
  })

  /** Has the response to the request remove the cookie. */
  const clear = (request: Request) =>
    HttpEffect.appendPreResponseHandler((_, response) => Effect.succeed(cookie.clear(request)(response)))

  const stateOf = Effect.fnUntraced(function* (known: KnownSession | null) {
    const shared = { set_up_needed: false, identity_provider: provider.name }
    if (known === null) return { ...signedOut, ...shared, set_up_needed: yield* links.isSetUpNeeded }
    const { csrfToken, hasPassword, person, session } = known
    return {
      ...shared,
      user: {
        id: person.userId,
        email: person.email,
        role: person.role,
        organization: person.organization,
        has_password: hasPassword
      },
      csrf_token: csrfToken,
      expires_at: session.expiresAt,
      version: thisBuild.version
    }
  })

  return { find, clientOf, begin, keep, clear, stateOf }
})
