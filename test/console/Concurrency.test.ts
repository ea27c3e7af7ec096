import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Sessions } from "../../src/auth/Sessions.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, type Reply } from "../support/Wire.ts"
import { someone, someTenant, startSession } from "./ConsoleFixture.ts"

const password = "a long walk by the sea"

const atOnce = <A, E, R>(count: number, effect: Effect.Effect<A, E, R>) =>
  Effect.all(
    Array.from({ length: count }, () => effect),
    { concurrency: "unbounded" }
  )

const statusesOf = (replies: ReadonlyArray<Reply>) => new Set(replies.map(({ status }) => status))

const cookieIn = (reply: Reply): string => reply.headers.get("set-cookie")!.split(";")[0]!

layer(TestApp.layer(), { excludeTestServices: true })("At the same time", (it) => {
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
      const actor = yield* someone("member", yield* someTenant)
      const known = yield* sessions.find(Redacted.make(actor.secret))
      yield* sessions.changePassword(known!.person, null, Redacted.make(password))
      const { headers, secret, target } = yield* startSession(actor.target)
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

  it.effect("every request beside a sign-out is answered, and the session has ended afterwards", () =>
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
