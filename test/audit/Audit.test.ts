import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { AuditTime, boundOf } from "../../src/admin/AuditApi.ts"
import { Audit, type AuditFilter } from "../../src/audit/Audit.ts"
import { makeAuditRecorder } from "../../src/audit/AuditRecorder.ts"
import { CurrentActor, type Person } from "../../src/domain/Actor.ts"
import { AuditEntryId, OrganizationId, SessionId, UserId } from "../../src/domain/Ids.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { recordingLayer, someTenant } from "./fixtures.ts"

/** Reads all pages of a list. */
const pages = Effect.fnUntraced(function* (filter: AuditFilter, limit: number) {
  const audit = yield* Audit
  const ids: Array<AuditEntryId> = []
  for (;;) {
    const after = ids.at(-1)
    const page = yield* audit.list(filter, { limit, ...(after === undefined ? {} : { after }) })
    assert.isAtMost(page.data.length, limit)
    ids.push(...page.data.map(({ id }) => id))
    if (!page.hasMore) return ids
    assert.strictEqual(page.data.length, limit)
  }
})

const exported = Effect.fnUntraced(function* (filter: AuditFilter) {
  const batches = yield* Stream.runCollect(yield* (yield* Audit).export(filter))
  return batches.flat()
})

/** Adds entries of which each field has few values, within three days. */
const addEntries = Effect.fnUntraced(function* (count: number) {
  const sql = yield* SqlClient.SqlClient
  const organizations = [randomUUID(), randomUUID()].map((id) => OrganizationId.make(id))
  yield* sql`INSERT INTO audit_log
    SELECT audit_id(at), at, CASE n % 3 WHEN 0 THEN 'person' WHEN 1 THEN 'operator' ELSE 'system' END,
      NULL, CASE n % 3 WHEN 0 THEN (ARRAY['ada@example.com', 'bob@example.com'])[1 + n % 2] END, 'api', NULL,
      (ARRAY['user.create', 'user.disable', 'api_key.revoke'])[1 + n % 3],
      (ARRAY['user', 'user', 'api_key'])[1 + n % 3], (n % 4)::text, 'some target',
      (${organizations}::uuid[])[1 + n % 3], NULL, '{}'
    FROM (
      SELECT n, timestamptz '2026-02-27T12:00:00Z' + n * interval '3 days' / ${count}::int AS at
      FROM generate_series(0, ${count}::int - 1) AS n
    ) AS spread`
  return organizations
})

