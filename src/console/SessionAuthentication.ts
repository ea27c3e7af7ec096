import { Context, Effect, Layer } from "effect"
import { Mac } from "effect/crypto"
import { HttpServerRequest, HttpServerResponse, type Headers } from "effect/http"
import ipaddr from "ipaddr.js"
import { Access, rolesOf } from "../admin/Access.ts"
import { Administration } from "../admin/AdminApi.ts"
import { ApiKeys } from "../auth/ApiKeys.ts"
import { boundsOf, ClientAddress } from "../auth/ClientAddress.ts"
import { CurrentUser } from "../domain/Account.ts"
import { CurrentActor } from "../domain/Actor.ts"
import { CsrfTokenRejected, ForeignRequest, EndpointForbidden, SessionEnded } from "../domain/Errors.ts"
import { ApiKeyId } from "../domain/Ids.ts"
import { noKeyLimits } from "../domain/KeyLimits.ts"
import type { KnownSession } from "../domain/Session.ts"
import { respondTo } from "../http/ErrorBoundary.ts"
import { UserBounds } from "../http/UserBounds.ts"
import { inTurns } from "../runtime/ProcessorTurns.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { firstId } from "../sql/Paging.ts"
import { SessionAuthentication, WebUser } from "./ConsoleApi.ts"
import { CurrentSession } from "./CurrentSession.ts"
import { makeSessionAccess } from "./SessionAccess.ts"
import { csrfHeader, SameOrigin } from "./SessionApi.ts"

/** The parts of a request that a rule about origins reads. */
interface Received {
  readonly method: string
  readonly headers: Headers.Headers
}

/**
 * Names that are not looked up in the public DNS, so that no stranger can point them to this service. Source:
 * RFC 6761, RFC 6762, RFC 8375.
 */
const localNames = /(^|\.)(localhost|local|internal|test|home\.arpa)$/

/**
 * True if a stranger can't have made the browser take this name for the service's: DNS rebinding needs a name
 * of one's own.
 */
const isOwnName = (hostname: string): boolean =>
  ipaddr.isValid(hostname.replace(/^\[(.*)\]$/, "$1")) || !hostname.includes(".") || localNames.test(hostname)

const urlOf = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null)

const isSafeMethod = ({ method }: Received): boolean => method === "GET" || method === "HEAD"

/** True if a page of this origin is one of this service. */
const isOwnOrigin = (origin: string, host: string, publicUrl: string | null): boolean => {
  if (publicUrl !== null) return origin === urlOf(publicUrl)?.origin
  const found = urlOf(origin)
  // The scheme of a service behind a proxy isn't known, so the hosts are compared as the origin's scheme
  // writes them.
  return found !== null && found.host !== "" && found.host === urlOf(`${found.protocol}//${host}`)?.host
}

/**
 * True if the request may come from a page of this service, or from no page at all. A request that changes
 * something must prove the former, by `Origin` or `Sec-Fetch-Site`, which no script can set. Without
 * `publicUrl`, the `Host` must be a name that is safe from DNS rebinding.
 */
export const isFromOwnPage = (request: Received, publicUrl: string | null): boolean => {
  const { host = "", origin, "sec-fetch-site": site } = request.headers
  if (publicUrl === null && !isOwnName(urlOf(`http://${host}`)?.hostname ?? ".")) return false
  if (site !== undefined && site !== "same-origin" && site !== "none") return false
  if (origin !== undefined) return isOwnOrigin(origin, host, publicUrl)
  return isSafeMethod(request) || site === "same-origin"
}

type Request = HttpServerRequest.HttpServerRequest

/** Keeps a response out of every cache. */
const unstored = HttpServerResponse.setHeader("cache-control", "no-store")

const utf8 = new TextEncoder()

/** True if the request has the token of its session, compared in constant time. */
export const hasCsrfToken = ({ headers }: Request, { csrfToken }: KnownSession): boolean =>
  Mac.timingSafeEqual(utf8.encode(headers[csrfHeader] ?? ""), utf8.encode(csrfToken))

const makeRequireOwnPage = Effect.map(
  AppConfig,
  ({ console: { publicUrl } }) =>
    (request: Request) =>
      isFromOwnPage(request, publicUrl) ? Effect.void : Effect.fail(new ForeignRequest({ publicUrl }))
)

