import { DateTime, Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { keyBody } from "../admin/AdminAccountsHandlers.ts"
import { pageBody } from "../admin/AdminBodies.ts"
import { limitsBody, usageBody } from "../admin/AdminUsageHandlers.ts"
import { ApiKeys } from "../auth/ApiKeys.ts"
import { Sessions } from "../auth/Sessions.ts"
import type { ApiKeyRecord } from "../domain/Account.ts"
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

/** What users do with their own account. The user of the session is in every look-up. */
export const MeHandlers = HttpApiBuilder.group(
  ConsoleApi,
  "me",
  Effect.fnUntraced(function* (handlers) {
    const access = yield* makeSessionAccess
    const apiKeys = yield* ApiKeys
    const sessions = yield* Sessions
    const usage = yield* Usage

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
      changePassword: Effect.fnUntraced(function* ({ payload: { current, password } }) {
        const session = yield* CurrentSession
        const given = current === null ? null : Redacted.make(current)
        yield* sessions.changePassword(session.person, given, Redacted.make(password))
        return access.stateOf({ ...session, hasPassword: true })
      }, enveloped),
      keys: Effect.fnUntraced(function* ({ query }) {
        const page = yield* apiKeys.list((yield* own).userId, query.after)
        const now = yield* DateTime.now
        return pageBody((record: ApiKeyRecord) => keyBody(record, now))(page)
      }, enveloped),
      createKey: Effect.fnUntraced(function* ({ payload: { expires_in_seconds: seconds, name } }) {
        const now = yield* DateTime.now
        const expiresAt = seconds === null ? null : DateTime.add(now, { seconds })
        const created = yield* apiKeys.create({ userId: (yield* own).userId, name, expiresAt })
        return { ...keyBody(created, now), key: Redacted.value(created.key) }
      }, enveloped),
      revokeKey: Effect.fnUntraced(function* ({ params }) {
        const revoked = yield* apiKeys.revoke(params.id, (yield* own).userId)
        return keyBody(revoked, yield* DateTime.now)
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
