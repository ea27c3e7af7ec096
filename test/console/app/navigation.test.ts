import { assert, describe, it } from "@effect/vitest"
import { Context } from "effect"
import { Access, rolesOf } from "../../../src/admin/Access.ts"
import { AdminApi } from "../../../src/admin/AdminApi.ts"
import { areasFor, isFor } from "../../../src/console/app/shell/navigation.ts"
import { pagePaths } from "../../../src/console/PagePaths.ts"
import { Role } from "../../../src/domain/Account.ts"

const { accounts, audit, people, policy, projects, server } = AdminApi.groups

/** The endpoint that each page requests first. */
const endpoints = {
  [pagePaths.organizations]: accounts.endpoints.listOrganizations,
  [pagePaths.users]: accounts.endpoints.listUsers,
  [pagePaths.user]: accounts.endpoints.listUsers,
  [pagePaths.invitations]: people.endpoints.listInvitations,
  [pagePaths.projects]: projects.endpoints.list,
  [pagePaths.project]: projects.endpoints.listFiles,
  [pagePaths.plans]: policy.endpoints.listPlans,
  [pagePaths.models]: server.endpoints.models,
  [pagePaths.health]: server.endpoints.doctor,
  [pagePaths.audit]: audit.endpoints.list
}

describe("the navigation", () => {
  it("the navigation shows a page to exactly the roles that its endpoint admits", () => {
    for (const [path, endpoint] of Object.entries(endpoints)) {
      const roles = rolesOf[Context.get(endpoint.annotations, Access)]
      assert.deepStrictEqual(
        Role.literals.filter((role) => isFor(role, path)),
        Role.literals.filter((role) => roles.includes(role)),
        path
      )
    }
  })

  it("the navigation has no heading without pages", () => {
    for (const role of Role.literals) for (const { entries } of areasFor(role)) assert.isNotEmpty(entries)
    assert.notInclude(
      areasFor("member").map(({ heading }) => heading),
      "Administration"
    )
  })
})
