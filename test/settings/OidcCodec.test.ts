import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { AccountName } from "../../src/domain/Account.ts"
import { groupRules, groupRulesIn, groupRulesProblems, issuer, scopes } from "../../src/settings/OidcCodec.ts"

const isIssuer = Schema.is(issuer)
const isGroupRules = Schema.is(groupRules)

describe("the issuer", () => {
  it("an issuer is an https URL, kept as it is written", () => {
    for (const url of ["https://login.example.com", "https://login.example.com/realms/main/"]) {
      assert.strictEqual(Schema.decodeSync(issuer)(url), url)
    }
  })

  it("an issuer may use http on loopback only", () => {
    for (const host of ["localhost", "localhost:8080", "127.0.0.1:9000", "127.1.2.3", "[::1]:9000"]) {
      assert.isTrue(isIssuer(`http://${host}/issuer`), host)
    }
    for (const host of [
      "example.com",
      "localhost.example.com",
      "127.0.0.1.example.com",
      "10.0.0.1",
      "[::2]"
    ]) {
      assert.isFalse(isIssuer(`http://${host}/issuer`), host)
    }
  })

  it("an issuer is the name of the provider, and not the address of its description", () => {
    for (const url of [
      "https://login.example.com/.well-known/openid-configuration",
      "https://login.example.com?tenant=1",
      "https://login.example.com/#main",
      "https://user:secret@login.example.com",
      "ftp://login.example.com",
      "login.example.com"
    ]) {
      assert.isFalse(isIssuer(url), url)
    }
  })
})

describe("the scopes", () => {
  it("the scopes include openid", () => {
    assert.deepStrictEqual(Schema.decodeSync(scopes)("openid, email,groups"), ["openid", "email", "groups"])
    assert.isFalse(Schema.is(Schema.toType(scopes))(["email"]))
    assert.throws(() => Schema.decodeSync(scopes)("email,groups"))
  })
})

describe("the rules about groups", () => {
  it("the rules about groups keep their order, and may have blanks around them and a role", () => {
    assert.deepStrictEqual(
      groupRulesIn(" staff = Example Ltd , chiefs=Example Ltd:admin,, x%3D1=A%3AB:member"),
      [
        { group: "staff", organization: "Example Ltd", role: null },
        { group: "chiefs", organization: "Example Ltd", role: "admin" },
        { group: "x=1", organization: "A:B", role: "member" }
      ]
    )
  })

  it("wrong rules about groups are refused with the number and the fault of the entry", () => {
    for (const [text, problem] of [
      ["", "it holds no entry"],
      ["staff", "entry 1 has no = between a group and an organization"],
      ["a=A,=B", "entry 2 has no group"],
      ["a=", "entry 1 has an organization that is not 1 to 100 characters"],
      ["a=%zz", "entry 1 has a % that encodes nothing"],
      ["a=A:king", "entry 1 has a role that is none of member, organization_admin, admin"],
      ["a=A:owner", "entry 1 has the role owner"],
      ["a=A:admin:admin", "entry 1 has two colons"],
      ["a=A,b=B,a=C", "entry 3 names the same group as an earlier one"],
      [`${"g".repeat(257)}=A`, "entry 1 has a group of more than 256 characters"],
      [Array.from({ length: 1_001 }, (_, index) => `g${index}=A`).join(), "it holds 1001 entries"]
    ] as const) {
      assert.isFalse(isGroupRules(text), text.slice(0, 40))
      assert.include(groupRulesProblems(text)[0], problem)
    }
  })

  it("the rules about groups list no more problems than can be read", () => {
    assert.lengthOf(groupRulesProblems(Array.from({ length: 50 }, () => "staff").join()), 10)
  })

  const Rule = Schema.Struct({
    group: Schema.NonEmptyString,
    organization: AccountName,
    role: Schema.Literals(["member", "organization_admin", "admin"])
  })

  it.prop("the rules about groups are decoded as they were encoded", [Schema.Array(Rule)], ([given]) => {
    const rules = given.filter(
      ({ group, organization }, index) =>
        `${group}${organization}`.isWellFormed() &&
        group.length <= 256 &&
        given.findIndex((other) => other.group === group) === index
    )
    if (rules.length === 0) return
    const text = rules
      .map(({ group, organization, role }) =>
        [encodeURIComponent(group), "=", encodeURIComponent(organization), ":", role].join("")
      )
      .join()
    assert.isTrue(isGroupRules(text))
    assert.deepStrictEqual(groupRulesIn(text), rules)
  })
})
