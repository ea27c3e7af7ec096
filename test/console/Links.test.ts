import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Links } from "../../src/auth/Links.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"
import { setRole, someone, someTenant } from "./ConsoleFixture.ts"

const password = "a long walk by the sea"

const post = Effect.fnUntraced(function* (path: string, body: object, headers: Record<string, string> = {}) {
  const { url } = yield* TestApp
  return yield* call(`${url}/console/${path}`, { headers: { origin: url, ...headers }, body })
})

const state = Effect.gen(function* () {
  const { url } = yield* TestApp
  return JSON.parse((yield* call(`${url}/console/session`, {})).text) as Record<string, unknown>
})

layer(TestApp.layer(), { excludeTestServices: true })("A link", (it) => {
  it.effect("a link sets up the first administrator, and the page asks for it until then", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      yield* setRole(alice.id, "owner")
      assert.isTrue((yield* state)["set_up_needed"])
      const { token: redacted } = yield* (yield* Links).setUp
      const token = Redacted.value(redacted)
      const opened = JSON.parse((yield* post("link", { token })).text) as Record<string, unknown>
      const { expires_at, ...facts } = opened
      assert.deepStrictEqual(facts, {
        kind: "set_up",
        email: alice.email,
        organization: "alice's",
        role: "owner"
      })
      assert.isString(expires_at)
      const email = "first@example.com"
      const used = yield* post("link/use", { token, email, password })
      assert.strictEqual(used.status, 200, used.text)
      const { csrf_token, user } = JSON.parse(used.text) as Record<string, Record<string, unknown>>
      assert.deepInclude(user, { email, role: "owner", has_password: true })
      assert.isString(csrf_token)
      assert.match(used.headers.get("set-cookie") ?? "", /^parley_session=parley_session_/)
      assert.isFalse((yield* state)["set_up_needed"])
      const again = yield* post("link/use", { token, email, password })
      assert.strictEqual(errorOf(again, 404).code, "link_invalid")
      assert.isNull(again.headers.get("set-cookie"))
    })
  )

  it.effect("an invitation's link creates its user, and ends the session that the browser had", () =>
    Effect.gen(function* () {
      const tenant = yield* someTenant
      const earlier = yield* someone("admin", tenant)
      const email = `${randomUUID()}@example.com`
      const created = yield* (yield* Links).invite(email, tenant.organization, "organization_admin")
      const token = Redacted.value(created.token)
      const weak = yield* post("link/use", { token, password: "12345678" }, earlier.headers)
      assert.strictEqual(errorOf(weak, 400).code, "weak_password")
      const renamed = yield* post("link/use", { token, email: "other@example.com", password })
      assert.strictEqual(errorOf(renamed, 400).param, "email")
      const used = yield* post("link/use", { token, password }, earlier.headers)
      assert.strictEqual(used.status, 200, used.text)
      const { user } = JSON.parse(used.text) as Record<string, Record<string, unknown>>
      assert.deepInclude(user, { email, role: "organization_admin", organization: tenant.organization })
      const { url } = yield* TestApp
      const before = yield* call(`${url}/console/me/keys`, { headers: earlier.headers })
      assert.strictEqual(errorOf(before, 401).code, "session_ended")
    })
  )

  it.effect("a link that doesn't exist is answered in the same way whatever it looks like", () =>
    Effect.gen(function* () {
      for (const token of ["", "x", `parley_link_${"0".repeat(39)}`, "ä".repeat(100)]) {
        const opened = yield* post("link", { token })
        assert.strictEqual(errorOf(opened, 404).code, "link_invalid")
        assert.strictEqual((yield* post("link/use", { token, password })).text, opened.text)
      }
    })
  )
})
