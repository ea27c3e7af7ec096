import { DateTime, Effect, Layer, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { AppConfig } from "../settings/AppConfig.ts"
import { describeSettings } from "../settings/SettingsDescription.ts"
import { Accounts } from "../auth/Accounts.ts"
import { Policy } from "../plans/Policy.ts"
import { ApiKeys, type CreatedKey } from "../auth/ApiKeys.ts"
import { Onboarding } from "../auth/Onboarding.ts"
import { type ApiKeyRecord, defaultPlan } from "../domain/Account.ts"
import { Plans } from "../domain/Plan.ts"
import { Router } from "../routing/Router.ts"
import { DatabaseReport } from "../sql/DatabaseReport.ts"
import { organizationBody, userBody } from "./AccountBodies.ts"
import { AdminApi, type KeyBody, type NewKeyBody } from "./AdminApi.ts"
import { AdminAuthenticationLayer } from "./AdminAuthenticationLayer.ts"
import { AdminFilesHandlers } from "./AdminFilesHandlers.ts"
import { AdminPolicyHandlers } from "./AdminPolicyHandlers.ts"
import { AdminProjectsHandlers } from "./AdminProjectsHandlers.ts"
import { AdminUsageHandlers } from "./AdminUsageHandlers.ts"
import { answer } from "./answer.ts"
import { examine } from "./Doctor.ts"
import { explainModels } from "./ExplainModels.ts"

const statusOf = ({ expiresAt, revokedAt }: ApiKeyRecord, now: DateTime.Utc) => {
  if (revokedAt !== null) return "revoked"
  return expiresAt !== null && DateTime.isGreaterThanOrEqualTo(now, expiresAt) ? "expired" : "active"
}

const keyBody = (record: ApiKeyRecord, now: DateTime.Utc): typeof KeyBody.Type => ({
  id: record.id,
  user_id: record.userId,
  name: record.name,
  hint: record.hint,
  status: statusOf(record, now),
  created_at: record.createdAt,
  expires_at: record.expiresAt,
  revoked_at: record.revokedAt,
  last_used_at: record.lastUsedAt
})

const newKeyBody = (created: CreatedKey, now: DateTime.Utc): typeof NewKeyBody.Type => ({
  ...keyBody(created, now),
  key: Redacted.value(created.key)
})

const AccountsHandlers = HttpApiBuilder.group(
  AdminApi,
  "accounts",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const apiKeys = yield* ApiKeys
    const onboarding = yield* Onboarding

    const createUser = Effect.fnUntraced(function* (email: string, organization: string, withKey: boolean) {
      if (!withKey) {
        return { ...userBody(yield* accounts.createUser(email, organization)), key_id: null, key: null }
      }
      const { key, user } = yield* onboarding.userWithKey(email, organization)
      return { ...userBody(user), key_id: key.id, key: Redacted.value(key.key) }
    }, answer)

    const listKeys = Effect.fnUntraced(function* (email: string, after: ApiKeyRecord["id"] | undefined) {
      const { id } = yield* accounts.findUserByEmail(email)
      const { data, hasMore } = yield* apiKeys.list(id, after)
      const now = yield* DateTime.now
      return { data: data.map((record) => keyBody(record, now)), has_more: hasMore }
    }, answer)

    const createKey = Effect.fnUntraced(function* (email: string, name: string, seconds: number | null) {
      const { id: userId } = yield* accounts.findUserByEmail(email)
      const now = yield* DateTime.now
      const expiresAt = seconds === null ? null : DateTime.add(now, { seconds })
      return newKeyBody(yield* apiKeys.create({ userId, name, expiresAt }), now)
    }, answer)

    const revokeKey = Effect.fnUntraced(function* (id: ApiKeyRecord["id"]) {
      return keyBody(yield* apiKeys.revoke(id), yield* DateTime.now)
    }, answer)

    return handlers.handleAll({
      listOrganizations: ({ query }) =>
        accounts.listOrganizations(query.after).pipe(
          Effect.map(({ data, hasMore }) => ({ data: data.map(organizationBody), has_more: hasMore })),
          answer
        ),
      createOrganization: ({ payload }) =>
        accounts
          .createOrganization(payload.name, payload.plan ?? defaultPlan)
          .pipe(Effect.map(organizationBody), answer),
      listUsers: ({ query }) =>
        accounts.listUsers(query.after).pipe(
          Effect.map(({ data, hasMore }) => ({ data: data.map(userBody), has_more: hasMore })),
          answer
        ),
      createUser: ({ payload }) => createUser(payload.email, payload.organization, payload.with_key ?? false),
      listKeys: ({ query }) => listKeys(query.email, query.after),
      createKey: ({ payload }) => createKey(payload.email, payload.name, payload.expires_in_seconds ?? null),
      revokeKey: ({ params }) => revokeKey(params.id)
    })
  })
)

const ServerHandlers = HttpApiBuilder.group(
  AdminApi,
  "server",
  Effect.fnUntraced(function* (handlers) {
    const settings = yield* AppConfig
    const plans = yield* Plans
    const policy = yield* Policy
    const router = yield* Router
    const services = yield* Effect.context<Effect.Services<typeof examine>>()
    return handlers.handleAll({
      models: () =>
        Effect.all({
          data: router.models,
          health: router.modelHealth,
          providers: router.health,
          description: router.describe
        }),
      explainModels: ({ payload }) =>
        answer(Effect.provideService(explainModels(router, policy, settings, payload), Plans, plans)),
      config: () => Effect.succeed({ data: describeSettings(settings) }),
      doctor: () => Effect.map(Effect.provideContext(examine, services), (checks) => ({ checks }))
    })
  })
)

/** The operator's side of the server, all of it under /admin. */
export const AdminRoutes = HttpApiBuilder.layer(AdminApi).pipe(
  Layer.provide([
    AccountsHandlers,
    AdminFilesHandlers,
    AdminProjectsHandlers,
    AdminUsageHandlers,
    AdminPolicyHandlers,
    ServerHandlers
  ]),
  Layer.provide([AdminAuthenticationLayer, DatabaseReport.layer])
)
