import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { firstStart } from "../../src/admin/FirstStart.ts"
import { AppConfig } from "../../src/AppConfig.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import * as KeyToken from "../../src/auth/KeyToken.ts"
import { authLayer } from "../auth/AccountsFixture.ts"
import { licensed } from "../auth/terms.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

const startWith = (initApiKey: Redacted.Redacted | null) =>
  Effect.provideService(
    firstStart,
    AppConfig,
    testConfig({ auth: { initApiKey, initUserEmail: "owner@example.com" } })
  )

const empty = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`TRUNCATE organizations, users, api_keys CASCADE`
})

layer(authLayer().pipe(Layer.provideMerge(TestDatabase.layer)))("firstStart", (it) => {
  it.effect("tells the key that it made, once", () =>
    Effect.gen(function* () {
      yield* empty
      const told = Option.getOrThrow(yield* startWith(null))
      assert.deepInclude(told, { email: "owner@example.com", made: true })
      yield* (yield* ApiKeys).authenticate(told.key)
      assert.isTrue(Option.isNone(yield* startWith(null)))
    })
  )

  it.effect("takes the key that is given, at the first start and later", () =>
    Effect.gen(function* () {
      yield* empty
      const apiKeys = yield* ApiKeys
      const given = yield* KeyToken.makeKey
      const told = Option.getOrThrow(yield* startWith(given))
      assert.deepStrictEqual(
        { email: told.email, made: told.made, key: Redacted.value(told.key) },
        { email: "owner@example.com", made: false, key: Redacted.value(given) }
      )
      const later = yield* KeyToken.makeKey
      assert.isTrue(Option.isNone(yield* startWith(later)))
      for (const key of [given, later]) yield* apiKeys.authenticate(key)
    })
  )
})

const fullApp = Layer.unwrap(
  Effect.map(licensed({ users: 1 }), (policy) =>
    authLayer(testConfig({ policy })).pipe(Layer.provideMerge(TestDatabase.layer))
  )
)

layer(fullApp, { excludeTestServices: true })("firstStart with a licence", (it) => {
  it.effect("says which user it has no room for, and how to start without", () =>
    Effect.gen(function* () {
      yield* empty
      yield* startWith(null)
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE users SET email = 'other@example.com'`
      assert.isTrue(Option.isNone(yield* startWith(null)))
      const refusal = yield* Effect.flip(startWith(yield* KeyToken.makeKey))
      assert.strictEqual(refusal._tag, "LicenseForbids")
      assert.match(
        refusal.message,
        /^The user of PARLEY_INIT_USER_EMAIL can't be made\. .* room for 1 user.* Without PARLEY_INIT_API_KEY /
      )
    })
  )
})
