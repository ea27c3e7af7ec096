import { Clock, DateTime, Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Accounts } from "../auth/Accounts.ts"
import { ApiKeys, type CreatedKey } from "../auth/ApiKeys.ts"
import { Onboarding } from "../auth/Onboarding.ts"
import { type ApiKeyRecord, defaultPlan, type Organization, type User } from "../domain/Account.ts"
import { type License, Plans } from "../domain/Plan.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { InstalledLicense, stateOf } from "../plans/License.ts"
import { AdminApi, type KeyBody, type NewKeyBody, type OrganizationBody, type UserBody } from "./AdminApi.ts"
import type { LicenseBody, PlanBody } from "./AdminBodies.ts"

const organizationBody = ({ createdAt, id, name, plan }: Organization): typeof OrganizationBody.Type => ({
  id,
  name,
  plan,
  created_at: createdAt
})

const userBody = ({ createdAt, disabledAt, email, id, organization }: User): typeof UserBody.Type => ({
  id,
  email,
  organization,
  disabled_at: disabledAt,
  created_at: createdAt
})

const timeOf = (millis: number | null): DateTime.Utc | null =>
  millis === null ? null : DateTime.makeUnsafe(millis)

const installedBody = (license: License, nowMillis: number): LicenseBody["license"] => ({
  id: license.id,
  licensee: license.licensee,
  issuer: license.issuer,
  state: stateOf(license, nowMillis),
  issued_at: DateTime.makeUnsafe(license.issuedAtMillis),
  begins_at: timeOf(license.beginsAtMillis),
  ends_at: timeOf(license.endsAtMillis),
  bounds: license.bounds
})

/** Every plan of the catalog, and every other one that an organization has. */
const plansBody = (
  { catalog, termsOf }: Plans["Service"],
  inUse: ReadonlyArray<{ readonly plan: string; readonly organizations: number }>
): ReadonlyArray<PlanBody> => {
  const counts = new Map(inUse.map(({ organizations, plan }) => [plan, organizations]))
  const names = new Set([...(catalog?.keys() ?? []), ...counts.keys()])
  return [...names].map((name) => {
    const terms = termsOf(name)
    return {
      name,
      defined: terms !== null,
      organizations: counts.get(name) ?? 0,
      terms: terms ?? {}
    }
  })
}

/** What the operator does with plans, and sees of the licence. */
export const AdminPolicyHandlers = HttpApiBuilder.group(
  AdminApi,
  "policy",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const plans = yield* Plans
    const { license } = yield* InstalledLicense

    const setDisabled = (email: string, isDisabled: boolean) =>
      accounts.setDisabled(email, isDisabled).pipe(Effect.map(userBody), enveloped)

    return handlers.handleAll({
      listPlans: () =>
        accounts.plansInUse.pipe(
          Effect.map((inUse) => ({ catalog: plans.catalog !== null, data: plansBody(plans, inUse) })),
          enveloped
        ),
      setPlan: ({ payload }) =>
        accounts.setPlan(payload.organization, payload.plan).pipe(Effect.map(organizationBody), enveloped),
      disableUser: ({ payload }) => setDisabled(payload.email, true),
      enableUser: ({ payload }) => setDisabled(payload.email, false),
      license: () =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const counts = yield* accounts.counts
          const installed = license === null ? null : installedBody(license, now)
          return {
            edition: license === null ? ("free" as const) : ("licensed" as const),
            license: installed,
            ...counts
          }
        }).pipe(enveloped)
    })
  })
)

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

export const AdminAccountsHandlers = HttpApiBuilder.group(
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
    }, enveloped)

    const listKeys = Effect.fnUntraced(function* (email: string, after: ApiKeyRecord["id"] | undefined) {
      const { id } = yield* accounts.findUserByEmail(email)
      const { data, hasMore } = yield* apiKeys.list(id, after)
      const now = yield* DateTime.now
      return { data: data.map((record) => keyBody(record, now)), has_more: hasMore }
    }, enveloped)

    const createKey = Effect.fnUntraced(function* (email: string, name: string, seconds: number | null) {
      const { id: userId } = yield* accounts.findUserByEmail(email)
      const now = yield* DateTime.now
      const expiresAt = seconds === null ? null : DateTime.add(now, { seconds })
      return newKeyBody(yield* apiKeys.create({ userId, name, expiresAt }), now)
    }, enveloped)

    const revokeKey = Effect.fnUntraced(function* (id: ApiKeyRecord["id"]) {
      return keyBody(yield* apiKeys.revoke(id), yield* DateTime.now)
    }, enveloped)

    return handlers.handleAll({
      listOrganizations: ({ query }) =>
        accounts.listOrganizations(query.after).pipe(
          Effect.map(({ data, hasMore }) => ({ data: data.map(organizationBody), has_more: hasMore })),
          enveloped
        ),
      createOrganization: ({ payload }) =>
        accounts
          .createOrganization(payload.name, payload.plan ?? defaultPlan)
          .pipe(Effect.map(organizationBody), enveloped),
      listUsers: ({ query }) =>
        accounts.listUsers(query.after).pipe(
          Effect.map(({ data, hasMore }) => ({ data: data.map(userBody), has_more: hasMore })),
          enveloped
        ),
      createUser: ({ payload }) => createUser(payload.email, payload.organization, payload.with_key ?? false),
      listKeys: ({ query }) => listKeys(query.email, query.after),
      createKey: ({ payload }) => createKey(payload.email, payload.name, payload.expires_in_seconds ?? null),
      revokeKey: ({ params }) => revokeKey(params.id)
    })
  })
)
