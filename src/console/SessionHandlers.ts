import { Effect, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Sessions } from "../auth/Sessions.ts"
import type { StartedSession } from "../auth/SessionTable.ts"
import { CurrentActor } from "../domain/Actor.ts"
import { CsrfTokenRejected, InvalidRequest } from "../domain/Errors.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { ConsoleApi } from "./ConsoleApi.ts"
import { makeSessionAccess } from "./SessionAccess.ts"
import { hasCsrfToken } from "./SessionAuthentication.ts"

const unknownLink = new InvalidRequest({ param: "token", message: "The link is not valid." })

/** Signing in and out, by password or by link. */
export const SessionHandlers = HttpApiBuilder.group(
  ConsoleApi,
  "session",
  Effect.fnUntraced(function* (handlers) {
    const access = yield* makeSessionAccess
    const sessions = yield* Sessions

    /** Ends the session that the request already had, so that a browser has one at most, and never one that was given to it. */
    const begin = Effect.fnUntraced(function* (
      request: HttpServerRequest.HttpServerRequest,
      started: StartedSession
    ) {
      const earlier = yield* access.find(request)
      if (earlier !== null) {
        const { person, session } = earlier
        yield* Effect.provideService(sessions.end(person.userId, session.id), CurrentActor, person)
      }
      yield* access.keep(request, started.secret, started.session.expiresAt)
      yield* access.nameUser(started.person)
      return access.stateOf(yield* sessions.find(started.secret))
    })

    return handlers.handleAll({
      state: ({ request }) => access.find(request).pipe(Effect.map(access.stateOf), enveloped),
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
        return access.stateOf(null)
      }, enveloped),
      openLink: () => enveloped(Effect.fail(unknownLink)),
      useLink: () => enveloped(Effect.fail(unknownLink))
    })
  })
)
