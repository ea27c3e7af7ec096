import { assert, describe, it } from "@effect/vitest"
import { Option, Result, Schema } from "effect"
import { identityOf, isIncomplete, placeOf, roleByGroups } from "../../src/auth/IdentityClaims.ts"
import { Role } from "../../src/domain/Account.ts"
import type { GroupRule } from "../../src/settings/OidcCodec.ts"

const rules: ReadonlyArray<GroupRule> = [
  { group: "chiefs", organization: "Acme", role: "admin" },
  { group: "leads", organization: "Acme", role: "organization_admin" },
  { group: "staff", organization: "Acme", role: null },
  { group: "guests", organization: "Guests", role: "organization_admin" }
]

const placed = (groups: ReadonlyArray<string>, organization: string | null = null) => {
  const place = Option.getOrNull(placeOf(groups, rules, organization))
  return place === null ? null : `${place.organization} ${place.role}`
}

describe("the place of a new user", () => {
  it("the place of a new user comes from the first rule that fits, in the order of the setting", () => {
    assert.strictEqual(placed(["staff"]), "Acme member")
    assert.strictEqual(placed(["guests", "staff", "leads"]), "Acme organization_admin")
    assert.strictEqual(placed(["guests", "unknown"]), "Guests organization_admin")
  })

  it("the place of a new user without a rule is the organization for all others, or none", () => {
    assert.strictEqual(placed(["unknown"], "Others"), "Others member")
    assert.isNull(placed(["unknown"]))
    assert.isNull(placed([]))
  })

  it("the place of a new user doesn't come from a group with a similar name", () => {
    for (const group of ["Chiefs", "chiefs ", "chief", "chiefs2", ""]) assert.isNull(placed([group]))
  })
})

const roleFor = (role: Role, organization: string, groups: ReadonlyArray<string>, of = rules) =>
  roleByGroups({ role, organization }, groups, of)

describe("the role by groups", () => {
  it("roleByGroups returns the role of the first rule that fits, upwards and downwards", () => {
    assert.strictEqual(roleFor("member", "Acme", ["leads"]), "organization_admin")
    assert.strictEqual(roleFor("admin", "Acme", ["leads"]), "organization_admin")
    assert.strictEqual(roleFor("admin", "Acme", ["staff"]), "member")
    assert.strictEqual(roleFor("organization_admin", "Acme", []), "member")
    assert.isNull(roleFor("admin", "Acme", ["chiefs"]))
  })

  it("roleByGroups makes nobody an admin of another organization than the rule's", () => {
    assert.isNull(roleFor("member", "Guests", ["leads"]))
    assert.isNull(roleFor("member", "Acme", ["guests"]))
    assert.strictEqual(roleFor("member", "Guests", ["chiefs"]), "admin")
  })

  it("roleByGroups changes nothing if no rule names a role", () => {
    const plain = rules.map((rule): GroupRule => ({ ...rule, role: null }))
    for (const role of Role.literals) assert.isNull(roleFor(role, "Acme", ["staff"], plain))
  })

  const names = Schema.Literals(["a", "b", "c", "d"])
  const Rule = Schema.Struct({
    group: names,
    organization: names,
    role: Schema.NullOr(Schema.Literals(["member", "organization_admin", "admin"]))
  })

  it.prop(
    "roleByGroups never returns more than a rule about one of the groups, and never changes an owner",
    [Schema.Array(Rule), Schema.Array(names), Role, names],
    ([given, groups, role, organization]) => {
      const changed = roleByGroups({ role, organization }, groups, given)
      if (role === "owner") assert.isNull(changed)
      if (changed === null || changed === "member") return
      assert.isTrue(
        given.some(
          (rule) =>
            rule.role === changed &&
            groups.includes(rule.group) &&
            (changed === "admin" || rule.organization === organization)
        )
      )
    }
  )

  it.prop(
    "roleByGroups leaves a new user the role of placeOf",
    [Schema.Array(Rule), Schema.Array(names)],
    ([given, groups]) => {
      const place = Option.getOrNull(placeOf(groups, given, null))
      if (place === null || given.every(({ role }) => role === null)) return
      // A later rule may name the whole installation; an earlier one for this organization wins.
      assert.isNull(roleByGroups(place, groups, given))
    }
  )
})

describe("claims", () => {
  const claims = {
    iss: "https://login.example.com",
    sub: "1",
    email: "ada@example.com",
    email_verified: true
  }
  const open = { allowedDomains: [], groupsClaim: "groups" }
  const groupsOf = (groups: unknown) => Result.getOrThrow(identityOf({ ...claims, groups }, open)).groups

  it("groupsOf accepts a list or one text, and ignores everything else", () => {
    assert.deepStrictEqual(groupsOf(["a", 1, null, ["b"], "c"]), ["a", "c"])
    assert.deepStrictEqual(groupsOf("a"), ["a"])
    for (const nothing of [undefined, null, {}, 1, true]) assert.deepStrictEqual(groupsOf(nothing), [])
    assert.lengthOf(groupsOf(Array.from({ length: 5_000 }, (_, index) => `group ${index}`)), 1_000)
  })

  it("identityOf refuses claims without a subject that can be stored", () => {
    for (const sub of [undefined, "", 1, "x".repeat(256), "a\nb", "ä"]) {
      const identity = identityOf({ ...claims, sub }, open)
      assert.isTrue(Result.isFailure(identity) && identity.failure.problem === "provider_invalid", `${sub}`)
    }
  })

  it("isIncomplete is true only if a claim that is needed is missing", () => {
    assert.isFalse(isIncomplete(claims, null))
    assert.isTrue(isIncomplete(claims, "groups"))
    assert.isFalse(isIncomplete({ ...claims, groups: [] }, "groups"))
    assert.isTrue(isIncomplete({ ...claims, email_verified: undefined }, null))
  })
})
