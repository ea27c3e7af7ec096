import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { AdminServer, clientWith, run, runWith } from "../admin/AdminServer.ts"
import { SqlFaults } from "../support/TestDatabase.ts"

const created = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const { code, stderr, stdout } = yield* run("admin-key", "create", ...args, "--json")
  assert.strictEqual(code, 0, stderr)
  const { key } = JSON.parse(stdout)
  assert.match(key, /^parley_admin_[0-9A-Za-z]{39}$/)
  return Redacted.make<string>(key)
})

const rejection = Effect.fnUntraced(function* (key: Redacted.Redacted) {
  const client = yield* clientWith(key)
  const refused = yield* Effect.flip(client.server.config())
  return "error" in refused ? refused.error.code : refused._tag
})

layer(AdminServer.layer, { excludeTestServices: true })("parley admin-key", (it) => {
  it.effect("an admin key lets an operator create an organization until the key is revoked", () =>
    Effect.gen(function* () {
      const key = yield* created("Ada Lovelace")
      const { url } = yield* AdminServer
      const env = { PARLEY_URL: url, PARLEY_ADMIN_KEY: Redacted.value(key) }
      assert.strictEqual((yield* runWith(env, ["org", "create", "Ada's", "--json"])).code, 0)
      const listed = yield* runWith(env, ["admin-key", "list"])
      assert.match(
        listed.stdout,
        new RegExp(`Ada Lovelace +…${Redacted.value(key).slice(-4)} +active .+ - +20`)
      )

      const revoked = yield* run("admin-key", "revoke", "ada LOVELACE")
      assert.deepStrictEqual([revoked.code, revoked.stderr], [0, ""])
      assert.strictEqual(yield* rejection(key), "invalid_admin_key")
      const again = yield* run("admin-key", "revoke", "Ada Lovelace")
      assert.include(again.stderr, "There is no admin key of that name")
      assert.match((yield* run("admin-key", "list")).stdout, /Ada Lovelace .+ revoked /)
      // The name is free again.
      yield* created("Ada Lovelace")
    })
  )

  it.effect("an expired admin key is refused, and the message names PARLEY_ADMIN_KEY", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { url } = yield* AdminServer
      const env = { PARLEY_URL: url, PARLEY_ADMIN_KEY: Redacted.value(yield* created("Frank")) }
      assert.strictEqual((yield* runWith(env, ["org", "list"])).code, 0)
      yield* sql`UPDATE admin_keys SET expires_at = now() - interval '1 second' WHERE name = 'Frank'`
      const refused = yield* runWith(env, ["org", "list"])
      assert.strictEqual(refused.code, 1)
      assert.match(refused.stderr, /refuses the admin key of PARLEY_ADMIN_KEY/)
    })
  )

  it.effect("the key of the data directory is accepted without the database, and a created key is not", () =>
    Effect.gen(function* () {
      const { key: own } = yield* AdminServer
      const key = yield* created("Grace")
      const faults = yield* SqlFaults
      yield* faults.outage
      yield* Effect.gen(function* () {
        const client = yield* clientWith(own)
        assert.isNotEmpty((yield* client.server.config()).data)
        assert.strictEqual(yield* rejection(key), "database_unavailable")
      }).pipe(Effect.ensuring(faults.off))
    })
  )

  it.effect("the audit log names the operator of an admin key, and lists entries by operator", () =>
    Effect.gen(function* () {
      const { url } = yield* AdminServer
      const env = { PARLEY_URL: url, PARLEY_ADMIN_KEY: Redacted.value(yield* created("Bob")) }
      yield* runWith(env, ["org", "create", "Bob's"])
      const ofBob = yield* run("audit", "list", "--actor", "operator:BOB", "--json")
      const entries = JSON.parse(ofBob.stdout).data
      assert.deepStrictEqual(
        entries.map((entry: Record<string, unknown>) => [
          entry["actor_name"],
          entry["action"],
          entry["target_name"]
        ]),
        [["Bob", "organization.create", "Bob's"]]
      )
      assert.match((yield* run("audit", "list")).stdout, / operator:Bob +cli .+ organization\.create +Bob's /)
      const all = JSON.parse((yield* run("audit", "list", "--actor", "operator", "--json")).stdout).data
      assert.includeMembers(
        all.map((entry: Record<string, unknown>) => entry["action"]),
        ["organization.create", "admin_key.create"]
      )
    })
  )

  it.effect("a name that another admin key has in any case is refused, and so is an expired key", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const key = yield* created("Carol", "--expires-in", "1h")
      const taken = yield* run("admin-key", "create", "CAROL")
      assert.strictEqual(taken.code, 1)
      assert.include(taken.stderr, "An admin key of that name exists already.")
      yield* (yield* clientWith(key)).server.config()
      yield* sql`UPDATE admin_keys SET expires_at = now() - interval '1 second' WHERE name = 'Carol'`
      assert.strictEqual(yield* rejection(key), "invalid_admin_key")
      assert.match((yield* run("admin-key", "list")).stdout, /Carol .+ expired /)
    })
  )

  it.effect("the database has no secret of an admin key, and keys that were never created are refused", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const key = Redacted.value(yield* created("Dan"))
      const [row] = yield* sql`SELECT row_to_json(k)::text AS text FROM admin_keys k WHERE name = 'Dan'`
      assert.notInclude(String(row?.["text"]), key.slice(13, 23))
      for (const other of [`${key.slice(0, -1)}_`, `${key}x`, `parley_admin_${"0".repeat(39)}`])
        assert.strictEqual(yield* rejection(Redacted.make(other)), "invalid_admin_key")
    })
  )
})
