import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Sessions } from "../../src/auth/Sessions.ts"
import { TestApp } from "../support/TestApp.ts"
import { call } from "../support/Wire.ts"
import { someone, someTenant } from "./ConsoleFixture.ts"

layer(TestApp.layer(), { excludeTestServices: true })("A request by another method", (it) => {
  it.effect("a HEAD request is admitted as GET is", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const { headers } = yield* someone("member", yield* someTenant)
      const head = (given: Record<string, string>) =>
        call(`${url}/console/me/keys`, { method: "HEAD", headers: given })
      assert.strictEqual((yield* head({ cookie: headers["cookie"]! })).status, 200)
      assert.strictEqual((yield* head({})).status, 401)
      const foreign = { cookie: headers["cookie"]!, origin: "https://evil.example" }
      assert.strictEqual((yield* head(foreign)).status, 403)
    })
  )

  it.effect("a preflight request of another site is refused without CORS headers", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      for (const path of [
        "/console/session",
        "/console/me/keys",
        "/console/responses",
        "/console/admin/users"
      ]) {
        const reply = yield* call(`${url}${path}`, {
          method: "OPTIONS",
          headers: {
            origin: "https://evil.example",
            "access-control-request-method": "POST",
            "access-control-request-headers": "x-csrf-token"
          }
        })
        assert.isAtLeast(reply.status, 400)
        for (const name of reply.headers.keys()) assert.notMatch(name, /^access-control-/)
      }
    })
  )

  it.effect("headers and a query that name another method are ignored", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const { headers, secret } = yield* someone("member", yield* someTenant)
      const overrides = {
        cookie: headers["cookie"]!,
        "x-http-method-override": "DELETE",
        "x-method-override": "DELETE"
      }
      const reply = yield* call(`${url}/console/me/sessions?_method=DELETE`, { headers: overrides })
      assert.strictEqual(reply.status, 200)
      assert.isNotNull(yield* (yield* Sessions).find(Redacted.make(secret)))
    })
  )
})
