import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Role } from "../../src/domain/Account.ts"
import type { PlanTerms } from "../../src/domain/Plan.ts"
import { setRole, someone, someTenant } from "../console/ConsoleFixture.ts"
import { plansFile } from "../plans/terms.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"
import { someMember, someOrganization } from "./ProjectsFixture.ts"

const plans = {
  readers: { operations: ["responses", "projects"] },
  creators: { operations: ["projects", "create_projects"] },
  alone: { operations: ["create_projects"] }
} as const satisfies Record<string, PlanTerms>

const administered = Layer.unwrap(
  Effect.map(plansFile(plans), (plansFile) =>
    TestApp.layer({
      auth: { cacheSeconds: 0 },
      policy: { plansFile },
      projects: { creators: "administrators" }
    })
  )
)

const givePlan = Effect.fnUntraced(function* (organization: string, plan: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE organizations SET plan = ${plan} WHERE name = ${organization}`
})

const permittedOf = Effect.fnUntraced(function* (headers: Record<string, string>) {
  const { url } = yield* TestApp
  const reply = yield* call(`${url}/console/permitted`, { headers })
  assert.strictEqual(reply.status, 200, reply.text)
  return JSON.parse(reply.text)
})

layer(administered, { excludeTestServices: true })("Projects that only administrators may create", (it) => {
  it.effect.each<{ role: Role; may: boolean }>([
    { role: "member", may: false },
    { role: "organization_admin", may: true },
    { role: "admin", may: true },
    { role: "owner", may: true }
  ])("a project is created by a user with the role $role: $may", ({ may, role }) =>
    Effect.gen(function* () {
      const user = yield* someMember(yield* someOrganization)
      yield* setRole(user.id, role)
      const reply = yield* user.send("POST", "", { name: `project ${randomUUID()}` })
      if (may) assert.strictEqual(reply.status, 200, reply.text)
      else assert.strictEqual(errorOf(reply, 403).code, "role_forbids")
    })
  )

  it.effect("creating a project needs `create_projects` and `projects` in the plan", () =>
    Effect.gen(function* () {
      const organization = yield* someOrganization
      const user = yield* someMember(organization)
      yield* setRole(user.id, "organization_admin")
      const create = () => user.send("POST", "", { name: `project ${randomUUID()}` })
      yield* givePlan(organization, "readers")
      const refused = errorOf(yield* create(), 403)
      assert.strictEqual(refused.code, "plan_forbids")
      assert.include(refused.message, "`create_projects`")
      assert.deepStrictEqual((yield* user.list()).data, [])
      yield* givePlan(organization, "alone")
      for (const reply of [yield* create(), yield* user.send("GET")]) {
        assert.include(errorOf(reply, 403).message, "`projects`")
      }
      yield* givePlan(organization, "creators")
      assert.strictEqual((yield* create()).status, 200)
    })
  )
})

layer(Layer.unwrap(Effect.map(plansFile(plans), (plansFile) => TestApp.layer({ policy: { plansFile } }))), {
  excludeTestServices: true,
  timeout: 300_000
})("What the web application shows as permitted", (it) => {
  it.effect("the permissions in the web application are what plan and role permit", () =>
    Effect.gen(function* () {
      const tenant = yield* someTenant
      const { headers } = yield* someone("member", tenant)
      const all = { responses: true, files: true, projects: true, create_projects: true }
      assert.deepStrictEqual(yield* permittedOf(headers), all)
      yield* givePlan(tenant.organization, "readers")
      const readers = { responses: true, files: false, projects: true, create_projects: false }
      assert.deepStrictEqual(yield* permittedOf(headers), readers)
      yield* givePlan(tenant.organization, "alone")
      const none = { responses: false, files: false, projects: false, create_projects: false }
      assert.deepStrictEqual(yield* permittedOf(headers), none)
    })
  )
})
