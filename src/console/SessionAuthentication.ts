import { Context, Effect, Layer } from "effect"
import { Mac } from "effect/crypto"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { Access, rolesOf } from "../admin/Access.ts"
import { Administration } from "../admin/AdminApi.ts"
import { ApiKeys } from "../auth/ApiKeys.ts"
import { boundsOf, ClientAddress } from "../auth/ClientAddress.ts"
import { CurrentUser } from "../domain/Account.ts"
import { CurrentActor } from "../domain/Actor.ts"
import { CsrfTokenRejected, ForeignRequest, EndpointForbidden, SessionEnded } from "../domain/Errors.ts"
import { ApiKeyId } from "../domain/Ids.ts"
import { noKeyLimits } from "../domain/KeyLimits.ts"
import { inTurns } from "../domain/ProcessorTurns.ts"
import type { KnownSession } from "../domain/Session.ts"
import { respondTo } from "../http/ErrorBoundary.ts"
import { UserBounds } from "../http/UserBounds.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { firstId } from "../sql/Paging.ts"
import { SessionAuthentication, WebUser } from "./ConsoleApi.ts"
import { CurrentSession } from "./CurrentSession.ts"
import { isFromOwnPage, isSafeMethod } from "./SameOriginRule.ts"
import { makeSessionAccess } from "./SessionAccess.ts"
import { csrfHeader, SameOrigin } from "./SessionApi.ts"

type Request = HttpServerRequest.HttpServerRequest

/** Keeps a response out of every cache. */
const unstored = HttpServerResponse.setHeader("cache-control", "no-store")

const utf8 = new TextEncoder()

/** Whether the request has the token of its session, compared in constant time. */
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

/** Admits those whose role the endpoint's `Access` names. Which organizations they see, services decide by CurrentActor. */
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
