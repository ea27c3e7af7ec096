import { assert, describe, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import { Sessions } from "../../src/auth/Sessions.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { authLayer, makeUser } from "./AccountsFixture.ts"

const client = { address: "192.0.2.1", userAgent: "a browser" }
const password = Redacted.make("a password of some words")

/** A user with a session and that password. */
const makeSignedIn = Effect.gen(function* () {
  const sessions = yield* Sessions
  const { user } = yield* makeUser
  const started = yield* sessions.start(user.id, client, "link")
  const secret = yield* sessions.changePassword(started.person, null, password)
  return { user, ...started, secret }
})

layer(authLayer().pipe(Layer.provideMerge(TestDatabase.layer)))("Sessions", (it) => {
  describe("signIn", () => {
    it.effect("Sessions.signIn starts a session whose secret finds the user", () =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const { user } = yield* makeSignedIn
        const { person, secret, session } = yield* sessions.signIn(user.email.toUpperCase(), password, client)
        const found = yield* sessions.find(secret)
        assert.deepStrictEqual(found?.person, person)
        assert.deepStrictEqual(found?.session, session)
        assert.deepStrictEqual(person, {
          _tag: "Person",
          userId: user.id,
          email: user.email,
          role: "member",
          organizationId: user.organizationId,
          organization: user.organization,
          address: "192.0.2.1",
          sessionId: session.id
        })
        assert.isTrue(found?.hasPassword)
        assert.strictEqual(found?.plan, "gold")
      })
    )

    it.effect("Sessions.signIn refuses an unknown address, a wrong password and a disabled user alike", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const sessions = yield* Sessions
        const { user } = yield* makeSignedIn
        const { user: without } = yield* makeUser
        const { user: disabled } = yield* makeSignedIn
        yield* sql`UPDATE users SET disabled_at = now() WHERE id = ${disabled.id}`
        const wrong = Redacted.make("another password of words")
        const errors = yield* Effect.all([
          Effect.flip(sessions.signIn("unknown@example.com", password, client)),
          Effect.flip(sessions.signIn(user.email, wrong, client)),
          Effect.flip(sessions.signIn(without.email, password, client)),
          Effect.flip(sessions.signIn(disabled.email, password, client))
        ])
        for (const error of errors) assert.deepStrictEqual({ ...error }, { ...errors[0] })
        assert.strictEqual(errors[0]._tag, "SignInRefused")
      })
    )
  })

  describe("find", () => {
    it.effect("Sessions.find finds no session of a disabled user, and none by an unknown secret", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const sessions = yield* Sessions
        const { secret, user } = yield* makeSignedIn
        assert.isNotNull(yield* sessions.find(secret))
        yield* sql`UPDATE users SET disabled_at = now() WHERE id = ${user.id}`
        assert.isNull(yield* sessions.find(secret))
        assert.isNull(yield* sessions.find(Redacted.make("")))
        assert.isNull(yield* sessions.find(Redacted.make(`${Redacted.value(secret)}0`)))
      })
    )

    it.effect("Sessions.find ends a session after its idle time and after its whole time", () =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const { secret, session } = yield* makeSignedIn
        yield* TestClock.adjust("604799 seconds")
        const slid = yield* sessions.find(secret)
        assert.isTrue(DateTime.isGreaterThan(slid!.session.expiresAt, session.expiresAt))
        for (let day = 7; day < 28; day += 7) {
          yield* TestClock.adjust("604799 seconds")
          assert.isNotNull(yield* sessions.find(secret))
        }
        const last = yield* sessions.find(secret)
        assert.deepStrictEqual(
          last?.session.expiresAt,
          DateTime.add(session.createdAt, { seconds: 2_592_000 })
        )
        yield* TestClock.setTime(DateTime.toEpochMillis(last!.session.expiresAt) - 1)
        assert.isNotNull(yield* sessions.find(secret))
        yield* TestClock.adjust(1)
        assert.isNull(yield* sessions.find(secret))
      })
    )
  })

  it.effect(
    "changing the password ends the other sessions of the user, and renews the secret of this one",
    () =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const { person, secret, user } = yield* makeSignedIn
        const other = yield* sessions.signIn(user.email, password, client)
        const renewed = yield* sessions.changePassword(
          person,
          password,
          Redacted.make("a new password of words")
        )
        assert.strictEqual((yield* sessions.find(renewed))?.session.id, person.sessionId)
        assert.isNull(yield* sessions.find(other.secret))
        assert.isNull(yield* sessions.find(secret), "what a thief has of this session")
        assert.strictEqual(
          (yield* Effect.flip(sessions.signIn(user.email, password, client)))._tag,
          "SignInRefused"
        )
      })
  )

  it.effect("one of two concurrent changes of the password in two sessions ends the other's session", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const { person, user } = yield* makeSignedIn
      const other = yield* sessions.signIn(user.email, password, client)
      const tags = yield* Effect.all(
        [person, other.person].map((one, at) =>
          Effect.match(sessions.changePassword(one, password, Redacted.make(`password ${at} of words`)), {
            onFailure: ({ _tag }) => _tag as string,
            onSuccess: () => "done"
          })
        ),
        { concurrency: "unbounded" }
      )
      assert.include(tags, "done")
      assert.isTrue(tags.includes("SessionEnded") || tags.includes("SignInRefused"), String(tags))
      assert.lengthOf(yield* sessions.list(user.id), 1)
    })
  )

  it.effect("a session that ended while its user changed the password changes nothing", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const { person, user } = yield* makeSignedIn
      yield* sessions.endAll(user.id)
      const changed = sessions.changePassword(person, password, Redacted.make("a new password of words"))
      assert.strictEqual((yield* Effect.flip(changed))._tag, "SessionEnded")
      assert.strictEqual((yield* sessions.signIn(user.email, password, client)).person.userId, user.id)
    })
  )

  it.effect("Sessions.end ends a session of its user only", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const one = yield* makeSignedIn
      const other = yield* makeSignedIn
      assert.strictEqual(yield* sessions.end(other.user.id, one.session.id), 0)
      assert.isNotNull(yield* sessions.find(one.secret))
      assert.strictEqual(yield* sessions.end(one.user.id, one.session.id), 1)
      assert.isNull(yield* sessions.find(one.secret))
      assert.isNotNull(yield* sessions.find(other.secret))
    })
  )

  it.effect("the key of the web application is one key, which is neither listed nor revoked", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const { key, user } = yield* makeUser
      const [id, ...others] = yield* Effect.all(
        Array.from({ length: 5 }, () => keys.webKeyOf(user.id)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(new Set(others), new Set([id!]))
      assert.deepStrictEqual(
        (yield* keys.list(user.id)).data.map((listed) => listed.id),
        [key.id]
      )
      assert.strictEqual((yield* Effect.flip(keys.revoke(id!)))._tag, "ApiKeyNotFound")
    })
  )
})
