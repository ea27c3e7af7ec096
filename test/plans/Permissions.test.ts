import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { toolNames } from "../../src/domain/ModelCall.ts"
import {
  type License,
  type LicenseBounds,
  grantFields,
  type Operation,
  operationNames
} from "../../src/domain/Plan.ts"
import { stateOf } from "../../src/plans/License.ts"
import {
  isListed,
  matches,
  type PermissionInput,
  type Permissions,
  permissionsOf
} from "../../src/plans/Permissions.ts"

const licenseWith = (bounds: LicenseBounds, more: Partial<License> = {}): License => ({
  id: "1",
  licensee: "Example Ltd",
  issuer: null,
  issuedAtMillis: 0,
  beginsAtMillis: null,
  endsAtMillis: null,
  bounds,
  ...more
})

const basis = (more: Partial<PermissionInput>): PermissionInput => ({
  plan: "free",
  terms: {},
  license: null,
  state: "in_force",
  ...more
})

const Pattern = Schema.Array(Schema.Literals(["a", "b", "*", "-"])).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(6)
)
const Text = Schema.Array(Schema.Literals(["a", "b", "-"])).check(Schema.isMaxLength(8))

const Terms = Schema.NullOr(
  Schema.Struct({
    ...grantFields,
    models: Schema.optionalKey(Schema.Array(Schema.Literals(["a*", "*b", "m", "*"])))
  })
)
const Bounds = Schema.NullOr(
  Schema.Struct({
    ...grantFields,
    models: Schema.optionalKey(Schema.Array(Schema.Literals(["a*", "*", "x"])))
  })
)
const State = Schema.Literals(["in_force", "early", "over"])

const models = ["a", "ab", "b", "m", "x"]

const allowedBy = (permissions: Permissions) => ({
  operations: operationNames.filter((name) => permissions.operation(name, "") === null),
  tools: toolNames.filter((name) => permissions.tools.has(name)),
  models: models.filter((id) => permissions.model(id))
})

const subset = (few: ReadonlyArray<string>, many: ReadonlyArray<string>) =>
  assert.isTrue(
    few.every((one) => many.includes(one)),
    `${few.join()} in ${many.join()}`
  )

