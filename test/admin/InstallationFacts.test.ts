import { NodeCrypto } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { recordStart } from "../../src/admin/InstallationFacts.ts"
import { Audit } from "../../src/audit/Audit.ts"
import type { AuditAction, AuditDetails } from "../../src/domain/AuditEntry.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { settingsTable } from "../../src/settings/SettingsTable.ts"
import { termsLayer } from "../auth/AccountsFixture.ts"
import { licensed, plansFile } from "../plans/terms.ts"
import { type SettingsOverrides, testConfig } from "../support/TestConfig.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"

/** A start of the service with these settings. */
const start = (overrides: SettingsOverrides = {}) =>
  recordStart.pipe(
    Effect.provide(termsLayer(testConfig(overrides))),
    Effect.provideService(AppConfig, testConfig(overrides))
  )

interface Recorded {
  readonly action: AuditAction
  readonly name: string
  readonly details: AuditDetails
}

/** Runs the starts and returns the entries that they recorded, oldest first. */
const recorded = Effect.fnUntraced(function* <A, E, R>(starts: Effect.Effect<A, E, R>) {
  const audit = yield* Audit
  const list = Effect.map(audit.list({}), ({ data }) => data.toReversed())
  const before = new Set((yield* list).map(({ id }) => id))
  yield* starts
  return (yield* list)
    .filter(({ id }) => !before.has(id))
    .map(({ action, details, targetName }): Recorded => ({ action, name: targetName, details }))
})

/** A start that records one change sends fewer statements. */
const statementsMax = 15

/** Restores the state before the very first start. */
const nothingKnown = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`TRUNCATE audit_installation`)

const secret = (text: string) => ({ models: { openaiApiKey: Redacted.make(text) } })

const services = Layer.mergeAll(Audit.layer, NodeCrypto.layer).pipe(
  Layer.provideMerge(TestDatabase.layerFailing)
)

