import { Duration, Effect, Layer } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { boundsOf, ClientAddress } from "../auth/ClientAddress.ts"
import { Identities } from "../auth/Identities.ts"
import { IdentityProvider } from "../auth/IdentityProvider.ts"
import { pendingSecondsMax } from "../auth/PendingSignIn.ts"
import type { SignInRefusal } from "../domain/SignInRefusal.ts"
import { logFailure } from "../http/ErrorBoundary.ts"
import { identityCallbackPath, pathOf, route, makeTemplateOf } from "../http/Routes.ts"
import { UserBounds } from "../http/UserBounds.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { isLoopback } from "../settings/OidcCodec.ts"
import { pagePaths } from "./PagePaths.ts"
import { makeSessionAccess } from "./SessionAccess.ts"
import { cookieName } from "./SessionCookie.ts"

const charactersMax = 1_000

const pageOf = makeTemplateOf(
  Object.values(pagePaths).map((path: string) => route("GET", path.replaceAll("$", ":")))
)

/** Any origin but that of an address with a host of its own. */
const somewhere = "http://localhost"

/**
 * The page to go to after a sign-in, as an address below the application's base: never another site, and no
 * interface.
 */
export const returnPath = (asked: string | null): string => {
  const url = asked === null || asked.length > charactersMax ? null : URL.parse(asked, somewhere)
  if (url === null || url.origin !== somewhere || pageOf(url.pathname) === null) return pagePaths.home
  // Two slashes at the beginning of an address name another host.
  if (url.pathname.startsWith("//")) return pagePaths.home
  return url.pathname + url.search + url.hash
}

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

const beginPath = "/console/sign-in/oidc"

export const identityRoutes = [beginPath, identityCallbackPath].map((path) => route("GET", path))

/** Holds the sign-in that is under way in this browser. */
const pendingCookie = "parley_sign_in"
const pendingCharactersMax = 4_096

/** Addresses of sign-ins hold codes, which neither a cache nor another site may get. */
const redirectHeaders = { "cache-control": "no-store", "referrer-policy": "no-referrer" }

const queryOf = ({ url }: Request): string => url.slice(pathOf(url).length).replace(/#.*$/s, "")

/**
 * The needs of both routes: the address of the application, the cookie of the pending sign-in, and the
 * answers.
 */
const makeNavigation = Effect.gen(function* () {
  const {
    console: { basePath, publicUrl },
    http
  } = yield* AppConfig
  const address = yield* ClientAddress

  const to = (location: string): Response =>
    HttpServerResponse.empty({ status: 303, headers: { ...redirectHeaders, location } })

  /** A path of the application, below its base. */
  const toPage = (path: string): Response => to(basePath + path.slice(1))

  /**
   * The browser's own name for this machine, so that it keeps its cookies; strangers' names are not believed.
   */
  const originOf = ({ headers }: Request): string => {
    if (publicUrl !== null) return publicUrl
    const url = URL.parse(`http://${headers["host"] ?? ""}`)
    return url !== null && isLoopback(url.hostname) ? url.origin : `http://localhost:${http.port}`
  }

  const cookieOptions = (request: Request) => ({
    path: basePath,
    httpOnly: true,
    // The provider's redirect carries it, and requests of other sites' pages don't.
    sameSite: "lax" as const,
    secure: address.of(request).isSecure
  })
  const nameFor = (request: Request): string => cookieName(pendingCookie, cookieOptions(request))

  return {
    to,
    toPage,
    toSignIn: (problem: SignInRefusal): Response => toPage(`${pagePaths.signIn}?problem=${problem}`),
    redirectUriOf: (request: Request): string => originOf(request) + identityCallbackPath,
    pendingOf: (request: Request): string | undefined => {
      const value = request.cookies[nameFor(request)]
      return value === undefined || value.length > pendingCharactersMax ? undefined : value
    },
    keepPending:
      (request: Request, pending: string) =>
      (response: Response): Response =>
        HttpServerResponse.setCookieUnsafe(response, nameFor(request), pending, {
          ...cookieOptions(request),
          maxAge: Duration.seconds(pendingSecondsMax)
        }),
    dropPending:
      (request: Request) =>
      (response: Response): Response =>
        HttpServerResponse.expireCookieUnsafe(response, nameFor(request), cookieOptions(request))
  }
})

/**
 * Sends people to the identity provider, and signs in those who come back. Browsers navigate here; nothing
 * else calls it.
 */
export const IdentityRoutes = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const access = yield* makeSessionAccess
    const bounds = yield* UserBounds
    const identities = yield* Identities
    const navigation = yield* makeNavigation
    const provider = yield* IdentityProvider

    const admit = (request: Request) => bounds.admit(boundsOf(access.clientOf(request).address))

    const begin = Effect.fnUntraced(function* (request: Request) {
      yield* admit(request)
      const returnTo = returnPath(new URLSearchParams(queryOf(request)).get("return_to"))
      const { pending, url } = yield* provider.begin(navigation.redirectUriOf(request), returnTo)
      return navigation.keepPending(request, pending)(navigation.to(url))
    })

    const identify = (request: Request) =>
      provider
        .finish({ pending: navigation.pendingOf(request), query: queryOf(request) })
        .pipe(
          Effect.tapErrorTag("IdentityRefused", ({ problem }) =>
            identities.recordRefusal(problem, access.clientOf(request))
          )
        )

    const finish = Effect.fnUntraced(function* (request: Request) {
      yield* admit(request)
      const { identity, returnTo } = yield* identify(request)
      const started = yield* identities.signIn(identity, access.clientOf(request))
      yield* access.begin(request, started)
      return navigation.toPage(returnTo)
    })

    type Refused = Effect.Error<ReturnType<typeof begin> | ReturnType<typeof finish>>

    const refuse = Effect.fnUntraced(function* (error: Refused) {
      if (error._tag === "IdentityRefused") {
        const { problem, reason } = error
        yield* Effect.logWarning("A sign-in by the identity provider was refused.").pipe(
          Effect.annotateLogs({ problem, reason })
        )
        return navigation.toSignIn(problem)
      }
      yield* logFailure(error)
      const isBusy = error._tag === "UserLimitReached"
      return navigation.toSignIn(isBusy ? "too_many_sign_ins" : "service_unavailable")
    })

    yield* router.add("GET", beginPath, (request) => Effect.catch(begin(request), refuse))
    // Whatever came of it, the sign-in is over.
    yield* router.add("GET", identityCallbackPath, (request) =>
      Effect.map(Effect.catch(finish(request), refuse), navigation.dropPending(request))
    )
  })
).pipe(Layer.provide(UserBounds.layer))
