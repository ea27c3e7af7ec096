import { DateTime, Effect } from "effect"
import { Accounts } from "../auth/Accounts.ts"
import { InstalledLicense, lapsedText, stateOf } from "../plans/License.ts"
import { type License, Plans } from "../domain/Plan.ts"
import { check } from "./SettingsChecks.ts"

/** A licence that ends this soon is worth a warning. */
const daysLow = 30

/** Plans that a check names. */
const namesMax = 10

/** Whether organizations have plans that nobody defined. */
export const plansCheck = Effect.gen(function* () {
  const { catalog } = yield* Plans
  const inUse = yield* (yield* Accounts).plansInUse
  if (catalog === null) {
    return check("plans", "ok", "No plan bounds anything; PARLEY_PLANS_FILE names a catalog of them.")
  }
  const undefinedPlans = inUse.filter(({ plan }) => !catalog.has(plan))
  if (undefinedPlans.length === 0) {
    return check("plans", "ok", `PARLEY_PLANS_FILE has every plan that organizations have.`)
  }
  const names = undefinedPlans
    .slice(0, namesMax)
    .map(({ organizations, plan }) => `${plan} (${organizations})`)
    .join(", ")
  const detail =
    `Organizations have plans that PARLEY_PLANS_FILE doesn't define, and may do nothing: ${names}. Define them there, or ` +
    "give those organizations others by `parley org set-plan`."
  return check("plans", "warning", detail)
}).pipe(
  Effect.catchTag("DatabaseUnavailable", () =>
    Effect.succeed(
      check("plans", "warning", "There is no database that tells which plans organizations have.")
    )
  )
)

const seats = ["users", "organizations"] as const

/** What there is more of than the licence has room for, as it may be from before the licence; null if nothing. */
const beyond = Effect.fnUntraced(function* (bounds: License["bounds"]) {
  const counts = yield* (yield* Accounts).counts
  const over = seats.flatMap((what) => {
    const max = bounds[what]
    return max === undefined || counts[what] <= max ? [] : [`${what}: ${counts[what]} of ${max}`]
  })
  return over.length === 0
    ? null
    : `There is more than the licence has room for (${over.join(", ")}). Disable users, or install another one in PARLEY_LICENSE.`
})

/** Whether the licence is in force, for how long, and whether what it counts is within it. */
export const licenseCheck = Effect.gen(function* () {
  const { license } = yield* InstalledLicense
  if (license === null) return check("licence", "ok", "This is the free edition, which bounds nothing.")
  const now = yield* DateTime.now
  const state = stateOf(license, DateTime.toEpochMillis(now))
  if (state !== "in_force") return check("licence", "failed", lapsedText(license, state))
  const over = yield* beyond(license.bounds)
  if (over !== null) return check("licence", "warning", over)
  if (license.endsAtMillis === null) return check("licence", "ok", "It is in force, and has no end.")
  const end = DateTime.makeUnsafe(license.endsAtMillis)
  const isNear = DateTime.isLessThan(end, DateTime.add(now, { days: daysLow }))
  return check("licence", isNear ? "warning" : "ok", `It is in force until ${DateTime.formatIso(end)}.`)
}).pipe(
  Effect.catchTag("DatabaseUnavailable", () =>
    Effect.succeed(check("licence", "warning", "There is no database that tells what the licence counts."))
  )
)
