import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Role } from "../../src/domain/Account.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { errorOf } from "../support/Wire.ts"
import { declared, refusedActor, refusedTenant, send, someone, someTenant } from "./ConsoleFixture.ts"
import { type Admitted, expectations } from "./endpoints.ts"

const roles: ReadonlyArray<Role> = ["member", "organization_admin", "admin", "owner"]

const admits = (admitted: Admitted, role: Role): boolean =>
  typeof admitted === "string" || admitted.includes(role)

layer(TestApp.layer(), { excludeTestServices: true })("Every endpoint of ConsoleApi", (it) => {
  it.effect("every endpoint of ConsoleApi has an expectation, and there is none for another one", () =>
    Effect.sync(() => {
      const names = declared.map(({ name }) => name)
      assert.sameMembers(names, Object.keys(expectations))
    })
  )

  for (const endpoint of declared) {
    const { admitted = [], sample = () => ({}) } = expectations[endpoint.name] ?? {}

    it.effect(`${endpoint.name} admits without a session only if everybody may call it`, () =>
      Effect.gen(function* () {
        const { url } = yield* TestApp
        const request = sample(yield* admitted === "anyone" ? someTenant : refusedTenant)
        for (const cookie of [
          "",
          "parley_session=",
          "parley_session=x",
          `parley_session=${"x".repeat(500)}`
        ]) {
          const headers = { origin: url, ...(cookie === "" ? {} : { cookie }) }
          const reply = yield* send(endpoint, request, headers)
          assert.strictEqual(reply.headers.get("cache-control"), "no-store")
          if (admitted === "anyone") assert.notInclude(reply.text, "session_ended")
          else assert.strictEqual(errorOf(reply, 401).code, "session_ended")
        }
      })
    )

    if (admitted === "anyone") continue

    it.effect(
      `${endpoint.name} admits ${admitted === "users" ? "every role" : `only ${admitted.join(", ") || "no role"}`}`,
      () =>
        Effect.gen(function* () {
          const model = yield* ScriptedModel
          for (const role of roles) {
            const isAdmitted = admits(admitted, role)
            const tenant = isAdmitted ? yield* someTenant : yield* refusedTenant
            const actor = isAdmitted ? yield* someone(role, tenant) : yield* refusedActor(role)
            const target = admitted === "users" ? actor.target : tenant
            if (["conversing.create", "answers.ask"].includes(endpoint.name))
              yield* model.next(says("Hello."))
            const reply = yield* send(endpoint, sample(target), actor.headers)
            assert.strictEqual(reply.headers.get("cache-control"), "no-store")
            if (isAdmitted) assert.strictEqual(reply.status, 200, `${role}: ${reply.text}`)
            else assert.strictEqual(errorOf(reply, 403).code, "role_forbids", role)
          }
        })
    )
  }
})