/** Admits requests of those who are not signed in, within the bounds of one network. */
const SameOriginLayer = Layer.effect(
  SameOrigin,
  Effect.gen(function* () {
    const bounds = yield* UserBounds
    const client = yield* ClientAddress
    const requireOwnPage = yield* makeRequireOwnPage
    return SameOrigin.of((httpEffect) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        yield* requireOwnPage(request)
        yield* bounds.admit(boundsOf(client.of(request).address))
      }).pipe(
        Effect.matchEffect({
          onFailure: (error) => Effect.succeed(respondTo(error)),
          onSuccess: () => httpEffect
        }),
        Effect.map(unstored)
      )
    )
  })
)

/** The session of the request, admitted within the bounds of its user. */
const makeAuthenticate = Effect.gen(function* () {
  const bounds = yield* UserBounds
  const client = yield* ClientAddress
  const access = yield* makeSessionAccess
  const requireOwnPage = yield* makeRequireOwnPage

  return Effect.fnUntraced(function* (request: Request) {
    yield* requireOwnPage(request)
    const known = yield* access.find(request)
    if (known === null) return yield* new SessionEnded()
    if (!isSafeMethod(request) && !hasCsrfToken(request, known)) return yield* new CsrfTokenRejected()
    yield* bounds.admit(known.person.userId)
    return { ...known, person: { ...known.person, address: client.of(request).address } }
  })
})

const makeWithSession = Effect.gen(function* () {
  const authenticate = yield* makeAuthenticate

  /** Runs the effect for the user of the session if `refusalOf` finds no reason against it. */
  return <E, R>(
    httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
    refusalOf: (session: KnownSession) => EndpointForbidden | null = () => null
  ) =>
    Effect.gen(function* () {
      const session = yield* authenticate(yield* HttpServerRequest.HttpServerRequest)
      const refusal = refusalOf(session)
      return refusal === null ? session : yield* refusal
    }).pipe(
      Effect.matchEffect({
        onFailure: (error) => Effect.succeed(respondTo(error)),
        onSuccess: (session) =>
          httpEffect.pipe(
            Effect.provideService(CurrentSession, session),
            Effect.provideService(CurrentActor, session.person),
            inTurns(session.person.userId)
          )
      }),
      Effect.map(unstored)
    )
})

const SessionAuthenticationLayer = Layer.effect(
  SessionAuthentication,
  Effect.map(makeWithSession, (withSession) =>
    SessionAuthentication.of((httpEffect) => withSession(httpEffect))
  )
)

/** Names no key. */
const noKey = ApiKeyId.make(firstId)

const WebUserLayer = Layer.effect(
  WebUser,
  Effect.map(ApiKeys, (apiKeys) =>
    WebUser.of((httpEffect) =>
      Effect.gen(function* () {
        const { person, plan } = yield* CurrentSession
        const { organizationId, userId } = person
        // A GET creates nothing, and spends nothing that would be recorded under the key.
        const keyId = isSafeMethod(yield* HttpServerRequest.HttpServerRequest)
          ? ((yield* apiKeys.knownWebKeyOf(userId)) ?? noKey)
          : yield* apiKeys.webKeyOf(userId)
        return { userId, organizationId, keyId, keyLimits: noKeyLimits, plan }
      }).pipe(
        Effect.matchEffect({
          onFailure: (error) => Effect.succeed(respondTo(error)),
          onSuccess: (user) => Effect.provideService(httpEffect, CurrentUser, user)
        })
      )
    )
  )
)

/**
 * Admits those whose role the endpoint's `Access` names. Which organizations they see, services decide by
 * CurrentActor.
 */
const AdministrationLayer = Layer.effect(
  Administration,
  Effect.map(makeWithSession, (withSession) =>
    Administration.of((httpEffect, { endpoint }) => {
      const roles = rolesOf[Context.get(endpoint.annotations, Access)]
      return withSession(httpEffect, ({ person }) =>
        roles.includes(person.role) ? null : new EndpointForbidden()
      )
    })
  )
)

export const ConsoleAuthenticationLayer = Layer.mergeAll(
  SameOriginLayer,
  SessionAuthenticationLayer,
  WebUserLayer,
  AdministrationLayer
).pipe(Layer.provide(UserBounds.layer))
