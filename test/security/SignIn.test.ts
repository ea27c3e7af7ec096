import { NodeCrypto } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { Kdf } from "effect/crypto"
import { Accounts } from "../../src/auth/Accounts.ts"
import { Sessions } from "../../src/auth/Sessions.ts"
import { attemptLimits, waitSecondsOf } from "../../src/auth/SignInThrottle.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { authLayer, makeUser } from "../auth/AccountsFixture.ts"
import { declared, send, someTenant } from "../console/ConsoleFixture.ts"
import { TestApp } from "../support/TestApp.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { errorOf } from "../support/Wire.ts"

/** The number of password hashes that began, and the effect that each one waits for. */
const hashing = { begun: 0, gate: Effect.void as Effect.Effect<void> }

const ObservedKdf = Layer.effect(
  Kdf.Kdf,
  Effect.map(Kdf.Kdf, (kdf) =>
    Kdf.Kdf.of({
      derive: (...parameters) =>
        Effect.suspend(() => {
          hashing.begun++
          return Effect.andThen(hashing.gate, kdf.derive(...parameters))
        })
    })
  )
).pipe(Layer.provide(NodeCrypto.layer))

const observed = Layer.fresh(Sessions.layer).pipe(
  Layer.provide(ObservedKdf),
  Layer.provideMerge(authLayer()),
  Layer.provide(Layer.succeed(AppConfig, testConfig())),
  Layer.provideMerge(TestDatabase.layer)
)

const password = Redacted.make("a password of some words")
const wrong = Redacted.make("another password of words")
const clientAt = (address: string) => ({ address, userAgent: null })

const makeWithPassword = Effect.gen(function* () {
  const sessions = yield* Sessions
  const { user } = yield* makeUser
  const { person } = yield* sessions.start(user.id, clientAt("203.0.113.9"), "link")
  return { user, secret: yield* sessions.changePassword(person, null, password) }
})

layer(observed)("Sign-ins", (it) => {
  it.effect("sign-ins do the same work, whether the user exists, is disabled or is right", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const sessions = yield* Sessions
      const { user } = yield* makeWithPassword
      const { user: disabled } = yield* makeWithPassword
      const { user: without } = yield* makeUser
      yield* accounts.setDisabled(disabled.email, true)
      const attempts = [
        [user.email, password],
        [user.email, wrong],
        [disabled.email, password],
        [disabled.email, wrong],
        [without.email, password],
        ["nobody@example.com", password]
      ] as const
      const work = yield* Effect.forEach(attempts, ([email, typed]) =>
        Effect.gen(function* () {
          const before = hashing.begun
          yield* Effect.result(sessions.signIn(email, typed, clientAt("192.0.2.1")))
          return hashing.begun - before
        })
      )
      assert.deepStrictEqual(work, [1, 1, 1, 1, 1, 1])
    })
  )

  it.effect("sign-ins beyond those that may wait are refused at once, and sessions are found meanwhile", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const { secret } = yield* makeWithPassword
      const open = yield* Deferred.make<void>()
      const overflow = yield* Deferred.make<void>()
      const attempts = 80
      const admitted = 52
      let busy = 0
      hashing.gate = Deferred.await(open)
      const flood = yield* Effect.forEach(
        Array.from({ length: attempts }, (_, at) => at),
        (at) =>
          sessions.signIn(`flood${at}@example.com`, wrong, clientAt(`198.51.100.${at}`)).pipe(
            Effect.match({ onFailure: ({ _tag }) => _tag as string, onSuccess: () => "signed in" }),
            Effect.tap((tag) =>
              tag === "ServerBusy" && ++busy === attempts - admitted
                ? Deferred.succeed(overflow, undefined)
                : Effect.void
            )
          ),
        { concurrency: "unbounded" }
      ).pipe(Effect.forkChild)
      yield* Deferred.await(overflow)
      assert.isNotNull(yield* sessions.find(secret))
      hashing.gate = Effect.void
      yield* Deferred.succeed(open, undefined)
      const tags = yield* Fiber.join(flood)
      assert.strictEqual(tags.filter((tag) => tag === "SignInRefused").length, admitted)
    })
  )
})

const signIn = Effect.fnUntraced(function* (email: string, headers: Record<string, string> = {}) {
  const endpoint = declared.find(({ name }) => name === "session.signIn")!
  const body = { email, password: "no such password" }
  return yield* send(endpoint, { body }, { origin: (yield* TestApp).url, ...headers })
})

layer(TestApp.layer(), { excludeTestServices: true })("A guess of a password", (it) => {
  const limit = attemptLimits.accountFromNetwork
  const { freeMax } = limit

  it.effect("a guess of a password is answered in the same way for a user's address and nobody's", () =>
    Effect.gen(function* () {
      const { colleague } = yield* someTenant
      const ofUser = yield* signIn(colleague)
      const ofNobody = yield* signIn("nobody@example.com")
      const headersOf = ({ headers }: typeof ofUser) =>
        [...headers].filter(([name]) => !["x-request-id", "date"].includes(name))
      assert.deepStrictEqual(errorOf(ofUser, 401), errorOf(ofNobody, 401))
      assert.deepStrictEqual(headersOf(ofUser), headersOf(ofNobody))
    })
  )

  it.effect("a guess of a password counts for the client that sent it, whatever address it claims", () =>
    Effect.gen(function* () {
      const { email } = yield* someTenant
      for (let at = 0; at <= freeMax; at++) {
        const reply = yield* signIn(email, {
          "x-forwarded-for": `203.0.113.${at}`,
          "x-real-ip": `203.0.113.${at}`,
          forwarded: `for=203.0.113.${at}`
        })
        assert.strictEqual(reply.status, 401)
      }
      const spoofed = yield* signIn(email, { "x-forwarded-for": "203.0.113.99" })
      assert.strictEqual(errorOf(spoofed, 429).code, "sign_in_throttled")
    })
  )

  it.effect("a guess of a password counts among 100 at once in different spellings", () =>
    Effect.gen(function* () {
      const { email } = yield* someTenant
      const spellings = [email, email.toUpperCase(), email.replace("example", "EXAMPLE")]
      const begun = performance.now()
      const statuses = yield* Effect.forEach(
        Array.from({ length: 100 }, (_, at) => spellings[at % spellings.length]!),
        (spelling) => Effect.map(signIn(spelling), ({ status }) => status),
        { concurrency: "unbounded" }
      )
      // Each wait is twice as long as the one before it. On a busy machine some pass before the last request
      // is answered.
      const waitsPassed = Math.floor(
        Math.log2((performance.now() - begun) / (1_000 * waitSecondsOf(limit, freeMax + 1)) + 1)
      )
      assert.isAtMost(statuses.filter((status) => status === 401).length, freeMax + 1 + waitsPassed)
      assert.deepStrictEqual(
        statuses.filter((status) => status !== 401 && status !== 429 && status !== 503),
        []
      )
    })
  )
})
