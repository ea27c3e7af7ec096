import { assert, describe, layer } from "@effect/vitest"
import { Clock, Context, DateTime, Duration, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import * as KeyToken from "../../src/auth/KeyToken.ts"
import { StaleKeys } from "../../src/auth/StaleKeys.ts"
import { tokensMax } from "../../src/domain/Allowance.ts"
import { type ApiKeyId, UserId } from "../../src/domain/Ids.ts"
import { noKeyLimits } from "../../src/domain/KeyLimits.ts"
import { testConfig } from "../support/TestConfig.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { until, untilValue } from "../support/until.ts"
import { authLayer, makeUser, tagOf } from "./AccountsFixture.ts"

/** A second process on the same database: its own pool, its own cache. */
const secondProcess = Effect.map(
  Layer.build(Layer.fresh(authLayer()).pipe(Layer.provide(Layer.fresh(TestDatabase.client())))),
  (context) => Context.get(context, ApiKeys)
)

const reasonOf = (key: Redacted.Redacted) =>
  ApiKeys.pipe(
    Effect.flatMap((apiKeys) => Effect.flip(apiKeys.authenticate(key))),
    Effect.map((error) => (error._tag === "ApiKeyRejected" ? error.reason : error._tag))
  )

const lastUseOf = Effect.fnUntraced(function* (id: ApiKeyId) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly lastUsedAt: Date | null }>`
    SELECT last_used_at FROM api_keys WHERE id = ${id}`
  return row?.lastUsedAt?.getTime() ?? null
})

const everything = authLayer().pipe(Layer.provideMerge(TestDatabase.layerFailing))

