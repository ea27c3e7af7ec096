import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Sessions } from "../../src/auth/Sessions.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, type Reply } from "../support/Wire.ts"
import { someone, someTenant } from "./ConsoleFixture.ts"

const password = "a long walk by the sea"

const atOnce = <A, E, R>(count: number, effect: Effect.Effect<A, E, R>) =>
  Effect.all(
    Array.from({ length: count }, () => effect),
    { concurrency: "unbounded" }
  )

const statusesOf = (replies: ReadonlyArray<Reply>) => new Set(replies.map(({ status }) => status))

const cookieIn = (reply: Reply): string => reply.headers.get("set-cookie")!.split(";")[0]!

layer(TestApp.layer(), { excludeTestServices: true, timeout: 60_000 })("At the same time", (it) => {
  it.effect("many requests of a session succeed while its expiry slides", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const sql = yield* SqlClient.SqlClient
      const { headers, secret, target } = yield* someone("member", yield* someTenant)
      yield* sql`UPDATE sessions SET last_seen_at = now() - interval '1 day' WHERE id = ${target.sessionId}`
      const replies = yield* atOnce(20, call(`${url}/console/me/limits`, { headers }))
      assert.deepStrictEqual(statusesOf(replies), new Set([200]))
      for (const reply of replies.filter(({ headers }) => headers.has("set-cookie"))) {
        assert.strictEqual(cookieIn(reply), `parley_session=${secret}`)
      }
    })
  )

  it.effect("several sign-ins from one browser end its earlier session, and each has its own", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const sessions = yield* Sessions
      const { headers, secret, target } = yield* someone("member", yield* someTenant)
      const known = yield* sessions.find(Redacted.make(secret))
      yield* sessions.changePassword(known!.person, null, Redacted.make(password))
      const replies = yield* atOnce(
        3,
        call(`${url}/console/session`, {
          headers: { origin: url, cookie: headers["cookie"]! },
          body: { email: target.email, password }
        })
      )
      assert.deepStrictEqual(statusesOf(replies), new Set([200]))
      assert.strictEqual(new Set(replies.map(cookieIn)).size, 3)
      for (const reply of replies) {
        const state = yield* call(`${url}/console/me/sessions`, { headers: { cookie: cookieIn(reply) } })
        assert.strictEqual(state.status, 200)
        assert.notInclude(state.text, target.sessionId)
      }
      assert.isNull(yield* sessions.find(Redacted.make(secret)))
    })
  )

  it.effect("a sign-out and other requests end in an answer each, and the session is over", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const { headers, secret } = yield* someone("member", yield* someTenant)
      const [outs, others] = yield* Effect.all(
        [
          atOnce(3, call(`${url}/console/session`, { method: "DELETE", headers })),
          atOnce(10, call(`${url}/console/me/keys`, { headers }))
        ],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(statusesOf(outs), new Set([200]))
      for (const { status } of others) assert.include([200, 401], status)
      assert.isNull(yield* (yield* Sessions).find(Redacted.make(secret)))
    })
  )
})

layer(TestApp.layer(), { excludeTestServices: true, timeout: 60_000 })(
  "A request by another method",
  (it) => {
    it.effect("is admitted as GET is if it is HEAD", () =>
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

    it.effect("permits no other site anything if it is a preflight", () =>
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

    it.effect("does nothing that its headers or its query say instead", () =>
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
  }
)
