import { DateTime, Effect, Redacted, Struct } from "effect"
import { type HttpApi, HttpApiBuilder } from "effect/http-api"
import { type AdminKeyRecord, AdminKeys } from "../auth/AdminKeys.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import type { AdminGroups } from "./AdminApi.ts"
import { pageBody, wireNames } from "./AdminBodies.ts"
import { statusOf } from "./KeyBodies.ts"

const bodyOf = (record: AdminKeyRecord, now: DateTime.Utc) => ({
  ...Struct.renameKeys(record, wireNames),
  status: statusOf(record, now)
})

/** Keys of operators. */
export const adminKeysHandlers = <Id extends string>(api: HttpApi.HttpApi<Id, AdminGroups>) =>
  HttpApiBuilder.group(
    api,
    "adminKeys",
    Effect.fnUntraced(function* (handlers) {
      const adminKeys = yield* AdminKeys
      return handlers.handleAll({
        list: Effect.fnUntraced(function* ({ query }) {
          const page = yield* adminKeys.list(query.after)
          const now = yield* DateTime.now
          return pageBody((record: AdminKeyRecord) => bodyOf(record, now))(page)
        }, enveloped),
        create: Effect.fnUntraced(function* ({ payload: { expires_in_seconds: seconds, name } }) {
          const now = yield* DateTime.now
          const expiresAt = seconds === undefined || seconds === null ? null : DateTime.add(now, { seconds })
          const { key, ...record } = yield* adminKeys.create(name, expiresAt)
          return { ...bodyOf(record, now), key: Redacted.value(key) }
        }, enveloped),
        revoke: Effect.fnUntraced(function* ({ payload }) {
          return bodyOf(yield* adminKeys.revoke(payload.name), yield* DateTime.now)
        }, enveloped)
      })
    })
  )
