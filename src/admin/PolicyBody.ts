import { Schema } from "effect"
import { LicenseBounds, PlanTerms } from "../domain/Plan.ts"

/** Plans and the licence, as the operator's side says them. */

export const PlanBody = Schema.Struct({
  name: Schema.String,
  /** False for a plan that organizations have, but nobody defined. */
  defined: Schema.Boolean,
  organizations: Schema.Int,
  /** What is left out is not bounded by the plan. */
  terms: PlanTerms
})
export type PlanBody = typeof PlanBody.Type

export const PlansBody = Schema.Struct({
  /** Whether there is a catalog of plans; without one no plan bounds anything. */
  catalog: Schema.Boolean,
  data: Schema.Array(PlanBody)
})

const Time = Schema.DateTimeUtcFromString

const InstalledBody = Schema.Struct({
  id: Schema.String,
  licensee: Schema.String,
  issuer: Schema.NullOr(Schema.String),
  state: Schema.Literals(["in_force", "early", "over"]),
  issued_at: Time,
  begins_at: Schema.NullOr(Time),
  ends_at: Schema.NullOr(Time),
  /** What is left out is not bounded by the licence. */
  bounds: LicenseBounds
})

export const LicenseBody = Schema.Struct({
  edition: Schema.Literals(["free", "licensed"]),
  license: Schema.NullOr(InstalledBody),
  /** Users that are not disabled. */
  users: Schema.Int,
  organizations: Schema.Int
})
export type LicenseBody = typeof LicenseBody.Type
