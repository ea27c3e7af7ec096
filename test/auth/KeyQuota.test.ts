import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { ApiKeys, keysPerUserMax } from "../../src/auth/ApiKeys.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { authLayer, makeUser } from "./AccountsFixture.ts"

layer(authLayer().pipe(Layer.provideMerge(TestDatabase.layer)), { excludeTestServices: true })(
  "The keys of one user",
  (it) => {
    it.effect("the number of valid keys of a user is bounded, without revoked and expired ones", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const apiKeys = yield* ApiKeys
        const { key, user } = yield* makeUser
        const other = yield* makeUser
        const addKeys = (count: number, expiresAt: Date | null) => sql`
          INSERT INTO api_keys (id, user_id, name, hash, hint, expires_at)
          SELECT gen_random_uuid(), ${user.id}, 'many', sha256(gen_random_uuid()::text::bytea), 'hint', ${expiresAt}
          FROM generate_series(1, ${count}::integer)`
        const create = apiKeys.create({ userId: user.id, name: "one more", expiresAt: null })
        yield* addKeys(50, DateTime.toDateUtc(DateTime.subtract(yield* DateTime.now, { days: 1 })))
        yield* addKeys(keysPerUserMax - 2, null)
        yield* create
        const refused = yield* Effect.flip(create)
        assert.deepInclude(refused, { _tag: "TooManyKeys", keysMax: keysPerUserMax })
        yield* apiKeys.create({ userId: other.user.id, name: "another", expiresAt: null })
        yield* apiKeys.revoke(key.id)
        yield* create
        assert.strictEqual((yield* Effect.flip(create))._tag, "TooManyKeys")
      })
    )
  }
)
