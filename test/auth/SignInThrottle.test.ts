import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { networksPerUserMax } from "../../src/auth/KnownNetworks.ts"
import { Sessions, sweepSignIns } from "../../src/auth/Sessions.ts"
import { attemptLimits } from "../../src/auth/SignInThrottle.ts"
import type { UserId } from "../../src/domain/Ids.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { authLayer, makeUser } from "./AccountsFixture.ts"

const password = Redacted.make("a password of some words")
const wrong = Redacted.make("another password of words")
const freeMax = attemptLimits.accountFromNetwork.freeMax

/** A client at an address of its own. */
const clientAt = (address: string) => ({ address, userAgent: null })
const home = clientAt("192.0.2.1")

const secondProcess = Effect.map(
  Layer.build(Layer.fresh(authLayer()).pipe(Layer.provide(Layer.fresh(TestDatabase.client())))),
  (context) => Context.get(context, Sessions)
)

const makeSignedIn = Effect.gen(function* () {
  const sessions = yield* Sessions
  const { user } = yield* makeUser
  const { person } = yield* sessions.start(user.id, clientAt("203.0.113.9"), "link")
  yield* sessions.changePassword(person, null, password)
  return { ...user, person }
})

const fail = (email: string, client: typeof home, times: number) =>
  Effect.gen(function* () {
    const sessions = yield* Sessions
    for (let count = 0; count < times; count++) {
      assert.strictEqual(yield* tagOf(sessions.signIn(email, wrong, client)), "SignInRefused")
    }
  })

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.match(effect, { onFailure: ({ _tag }) => _tag as string, onSuccess: () => "signed in" })

/** Moves all failures back in time by so many seconds. */
const passed = (seconds: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`UPDATE sign_in_attempts SET charged_at = charged_at - make_interval(secs => ${seconds}),
      blocked_until = blocked_until - make_interval(secs => ${seconds})`
  )

const everything = authLayer().pipe(
  Layer.provideMerge(TestDatabase.layer),
  Layer.provideMerge(Layer.succeed(AppConfig, testConfig()))
)

