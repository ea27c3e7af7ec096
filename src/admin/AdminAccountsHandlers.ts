import { Clock, DateTime, Effect, Redacted, Struct } from "effect"
import { type HttpApi, HttpApiBuilder } from "effect/http-api"
import { Accounts } from "../auth/Accounts.ts"
import { type AdminKeyRecord, AdminKeys } from "../auth/AdminKeys.ts"
import { ApiKeys } from "../auth/ApiKeys.ts"
import { Onboarding } from "../auth/Onboarding.ts"
import { defaultPlan, type Organization } from "../domain/Account.ts"
import { InvalidRequest } from "../domain/Errors.ts"
import { type License, type PlanCatalog, Plans } from "../domain/Plan.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { InstalledLicense, stateOf } from "../plans/License.ts"
import { type AdminGroups, graceSecondsDefault } from "./AdminApi.ts"
import { type LicenseBody, pageBody, type PlanBody, wireNames } from "./AdminBodies.ts"
import { userBody } from "./AdminPeopleHandlers.ts"
import { limitChanges, makeKeyBodies, statusOf } from "./KeyBodies.ts"

export const organizationBody = (organization: Organization) => Struct.renameKeys(organization, wireNames)

const oneOwner = Effect.fail(
  new InvalidRequest({ param: "email", message: "Name either a user (`email`) or an `organization`." })
)

/** Organizations, users and their keys. */
export const accountsHandlers = <Id extends string>(api: HttpApi.HttpApi<Id, AdminGroups>) =>
  HttpApiBuilder.group(
    api,
    "accounts",
    Effect.fnUntraced(function* (handlers) {
      const accounts = yield* Accounts
      const apiKeys = yield* ApiKeys
      const onboarding = yield* Onboarding
      const { keyBody, keysBody, rolledKeyBody } = yield* makeKeyBodies

      /** The user of that address as a list. */
      const usersOf = (email: string) =>
        accounts.findUserByEmail(email).pipe(
          Effect.map((user) => ({ data: [user], hasMore: false })),
          Effect.catchTag("UserNotFound", () => Effect.succeed({ data: [], hasMore: false }))
        )

      return handlers.handleAll({
        listOrganizations: ({ query }) =>
          accounts.listOrganizations(query.after).pipe(Effect.map(pageBody(organizationBody)), enveloped),
        createOrganization: ({ payload: { name, plan = defaultPlan } }) =>
          accounts.createOrganization(name, plan).pipe(Effect.map(organizationBody), enveloped),
        listUsers: ({ query: { after, email } }) =>
          (email === undefined ? accounts.listUsers(after) : usersOf(email)).pipe(
            Effect.map(pageBody(userBody)),
            enveloped
          ),
        createUser: Effect.fnUntraced(function* ({ payload }) {
          const { email, organization, role, with_key = false } = payload
          if (!with_key) {
            return {
              ...userBody(yield* accounts.createUser(email, organization, role)),
              key_id: null,
              key: null
            }
          }
          const { key, user } = yield* onboarding.userWithKey(email, organization, role)
          return { ...userBody(user), key_id: key.id, key: Redacted.value(key.key) }
        }, enveloped),
        listKeys: Effect.fnUntraced(function* ({ query: { after, email, organization } }) {
          if (email !== undefined && organization === undefined) {
            const { id } = yield* accounts.findUserByEmail(email)
            return yield* keysBody(yield* apiKeys.list(id, after))
          }
          if (organization === undefined || email !== undefined) return yield* oneOwner
          const id = yield* accounts.findOrganization(organization)
          return yield* keysBody(yield* apiKeys.listOfOrganization(id, after))
        }, enveloped),
        rollKey: Effect.fnUntraced(function* ({ params, payload: { grace_seconds = graceSecondsDefault } }) {
          return yield* rolledKeyBody(yield* apiKeys.roll(params.id, grace_seconds))
        }, enveloped),
        createKey: Effect.fnUntraced(function* ({
          payload: { email, expires_in_seconds: seconds, name, ...limits }
        }) {
          const { id: userId } = yield* accounts.findUserByEmail(email)
          const now = yield* DateTime.now
          const expiresAt = seconds === undefined || seconds === null ? null : DateTime.add(now, { seconds })
          const created = yield* apiKeys.create({ userId, name, expiresAt, limits: limitChanges(limits) })
          return { ...(yield* keyBody(created)), key: Redacted.value(created.key) }
        }, enveloped),
        revokeKey: Effect.fnUntraced(function* ({ params }) {
          return yield* keyBody(yield* apiKeys.revoke(params.id))
        }, enveloped),
        setKeyLimits: Effect.fnUntraced(function* ({ params, payload }) {
          return yield* keyBody(yield* apiKeys.setLimits(params.id, limitChanges(payload)))
        }, enveloped)
      })
    })
  )

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
  { catalog, termsOf }: PlanCatalog,
  inUse: ReadonlyArray<{ readonly plan: string; readonly organizations: number }>
) => {
  const counts = new Map(inUse.map(({ organizations, plan }) => [plan, organizations]))
  const names = new Set([...(catalog?.keys() ?? []), ...counts.keys()])
  const data = [...names].map((name): PlanBody => {
    const terms = termsOf(name)
    return { name, defined: terms !== null, organizations: counts.get(name) ?? 0, terms: terms ?? {} }
  })
  return { catalog: catalog !== null, data }
}

/** Plans, disabled users, and the license. */
export const policyHandlers = <Id extends string>(api: HttpApi.HttpApi<Id, AdminGroups>) =>
  HttpApiBuilder.group(
    api,
    "policy",
    Effect.fnUntraced(function* (handlers) {
      const accounts = yield* Accounts
      const plans = yield* Plans
      const { license } = yield* InstalledLicense

      const setDisabled = (email: string, isDisabled: boolean) =>
        accounts.setDisabled(email, isDisabled).pipe(Effect.map(userBody), enveloped)

      return handlers.handleAll({
        listPlans: () => Effect.zipWith(plans.current, accounts.plansInUse, plansBody).pipe(enveloped),
        setPlan: ({ payload }) =>
          accounts.setPlan(payload.organization, payload.plan).pipe(Effect.map(organizationBody), enveloped),
        disableUser: ({ payload }) => setDisabled(payload.email, true),
        enableUser: ({ payload }) => setDisabled(payload.email, false),
        license: Effect.fnUntraced(function* () {
          const counts = yield* accounts.counts
          if (license === null) return { edition: "free" as const, license, ...counts }
          const installed = installedBody(license, yield* Clock.currentTimeMillis)
          return { edition: "licensed" as const, license: installed, ...counts }
        }, enveloped)
      })
    })
  )

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
