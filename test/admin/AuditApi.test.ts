import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { SqlClient } from "effect/sql"
import { AuditEntryBody } from "../../src/admin/AuditApi.ts"
import { SqlFaults } from "../support/TestDatabase.ts"
import { AdminServer, clientWith } from "./AdminServer.ts"

const get = Effect.fnUntraced(function* (path: string, headers: Record<string, string> = {}) {
  const { key, url } = yield* AdminServer
  const request = HttpClientRequest.get(`${url}/admin/audit${path}`).pipe(
    HttpClientRequest.bearerToken(key),
    HttpClientRequest.setHeaders(headers)
  )
  return yield* HttpClient.execute(request)
})

const Line = Schema.fromJsonString(AuditEntryBody)
const Refused = Schema.Struct({ error: Schema.Struct({ code: Schema.String, param: Schema.String }) })

/** An organization with a user, whose names are of that run alone. */
const someOrganization = Effect.fnUntraced(function* (prefix = "") {
  const { accounts } = yield* clientWith()
  const name = `${prefix}${randomUUID()}`
  const organization = yield* accounts.createOrganization({ payload: { name, plan: "gold" } })
  const email = `${randomUUID()}@example.com`
  const user = yield* accounts.createUser({ payload: { email, organization: name, with_key: true } })
  yield* accounts.revokeKey({ params: { id: user.key_id! } })
  return { organization, user }
})

