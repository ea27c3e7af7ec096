import { assert, describe, it } from "@effect/vitest"
import { changeOf, kindOf } from "../../../../src/console/app/pages/administration/users/limitValues.ts"
import { tasksFor } from "../../../../src/console/app/pages/administration/users/tasks.ts"
import { rolesManagedBy } from "../../../../src/console/app/text/roles.ts"
import { Role } from "../../../../src/domain/Account.ts"
import { mayManage, type Person } from "../../../../src/domain/Actor.ts"

describe("the roles that the pages offer", () => {
  it("rolesManagedBy returns the roles that the service lets a user of each role give", () => {
    for (const role of Role.literals) {
      const actor = { _tag: "Person", role } as Person
      assert.sameMembers(
        [...rolesManagedBy(role)],
        Role.literals.filter((other) => mayManage(actor, other)),
        role
      )
    }
  })
})

describe("what can be done with a user", () => {
  const user = (role: Role, disabled_at: string | null, identities = 0) => ({ role, disabled_at, identities })

  it("a user whose role the administrator may not manage has no tasks", () => {
    assert.deepStrictEqual(tasksFor("organization_admin", user("admin", null)), [])
    assert.deepStrictEqual(tasksFor("admin", user("owner", null)), [])
  })

  it("the tasks for a user depend on whether it is disabled", () => {
    assert.deepStrictEqual(tasksFor("owner", user("member", null)), [
      "role",
      "password",
      "sessions",
      "disable",
      "delete"
    ])
    assert.deepStrictEqual(tasksFor("owner", user("member", "2026-01-01")), ["role", "enable", "delete"])
  })

  it("the tasks for a user include to unlink it only where an identity provider signs it in", () => {
    for (const disabledAt of [null, "2026-01-01"]) {
      assert.include(tasksFor("admin", user("member", disabledAt, 1)), "unlink")
      assert.notInclude(tasksFor("admin", user("member", disabledAt)), "unlink")
      assert.deepStrictEqual(tasksFor("admin", user("owner", disabledAt, 1)), [])
    }
  })
})

describe("the limit of a user", () => {
  const window = { used: 0, reserved: 0, resets_at: null as never }

  it("the limit of a user is shown as it was set", () => {
    assert.strictEqual(kindOf({ ...window, limit: 5, source: "user" }), "own")
    assert.strictEqual(kindOf({ ...window, limit: null, source: "user" }), "none")
    assert.strictEqual(kindOf({ ...window, limit: 5, source: "plan" }), "default")
    assert.strictEqual(kindOf({ ...window, limit: null, source: "settings" }), "default")
  })

  it("changeOf returns the chosen limit, and the number only for an own limit", () => {
    assert.strictEqual(changeOf("default", 5), "default")
    assert.isNull(changeOf("none", 5))
    assert.strictEqual(changeOf("own", 5), 5)
    assert.strictEqual(changeOf("own", 0), 0)
  })
})
