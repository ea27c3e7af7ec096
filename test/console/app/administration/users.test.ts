import { assert, describe, it } from "@effect/vitest"
import { changeOf, kindOf } from "../../../../src/console/app/pages/administration/users/limitValues.ts"
import { tasksFor } from "../../../../src/console/app/pages/administration/users/tasks.ts"
import { rolesManagedBy } from "../../../../src/console/app/text/roles.ts"
import { Role } from "../../../../src/domain/Account.ts"
import { mayManage, type Person } from "../../../../src/domain/Actor.ts"

describe("the roles that the pages offer", () => {
  it("are those that the service lets a user of the role give", () => {
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
  it("is nothing where its role is not the administrator's to manage", () => {
    assert.deepStrictEqual(tasksFor("organization_admin", { role: "admin", disabled_at: null }), [])
    assert.deepStrictEqual(tasksFor("admin", { role: "owner", disabled_at: null }), [])
  })

  it("depends on whether the user is disabled", () => {
    assert.deepStrictEqual(tasksFor("owner", { role: "member", disabled_at: null }), [
      "role",
      "password",
      "sessions",
      "disable"
    ])
    assert.deepStrictEqual(tasksFor("owner", { role: "member", disabled_at: "2026-01-01" }), [
      "role",
      "enable"
    ])
  })
})

describe("the limit of a user", () => {
  const window = { used: 0, reserved: 0, resets_at: null as never }

  it("is shown as it was set", () => {
    assert.strictEqual(kindOf({ ...window, limit: 5, source: "user" }), "own")
    assert.strictEqual(kindOf({ ...window, limit: null, source: "user" }), "none")
    assert.strictEqual(kindOf({ ...window, limit: 5, source: "plan" }), "default")
    assert.strictEqual(kindOf({ ...window, limit: null, source: "settings" }), "default")
  })

  it("is changed to what was chosen, whatever the number said before", () => {
    assert.strictEqual(changeOf("default", 5), "default")
    assert.isNull(changeOf("none", 5))
    assert.strictEqual(changeOf("own", 5), 5)
    assert.strictEqual(changeOf("own", 0), 0)
  })
})