layer(everything)("ApiKeys", (it) => {
  describe("roll", () => {
    it.effect(
      "ApiKeys.roll copies name, limits and expiry to the new key, and keeps the old one for the grace",
      () =>
        Effect.gen(function* () {
          const apiKeys = yield* ApiKeys
          const { user } = yield* makeUser
          const expiresAt = DateTime.add(yield* DateTime.now, { days: 30 })
          const old = yield* apiKeys.create({
            userId: user.id,
            name: "ci",
            expiresAt,
            limits: { dailyTokens: 5 }
          })
          const rolled = yield* apiKeys.roll(old.id, 3_600)
          assert.deepInclude(rolled, { name: "ci", expiresAt, limits: old.limits, email: user.email })
          assert.notStrictEqual(rolled.id, old.id)
          assert.strictEqual((yield* apiKeys.authenticate(rolled.key)).keyId, rolled.id)
          assert.strictEqual((yield* apiKeys.authenticate(old.key)).keyId, old.id)
          yield* TestClock.adjust("59 minutes")
          assert.strictEqual((yield* apiKeys.authenticate(old.key)).keyId, old.id)
          yield* TestClock.adjust("1 minute")
          assert.strictEqual(yield* reasonOf(old.key), "expired")
          assert.strictEqual((yield* apiKeys.authenticate(rolled.key)).keyId, rolled.id)
        })
    )

    it.effect("ApiKeys.roll never extends a key, and ends it at once without a grace period", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const { key, user } = yield* makeUser
        const expiresAt = DateTime.add(yield* DateTime.now, { minutes: 5 })
        const short = yield* apiKeys.create({ userId: user.id, name: "short", expiresAt })
        assert.deepStrictEqual((yield* apiKeys.roll(short.id, 3_600)).oldExpiresAt, expiresAt)
        const again = yield* apiKeys.roll(key.id, 0)
        assert.isNull(again.expiresAt)
        assert.strictEqual(yield* reasonOf(key.key), "expired")
      })
    )

    it.effect("ApiKeys.roll refuses a key that is not active, and a key of another user than the owner", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const { key } = yield* makeUser
        const { user: stranger } = yield* makeUser
        assert.strictEqual(yield* tagOf(apiKeys.roll(key.id, 0, stranger.id)), "ApiKeyNotFound")
        yield* apiKeys.revoke(key.id)
        assert.strictEqual(yield* tagOf(apiKeys.roll(key.id, 0)), "ApiKeyNotActive")
        assert.strictEqual((yield* apiKeys.list(key.userId)).data.length, 1)
      })
    )
  })

  describe("authenticate", () => {
    it.effect("ApiKeys.authenticate returns the user and organization of a key", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const { key, organization, user } = yield* makeUser
        assert.deepStrictEqual(yield* apiKeys.authenticate(key.key), {
          userId: user.id,
          organizationId: organization.id,
          keyId: key.id,
          keyLimits: noKeyLimits,
          plan: "gold"
        })
      })
    )

    it.effect(
      "ApiKeys.authenticate refuses keys of disabled users at once, in other processes in 5 seconds",
      () =>
        Effect.gen(function* () {
          const apiKeys = yield* ApiKeys
          const other = yield* secondProcess
          const accounts = yield* Accounts
          for (const [change, outcome] of [
            [(email: string) => accounts.setDisabled(email, true), "UserDisabled"],
            [(email: string) => accounts.deleteUser(email, null, () => Effect.void), "revoked"]
          ] as const) {
            const { key, user } = yield* makeUser
            const { key: bystander } = yield* makeUser
            for (const { authenticate } of [apiKeys, other]) yield* authenticate(key.key)
            yield* change(user.email)
            assert.strictEqual(yield* reasonOf(key.key), outcome)
            assert.strictEqual((yield* apiKeys.authenticate(bystander.key)).keyId, bystander.id)
            yield* TestClock.adjust("5 seconds")
            assert.notStrictEqual(yield* tagOf(other.authenticate(key.key)), "done")
          }
        })
    )

    it.effect("ApiKeys.authenticate sees an enabled user and the new plan of an organization at once", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const accounts = yield* Accounts
        const { key, organization, user } = yield* makeUser
        yield* accounts.setDisabled(user.email, true)
        assert.strictEqual(yield* reasonOf(key.key), "UserDisabled")
        yield* accounts.setDisabled(user.email, false)
        assert.strictEqual((yield* apiKeys.authenticate(key.key)).plan, "gold")
        yield* accounts.setPlan(organization.name, "silver")
        assert.strictEqual((yield* apiKeys.authenticate(key.key)).plan, "silver")
      })
    )

    it.effect("ApiKeys.authenticate asks the database again for each changed user, however many", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const stale = yield* StaleKeys
        const { key } = yield* makeUser
        const caller = yield* apiKeys.authenticate(key.key)
        yield* TestClock.adjust("1 second")
        const since = yield* Clock.monotonicTimeNanos
        yield* TestClock.adjust("1 second")
        yield* stale.mark(caller.userId)
        for (let n = 0; n < 10_001; n++)
          yield* stale.mark(UserId.make(`00000000-0000-7000-8000-${String(n).padStart(12, "0")}`))
        assert.isTrue(stale.isStale(caller, since))
        yield* TestClock.adjust("1 second")
        assert.isFalse(stale.isStale(caller, yield* Clock.monotonicTimeNanos))
      }).pipe(Effect.provide(Layer.fresh(StaleKeys.layer)))
    )

    it.effect("ApiKeys.authenticate refuses a malformed key without asking the database", () =>
      Effect.gen(function* () {
        const faults = yield* SqlFaults
        const { key } = yield* makeUser
        const text = Redacted.value(key.key)
        yield* faults.off
        for (const malformed of [
          "",
          "parley_",
          text.slice(0, -1),
          `${text}0`,
          text.toUpperCase(),
          "x".repeat(10_000)
        ]) {
          assert.strictEqual(yield* reasonOf(Redacted.make(malformed)), "malformed")
        }
        assert.strictEqual((yield* faults.seen).statements, 0)
      })
    )

    it.effect("ApiKeys.authenticate refuses a key that was never issued", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* reasonOf(yield* KeyToken.makeKey), "unknown")
      })
    )

    it.effect("ApiKeys.authenticate accepts a cached key until the millisecond before it expires", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const { user } = yield* makeUser
        const expiresAt = DateTime.addDuration(yield* DateTime.now, Duration.seconds(2))
        const { key } = yield* apiKeys.create({ userId: user.id, name: "short", expiresAt })
        yield* apiKeys.authenticate(key)
        yield* TestClock.adjust(1_999)
        yield* apiKeys.authenticate(key)
        yield* TestClock.adjust(1)
        assert.strictEqual(yield* reasonOf(key), "expired")
      })
    )

    it.effect("ApiKeys.authenticate refuses the key of a user who was disabled", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { key, user } = yield* makeUser
        yield* sql`UPDATE users SET disabled_at = now() WHERE id = ${user.id}`
        assert.strictEqual(yield* reasonOf(key.key), "UserDisabled")
      })
    )

    it.effect("ApiKeys.authenticate asks the database once for concurrent and for following requests", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const sql = yield* SqlClient.SqlClient
        const faults = yield* SqlFaults
        const { key } = yield* makeUser
        // A last use of just now, so that nothing is to be written.
        const now = DateTime.toDateUtc(yield* DateTime.now)
        yield* sql`UPDATE api_keys SET last_used_at = ${now} WHERE id = ${key.id}`
        yield* faults.off
        yield* Effect.all(
          Array.from({ length: 50 }, () => apiKeys.authenticate(key.key)),
          { concurrency: "unbounded" }
        )
        yield* apiKeys.authenticate(key.key)
        assert.strictEqual((yield* faults.seen).statements, 1)
        yield* TestClock.adjust("6 seconds")
        yield* apiKeys.authenticate(key.key)
        assert.strictEqual((yield* faults.seen).statements, 2)
      })
    )

    it.effect("ApiKeys.authenticate caches an unknown key, too, until it is created", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const faults = yield* SqlFaults
        const { user } = yield* makeUser
        const key = yield* KeyToken.makeKey
        yield* faults.off
        assert.strictEqual(yield* reasonOf(key), "unknown")
        assert.strictEqual(yield* reasonOf(key), "unknown")
        assert.strictEqual((yield* faults.seen).statements, 1)
        assert.isTrue(yield* apiKeys.adopt({ userId: user.id, name: "given", expiresAt: null }, key))
        assert.strictEqual((yield* apiKeys.authenticate(key)).userId, user.id)
      })
    )

    it.effect(
      "ApiKeys.authenticate accepts cached keys in an outage while they are fresh, and recovers",
      () =>
        Effect.gen(function* () {
          const apiKeys = yield* ApiKeys
          const faults = yield* SqlFaults
          const { key } = yield* makeUser
          const { userId } = yield* apiKeys.authenticate(key.key)
          yield* untilValue(lastUseOf(key.id), (at) => at !== null)

          yield* faults.failStatement(1, "before")
          yield* TestClock.adjust("4900 millis")
          assert.strictEqual((yield* apiKeys.authenticate(key.key)).userId, userId)
          assert.isFalse((yield* faults.seen).failed)
          yield* TestClock.adjust("101 millis")
          assert.strictEqual(yield* reasonOf(key.key), "DatabaseUnavailable")
          assert.strictEqual((yield* apiKeys.authenticate(key.key)).userId, userId)
        })
    )

    it.effect("ApiKeys.authenticate extends no cache entry because the wall clock was set back", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const sql = yield* SqlClient.SqlClient
        yield* TestClock.adjust("2 hours")
        const { key } = yield* makeUser
        yield* apiKeys.authenticate(key.key)
        yield* sql`UPDATE api_keys SET revoked_at = now() WHERE id = ${key.id}`
        yield* TestClock.setTime((yield* Clock.currentTimeMillis) - 3_600_000)
        yield* TestClock.adjust("5001 millis")
        assert.strictEqual(yield* reasonOf(key.key), "revoked")
      })
    )
  })

  describe("revoke", () => {
    it.effect("ApiKeys.revoke ends the key here at once and in other processes within the staleness", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const other = yield* secondProcess
        const { key } = yield* makeUser
        yield* apiKeys.authenticate(key.key)
        yield* other.authenticate(key.key)

        const revoked = yield* apiKeys.revoke(key.id)
        assert.isNotNull(revoked.revokedAt)
        assert.strictEqual(yield* reasonOf(key.key), "revoked")
        yield* TestClock.adjust("5001 millis")
        const error = yield* Effect.flip(other.authenticate(key.key))
        assert.strictEqual(error._tag === "ApiKeyRejected" && error.reason, "revoked")
      })
    )

    it.effect("ApiKeys.revoke keeps the first time when repeated, and fails for what it can't find", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const { key, user } = yield* makeUser
        const first = yield* apiKeys.revoke(key.id)
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual((yield* apiKeys.revoke(key.id)).revokedAt, first.revokedAt)
        const unknownId = user.id as string as ApiKeyId
        assert.strictEqual((yield* Effect.flip(apiKeys.revoke(unknownId)))._tag, "ApiKeyNotFound")
      })
    )
  })

  describe("setLimits", () => {
    const limitsOf = Effect.fnUntraced(function* (apiKeys: ApiKeys["Service"], key: Redacted.Redacted) {
      return (yield* apiKeys.authenticate(key)).keyLimits
    })

    it.effect("ApiKeys.setLimits takes effect here at once, in other processes within the staleness", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const other = yield* secondProcess
        const { key } = yield* makeUser
        assert.deepStrictEqual(key.limits, noKeyLimits)
        assert.deepStrictEqual(yield* limitsOf(apiKeys, key.key), noKeyLimits)
        assert.deepStrictEqual(yield* limitsOf(other, key.key), noKeyLimits)
        const limited = yield* apiKeys.setLimits(key.id, { dailyTokens: 5, requestsPerMinute: 60 })
        const limits = { dailyTokens: 5, monthlyTokens: null, requestsPerMinute: 60 }
        assert.deepStrictEqual(limited.limits, limits)
        assert.deepStrictEqual(yield* limitsOf(apiKeys, key.key), limits)
        assert.deepStrictEqual(yield* limitsOf(other, key.key), noKeyLimits)
        yield* TestClock.adjust("5001 millis")
        assert.deepStrictEqual(yield* limitsOf(other, key.key), limits)
      })
    )

    it.effect("ApiKeys.setLimits leaves limits as they are that it doesn't name", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const { user } = yield* makeUser
        const limits = { dailyTokens: tokensMax, monthlyTokens: tokensMax, requestsPerMinute: 1 }
        const { id } = yield* apiKeys.create({ userId: user.id, name: "limited", expiresAt: null, limits })
        const last = Effect.map(apiKeys.list(user.id), ({ data }) => data.at(-1)?.limits)
        assert.deepStrictEqual(yield* last, limits)
        yield* apiKeys.setLimits(id, { monthlyTokens: null })
        assert.deepStrictEqual(yield* last, { ...limits, monthlyTokens: null })
        yield* apiKeys.setLimits(id, {})
        assert.deepStrictEqual(yield* last, { ...limits, monthlyTokens: null })
      })
    )

    it.effect("ApiKeys.setLimits finds only issued keys, and with an owner only those of that user", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const [one, other] = [yield* makeUser, yield* makeUser]
        const web = yield* apiKeys.webKeyOf(one.user.id)
        const changes = { dailyTokens: 5 }
        for (const attempt of [
          apiKeys.setLimits(web, changes),
          apiKeys.setLimits(one.key.id, changes, other.user.id),
          apiKeys.setLimits(other.user.id as string as ApiKeyId, changes)
        ]) {
          assert.strictEqual((yield* Effect.flip(attempt))._tag, "ApiKeyNotFound")
        }
        assert.strictEqual((yield* apiKeys.setLimits(one.key.id, changes, one.user.id)).limits.dailyTokens, 5)
        assert.strictEqual(
          (yield* Effect.flip(apiKeys.revoke(one.key.id, other.user.id)))._tag,
          "ApiKeyNotFound"
        )
        assert.isFalse(yield* apiKeys.exists(one.key.id, other.user.id))
        assert.isTrue(yield* apiKeys.exists(one.key.id, one.user.id))
      })
    )
  })

  describe("last use", () => {
    it.effect("the last use of a key is written beside the request, once a minute by all processes", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const other = yield* secondProcess
        const sql = yield* SqlClient.SqlClient
        const { key } = yield* makeUser
        yield* sql`CREATE TABLE last_uses (id uuid)`
        yield* sql`CREATE FUNCTION note_last_use() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN INSERT INTO last_uses VALUES (NEW.id); RETURN NEW; END $$`
        yield* sql`CREATE TRIGGER note_last_use AFTER UPDATE OF last_used_at ON api_keys
          FOR EACH ROW EXECUTE FUNCTION note_last_use()`

        const useThroughout = Effect.gen(function* () {
          yield* apiKeys.authenticate(key.key)
          yield* other.authenticate(key.key)
          yield* TestClock.adjust("2 seconds")
        })
        // Steady use from both processes for just less than a minute, then a use that is due.
        yield* useThroughout
        const first = yield* untilValue(lastUseOf(key.id), (at) => at !== null)
        yield* Effect.repeat(useThroughout, { times: 27 })
        assert.strictEqual(yield* lastUseOf(key.id), first)
        yield* TestClock.adjust("10 seconds")
        yield* useThroughout
        yield* untilValue(lastUseOf(key.id), (at) => at !== first)

        // Another key's write comes after whatever this key's use may still have had in the queues.
        for (const process of [apiKeys, other]) {
          const { key: fence } = yield* makeUser
          yield* process.authenticate(fence.key)
          yield* untilValue(lastUseOf(fence.id), (at) => at !== null)
        }
        const writes = yield* sql`SELECT id FROM last_uses WHERE id = ${key.id}`
        assert.strictEqual(writes.length, 2)
        yield* sql`DROP TRIGGER note_last_use ON api_keys`
      })
    )

    it.effect("the last use of a key never fails a request, and is written later if the database fails", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const faults = yield* SqlFaults
        const { key } = yield* makeUser
        yield* faults.failStatement(2, "before")
        yield* apiKeys.authenticate(key.key)
        yield* untilValue(faults.seen, ({ failed }) => failed)
        assert.isNull(yield* lastUseOf(key.id))
        yield* faults.off
        yield* TestClock.adjust("6 seconds")
        yield* apiKeys.authenticate(key.key)
        yield* untilValue(lastUseOf(key.id), (at) => at !== null)
      })
    )
  })

  describe("what is stored", () => {
    it.effect("the database stores a hash and a hint of a key, and nothing else of it", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const sql = yield* SqlClient.SqlClient
        const { key, user } = yield* makeUser
        const text = Redacted.value(key.key)
        const rows = yield* sql<{ readonly row: string }>`
          SELECT api_keys::text AS row FROM api_keys WHERE id = ${key.id}`
        assert.strictEqual(rows.length, 1)
        assert.isFalse(rows[0]?.row.includes(text.slice(7, 15)))
        assert.isTrue(rows[0]?.row.includes(Buffer.from(yield* KeyToken.hash(key.key)).toString("hex")))

        const { data, hasMore } = yield* apiKeys.list(user.id)
        assert.isFalse(hasMore)
        assert.deepStrictEqual(
          data.map(({ hint, id, name }) => ({ hint, id, name })),
          [{ hint: text.slice(-4), id: key.id, name: "a key" }]
        )
      })
    )

    it.effect("ApiKeys lists the keys of their owner in pages, oldest first", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const { key, user } = yield* makeUser
        const stranger = yield* makeUser
        const more = yield* Effect.forEach(Array.from({ length: 201 }), () =>
          apiKeys.create({ userId: user.id, name: "more", expiresAt: null })
        )
        const first = yield* apiKeys.list(user.id)
        assert.isTrue(first.hasMore)
        const second = yield* apiKeys.list(user.id, first.data.at(-1)?.id)
        assert.isFalse(second.hasMore)
        assert.deepStrictEqual(
          [...first.data, ...second.data].map(({ id }) => id),
          [key.id, ...more.map(({ id }) => id)]
        )
        assert.deepStrictEqual(
          (yield* apiKeys.list(stranger.user.id)).data.map(({ id }) => id),
          [stranger.key.id]
        )
      })
    )

    it.effect("ApiKeys stores nothing for a user who doesn't exist", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const { organization } = yield* makeUser
        const nobody = organization.id as string as (typeof organization & { userId: never })["userId"]
        const error = yield* Effect.flip(apiKeys.create({ userId: nobody, name: "x", expiresAt: null }))
        assert.strictEqual(error._tag, "UserNotFound")
      })
    )
  })
})

