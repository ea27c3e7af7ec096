import { Schema } from "effect"
import { type Grants, grantFields } from "./Plan.ts"

const Most = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }))

/** What a licence bounds. A field that is left out bounds nothing. */
export const LicenseBounds = Schema.Struct({
  ...grantFields,
  /** Most users that are not disabled. */
  users: Schema.optionalKey(Most),
  organizations: Schema.optionalKey(Most)
})
export type LicenseBounds = typeof LicenseBounds.Type

/** The licence of an installation. Times are in milliseconds of the epoch. */
export interface License {
  readonly id: string
  readonly licensee: string
  readonly issuer: string | null
  readonly issuedAtMillis: number
  /** Null: from ever on. */
  readonly beginsAtMillis: number | null
  /** The first moment at which it is no longer good; null: never. */
  readonly endsAtMillis: number | null
  readonly bounds: Grants & Pick<LicenseBounds, "users" | "organizations">
}

/** `early` before it begins, `over` once it has ended. */
export type LicenseState = "in_force" | "early" | "over"
