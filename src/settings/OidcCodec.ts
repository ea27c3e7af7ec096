import { Option, Result, Schema } from "effect"
import { AccountName, expected } from "../domain/Account.ts"
import { converted, namesIn, text, type TextCodec, uriDecoded, visibleText, webUrl } from "./TextCodec.ts"

/**
 * Hosts of this machine alone, as they are written in a URL and outside of one. Source: RFC 6761, section
 * 6.3.
 */
const loopbackHost = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i

export const isLoopback = (host: string): boolean => loopbackHost.test(host)

/** True if nothing between this service and that server can be read or changed by others. */
export const isSecure = (url: URL): boolean =>
  url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname))

/** The value is kept as it is written, because the provider's own name for itself must be the same. */
export const issuer: TextCodec<string> = text(
  "the https URL of an OpenID provider without /.well-known/openid-configuration, credentials, query or fragment; " +
    "http on loopback only",
  (value) =>
    !/[?#]|\/\.well-known\//.test(value) && Option.exists(webUrl(value), isSecure) && value.length <= 1_000
).annotate({ format: "uri" })

export const shownName = text(expected.name, Schema.is(AccountName))

const scopesMax = 20

export const scopes = converted(
  `openid and up to ${scopesMax - 1} others, by comma`,
  namesIn,
  Schema.Array(visibleText(1, 200)).check(
    Schema.isMaxLength(scopesMax),
    Schema.makeFilter((names) => names.includes("openid"))
  )
)

/** Roles that a group may give its members. Owners are appointed by owners only. */
const GroupRole = Schema.Literals(["member", "organization_admin", "admin"])
type GroupRole = typeof GroupRole.Type

/** The members of a group at the provider belong to an organization. */
export interface GroupRule {
  readonly group: string
  readonly organization: string
  /** Null: the rule says nothing about roles. */
  readonly role: GroupRole | null
}

const rulesMax = 1_000
const groupCharactersMax = 256

const decoded = (part: string): string | null => Option.getOrNull(uriDecoded(part.trim()))

const isAccountName = Schema.is(AccountName)
const isGroupRole = Schema.is(GroupRole)

type Problem = string

const ruleOf = (entry: string): Result.Result<GroupRule, Problem> => {
  const [, groupPart = "", place] = /^([^=]*)=(.*)$/s.exec(entry) ?? []
  if (place === undefined) return Result.fail("has no = between a group and an organization")
  const [organizationPart = "", rolePart, ...more] = place.split(":")
  const [group, organization] = [decoded(groupPart), decoded(organizationPart)]
  const role = rolePart === undefined ? null : rolePart.trim()
  if (group === null || organization === null) return Result.fail("has a % that encodes nothing; write %25")
  if (group === "") return Result.fail("has no group")
  if (group.length > groupCharactersMax) {
    return Result.fail(`has a group of more than ${groupCharactersMax} characters`)
  }
  if (!isAccountName(organization)) return Result.fail(`has an organization that is not ${expected.name}`)
  if (more.length > 0) return Result.fail("has two colons; write %3A for one within a name")
  if (role === "owner") return Result.fail("has the role owner, which only owners give")
  if (role !== null && !isGroupRole(role)) {
    return Result.fail(`has a role that is none of ${GroupRole.literals.join(", ")}`)
  }
  return Result.succeed({ group, organization, role })
}

interface ReadRules {
  readonly rules: ReadonlyArray<GroupRule>
  readonly problems: ReadonlyArray<Problem>
}

const readRules = (list: string): ReadRules => {
  const entries = list
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
  const rules: Array<GroupRule> = []
  const problems: Array<Problem> = []
  for (const [index, entry] of entries.entries()) {
    const rule = ruleOf(entry)
    const earlier = Result.isSuccess(rule) ? rules.findIndex(({ group }) => group === rule.success.group) : -1
    if (Result.isFailure(rule)) problems.push(`entry ${index + 1} ${rule.failure}`)
    else if (earlier >= 0) problems.push(`entry ${index + 1} names the same group as an earlier one`)
    else rules.push(rule.success)
  }
  if (entries.length === 0) problems.push("it holds no entry")
  if (entries.length > rulesMax) problems.push(`it holds ${entries.length} entries; at most ${rulesMax}`)
  return { rules, problems }
}

/** The rules of a text that is allowed, in its order. */
export const groupRulesIn = (list: string): ReadonlyArray<GroupRule> => readRules(list).rules

const problemsShownMax = 10

/** The problems of a text that isn't allowed, by the number of its entries. */
export const groupRulesProblems = (list: string): ReadonlyArray<Problem> =>
  readRules(list).problems.slice(0, problemsShownMax)

export const groupRules = text(
  `up to ${rulesMax} entries group=organization or group=organization:role, by comma, where the role is one of ` +
    `${GroupRole.literals.join(", ")}; names percent-encoded (%2C for a comma, %3A for a colon, %3D for =)`,
  (list) => readRules(list).problems.length === 0
)
