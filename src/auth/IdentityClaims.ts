import { Option, Result, Schema } from "effect"
import { Email, type Role } from "../domain/Account.ts"
import { IdentityRefused } from "../domain/IdentityRefused.ts"
import type { SignInRefusal } from "../domain/SignInRefusal.ts"
import type { GroupRule } from "../settings/OidcCodec.ts"

/** Somebody whom the identity provider has authenticated. */
export interface Identity {
  readonly issuer: string
  /** Names the account at the issuer for good, unlike the address. */
  readonly subject: string
  /** Verified by the provider, and of an allowed domain. */
  readonly email: string
  readonly groups: ReadonlyArray<string>
}

/** Claims as they came, of the ID token or of the userinfo endpoint. */
export type Claims = Readonly<Record<string, unknown>>

/** Groups of one user; more are ignored, as is a group whose name is longer than any rule's. */
const groupsMax = 1_000

/** Source: OpenID Connect Core 1.0, section 2. */
const subjectCharactersMax = 255

const isSubject = Schema.is(
  Schema.String.check(Schema.isPattern(/^[\x20-\x7e]+$/), Schema.isMaxLength(subjectCharactersMax))
)
const isEmail = Schema.is(Email)
const isText = Schema.is(Schema.String)

/** Some providers send the only group of a user as a text, and leave the claim out where there is none. */
const groupsOf = (claim: unknown): ReadonlyArray<string> => {
  const values: ReadonlyArray<unknown> = Array.isArray(claim) ? claim.slice(0, groupsMax) : [claim]
  return values.filter(isText)
}

/** Some providers send a text. */
const isTrue = (claim: unknown): boolean => claim === true || claim === "true"

export const refused = (problem: SignInRefusal, reason: string) => new IdentityRefused({ problem, reason })

interface IdentityRules {
  readonly allowedDomains: ReadonlyArray<string>
  readonly groupsClaim: string
}

/** A claim and its qualifier, which are taken from one document. */
const emailClaims = ["email", "email_verified"]

const hasAll = (claims: Claims, names: ReadonlyArray<string>) =>
  names.every((name) => claims[name] !== undefined)

/** True if the ID token lacks claims that the userinfo endpoint may have. */
export const isIncomplete = (claims: Claims, groupsClaim: string | null): boolean =>
  !hasAll(claims, groupsClaim === null ? emailClaims : [...emailClaims, groupsClaim])

/**
 * The claims of an ID token, completed by those of the userinfo endpoint. The address comes with its
 * verification from the first of the two documents that has both, so that neither vouches for the address of
 * the other one.
 */
export const completed = (inToken: Claims, inUserInfo: Claims): Claims => {
  const emails = hasAll(inUserInfo, emailClaims) && !hasAll(inToken, emailClaims) ? inUserInfo : inToken
  return { ...inUserInfo, ...inToken, ...Object.fromEntries(emailClaims.map((name) => [name, emails[name]])) }
}

/** Seconds that the provider's clock may be ahead, as for the other times of an ID token. */
const clockAheadSecondsMax = 30

/** True if an ID token says that it was issued later than now. */
export const isIssuedAhead = ({ iat }: Claims, nowSeconds: number): boolean =>
  typeof iat !== "number" || iat > nowSeconds + clockAheadSecondsMax

/** Compared as it is written: a domain in another script must be in the setting as the provider writes it. */
const domainOf = (email: string): string => email.slice(email.lastIndexOf("@") + 1).toLowerCase()

/** The identity in verified claims. */
export const identityOf = (
  claims: Claims,
  rules: IdentityRules
): Result.Result<Identity, IdentityRefused> => {
  const { email, iss: issuer, sub: subject } = claims
  if (!isText(issuer) || !isSubject(subject)) {
    return Result.fail(refused("provider_invalid", "the claim sub is no text of up to 255 ASCII characters"))
  }
  if (!isEmail(email)) return Result.fail(refused("email_missing", "the claim email is no e-mail address"))
  if (!isTrue(claims["email_verified"])) {
    return Result.fail(refused("email_unverified", "the claim email_verified is not true"))
  }
  if (rules.allowedDomains.length > 0 && !rules.allowedDomains.includes(domainOf(email))) {
    return Result.fail(refused("domain_not_allowed", "the domain is not in PARLEY_OIDC_ALLOWED_DOMAINS"))
  }
  return Result.succeed({ issuer, subject, email, groups: groupsOf(claims[rules.groupsClaim]) })
}

/** The organization and the role of a new user. */
interface Place {
  readonly organization: string
  readonly role: Role
}

const firstRule = (rules: ReadonlyArray<GroupRule>, groups: ReadonlyArray<string>) =>
  Option.fromNullishOr(rules.find(({ group }) => groups.includes(group)))

/**
 * The organization and the role of a new user by the first rule that fits; none if nothing gives an
 * organization.
 */
export const placeOf = (
  groups: ReadonlyArray<string>,
  rules: ReadonlyArray<GroupRule>,
  organization: string | null
): Option.Option<Place> =>
  firstRule(rules, groups).pipe(
    Option.map((rule): Place => ({ organization: rule.organization, role: rule.role ?? "member" })),
    Option.orElse(() =>
      Option.map(Option.fromNullOr(organization), (name): Place => ({ organization: name, role: "member" }))
    )
  )

/**
 * The role that the groups give a user; null if it stays as it is, because no rule names a role or the user
 * is an owner. Of the rules of other organizations, only those count whose role is one of the whole
 * installation.
 */
export const roleByGroups = (
  user: { readonly role: Role; readonly organization: string },
  groups: ReadonlyArray<string>,
  rules: ReadonlyArray<GroupRule>
): Role | null => {
  if (user.role === "owner" || rules.every(({ role }) => role === null)) return null
  const own = rules.filter(({ organization, role }) => organization === user.organization || role === "admin")
  const role = Option.match(firstRule(own, groups), {
    onNone: (): Role => "member",
    onSome: (rule) => rule.role ?? "member"
  })
  return role === user.role ? null : role
}