layer(authLayer(testConfig({ auth: { cacheSeconds: 0 } })).pipe(Layer.provideMerge(TestDatabase.layer)))(
  "ApiKeys that remembers nothing",
  (it) => {
    it.effect("ApiKeys without a cache sees a revocation by another process at once", () =>
      Effect.gen(function* () {
        const apiKeys = yield* ApiKeys
        const other = yield* secondProcess
        const { key } = yield* makeUser
        yield* apiKeys.authenticate(key.key)
        yield* other.revoke(key.id)
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(yield* reasonOf(key.key), "revoked")
      })
    )
  }
)

// In a layer of its own, because its clock goes far ahead of those of other tests.
layer(authLayer().pipe(Layer.provideMerge(TestDatabase.layerFailing)))("Unknown keys", (it) => {
  it.effect("unknown keys are looked up at a bounded pace, and known ones without delay", () =>
    Effect.gen(function* () {
      const apiKeys = yield* ApiKeys
      const faults = yield* SqlFaults
      const { key } = yield* makeUser
      yield* apiKeys.authenticate(key.key)
      yield* TestClock.adjust("6 seconds")
      const unknown = yield* Effect.replicateEffect(KeyToken.makeKey, 200)
      yield* faults.off
      const reasons: Array<string> = []
      yield* Effect.forEach(unknown, (one) =>
        Effect.forkChild(Effect.map(reasonOf(one), (reason) => reasons.push(reason)))
      )
      yield* untilValue(faults.seen, ({ statements }) => statements >= 50)
      yield* apiKeys.authenticate(key.key)
      assert.isBelow((yield* faults.seen).statements, 60)
      yield* until(
        Effect.as(TestClock.adjust("1 second"), reasons).pipe(
          Effect.map(({ length }) => length === unknown.length)
        )
      )
      assert.deepStrictEqual(new Set(reasons), new Set(["unknown"]))
    })
  )
})