layer(services)("A start of the service", (it) => {
  it.effect("a start records nothing the first time, and nothing when it changes nothing", () =>
    Effect.gen(function* () {
      yield* nothingKnown
      assert.deepStrictEqual(yield* recorded(start({ usage: { dailyTokens: 5 } })), [])
      assert.deepStrictEqual(yield* recorded(start({ usage: { dailyTokens: 5 } })), [])
    })
  )

  it.effect("a start records a setting with its old and its new value", () =>
    Effect.gen(function* () {
      yield* nothingKnown
      yield* start()
      const name = settingsTable.usage.dailyTokens.name
      const entry = (old: string | null, new_: string | null): Recorded => ({
        action: "setting.change",
        name,
        details: { value: { old, new: new_ } }
      })
      assert.deepStrictEqual(yield* recorded(start({ usage: { dailyTokens: 5 } })), [entry(null, "5")])
      assert.deepStrictEqual(yield* recorded(start({ usage: { dailyTokens: 6 } })), [entry("5", "6")])
      assert.deepStrictEqual(yield* recorded(start()), [entry("6", null)])
    })
  )

  it.effect("a start records nothing when it differs only in what each process has of its own", () =>
    Effect.gen(function* () {
      yield* nothingKnown
      yield* start()
      const other = {
        dataDir: "/srv/two",
        http: { host: "10.0.0.2", port: 3002, adminPort: 3102, adminHost: "10.0.0.2" },
        observability: { metricsPort: 9466, metricsHost: "10.0.0.2", resourceAttributes: "worker=2" }
      }
      assert.deepStrictEqual(yield* recorded(start(other)), [])
      assert.deepStrictEqual(yield* recorded(start()), [])
    })
  )

  it.effect("a start records that a secret was changed, and keeps a different hash each time", () =>
    Effect.gen(function* () {
      yield* nothingKnown
      yield* start()
      const sql = yield* SqlClient.SqlClient
      const name = settingsTable.models.openaiApiKey.name
      const dump = Effect.map(
        sql`SELECT (SELECT json_agg(t) FROM audit_installation t)::text AS facts,
          (SELECT json_agg(t) FROM audit_log t)::text AS entries`,
        JSON.stringify
      )
      const rowOf = Effect.map(
        sql`SELECT value FROM audit_installation WHERE name = ${name}`,
        (rows) => rows[0]
      )
      const changed: ReadonlyArray<Recorded> = [
        { action: "setting.change", name, details: { value: "changed" } }
      ]
      assert.deepStrictEqual(yield* recorded(start(secret("sk-first-secret"))), changed)
      const first = yield* rowOf
      assert.deepStrictEqual(yield* recorded(start(secret("sk-first-secret"))), [])
      assert.deepStrictEqual(yield* recorded(start(secret("sk-second-secret"))), changed)
      assert.deepStrictEqual(yield* recorded(start(secret("sk-first-secret"))), changed)
      assert.notDeepEqual(yield* rowOf, first)
      assert.deepStrictEqual(yield* recorded(start()), changed)
      const text = yield* dump
      for (const leaked of ["sk-first-secret", "sk-second-secret"]) {
        assert.notInclude(text, leaked)
        assert.notInclude(text, Buffer.from(leaked).toString("hex"))
        assert.notInclude(text, Buffer.from(leaked).toString("base64"))
      }
    })
  )

  it.effect("a start records plans whose terms were changed, added or removed, in any order", () =>
    Effect.gen(function* () {
      yield* nothingKnown
      const withPlans = (plans: Parameters<typeof plansFile>[0]) =>
        Effect.flatMap(plansFile(plans), (file) =>
          Effect.map(
            recorded(start({ policy: { plansFile: file } })),
            // The file of each start is another one.
            (all) => all.filter(({ name }) => name !== settingsTable.policy.plansFile.name)
          )
        )
      const change = (name: string, old: string | null, new_: string | null): Recorded => ({
        action: "plan.change",
        name,
        details: { value: { old, new: new_ } }
      })
      const [tools, tokens] = [{ tools: ["calculator"] as const }, { tokens: { daily: 5, monthly: 9 } }]
      yield* start()
      assert.deepStrictEqual(yield* withPlans({ gold: { ...tools, ...tokens } }), [
        change("default", null, "{}"),
        change("gold", null, '{"tokens":{"daily":5,"monthly":9},"tools":["calculator"]}')
      ])
      assert.deepStrictEqual(yield* withPlans({ gold: { tokens: { monthly: 9, daily: 5 }, ...tools } }), [])
      assert.deepStrictEqual(yield* withPlans({ silver: {}, gold: tokens }), [
        change("silver", null, "{}"),
        change(
          "gold",
          '{"tokens":{"daily":5,"monthly":9},"tools":["calculator"]}',
          '{"tokens":{"daily":5,"monthly":9}}'
        )
      ])
      const removed = yield* withPlans({ silver: {} })
      assert.deepStrictEqual(removed, [change("gold", '{"tokens":{"daily":5,"monthly":9}}', null)])
      assert.deepStrictEqual(yield* withPlans({ silver: {} }), [])
    }).pipe(Effect.scoped)
  )

  it.effect("a start records the license by what it says", () =>
    Effect.gen(function* () {
      yield* nothingKnown
      yield* start()
      const policy = yield* licensed({ users: 5 })
      const entries = yield* recorded(start({ policy }))
      assert.deepStrictEqual(
        entries.map(({ action, name }) => [action, name]),
        [
          ["setting.change", settingsTable.policy.license.name],
          ["setting.change", settingsTable.policy.licensePublicKey.name],
          ["license.change", "license"]
        ]
      )
      assert.deepStrictEqual(entries[2]?.details, {
        value: {
          old: null,
          new: '{"begins_at":null,"bounds":{"users":5},"ends_at":null,"id":"license-1","licensee":"Example Ltd"}'
        }
      })
      const text = JSON.stringify(entries)
      assert.notInclude(text, Redacted.value(policy.license))
      assert.notInclude(text, Redacted.value(policy.licensePublicKey))
    })
  )

  it.effect("a start records a setting that this version adds only if it isn't the default", () =>
    Effect.gen(function* () {
      yield* nothingKnown
      yield* start()
      const sql = yield* SqlClient.SqlClient
      const { dailyTokens, waitSeconds } = settingsTable.usage
      yield* sql`DELETE FROM audit_installation WHERE name IN (${dailyTokens.name}, ${waitSeconds.name})`
      yield* sql`INSERT INTO audit_installation VALUES ('setting.change', 'PARLEY_OF_ANOTHER_VERSION', '"x"', NULL)`
      const entries = yield* recorded(start({ usage: { dailyTokens: 5 } }))
      assert.deepStrictEqual(
        entries.map(({ name }) => name),
        [dailyTokens.name]
      )
    })
  )

  it.effect("a start records a change once, however many processes start with it at once", () =>
    Effect.gen(function* () {
      yield* nothingKnown
      yield* start(secret("sk-old"))
      const database = yield* TestDatabase
      const changed = { ...secret("sk-new"), usage: { dailyTokens: 77 } }
      const ofAnotherProcess = start(changed).pipe(
        Effect.provide(TestDatabase.client({ connectionsMax: 1 })),
        Effect.provideService(TestDatabase, database)
      )
      const entries = yield* recorded(
        Effect.all(
          Array.from({ length: 6 }, () => ofAnotherProcess),
          { concurrency: "unbounded" }
        )
      )
      assert.deepStrictEqual(
        entries.map(({ name }) => name),
        [settingsTable.models.openaiApiKey.name, settingsTable.usage.dailyTokens.name]
      )
    })
  )

  it.effect("a start records at most ten changes of an alternating setting in an hour", () =>
    Effect.gen(function* () {
      yield* nothingKnown
      yield* start()
      const alternating = Effect.forEach(Array.from({ length: 30 }), (_, index) =>
        start({ usage: { waitSeconds: index % 2 === 0 ? 8 : 9 } })
      )
      const entries = yield* recorded(alternating)
      assert.strictEqual(entries.length, 10)
      // An hour later, as far as the bound is concerned.
      const sql = yield* SqlClient.SqlClient
      yield* sql`ALTER TABLE audit_log DISABLE TRIGGER append_only`
      yield* sql`UPDATE audit_log SET id = audit_id(at - interval '61 minutes')`
      yield* sql`ALTER TABLE audit_log ENABLE ALWAYS TRIGGER append_only`
      const [later, ...others] = yield* recorded(start({ usage: { waitSeconds: 11 } }))
      assert.deepStrictEqual(others, [])
      // The chain of old and new values has no gap.
      const value = entries.at(-1)?.details["value"]
      const last = typeof value === "object" && value !== null ? value.new : null
      assert.deepStrictEqual(later?.details, { value: { old: last, new: "11" } })
    })
  )

  it.effect("a start keeps the change and its entry or neither when any statement fails", () =>
    Effect.gen(function* () {
      yield* nothingKnown
      yield* start()
      const faults = yield* SqlFaults
      const sql = yield* SqlClient.SqlClient
      const known = Effect.map(sql`SELECT * FROM audit_installation ORDER BY action, name`, JSON.stringify)
      for (const when of ["before", "after"] as const) {
        for (let n = 1; n <= statementsMax; n++) {
          const before = yield* known
          const monthlyTokens = n + (when === "after" ? 100 : 0)
          const entries = yield* recorded(
            faults
              .failStatement(n, when)
              .pipe(
                Effect.andThen(Effect.exit(start({ usage: { monthlyTokens } }))),
                Effect.andThen(faults.off)
              )
          )
          const isChanged = (yield* known) !== before
          assert.strictEqual(entries.length, isChanged ? 1 : 0, `statement ${n}, ${when}`)
          // So that the bound of an hour is never reached.
          yield* sql`ALTER TABLE audit_log DISABLE TRIGGER append_only`
          yield* sql`UPDATE audit_log SET id = audit_id(at - interval '61 minutes')`
          yield* sql`ALTER TABLE audit_log ENABLE ALWAYS TRIGGER append_only`
        }
      }
    })
  )
})
