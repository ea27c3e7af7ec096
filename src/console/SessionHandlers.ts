import { Effect, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Links } from "../auth/Links.ts"
import { Sessions } from "../auth/Sessions.ts"
import type { StartedSession } from "../auth/SessionTable.ts"
import { CurrentActor } from "../domain/Actor.ts"
import { CsrfTokenRejected } from "../domain/Errors.ts"
import type { LinkRecord } from "../domain/Link.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { ConsoleApi } from "./ConsoleApi.ts"
import { makeSessionAccess } from "./SessionAccess.ts"
import { hasCsrfToken } from "./SessionAuthentication.ts"

/** The facts that a user who opens a link may know of it. */
const linkBody = ({ email, expiresAt, kind, organization, role }: LinkRecord) => ({
  kind,
  email,
  organization,
  role,
  expires_at: expiresAt
})

/** Signing in and out, by password or by link. */
export const SessionHandlers = HttpApiBuilder.group(
  ConsoleApi,
  "session",
  Effect.fnUntraced(function* (handlers) {
    const access = yield* makeSessionAccess
    const links = yield* Links
    const sessions = yield* Sessions

    const begin = Effect.fnUntraced(function* (
      request: HttpServerRequest.HttpServerRequest,
      started: StartedSession
    ) {
      yield* access.begin(request, started)
      return yield* access.stateOf(yield* sessions.find(started.secret))
    })

    return handlers.handleAll({
      state: ({ request }) => access.find(request).pipe(Effect.flatMap(access.stateOf), enveloped),
      signIn: Effect.fnUntraced(function* ({ payload: { email, password }, request }) {
        const started = yield* sessions.signIn(email, Redacted.make(password), access.clientOf(request))
        return yield* begin(request, started)
      }, enveloped),
      signOut: Effect.fnUntraced(function* ({ request }) {
        const known = yield* access.find(request)
        if (known !== null) {
          if (!hasCsrfToken(request, known)) return yield* new CsrfTokenRejected()
          const { person, session } = known
          const actor = { ...person, address: access.clientOf(request).address }
          yield* Effect.provideService(sessions.end(person.userId, session.id), CurrentActor, actor)
        }
        yield* access.clear(request)
        return yield* access.stateOf(null)
      }, enveloped),
      openLink: ({ payload }) =>
        links.open(Redacted.make(payload.token)).pipe(Effect.map(linkBody), enveloped),
      useLink: Effect.fnUntraced(function* ({ payload: { password, token, ...given }, request }) {
        const signedIn = (yield* access.find(request))?.person.userId
        const use = { ...given, token: Redacted.make(token), password: Redacted.make(password), signedIn }
        return yield* begin(request, yield* links.use(use, access.clientOf(request)))
      }, enveloped)
    })
  })
)