layer(everything)("SignInThrottle", (it) => {
  it.effect("SignInThrottle refuses even the right password after failures until the wait is over", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const { email } = yield* makeSignedIn
      yield* fail(email, home, freeMax + 1)
      const error = yield* Effect.flip(sessions.signIn(email, password, home))
      assert.strictEqual(error._tag, "SignInThrottled")
      assert.isTrue(error._tag === "SignInThrottled" && [1, 2].includes(error.retryAfterSeconds))
      yield* passed(2)
      assert.strictEqual(yield* tagOf(sessions.signIn(email, password, home)), "signed in")
      // A success clears the failures.
      yield* fail(email, home, freeMax)
    })
  )

  it.effect("SignInThrottle treats an address that is no user's like one that is", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const client = clientAt("192.0.2.2")
      yield* fail("stranger@example.com", client, freeMax + 1)
      assert.strictEqual(
        yield* tagOf(sessions.signIn("Stranger@Example.com", wrong, client)),
        "SignInThrottled"
      )
    })
  )

  it.effect(
    "SignInThrottle counts all the spellings of one address together, those of users and of nobody",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const sessions = yield* Sessions
        const { id } = yield* makeSignedIn
        yield* sql`UPDATE users SET email = 'kim@example.com' WHERE id = ${id}`
        // The Kelvin sign and the dotted I become ASCII in one look-up and not in another; the answers must
        // not show in which.
        for (const spelling of ["KIM", "\u{212a}im", "k\u{130}m"]) {
          const client = clientAt(`192.0.2.${20 + (spelling.charCodeAt(0) % 200)}`)
          const answers = yield* Effect.forEach(["kim@example.com", "kim@example.net"], (email) =>
            Effect.gen(function* () {
              yield* fail(`${spelling}${email.slice(3)}`, client, freeMax + 1)
              return yield* tagOf(sessions.signIn(email, wrong, client))
            })
          )
          assert.strictEqual(answers[0], answers[1], spelling)
        }
      })
  )

  it.effect("SignInThrottle doesn't let strangers lock a user out", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const { email } = yield* makeSignedIn
      yield* fail(email, clientAt("192.0.2.3"), freeMax + 1)
      assert.strictEqual(yield* tagOf(sessions.signIn(email, password, clientAt("192.0.2.4"))), "signed in")
    })
  )

  it.effect("SignInThrottle limits an account over all networks but those where its user has signed in", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const sessions = yield* Sessions
      const { email } = yield* makeSignedIn
      yield* sessions.signIn(email, password, home)
      yield* sql`DELETE FROM sign_in_attempts`
      yield* fail(email, clientAt("192.0.2.5"), 1)
      // The one row with a high level stands for failures from many networks.
      const { freeMax: accountFreeMax } = attemptLimits.account
      yield* sql`UPDATE sign_in_attempts SET level = ${accountFreeMax}`
      yield* sql`DELETE FROM sign_in_attempts WHERE blocked_until > clock_timestamp()`
      yield* fail(email, clientAt("192.0.2.6"), 1)
      assert.strictEqual(
        yield* tagOf(sessions.signIn(email, password, clientAt("192.0.2.7"))),
        "SignInThrottled"
      )
      assert.strictEqual(yield* tagOf(sessions.signIn(email, password, home)), "signed in")
    })
  )

  it.effect("SignInThrottle takes the addresses of an IPv6 network for one client", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const { email } = yield* makeSignedIn
      for (let host = 1; host <= freeMax + 1; host++) yield* fail(email, clientAt(`2001:db8::${host}`), 1)
      assert.strictEqual(
        yield* tagOf(sessions.signIn(email, password, clientAt("2001:db8::ffff"))),
        "SignInThrottled"
      )
      assert.strictEqual(
        yield* tagOf(sessions.signIn(email, password, clientAt("2001:db8:0:1::1"))),
        "signed in"
      )
    })
  )

  it.effect("SignInThrottle limits concurrent attempts in several processes like sequential ones", () =>
    Effect.gen(function* () {
      const { email } = yield* makeSignedIn
      const processes = [yield* Sessions, yield* secondProcess]
      const client = clientAt("192.0.2.8")
      const tags = yield* Effect.all(
        Array.from({ length: 30 }, (_, at) => tagOf(processes[at % 2]!.signIn(email, wrong, client))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(tags.filter((tag) => tag === "SignInRefused").length, freeMax + 1)
      assert.strictEqual(tags.filter((tag) => tag === "SignInThrottled").length, 30 - freeMax - 1)
    }).pipe(Effect.scoped)
  )

  it.effect("SignInThrottle limits one network over many accounts", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const client = clientAt("192.0.2.9")
      for (let at = 0; at <= attemptLimits.network.freeMax; at++)
        yield* fail(`user${at}@example.net`, client, 1)
      assert.strictEqual(yield* tagOf(sessions.signIn("one@example.net", wrong, client)), "SignInThrottled")
    })
  )

  it.effect("SignInThrottle limits guesses of the password in a session", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const { person } = yield* makeSignedIn
      const change = sessions.changePassword(person, wrong, Redacted.make("a new password of words"))
      for (let count = 0; count <= freeMax; count++) assert.strictEqual(yield* tagOf(change), "SignInRefused")
      assert.strictEqual(yield* tagOf(change), "SignInThrottled")
    })
  )

  it.effect("SignInThrottle records failures in the audit log without the address that was typed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { email, id } = yield* makeSignedIn
      yield* fail(email, clientAt("192.0.2.10"), 3)
      yield* fail("typed-by-mistake@example.com", clientAt("192.0.2.10"), 1)
      const ofUser =
        yield* sql`SELECT details FROM audit_log WHERE action = 'session.fail' AND target_id = ${id}`
      assert.deepStrictEqual(ofUser, [{ details: { address: "192.0.2.10", attempts: 1 } }])
      const all = yield* sql`SELECT audit_log::text AS line FROM audit_log WHERE action = 'session.fail'`
      assert.notInclude(JSON.stringify(all), "typed-by-mistake")
    })
  )

  it.effect("SignInThrottle keeps a bounded number of rows", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const sessions = yield* Sessions
      const count = (table: string) => Effect.map(sql`SELECT 1 FROM ${sql(table)}`, ({ length }) => length)
      yield* fail("latest@example.com", clientAt("192.0.2.11"), 1)
      yield* sweepSignIns(3)
      assert.strictEqual(yield* count("sign_in_attempts"), 3)
      yield* passed(86_401)
      yield* sweepSignIns(3)
      assert.strictEqual(yield* count("sign_in_attempts"), 0)
      const { user } = yield* makeUser
      for (let at = 0; at <= networksPerUserMax; at++) {
        yield* sessions.start(user.id, clientAt(`198.51.100.${at}`), "link")
      }
      const kept = yield* networksOf(user.id)
      assert.strictEqual(kept.length, networksPerUserMax)
    })
  )
})

const networksOf = (userId: UserId) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`SELECT network FROM sign_in_networks WHERE user_id = ${userId}`
  )