layer(recordingLayer)("The audit log", (it) => {
  it.effect("the audit log is listed newest first and exported oldest first, by all filters", () =>
    Effect.gen(function* () {
      const [organizationId] = yield* addEntries(90)
      const all = yield* exported({})
      assert.strictEqual(all.length, 90)
      const times = all.map(({ at }) => DateTime.toEpochMillis(at))
      assert.deepStrictEqual(times, times.toSorted())

      const [since, until] = ["2026-02-28", "2026-03-01T06:00:00Z"]
      const choices = [
        [{}, { actor: "ADA@example.com" }, { actor: "operator" }, { actor: "system" }],
        [{}, { action: "user.disable" }],
        [{}, { targetType: "user" }],
        [{}, { targetId: "2" }],
        [{}, { organizationId }],
        [{}, { since: boundOf(since, "since") }],
        [{}, { until: boundOf(until, "until") }, { until: boundOf("2026-02-28", "until") }]
      ] as ReadonlyArray<ReadonlyArray<AuditFilter>>
      const filters = choices.reduce<ReadonlyArray<AuditFilter>>(
        (some, values) => some.flatMap((filter) => values.map((value) => ({ ...filter, ...value }))),
        [{}]
      )
      for (const filter of filters) {
        const expected = all.filter(
          (entry) =>
            (filter.actor === undefined ||
              (entry.actorEmail ?? entry.actor) === filter.actor.toLowerCase()) &&
            (filter.action === undefined || entry.action === filter.action) &&
            (filter.targetType === undefined || entry.targetType === filter.targetType) &&
            (filter.targetId === undefined || entry.targetId === filter.targetId) &&
            (filter.organizationId === undefined || entry.organizationId === filter.organizationId) &&
            (filter.since === undefined || DateTime.isGreaterThanOrEqualTo(entry.at, filter.since)) &&
            (filter.until === undefined || DateTime.isLessThan(entry.at, filter.until))
        )
        const about = JSON.stringify(filter)
        assert.deepStrictEqual(yield* exported(filter), expected, about)
        const ids = expected.map(({ id }) => id).toReversed()
        assert.deepStrictEqual(yield* pages(filter, 7), ids, about)
      }
      assert.isAbove(filters.length, 300)
    })
  )

  it.effect("the audit log is exported in batches, with what was there at the beginning", () =>
    Effect.gen(function* () {
      yield* addEntries(2_500)
      const audit = yield* Audit
      const before = (yield* exported({})).length
      const export_ = yield* audit.export({})
      yield* someTenant
      const batches = yield* Stream.runCollect(export_)
      const entries = batches.flat()
      assert.strictEqual(entries.length, before)
      assert.strictEqual(new Set(entries.map(({ id }) => id)).size, before)
      assert.isAtMost(Math.max(...batches.map(({ length }) => length)), 1_000)
      assert.isAbove((yield* exported({})).length, before)
    })
  )

  it.effect("the audit log ends an export with an error when a batch can't be read", () =>
    Effect.gen(function* () {
      yield* addEntries(1_500)
      const faults = yield* SqlFaults
      const audit = yield* Audit
      const export_ = yield* audit.export({})
      yield* faults.failStatement(2, "before")
      const error = yield* Effect.flip(Stream.runDrain(export_))
      assert.strictEqual(error._tag, "DatabaseUnavailable")
      yield* faults.outage
      assert.strictEqual((yield* Effect.flip(audit.export({})))._tag, "DatabaseUnavailable")
      yield* faults.off
    })
  )

  it.effect("the audit log shows the administrator of an organization its entries and no others", () =>
    Effect.gen(function* () {
      const [own, other] = [yield* someTenant, yield* someTenant]
      const person: Person = {
        _tag: "Person",
        userId: own.user.id,
        email: own.user.email,
        role: "organization_admin",
        organizationId: own.organization.id,
        organization: own.organization.name,
        sessionId: SessionId.make(randomUUID()),
        address: null
      }
      const audit = yield* Audit
      const as = (role: Person["role"]) => Effect.provideService(CurrentActor, { ...person, role })
      const organizationsOf = (entries: ReadonlyArray<{ readonly organizationId: string | null }>) =>
        new Set(entries.map(({ organizationId }) => organizationId))
      const ownOnly = new Set<string | null>([own.organization.id])

      const { data } = yield* as("organization_admin")(audit.list({}))
      assert.isAtLeast(data.length, 4)
      assert.deepStrictEqual(organizationsOf(data), ownOnly)
      // The stream is run after the request was handled, where the actor isn't known.
      const stream = yield* as("organization_admin")(audit.export({}))
      assert.deepStrictEqual(organizationsOf((yield* Stream.runCollect(stream)).flat()), ownOnly)
      for (const filter of [
        { organizationId: other.organization.id },
        { targetId: other.user.id },
        { targetId: other.key.id }
      ]) {
        assert.deepStrictEqual((yield* as("organization_admin")(audit.list(filter))).data, [])
        const none = yield* as("organization_admin")(audit.export(filter))
        assert.deepStrictEqual((yield* Stream.runCollect(none)).flat(), [])
        assert.isNotEmpty((yield* as("admin")(audit.list(filter))).data)
      }
    })
  )

  it.effect("the audit log keeps who acted, from where, and at most 2,000 characters of a text", () =>
    Effect.gen(function* () {
      const audit = yield* makeAuditRecorder
      const entry = {
        action: "user.disable",
        target: { id: randomUUID(), name: "somebody@example.com" },
        organization: null,
        details: { note: "é".repeat(3_000), role: { old: "x".repeat(2_001), new: null } }
      } as const
      const operator = { _tag: "Operator", origin: "cli", address: "192.0.2.7", key: null } as const
      yield* Effect.provideService(audit.record(entry), CurrentActor, operator)
      yield* audit.record(entry)
      const { data } = yield* (yield* Audit).list({ targetId: entry.target.id })
      const [bySystem, byOperator] = data
      assert.deepInclude(bySystem, { actor: "system", origin: "server", address: null })
      assert.deepInclude(byOperator, {
        actor: "operator",
        origin: "cli",
        address: "192.0.2.7",
        actorId: null
      })
      assert.deepStrictEqual(byOperator?.details, {
        note: `${"é".repeat(2_000)}…`,
        role: { old: `${"x".repeat(2_000)}…`, new: null }
      })
    })
  )

  it.effect(
    "the audit log counts events that can be repeated at will, and records the 1st, 10th and 100th",
    () =>
      Effect.gen(function* () {
        const audit = yield* makeAuditRecorder
        const subject = UserId.make(randomUUID())
        const entry = {
          action: "session.fail",
          target: { id: subject, name: "somebody@example.com" },
          organization: null
        } as const
        yield* Effect.forEach(Array.from({ length: 120 }), () => audit.recordCounted(entry, subject), {
          concurrency: 8
        })
        const { data } = yield* (yield* Audit).list({ targetId: subject })
        assert.deepStrictEqual(
          data.map(({ details }) => details["attempts"]),
          [100, 10, 1]
        )
      })
  )
})

