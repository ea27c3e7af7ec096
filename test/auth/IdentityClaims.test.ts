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
  it("comes from the first rule that fits, in the order of the setting", () => {
    assert.strictEqual(placed(["staff"]), "Acme member")
    assert.strictEqual(placed(["guests", "staff", "leads"]), "Acme organization_admin")
    assert.strictEqual(placed(["guests", "unknown"]), "Guests organization_admin")
  })

  it("is the organization for all others, as a member, or none", () => {
    assert.strictEqual(placed(["unknown"], "Others"), "Others member")
    assert.isNull(placed(["unknown"]))
    assert.isNull(placed([]))
  })

  it("doesn't come from a group that is only written alike", () => {
    for (const group of ["Chiefs", "chiefs ", "chief", "chiefs2", ""]) assert.isNull(placed([group]))
  })
})

const roleFor = (role: Role, organization: string, groups: ReadonlyArray<string>, of = rules) =>
  roleByGroups({ role, organization }, groups, of)

describe("the role by groups", () => {
  it("changes to that of the first rule that fits, upwards and downwards", () => {
    assert.strictEqual(roleFor("member", "Acme", ["leads"]), "organization_admin")
    assert.strictEqual(roleFor("admin", "Acme", ["leads"]), "organization_admin")
    assert.strictEqual(roleFor("admin", "Acme", ["staff"]), "member")
    assert.strictEqual(roleFor("organization_admin", "Acme", []), "member")
    assert.isNull(roleFor("admin", "Acme", ["chiefs"]))
  })

  it("makes nobody an admin of another organization than the rule's", () => {
    assert.isNull(roleFor("member", "Guests", ["leads"]))
    assert.isNull(roleFor("member", "Acme", ["guests"]))
    assert.strictEqual(roleFor("member", "Guests", ["chiefs"]), "admin")
  })

  it("stays as it is if no rule names a role", () => {
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
    "is never above what a rule about one of the groups says, and never that of an owner",
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
    "of a new user is the one that the next sign-in finds",
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

  it("may tell groups as a list or as one text; the rest is ignored", () => {
    assert.deepStrictEqual(groupsOf(["a", 1, null, ["b"], "c"]), ["a", "c"])
    assert.deepStrictEqual(groupsOf("a"), ["a"])
    for (const nothing of [undefined, null, {}, 1, true]) assert.deepStrictEqual(groupsOf(nothing), [])
    assert.lengthOf(groupsOf(Array.from({ length: 5_000 }, (_, index) => `group ${index}`)), 1_000)
  })

  it("without a subject that can be kept are refused", () => {
    for (const sub of [undefined, "", 1, "x".repeat(256), "a\nb", "ä"]) {
      const identity = identityOf({ ...claims, sub }, open)
      assert.isTrue(Result.isFailure(identity) && identity.failure.problem === "provider_invalid", `${sub}`)
    }
  })

  it("are asked for again only if one that is needed is missing", () => {
    assert.isFalse(isIncomplete(claims, null))
    assert.isTrue(isIncomplete(claims, "groups"))
    assert.isFalse(isIncomplete({ ...claims, groups: [] }, "groups"))
    assert.isTrue(isIncomplete({ ...claims, email_verified: undefined }, null))
  })
})
