import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../src/auth/Accounts.ts"
import { Sessions } from "../../src/auth/Sessions.ts"
import { TestApp } from "../support/TestApp.ts"
import type { SettingsOverrides } from "../support/TestConfig.ts"
import { errorOf, type Reply } from "../support/Wire.ts"
import {
  type Declared,
  declared,
  send,
  setRole,
  type SignedIn,
  someone,
  someTenant,
  startSession
} from "./ConsoleFixture.ts"
import { expectations } from "./endpoints.ts"

const endpoint = (name: string): Declared => declared.find((one) => one.name === name)!

const password = "a long walk by the sea"

/** A user with a password, and a session. */
const withPassword = Effect.gen(function* () {
  const actor = yield* someone("member", yield* someTenant)
  const reply = yield* send(
    endpoint("me.changePassword"),
    { body: { current: null, password } },
    actor.headers
  )
  assert.strictEqual(reply.status, 200, reply.text)
  const { parley_session: secret } = cookieOf(reply)
  const { csrf_token: csrfToken } = JSON.parse(reply.text) as { readonly csrf_token: string }
  const headers = { ...actor.headers, cookie: `parley_session=${secret}`, "x-csrf-token": csrfToken }
  return { ...actor, headers, before: actor.headers }
})

const signIn = Effect.fnUntraced(function* (email: string, headers: Record<string, string> = {}) {
  const { url } = yield* TestApp
  return yield* send(endpoint("session.signIn"), { body: { email, password } }, { origin: url, ...headers })
})

/** The attributes of the one cookie that a reply sets, its value under its name. */
const cookieOf = (reply: Reply): Record<string, string> => {
  const [cookie = "", ...others] = reply.headers.getSetCookie()
  assert.deepStrictEqual(others, [])
  return Object.fromEntries(
    cookie.split("; ").map((part) => [part.split("=")[0]!, part.slice(part.indexOf("=") + 1)])
  )
}

const stateOf = (reply: Reply) => JSON.parse(reply.text) as Record<string, Record<string, unknown> | null>

const isValid = (headers: Record<string, string>) =>
  Effect.map(send(endpoint("me.keys"), {}, headers), ({ status }) => status === 200)