layer(TestDatabase.layer)("The ids of entries", (it) => {
  it.effect("the ids of entries are UUIDs of version 7 that sort by their time to the microsecond", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<{ readonly id: string; readonly millis: number }>`
        SELECT audit_id(at)::text AS id, floor(extract(epoch FROM at) * 1000)::float8 AS millis
        FROM (SELECT timestamptz '1999-12-31T23:59:59.9Z' + n * interval '1 microsecond' AS at
          FROM generate_series(0, 200000, 97) AS n) AS times ORDER BY at`
      const ids = rows.map(({ id }) => id)
      assert.deepStrictEqual(ids, ids.toSorted())
      for (const { id, millis } of rows) {
        assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        assert.strictEqual(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16), millis)
      }
    })
  )
})

layer(TestDatabase.layer)("A bound of the audit log", (it) => {
  const isTime = Schema.is(AuditTime)

  it.effect("a bound of the audit log is a day or a time with its time zone", () =>
    Effect.sync(() => {
      for (const text of ["2026-02-28", "2024-02-29T00:00Z", "2026-02-28T23:59:59.123+05:30"]) {
        assert.isTrue(isTime(text), text)
      }
      for (const text of [
        "",
        "yesterday",
        "2026-02-30",
        "2026-02-30T00:00:00Z",
        "2026-02-28T10:00:00",
        "2026-02-28T25:00:00Z",
        "1969-12-31",
        "2026-2-8",
        "+002026-02-28",
        " 2026-02-28"
      ]) {
        assert.isFalse(isTime(text), text)
      }
    })
  )

  it.effect("a bound of the audit log takes a last day as a whole", () =>
    Effect.sync(() => {
      const iso = (text: string, side: "since" | "until") => DateTime.formatIso(boundOf(text, side))
      assert.strictEqual(iso("2024-02-29", "since"), "2024-02-29T00:00:00.000Z")
      assert.strictEqual(iso("2024-02-29", "until"), "2024-03-01T00:00:00.000Z")
      assert.strictEqual(iso("2024-02-29T01:00:00+01:00", "until"), "2024-02-29T00:00:00.000Z")
    })
  )
})
