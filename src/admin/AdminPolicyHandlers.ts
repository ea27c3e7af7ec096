import { Clock, DateTime, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Accounts } from "../auth/Accounts.ts"
import { InstalledLicense, stateOf } from "../plans/License.ts"
import { type License, Plans } from "../domain/Plan.ts"
import { organizationBody, userBody } from "./AccountBodies.ts"
import { AdminApi } from "./AdminApi.ts"
import { answer } from "./answer.ts"
import type { LicenseBody, PlanBody } from "./PolicyBody.ts"

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
      accounts.setDisabled(email, isDisabled).pipe(Effect.map(userBody), answer)

    return handlers.handleAll({
      listPlans: () =>
        accounts.plansInUse.pipe(
          Effect.map((inUse) => ({ catalog: plans.catalog !== null, data: plansBody(plans, inUse) })),
          answer
        ),
      setPlan: ({ payload }) =>
        accounts.setPlan(payload.organization, payload.plan).pipe(Effect.map(organizationBody), answer),
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
        }).pipe(answer)
    })
  })
)