describe("permissionsOf", () => {
  it.prop(
    "a user may do exactly what plan and license permit, and a denial names the one that forbids",
    [Terms, Bounds, State],
    ([terms, bounds, state]) => {
      const license = bounds === null ? null : licenseWith(bounds)
      const both = permissionsOf(basis({ terms, license, state }))
      const plan = permissionsOf(basis({ terms }))
      const byLicense = permissionsOf(basis({ license, state }))
      const [all, planned, licensed] = [both, plan, byLicense].map(allowedBy)
      for (const kind of ["operations", "tools", "models"] as const) {
        subset(all![kind], planned![kind])
        subset(all![kind], licensed![kind])
        const common = planned![kind].filter((one) => licensed![kind].some((other) => other === one))
        assert.deepStrictEqual<ReadonlyArray<string>>(all![kind], common)
      }
      for (const name of operationNames) {
        const expected =
          byLicense.operation(name, "p") === null ? plan.operation(name, "p") : byLicense.operation(name, "p")
        assert.deepStrictEqual(both.operation(name, "p"), expected)
        assert.isTrue(expected === null || expected.param === "p")
      }
    }
  )

  it("permissionsOf permits everything for an omitted field, and nothing for an empty list", () => {
    const everything = { operations: [...operationNames], tools: [...toolNames], models }
    assert.deepStrictEqual(allowedBy(permissionsOf(basis({}))), everything)
    assert.deepStrictEqual(
      allowedBy(permissionsOf(basis({ license: licenseWith({ users: 3 }) }))),
      everything
    )
    const nothing = { operations: [], tools: [], models: [] }
    assert.deepStrictEqual(allowedBy(permissionsOf(basis({ terms: nothing }))), nothing)
    assert.deepStrictEqual(allowedBy(permissionsOf(basis({ license: licenseWith(nothing) }))), nothing)
    for (const state of ["early", "over"] as const) {
      const lapsed = permissionsOf(basis({ license: licenseWith({}), state }))
      assert.deepStrictEqual(allowedBy(lapsed), nothing)
    }
    assert.deepStrictEqual(permissionsOf(basis({})).storage, { plan: "free", files: null, bytes: null })
    assert.deepStrictEqual(permissionsOf(basis({ terms: { storage: { files: 0 } } })).storage, {
      plan: "free",
      files: 0,
      bytes: null
    })
  })

  it("permissionsOf says what is missing and what to change", () => {
    const sentence = (given: Partial<PermissionInput>, operation: Operation = "projects") =>
      permissionsOf(basis(given)).operation(operation, "")?.message
    assert.strictEqual(
      sentence({ terms: { operations: ["responses"] } }),
      "The plan `free` of your organization has no `projects`. Ask the operator to move it to another plan (`parley org set-plan`)."
    )
    assert.strictEqual(
      sentence({ terms: null }),
      "The plan `free` of your organization is not defined, so that it allows nothing. Ask the operator to move it to another " +
        "plan (`parley org set-plan`), or to define that plan in PARLEY_PLANS_FILE."
    )
    const license = licenseWith({ operations: ["responses"] })
    assert.strictEqual(
      sentence({ license, terms: { operations: [] } }),
      "The licence of this installation has no `projects`. The operator must install another one in PARLEY_LICENSE, or remove it " +
        "for the free edition."
    )
    const ended = licenseWith({}, { endsAtMillis: Date.UTC(2026, 1, 1) })
    assert.strictEqual(
      sentence({ license: ended, state: "over" }, "responses"),
      "The licence of this installation ended on 2026-01-31. The operator must install a new one in PARLEY_LICENSE, or remove it " +
        "for the free edition."
    )
    const early = licenseWith({}, { beginsAtMillis: Date.UTC(2026, 2, 1) })
    assert.match(
      sentence({ license: early, state: "early" }, "responses") ?? "",
      /begins on 2026-03-01\. The operator/
    )
  })

  it("permissionsOf names the license if it permits no eligible model, else the plan", () => {
    const permissions = permissionsOf(
      basis({ terms: { models: ["small*"] }, license: licenseWith({ models: ["*-large"] }) })
    )
    assert.isFalse(permissions.model("small"))
    assert.isTrue(permissions.model("small-large"))
    assert.isTrue(permissions.licensedModel("x-large"))
    assert.strictEqual(permissions.noModel(true)._tag, "PlanForbids")
    assert.strictEqual(permissions.noModel(false)._tag, "LicenseForbids")
    assert.match(permissions.noModel(true).message, /^The plan `free` of your organization has no model/)
  })
})

describe("stateOf", () => {
  it("a license is in force from its first millisecond to its last", () => {
    const license = licenseWith({}, { beginsAtMillis: 1000, endsAtMillis: 2000 })
    assert.deepStrictEqual(
      [999, 1000, 1999, 2000].map((millis) => stateOf(license, millis)),
      ["early", "in_force", "in_force", "over"]
    )
    assert.strictEqual(stateOf(licenseWith({}), 0), "in_force")
  })
})

describe("patterns of models", () => {
  it.prop("a pattern matches like its regular expression", [Pattern, Text], ([pattern, letters]) => {
    const text = letters.join("")
    const regular = new RegExp(`^${pattern.map((one) => (one === "*" ? ".*" : one)).join("")}$`)
    assert.strictEqual(matches(pattern.join(""), text), regular.test(text))
  })

  it("a pattern matches every character but * literally", () => {
    assert.isTrue(matches("gpt-4.1", "gpt-4.1"))
    assert.isFalse(matches("gpt-4.1", "gpt-4x1"))
    assert.isFalse(matches("gpt", "GPT"))
    assert.isTrue(matches("meta/*", "meta/llama-3.1-8b"))
    assert.isFalse(matches("aa*a", "aa"))
    assert.isTrue(isListed(undefined, "anything"))
    assert.isFalse(isListed([], "anything"))
  })

  it("a pattern matches in time linear in text and pattern", () => {
    assert.isFalse(matches(`${"*a".repeat(99)}*b`, "a".repeat(100_000)))
  })
})
