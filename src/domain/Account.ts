import { Schema, Context } from "effect"
import { ApiKeyId, OrganizationId, UserId } from "./Ids.ts"
import { KeyLimits } from "./KeyLimits.ts"

const nameCharactersMax = 100
/** Source: RFC 5321, section 4.5.3.1.3, without the angle brackets. */
const emailCharactersMax = 254

/** The shortest and the longest new password, in characters. */
export const passwordCharacters = { min: 12, max: 200 }

/**
 * A text without NUL and lone surrogates, which PostgreSQL can't store, and without control characters, which
 * can't be printed. Characters that change the writing direction are excluded, too, because they make one
 * name look like another. Source: Unicode TR 36, section 2.9.
 */
const printable = /^[^\p{Cc}\p{Cs}\u202A-\u202E\u2066-\u2069]*$/u

const isName = (name: string): boolean =>
  name !== "" && name.length <= nameCharactersMax && name.trim() === name && printable.test(name)

const isEmail = (email: string): boolean =>
  email.length <= emailCharactersMax && printable.test(email) && /^[^\s@]+@[^\s@]+$/u.test(email)

/** Descriptions that complete "must be". */
export const expected = {
  name: `1 to ${nameCharactersMax} characters, without control characters, and without blanks at its ends`,
  plan: "1 to 50 lower-case letters, digits, - or _, of which the first is a letter or a digit",
  email: `an e-mail address of at most ${emailCharactersMax} characters`
} as const

/** The name of an organization or of a key. */
export const AccountName = Schema.String.check(
  Schema.makeFilter(isName, {
    expected: expected.name,
    toJsonSchema: () => [{ minLength: 1, maxLength: nameCharactersMax }, true]
  })
)

export const PlanName = Schema.String.check(
  Schema.makeFilter((plan) => /^[a-z0-9][a-z0-9_-]{0,49}$/.test(plan), { expected: expected.plan })
)

/** Only the form `a@b` is checked. Addresses that differ only in case are the same. */
export const Email = Schema.String.check(
  Schema.makeFilter(isEmail, {
    expected: expected.email,
    toJsonSchema: () => [{ format: "email", maxLength: emailCharactersMax }, true]
  })
)

/**
 * The rights of a user in the web application: owners and admins run the installation, an organization's
 * admin manages its users, a member has keys and usage of its own. Only owners manage owners and admins.
 */
export const Role = Schema.Literals(["owner", "admin", "organization_admin", "member"])
export type Role = typeof Role.Type

/** The plan of an organization that was created without one. */
export const defaultPlan = "default"

const Time = Schema.DateTimeUtcFromString
const TimeOrNull = Schema.NullOr(Time)

export const Organization = Schema.Struct({
  id: OrganizationId,
  name: Schema.String,
  plan: Schema.String,
  createdAt: Time
})
export type Organization = typeof Organization.Type

export const User = Schema.Struct({
  id: UserId,
  email: Schema.String,
  organizationId: OrganizationId,
  /** The name of the user's organization. */
  organization: Schema.String,
  role: Role,
  /** False for a user without a password, who uses keys or an identity provider. */
  hasPassword: Schema.Boolean,
  /** The number of accounts of identity providers that sign in the user. */
  identities: Schema.Int,
  disabledAt: TimeOrNull,
  createdAt: Time,
  lastSignInAt: TimeOrNull
})
export type User = typeof User.Type

/** A key as it is stored, without the key itself. */
export const ApiKeyRecord = Schema.Struct({
  id: ApiKeyId,
  userId: UserId,
  /** The e-mail address of the user. */
  email: Schema.String,
  name: Schema.String,
  /** The last four characters, which distinguish keys. */
  hint: Schema.String,
  createdAt: Time,
  expiresAt: TimeOrNull,
  revokedAt: TimeOrNull,
  /** The time of the last use, correct to about a minute. */
  lastUsedAt: TimeOrNull,
  limits: KeyLimits
})
export type ApiKeyRecord = typeof ApiKeyRecord.Type

/** A page of a list, oldest first. */
export interface Page<A> {
  readonly data: ReadonlyArray<A>
  readonly hasMore: boolean
}

/** The user of a request and the key that authenticated it. */
export interface Caller {
  readonly userId: UserId
  readonly organizationId: OrganizationId
  readonly keyId: ApiKeyId
  /** The limits of the key itself, which hold within those of the user. */
  readonly keyLimits: KeyLimits
  /** The name of the organization's plan. */
  readonly plan: string
}

/** The caller of a request. Only responses, http and admin read it. Services take ids as arguments. */
export class CurrentUser extends Context.Service<CurrentUser, Caller>()("parley/domain/CurrentUser") {}
