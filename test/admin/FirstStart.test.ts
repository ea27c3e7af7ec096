import { assert, layer } from "@effect/vitest"
import { Effect, Layer, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { adoptGivenKey, firstAccount } from "../../src/admin/Startup.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import * as KeyToken from "../../src/auth/KeyToken.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { authLayer } from "../auth/AccountsFixture.ts"
import { licensed } from "../plans/terms.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

/** Runs the steps of a start that concern keys. Returns the key that it created, or null. */
const startWith = (initApiKey: Redacted.Redacted | null) =>
  Effect.andThen(
    adoptGivenKey,
    firstAccount(() => Effect.void)
  ).pipe(
    Effect.provideService(AppConfig, testConfig({ auth: { initApiKey, initUserEmail: "owner@example.com" } }))
  )

const empty = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`TRUNCATE organizations, users, api_keys CASCADE`
})

layer(authLayer().pipe(Layer.provideMerge(TestDatabase.layer)))("firstStart", (it) => {
  it.effect("firstStart creates a first key only once", () =>
    Effect.gen(function* () {
      yield* empty
      const { key, user } = yield* startWith(null)
      assert.strictEqual(user.email, "owner@example.com")
      if (key === null) return assert.fail("no key was created")
      yield* (yield* ApiKeys).authenticate(key)
      assert.isNull((yield* startWith(null)).key)
    })
  )

  it.effect("firstStart adopts the given key at the first start and at later ones", () =>
    Effect.gen(function* () {
      yield* empty
      const apiKeys = yield* ApiKeys
      const given = yield* KeyToken.makeKey
      const first = yield* startWith(given)
      assert.strictEqual(first.user.email, "owner@example.com")
      assert.isNull(first.key)
      const later = yield* KeyToken.makeKey
      assert.isNull((yield* startWith(later)).key)
      for (const key of [given, later]) yield* apiKeys.authenticate(key)
    })
  )
})

const fullApp = Layer.unwrap(
  Effect.map(licensed({ users: 1 }), (policy) =>
    authLayer(testConfig({ policy })).pipe(Layer.provideMerge(TestDatabase.layer))
  )
)

layer(fullApp, { excludeTestServices: true })("the first start with a license", (it) => {
  it.effect("the first start names the user that the license has no room for, and a remedy", () =>
    Effect.gen(function* () {
      yield* empty
      yield* startWith(null)
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE users SET email = 'other@example.com'`
      assert.isNull((yield* startWith(null)).key)
      const refusal = yield* Effect.flip(startWith(yield* KeyToken.makeKey))
      assert.strictEqual(refusal._tag, "LicenseForbids")
      assert.match(
        refusal.message,
        /^The user of PARLEY_INIT_USER_EMAIL can't be created\. .* room for 1 user.* Without PARLEY_INIT_API_KEY /
      )
    })
  )
})
