import { assert, layer } from "@effect/vitest"
import { Array as Arr, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import * as KeyToken from "../../src/auth/KeyToken.ts"
import { Onboarding } from "../../src/auth/Onboarding.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { authLayer } from "./AccountsFixture.ts"

/** One process for each of the statements that can block each other. */
const processes = 8

const anotherProcess = Effect.map(
  Layer.build(
    Layer.fresh(authLayer()).pipe(Layer.provide(Layer.fresh(TestDatabase.client({ connectionsMax: 1 }))))
  ),
  (context) => Context.get(context, Onboarding)
)

const counts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly users: number; readonly keys: number; readonly organizations: number }>`
    SELECT (SELECT count(*) FROM users)::int AS users, (SELECT count(*) FROM api_keys)::int AS keys,
      (SELECT count(*) FROM organizations)::int AS organizations`
  return row
})

/** Each test begins with a database in which nobody is. */
const empty = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`TRUNCATE organizations, users, api_keys CASCADE`
})

layer(authLayer().pipe(Layer.provideMerge(TestDatabase.layerFailing)))("Onboarding", (it) => {
  it.effect("Onboarding creates the first user and a working key once", () =>
    Effect.gen(function* () {
      yield* empty
      const onboarding = yield* Onboarding
      const first = yield* onboarding.firstAccount("admin@localhost", () => Effect.void)
      if (first.key === null) return assert.fail("no key was created")
      const caller = yield* (yield* ApiKeys).authenticate(first.key)
      const user = yield* (yield* Accounts).findUserByEmail("admin@localhost")
      assert.strictEqual(caller.userId, user.id)
      assert.strictEqual(user.organization, "default")
      assert.strictEqual(caller.plan, "default")
      assert.deepStrictEqual(yield* onboarding.firstAccount("else@localhost", () => Effect.void), {
        user,
        key: null
      })
      assert.deepStrictEqual(yield* counts, { users: 1, keys: 1, organizations: 1 })
    })
  )

  it.effect("Onboarding creates no first key where showing it was interrupted", () =>
    Effect.gen(function* () {
      yield* empty
      const onboarding = yield* Onboarding
      yield* Effect.exit(onboarding.firstAccount("admin@localhost", () => Effect.interrupt))
      assert.deepStrictEqual(yield* counts, { users: 0, keys: 0, organizations: 0 })
      const first = yield* onboarding.firstAccount("admin@localhost", () => Effect.void)
      assert.isNotNull(first.key)
    })
  )

  it.effect("Onboarding lets exactly one of several starting processes create the first user", () =>
    Effect.gen(function* () {
      yield* empty
      const starts = yield* Effect.all(Arr.makeBy(processes, () => anotherProcess))
      const results = yield* Effect.all(
        starts.map((onboarding) => onboarding.firstAccount("admin@localhost", () => Effect.void)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(({ key }) => key !== null).length, 1)
      assert.deepStrictEqual(yield* counts, { users: 1, keys: 1, organizations: 1 })
    })
  )

  it.effect("Onboarding adopts a given key at the first start and at later ones", () =>
    Effect.gen(function* () {
      yield* empty
      const onboarding = yield* Onboarding
      const apiKeys = yield* ApiKeys
      const given = yield* KeyToken.makeKey
      yield* onboarding.adoptKey("Owner@example.com", given)
      const { keyId, userId } = yield* apiKeys.authenticate(given)
      yield* onboarding.adoptKey("owner@EXAMPLE.com", given)
      assert.deepStrictEqual(yield* counts, { users: 1, keys: 1, organizations: 1 })

      yield* apiKeys.revoke(keyId)
      yield* onboarding.adoptKey("owner@example.com", given)
      const error = yield* Effect.flip(apiKeys.authenticate(given))
      assert.strictEqual(error._tag === "ApiKeyRejected" && error.reason, "revoked")

      const later = yield* KeyToken.makeKey
      yield* onboarding.adoptKey("owner@example.com", later)
      assert.strictEqual((yield* apiKeys.authenticate(later)).userId, userId)
      yield* onboarding.adoptKey("second@example.com", yield* KeyToken.makeKey)
      assert.deepStrictEqual(yield* counts, { users: 2, keys: 3, organizations: 1 })
    })
  )

  it.effect("Onboarding creates one key and one user if several processes adopt the same key", () =>
    Effect.gen(function* () {
      yield* empty
      const given = yield* KeyToken.makeKey
      const starts = yield* Effect.all(Arr.makeBy(processes, () => anotherProcess))
      yield* Effect.all(
        starts.map((onboarding) => onboarding.adoptKey("admin@localhost", given)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(yield* counts, { users: 1, keys: 1, organizations: 1 })
    })
  )

  it.effect("Onboarding creates a user with a key or neither, whichever statement fails", () =>
    Effect.gen(function* () {
      yield* empty
      const accounts = yield* Accounts
      const onboarding = yield* Onboarding
      const faults = yield* SqlFaults
      yield* accounts.createOrganization("acme", "default")
      const make = onboarding.userWithKey("ada@example.com", "acme")
      for (const when of ["before", "after"] as const) {
        for (let n = 1; n <= 20; n++) {
          yield* faults.failStatement(n, when)
          const result = yield* Effect.exit(make)
          const { failed } = yield* faults.seen
          yield* faults.off
          const found = yield* counts
          assert.strictEqual(found?.users, found?.keys, `statement ${n}, ${when}`)
          if (result._tag === "Success") assert.strictEqual(found?.users, 1)
          yield* (yield* SqlClient.SqlClient)`TRUNCATE users, api_keys CASCADE`
          if (!failed) break
          assert.isBelow(n, 20)
        }
      }
      const { key, user } = yield* make
      assert.strictEqual((yield* (yield* ApiKeys).authenticate(key.key)).userId, user.id)
      assert.strictEqual((yield* Effect.flip(make))._tag, "UserExists")
    })
  )
})
