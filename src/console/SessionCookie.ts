import { DateTime, Duration, Effect, Redacted } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { ClientAddress } from "../auth/ClientAddress.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { sessionCookie } from "./SessionApi.ts"

/** Longer values are not looked up. */
const secretCharactersMax = 200

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

/**
 * The name of a cookie. Over TLS its prefix makes browsers refuse one of that name that a sibling host, or an
 * answer without TLS, sets. Source: RFC 6265bis, section 4.1.3; `__Host-` needs the path "/".
 */
export const cookieName = (
  name: string,
  { path, secure }: { readonly path: string; readonly secure: boolean }
) => (secure ? `${path === "/" ? "__Host-" : "__Secure-"}${name}` : name)

/**
 * Reads and writes the cookie of a session, which no script can read and which other sites' requests don't
 * carry, except links.
 */
export const makeSessionCookie = Effect.gen(function* () {
  const { basePath } = (yield* AppConfig).console
  const client = yield* ClientAddress

  const attributesFor = (request: Request) => ({
    path: basePath,
    httpOnly: true,
    sameSite: "lax" as const,
    // Over plain HTTP a browser drops a cookie with this attribute.
    secure: client.of(request).isSecure
  })

  const nameFor = (request: Request): string => cookieName(sessionCookie, attributesFor(request))

  /**
   * Null without a cookie that could be one. Browsers send the one with the longest path first, and only that
   * one is read.
   */
  const secretOf = (request: Request): Redacted.Redacted | null => {
    const value = request.cookies[nameFor(request)] ?? ""
    return value === "" || value.length > secretCharactersMax ? null : Redacted.make(value)
  }

  /** Sets the cookie for as long as the session lasts. */
  const keep = (request: Request, secret: Redacted.Redacted, expiresAt: DateTime.Utc, now: DateTime.Utc) => {
    const maxAge = Duration.seconds(
      Math.max(0, Math.floor(Duration.toSeconds(DateTime.distance(now, expiresAt))))
    )
    return (response: Response): Response =>
      HttpServerResponse.setCookieUnsafe(response, nameFor(request), Redacted.value(secret), {
        ...attributesFor(request),
        maxAge
      })
  }

  const clear =
    (request: Request) =>
    (response: Response): Response =>
      HttpServerResponse.expireCookieUnsafe(response, nameFor(request), attributesFor(request))

  return { secretOf, keep, clear }
})
