import { NodeCrypto } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { PasswordCost } from "../../src/auth/PasswordHash.ts"
import { Passwords } from "../../src/auth/Passwords.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { authLayer, makeUser } from "./AccountsFixture.ts"

const password = Redacted.make("a password of some words")

const passwordsWith = (passes: number) =>
  Passwords.layer.pipe(
    Layer.provide(NodeCrypto.layer),
    Layer.provide(Layer.succeed(PasswordCost, { memory: 8, passes, parallelism: 1 }))
  )

const withPasswords = Effect.fnUntraced(function* <A, E, R>(passes: number, effect: Effect.Effect<A, E, R>) {
  return yield* Effect.provide(effect, Layer.fresh(passwordsWith(passes)))
})

layer(authLayer().pipe(Layer.provideMerge(TestDatabase.layer)))("Passwords", (it) => {
  it.effect("Passwords hashes a password anew, once, when the cost has changed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { user } = yield* makeUser
      const hashOf = Effect.map(sql`SELECT hash FROM passwords WHERE user_id = ${user.id}`, (rows) =>
        String(rows[0]?.["hash"])
      )
      const verify = Effect.flatMap(Passwords, (passwords) => passwords.verify(user.id, password))
      yield* withPasswords(
        1,
        Effect.flatMap(Passwords, (passwords) =>
          Effect.flatMap(passwords.hash(password, user.email), (hash) => passwords.store(user.id, hash))
        )
      )
      assert.match(yield* hashOf, /^\$argon2id\$v=19\$m=8,t=1,p=1\$/)
      assert.isNotNull(yield* withPasswords(2, verify))
      const renewed = yield* hashOf
      assert.match(renewed, /^\$argon2id\$v=19\$m=8,t=2,p=1\$/)
      assert.isNotNull(yield* withPasswords(2, verify))
      assert.strictEqual(yield* hashOf, renewed)
    })
  )

  it.effect("Passwords accepts the same characters in another Unicode form", () =>
    withPasswords(
      1,
      Effect.gen(function* () {
        const passwords = yield* Passwords
        const { user } = yield* makeUser
        const words = "Äpfel und Birnen"
        yield* passwords.store(
          user.id,
          yield* passwords.hash(Redacted.make(words.normalize("NFD")), user.email)
        )
        assert.isNotNull(yield* passwords.verify(user.id, Redacted.make(words.normalize("NFC"))))
        assert.isNull(yield* passwords.verify(user.id, Redacted.make("Apfel und Birnen")))
      })
    )
  )

  it.effect("Passwords refuses more hashes than may wait, and answers the others", () =>
    withPasswords(
      1,
      Effect.gen(function* () {
        const passwords = yield* Passwords
        const outcomes = yield* Effect.all(
          Array.from({ length: 100 }, () =>
            Effect.match(passwords.hash(password, "user@example.com"), {
              onFailure: ({ _tag }) => _tag as string,
              onSuccess: () => "hashed"
            })
          ),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(new Set(outcomes), new Set(["hashed", "ServerBusy"]))
        assert.strictEqual(outcomes.filter((outcome) => outcome === "hashed").length, 52)
      })
    )
  )
})