layer(AdminServer.layer, { excludeTestServices: true })("GET /admin/audit", (it) => {
  it.effect("GET /admin/audit lists what the operator did, newest first and page by page", () =>
    Effect.gen(function* () {
      const { organization, user } = yield* someOrganization()
      const { audit } = yield* clientWith()
      const query = { organization: organization.name }
      const { data, has_more } = yield* audit.list({ query })
      assert.isFalse(has_more)
      assert.deepStrictEqual(
        data.map(({ action }) => action),
        ["api_key.revoke", "api_key.create", "user.create", "organization.create"]
      )
      const [revoked, , created] = data
      assert.deepInclude(created, {
        actor: "operator",
        actor_id: null,
        actor_email: null,
        origin: "api",
        address: "127.0.0.1",
        target_type: "user",
        target_id: user.id,
        target_name: user.email,
        organization_id: organization.id,
        organization: organization.name
      })
      assert.deepInclude(revoked?.details, { user: user.email })

      const first = yield* audit.list({ query: { ...query, limit: 3 } })
      assert.isTrue(first.has_more)
      const rest = yield* audit.list({ query: { ...query, limit: 3, after: first.data[2]!.id } })
      assert.deepStrictEqual([...first.data, ...rest.data], data)
      const keys = yield* audit.list({
        query: { ...query, target_type: "api_key", action: "api_key.revoke" }
      })
      assert.deepStrictEqual(keys.data, [revoked!])
      const others = yield* audit.list({ query: { ...query, actor: user.email } })
      assert.deepStrictEqual(others.data, [])
    })
  )

  it.effect("the audit log distinguishes the command line from other clients", () =>
    Effect.gen(function* () {
      const { key, url } = yield* AdminServer
      for (const [agent, origin] of [
        ["parley-cli/1.2.3", "cli"],
        ["parley-client", "api"],
        ["curl/8.0 parley-cli/1.2.3", "api"]
      ] as const) {
        const name = randomUUID()
        yield* HttpClientRequest.post(`${url}/admin/organizations`).pipe(
          HttpClientRequest.bearerToken(key),
          HttpClientRequest.setHeader("user-agent", agent),
          HttpClientRequest.bodyJsonUnsafe({ name }),
          HttpClient.execute
        )
        const { audit } = yield* clientWith()
        const { data } = yield* audit.list({ query: { organization: name } })
        assert.deepStrictEqual(
          data.map((entry) => entry.origin),
          [origin]
        )
      }
    })
  )

  it.effect("GET /admin/audit refuses what is no filter, and names it", () =>
    Effect.gen(function* () {
      for (const [query, param] of [
        ["?since=yesterday", "since"],
        ["?until=2026-02-30", "until"],
        ["?action=user.destroy", "action"],
        ["?target_type=thing", "target_type"],
        ["?actor=", "actor"],
        ["?actor=a%00b", "actor"],
        ["?target_id=%00", "target_id"],
        [`?target_id=${"x".repeat(321)}`, "target_id"],
        ["?limit=0", "limit"],
        ["?limit=201", "limit"],
        ["?limit=1.5", "limit"],
        ["?after=1", "after"],
        ["/export?format=xml", "format"],
        ["/export", "format"]
      ] as const) {
        const response = yield* get(query)
        assert.strictEqual(response.status, 400, query)
        const { error } = Schema.decodeUnknownSync(Refused)(yield* response.json)
        assert.strictEqual(error.param, param, query)
      }
      assert.strictEqual((yield* get("?organization=nowhere")).status, 404)
    })
  )

  it.effect("the audit log is exported as JSON lines, the same entries oldest first", () =>
    Effect.gen(function* () {
      const { organization } = yield* someOrganization()
      const { audit } = yield* clientWith()
      const { data } = yield* audit.list({ query: { organization: organization.name } })
      const response = yield* get(`/export?format=jsonl&organization=${organization.name}`)
      assert.strictEqual(response.status, 200)
      assert.match(response.headers["content-type"] ?? "", /^application\/x-ndjson$/)
      assert.match(
        response.headers["content-disposition"] ?? "",
        /^attachment; filename="audit-\d{4}-\d\d-\d\dT\d{6}Z\.jsonl"/
      )
      assert.strictEqual(response.headers["cache-control"], "no-store")
      const lines = (yield* response.text).split("\n")
      assert.strictEqual(lines.pop(), "")
      assert.deepStrictEqual(
        lines.map((line) => Schema.decodeUnknownSync(Line)(line)),
        data.toReversed()
      )
    })
  )

  it.effect("the audit log is exported as a table in which no name becomes a formula", () =>
    Effect.gen(function* () {
      const { organization } = yield* someOrganization('=HYPERLINK("http://example.com") ')
      const response = yield* get(`/export?format=csv&target_id=${organization.id}`)
      assert.match(response.headers["content-type"] ?? "", /^text\/csv/)
      assert.strictEqual(response.headers["x-content-type-options"], "nosniff")
      const [heading, line, end, ...others] = (yield* response.text).split("\r\n")
      assert.strictEqual(
        heading,
        "id,at,actor,actor_id,actor_email,origin,address,action,target_type,target_id,target_name,organization_id,organization,details,actor_name"
      )
      const cell = `"'${organization.name.replaceAll('"', '""')}"`
      assert.include(
        line,
        `,operator,,,api,127.0.0.1,organization.create,organization,${organization.id},${cell},`
      )
      assert.isTrue(line?.endsWith(`,${cell},"{""plan"":""gold""}",`))
      assert.deepStrictEqual([end, ...others], [""])

      const nothing = yield* get(`/export?format=csv&target_id=${randomUUID()}`)
      assert.strictEqual(yield* nothing.text, `${heading}\r\n`)
      const noLine = yield* get(`/export?format=jsonl&target_id=${randomUUID()}`)
      assert.strictEqual(yield* noLine.text, "")
    })
  )

  it.effect("an export is not taken for complete when the database goes away during it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`INSERT INTO audit_log
        SELECT audit_id(now()), now(), 'system', NULL, NULL, 'server', NULL, 'setting.change', 'setting', NULL,
          'PORT', NULL, NULL, '{}' FROM generate_series(1, 2500)`
      const whole = yield* get("/export?format=jsonl&action=setting.change")
      assert.strictEqual((yield* whole.text).split("\n").length, 2_501)

      const faults = yield* SqlFaults
      yield* faults.failStatement(3, "before")
      const broken = yield* get("/export?format=jsonl&action=setting.change")
      assert.strictEqual(broken.status, 200)
      assert.isTrue((yield* Effect.exit(broken.text))._tag === "Failure")
      yield* faults.outage
      assert.strictEqual((yield* get("/export?format=csv")).status, 503)
      assert.strictEqual((yield* get("")).status, 503)
      yield* faults.off
    })
  )

  it.effect("GET /admin/audit needs the operator's key", () =>
    Effect.gen(function* () {
      const { audit } = yield* clientWith(Redacted.make("parley_admin_wrong"))
      assert.isTrue((yield* Effect.exit(audit.list({ query: {} })))._tag === "Failure")
      assert.strictEqual((yield* get("/export?format=csv", { authorization: "Bearer x" })).status, 401)
    })
  )
})