/** Makes the latest request of a session that long ago. */
const seenAgo = Effect.fnUntraced(function* ({ target }: SignedIn, interval: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE sessions SET last_seen_at = now() - ${interval}::interval WHERE id = ${target.sessionId}`
})

layer(TestApp.layer(), { excludeTestServices: true })("The cookie of a session", (it) => {
  it.effect("the session cookie is hidden from scripts and sites, and lasts as long as the session", () =>
    Effect.gen(function* () {
      const { target } = yield* withPassword
      const cookie = cookieOf(yield* signIn(target.email))
      const { parley_session: secret, "Max-Age": maxAge, ...attributes } = cookie
      assert.deepStrictEqual(attributes, { HttpOnly: "HttpOnly", Path: "/", SameSite: "Lax" })
      assert.match(secret!, /^parley_session_[0-9A-Za-z]{39}$/)
      assert.approximately(Number(maxAge), 604_800, 60)
      assert.isTrue(yield* isValid({ cookie: `parley_session=${secret}` }))
    })
  )

  it.effect("the session cookie is a new one at every sign-in, and the session before it ends", () =>
    Effect.gen(function* () {
      const { target } = yield* withPassword
      const planted = yield* startSession(target)
      const another = yield* startSession(target)
      const first = cookieOf(yield* signIn(target.email, { cookie: planted.headers["cookie"]! }))
      assert.notStrictEqual(first["parley_session"], planted.secret)
      assert.isFalse(yield* isValid({ cookie: planted.headers["cookie"]! }))
      assert.isTrue(yield* isValid({ cookie: another.headers["cookie"]! }))
      const second = cookieOf(
        yield* signIn(target.email, { cookie: `parley_session=${first["parley_session"]}` })
      )
      assert.notStrictEqual(second["parley_session"], first["parley_session"])
      assert.isFalse(yield* isValid({ cookie: `parley_session=${first["parley_session"]}` }))
      assert.isTrue(yield* isValid({ cookie: `parley_session=${second["parley_session"]}` }))
    })
  )

  it.effect("the session cookie of another user is replaced, too, and is worth nothing afterwards", () =>
    Effect.gen(function* () {
      const { target } = yield* withPassword
      const stranger = yield* someone("member", yield* someTenant)
      const reply = yield* signIn(target.email, { cookie: stranger.headers["cookie"]! })
      assert.strictEqual(stateOf(reply)["user"]!["email"], target.email)
      assert.isFalse(yield* isValid({ cookie: stranger.headers["cookie"]! }))
    })
  )

  it.effect("a session cookie that the browser made up is not taken over", () =>
    Effect.gen(function* () {
      const { target } = yield* withPassword
      const chosen = `parley_session_${"0".repeat(39)}`
      const cookie = cookieOf(yield* signIn(target.email, { cookie: `parley_session=${chosen}` }))
      assert.notStrictEqual(cookie["parley_session"], chosen)
      assert.isFalse(yield* isValid({ cookie: `parley_session=${chosen}` }))
    })
  )

  it.effect("the session cookie is replaced by a change of the password, and the old one is void", () =>
    Effect.gen(function* () {
      const { before, headers } = yield* withPassword
      assert.isFalse(yield* isValid(before))
      assert.isTrue(yield* isValid(headers))
      const body = { current: password, password: "another long walk by the sea" }
      const stale = { ...headers, "x-csrf-token": before["x-csrf-token"]! }
      assert.strictEqual(
        errorOf(yield* send(endpoint("me.changePassword"), { body }, stale), 403).code,
        "csrf_rejected"
      )
    })
  )

  it.effect("the session cookie is not set by a sign-in that fails, and the session before it stays", () =>
    Effect.gen(function* () {
      const { headers, target } = yield* withPassword
      const reply = yield* send(
        endpoint("session.signIn"),
        { body: { email: target.email, password: "not this one" } },
        headers
      )
      assert.strictEqual(errorOf(reply, 401).code, "sign_in_refused")
      assert.deepStrictEqual(reply.headers.getSetCookie(), [])
      assert.isTrue(yield* isValid(headers))
    })
  )

  it.effect("the session cookie is renewed when the expiry slides, and otherwise not set again", () =>
    Effect.gen(function* () {
      const actor = yield* someone("member", yield* someTenant)
      for (const name of ["session.state", "me.keys"]) {
        const quiet = yield* send(endpoint(name), {}, actor.headers)
        assert.deepStrictEqual(quiet.headers.getSetCookie(), [], name)
        yield* seenAgo(actor, "2 hours")
        const cookie = cookieOf(yield* send(endpoint(name), {}, actor.headers))
        assert.strictEqual(cookie["parley_session"], actor.secret)
        assert.approximately(Number(cookie["Max-Age"]), 604_800, 60)
      }
    })
  )

  it.effect("the session cookie is removed at sign-out, and at the end of all sessions or its own", () =>
    Effect.gen(function* () {
      for (const name of ["session.signOut", "me.endSessions", "me.endSession"]) {
        const actor = yield* someone("member", yield* someTenant)
        yield* seenAgo(actor, "2 hours")
        const reply = yield* send(endpoint(name), expectations[name]!.sample(actor.target), actor.headers)
        assert.strictEqual(reply.status, 200, reply.text)
        const cookie = cookieOf(reply)
        assert.strictEqual(cookie["parley_session"], "", name)
        assert.strictEqual(cookie["Path"], "/")
        assert.strictEqual(cookie["Max-Age"], "0")
        assert.isFalse(yield* isValid({ cookie: actor.headers["cookie"]! }))
      }
    })
  )

  it.effect("the session cookie stays at the end of another session", () =>
    Effect.gen(function* () {
      const actor = yield* someone("member", yield* someTenant)
      const other = yield* startSession(actor.target)
      const reply = yield* send(
        endpoint("me.endSession"),
        { params: { id: other.target.sessionId } },
        actor.headers
      )
      assert.strictEqual(reply.text, '{"ended":1}')
      assert.deepStrictEqual(reply.headers.getSetCookie(), [])
      assert.isTrue(yield* isValid(actor.headers))
      assert.isFalse(yield* isValid(other.headers))
    })
  )

  it.effect("the session cookie with the longest path counts where there are several", () =>
    Effect.gen(function* () {
      const first = yield* someone("member", yield* someTenant)
      const second = yield* someone("member", yield* someTenant)
      const cookie = `${first.headers["cookie"]}; ${second.headers["cookie"]}`
      const state = stateOf(yield* send(endpoint("session.state"), {}, { cookie }))
      assert.strictEqual(state["user"]!["email"], first.target.email)
    })
  )
})

/** The answer to a sign-in at a service with these settings, through a proxy that says these things. */
const throughProxy = (
  name: string,
  settings: NonNullable<SettingsOverrides["console"]>,
  expected: { readonly name: string; readonly path: string; readonly secure: boolean },
  headers: Record<string, string>
) =>
  layer(TestApp.layer({ console: settings }), { excludeTestServices: true })(name, (it) => {
    it.effect("the session cookie below a path has that path", () =>
      Effect.gen(function* () {
        const tenant = yield* someTenant
        const sessions = yield* Sessions
        const client = { address: null, userAgent: null }
        const { person } = yield* sessions.start(tenant.userId as never, client, "link")
        yield* sessions.changePassword(person, null, Redacted.make(password))
        const cookie = cookieOf(yield* signIn(tenant.email, headers))
        assert.strictEqual(Object.keys(cookie)[0], expected.name)
        assert.strictEqual("Secure" in cookie, expected.secure)
        assert.strictEqual(cookie["Path"], expected.path)
        const cleared = cookieOf(
          yield* send(endpoint("session.signOut"), {}, { origin: (yield* TestApp).url, ...headers })
        )
        const signedIn = { ...headers, cookie: `${expected.name}=${cookie[expected.name]}` }
        assert.isTrue(yield* isValid(signedIn))
        // A sibling host, or an answer without TLS, could have set this cookie.
        const planted = { ...headers, cookie: `parley_session=${cookie[expected.name]}` }
        assert.strictEqual(yield* isValid(planted), !expected.secure)
        assert.strictEqual(Object.keys(cleared)[0], expected.name)
        assert.strictEqual("Secure" in cleared, expected.secure)
        assert.strictEqual(cleared["Path"], expected.path)
      })
    )
  })

throughProxy(
  "A service whose public address is https with a path",
  { publicUrl: "https://chat.example.com/parley", basePath: "/parley/" },
  { name: "__Secure-parley_session", path: "/parley/", secure: true },
  { origin: "https://chat.example.com" }
)
throughProxy(
  "A service behind a trusted proxy that speaks TLS",
  { trustedProxies: ["127.0.0.1"] },
  { name: "__Host-parley_session", path: "/", secure: true },
  { "x-forwarded-proto": "https" }
)
throughProxy(
  "A service behind a trusted proxy that doesn't speak TLS",
  { trustedProxies: ["127.0.0.1"] },
  { name: "parley_session", path: "/", secure: false },
  { "x-forwarded-proto": "http" }
)
throughProxy(
  "A service behind a proxy that isn't trusted",
  {},
  { name: "parley_session", path: "/", secure: false },
  { "x-forwarded-proto": "https" }
)

layer(TestApp.layer(), { excludeTestServices: true })("A session", (it) => {
  it.effect("a session is over with the next request once its user is disabled", () =>
    Effect.gen(function* () {
      const actor = yield* someone("owner", yield* someTenant)
      assert.isTrue(yield* isValid(actor.headers))
      // Another owner, so that this one isn't the last.
      yield* someone("owner", yield* someTenant)
      yield* (yield* Accounts).setDisabled(actor.target.email, true)
      for (const one of declared) {
        const { admitted, sample } = expectations[one.name]!
        if (admitted === "anyone") continue
        assert.strictEqual(
          errorOf(yield* send(one, sample(actor.target), actor.headers), 401).code,
          "session_ended"
        )
      }
      const state = stateOf(yield* send(endpoint("session.state"), {}, actor.headers))
      assert.isNull(state["user"])
      assert.isNull(state["csrf_token"])
    })
  )

  it.effect("a session has the role that its user has at the time of the request", () =>
    Effect.gen(function* () {
      const tenant = yield* someTenant
      const actor = yield* someone("admin", tenant)
      const plans = send(endpoint("policy.listPlans"), {}, actor.headers)
      assert.strictEqual((yield* plans).status, 200)
      yield* setRole(actor.target.userId, "organization_admin")
      assert.strictEqual(errorOf(yield* plans, 403).code, "role_forbids")
      const users = yield* send(endpoint("accounts.listUsers"), {}, actor.headers)
      assert.notInclude(users.text, "alice@example.test")
      yield* setRole(actor.target.userId, "member")
      const refused = yield* send(endpoint("accounts.listUsers"), {}, actor.headers)
      assert.strictEqual(errorOf(refused, 403).code, "role_forbids")
    })
  )

  it.effect("the session endpoint tells those who are not signed in nothing but that", () =>
    Effect.gen(function* () {
      const reply = yield* send(endpoint("session.state"), {}, {})
      assert.deepStrictEqual(JSON.parse(reply.text), {
        user: null,
        csrf_token: null,
        expires_at: null,
        set_up_needed: JSON.parse(reply.text).set_up_needed,
        identity_provider: null,
        version: null
      })
    })
  )
})
