import { DateTime, Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { limitsBody, usageBody } from "../admin/AdminUsageHandlers.ts"
import { limitChanges, makeKeyBodies } from "../admin/KeyBodies.ts"
import { ApiKeys } from "../auth/ApiKeys.ts"
import { Sessions } from "../auth/Sessions.ts"
import { ApiKeyNotFound } from "../domain/Errors.ts"
import type { SessionId } from "../domain/Ids.ts"
import type { SessionRecord } from "../domain/Session.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { Usage } from "../usage/Usage.ts"
import { ConsoleApi } from "./ConsoleApi.ts"
import { CurrentSession } from "./CurrentSession.ts"
import { makeSessionAccess } from "./SessionAccess.ts"

const sessionBody = (current: SessionId) => (session: SessionRecord) => ({
  id: session.id,
  created_at: session.createdAt,
  last_seen_at: session.lastSeenAt,
  expires_at: session.expiresAt,
  address: session.address,
  user_agent: session.userAgent,
  current: session.id === current
})

/** Handlers of users' own accounts. The user of the session is in every look-up. */
export const MeHandlers = HttpApiBuilder.group(
  ConsoleApi,
  "me",
  Effect.fnUntraced(function* (handlers) {
    const access = yield* makeSessionAccess
    const apiKeys = yield* ApiKeys
    const sessions = yield* Sessions
    const usage = yield* Usage
    const { keyBody, keysBody } = yield* makeKeyBodies

    const own = Effect.map(CurrentSession, ({ person }) => person)

    return handlers.handleAll({
      sessions: Effect.fnUntraced(function* () {
        const { person, session } = yield* CurrentSession
        return { data: (yield* sessions.list(person.userId)).map(sessionBody(session.id)) }
      }, enveloped),
      endSession: Effect.fnUntraced(function* ({ params, request }) {
        const { person, session } = yield* CurrentSession
        const ended = yield* sessions.end(person.userId, params.id)
        if (params.id === session.id) yield* access.clear(request)
        return { ended }
      }, enveloped),
      endSessions: Effect.fnUntraced(function* ({ request }) {
        const ended = yield* sessions.endAll((yield* own).userId)
        yield* access.clear(request)
        return { ended }
      }, enveloped),
      changePassword: Effect.fnUntraced(function* ({ payload: { current, password }, request }) {
        const { person, session } = yield* CurrentSession
        const given = current === null ? null : Redacted.make(current)
        const secret = yield* sessions.changePassword(person, given, Redacted.make(password))
        yield* access.keep(request, secret, session.expiresAt)
        return yield* access.stateOf(yield* sessions.find(secret))
      }, enveloped),
      keys: Effect.fnUntraced(function* ({ query }) {
        return yield* keysBody(yield* apiKeys.list((yield* own).userId, query.after))
      }, enveloped),
      createKey: Effect.fnUntraced(function* ({ payload: { expires_in_seconds: seconds, name, ...limits } }) {
        const now = yield* DateTime.now
        const expiresAt = seconds === null ? null : DateTime.add(now, { seconds })
        const { userId } = yield* own
        const created = yield* apiKeys.create({ userId, name, expiresAt, limits: limitChanges(limits) })
        return { ...(yield* keyBody(created)), key: Redacted.value(created.key) }
      }, enveloped),
      revokeKey: Effect.fnUntraced(function* ({ params }) {
        return yield* keyBody(yield* apiKeys.revoke(params.id, (yield* own).userId))
      }, enveloped),
      setKeyLimits: Effect.fnUntraced(function* ({ params, payload }) {
        const { userId } = yield* own
        return yield* keyBody(yield* apiKeys.setLimits(params.id, limitChanges(payload), userId))
      }, enveloped),
      limits: Effect.fnUntraced(function* () {
        const { email, userId } = yield* own
        return limitsBody(email, yield* usage.allowanceOf(userId))
      }, enveloped),
      usage: Effect.fnUntraced(function* ({ query: { key_id: keyId = null, ...days } }) {
        const { userId } = yield* own
        if (keyId !== null && !(yield* apiKeys.exists(keyId, userId))) return yield* new ApiKeyNotFound()
        return yield* usageBody(usage, { userId, organizationId: null, keyId }, days)
      }, enveloped)
    })
  })
)
