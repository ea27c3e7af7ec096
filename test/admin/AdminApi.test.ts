import { randomUUID } from "node:crypto"
import { assert, describe, layer } from "@effect/vitest"
import { DateTime, Effect, Redacted } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { SqlClient } from "effect/sql"
import { AdminApi } from "../../src/admin/AdminApi.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import * as KeyToken from "../../src/auth/KeyToken.ts"
import { ApiKeyId } from "../../src/domain/Ids.ts"
import { noKeyLimits } from "../../src/domain/KeyLimits.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { SqlFaults } from "../support/TestDatabase.ts"
import { asking, spending } from "../usage/asking.ts"
import { AdminServer, clientWith, modelServerKey } from "./AdminServer.ts"

/** The status and the envelope of a raw request. */
const raw = Effect.fnUntraced(function* (
  method: "GET" | "POST" | "DELETE",
  path: string,
  headers: Record<string, string>,
  body?: string
) {
  const { url } = yield* AdminServer
  const request = HttpClientRequest.make(method)(`${url}${path}`).pipe(HttpClientRequest.setHeaders(headers))
  const response = yield* HttpClient.execute(
    body === undefined ? request : HttpClientRequest.bodyText(request, body, "application/json")
  )
  const json = (yield* response.json) as { readonly detail: string; readonly error: Record<string, string> }
  return { status: response.status, headers: response.headers, json }
})

const operator = Effect.map(AdminServer, ({ key }) => ({ authorization: `Bearer ${Redacted.value(key)}` }))

/** Every endpoint, with an id where its path wants one. */
const endpoints = Object.values(AdminApi.groups).flatMap((group) =>
  Object.values(group.endpoints).map(({ method, path }) => ({
    method: method === "POST" || method === "DELETE" ? method : ("GET" as const),
    path: path.replace(/:[^/]+/, randomUUID())
  }))
)

layer(AdminServer.layer, { excludeTestServices: true })("AdminApi", (it) => {
  describe("the admin key", () => {
    it.effect("the admin key is required by every endpoint before anything of the request is read", () =>
      Effect.gen(function* () {
        const { key } = yield* AdminServer
        const text = Redacted.value(key)
        const apiKey = Redacted.value(yield* KeyToken.makeKey)
        const wrong = [
          {},
          { authorization: "" },
          { authorization: text },
          { authorization: "Bearer" },
          { authorization: `Basic ${text}` },
          { authorization: `Bearer ${text}x` },
          { authorization: `Bearer ${text.slice(0, -1)}` },
          { authorization: `Bearer ${text.toLowerCase()}` },
          { authorization: `Bearer ${apiKey}` },
          { authorization: `Bearer ${"x".repeat(300)}` },
          { "x-api-key": text, cookie: `key=${text}` }
        ]
        assert.isAtLeast(endpoints.length, 15)
        for (const { method, path } of endpoints) {
          for (const headers of wrong) {
            const body = method === "POST" ? "{not json" : undefined
            const { headers: given, json, status } = yield* raw(method, path, headers, body)
            assert.strictEqual(status, 401, `${method} ${path} ${JSON.stringify(headers)}`)
            assert.strictEqual(json.error["code"], "invalid_admin_key")
            assert.strictEqual(json.detail, json.error["message"])
            assert.strictEqual(given["www-authenticate"], "Bearer")
            assert.strictEqual(given["cache-control"], "no-store")
          }
        }
      })
    )

    it.effect("the admin key is accepted with the scheme in any case", () =>
      Effect.gen(function* () {
        const { key } = yield* AdminServer
        const { headers, status } = yield* raw("GET", "/admin/models", {
          authorization: `bEARER ${Redacted.value(key)}`
        })
        assert.strictEqual(status, 200)
        assert.strictEqual(headers["cache-control"], "no-store")
      })
    )
  })

  describe("accounts", () => {
    it.effect("accounts are created and listed, with a key that works", () =>
      Effect.gen(function* () {
        const { accounts } = yield* clientWith()
        const organization = yield* accounts.createOrganization({ payload: { name: "Acme", plan: "gold" } })
        assert.deepInclude(organization, { name: "Acme", plan: "gold" })
        assert.strictEqual(
          (yield* accounts.createOrganization({ payload: { name: "Plain" } })).plan,
          "default"
        )
        const user = yield* accounts.createUser({
          payload: { email: "ada@example.com", organization: "Acme", with_key: true }
        })
        const plain = yield* accounts.createUser({
          payload: { email: "bob@example.com", organization: "Acme" }
        })
        assert.isNull(plain.key)

        const caller = yield* (yield* ApiKeys).authenticate(Redacted.make(user.key ?? ""))
        assert.deepStrictEqual(caller, {
          userId: user.id,
          organizationId: organization.id,
          keyId: user.key_id as ApiKeyId,
          keyLimits: noKeyLimits,
          plan: "gold"
        })
        const organizations = yield* accounts.listOrganizations({ query: {} })
        assert.deepInclude(organizations.data, organization)
        const users = yield* accounts.listUsers({ query: {} })
        assert.isFalse(users.has_more)
        assert.includeMembers(
          users.data.map(({ email }) => email),
          ["ada@example.com", "bob@example.com"]
        )
        assert.notInclude(JSON.stringify(users), "parley_")
        const found = yield* accounts.listUsers({ query: { email: "ADA@example.com" } })
        assert.deepStrictEqual(
          found.data.map(({ email }) => email),
          ["ada@example.com"]
        )
        const missing = yield* accounts.listUsers({ query: { email: "missing@example.com" } })
        assert.deepStrictEqual(missing.data, [])
      })
    )

    it.effect("accounts have keys that expire by the server's clock and can be listed and revoked", () =>
      Effect.gen(function* () {
        const { accounts } = yield* clientWith()
        yield* accounts.createOrganization({ payload: { name: "Keys" } })
        yield* accounts.createUser({ payload: { email: "keys@example.com", organization: "Keys" } })
        const made = yield* accounts.createKey({
          payload: { email: "KEYS@example.com", name: "ci", expires_in_seconds: 3_600 }
        })
        const now = yield* DateTime.now
        const inAnHour = made.expires_at === null ? 0 : DateTime.toEpochMillis(made.expires_at)
        assert.approximately(inAnHour - DateTime.toEpochMillis(now), 3_600_000, 60_000)
        const lasting = yield* accounts.createKey({ payload: { email: "keys@example.com", name: "lasting" } })
        assert.isNull(lasting.expires_at)

        const revoked = yield* accounts.revokeKey({ params: { id: made.id } })
        assert.strictEqual(revoked.status, "revoked")
        const { data } = yield* accounts.listKeys({ query: { email: "keys@example.com" } })
        assert.deepStrictEqual(
          data.map(({ hint, name, status }) => ({ hint, name, status })),
          [
            { hint: made.key.slice(-4), name: "ci", status: "revoked" },
            { hint: lasting.key.slice(-4), name: "lasting", status: "active" }
          ]
        )
        const sql = yield* SqlClient.SqlClient
        yield* sql`UPDATE api_keys SET expires_at = now() WHERE id = ${lasting.id}`
        const after = yield* accounts.listKeys({ query: { email: "keys@example.com", after: made.id } })
        assert.deepStrictEqual(
          after.data.map(({ status }) => status),
          ["expired"]
        )
      })
    )

    it.effect("accounts have keys with limits of their own, which show what is used of them", () =>
      Effect.gen(function* () {
        const { accounts } = yield* clientWith()
        const email = "limited@example.com"
        yield* accounts.createOrganization({ payload: { name: "Limited" } })
        yield* accounts.createUser({ payload: { email, organization: "Limited" } })
        const plain = yield* accounts.createKey({ payload: { email, name: "plain" } })
        assert.deepStrictEqual(plain.limits, { daily: null, monthly: null, requests_per_minute: null })
        const made = yield* accounts.createKey({
          payload: {
            email,
            name: "limited",
            daily_tokens: 100,
            requests_per_minute: 60,
            monthly_tokens: null
          }
        })
        assert.deepInclude(made.limits.daily, { limit: 100, used: 0, reserved: 0 })
        assert.deepInclude(made.limits, { monthly: null, requests_per_minute: 60 })

        const usage = yield* Usage
        const caller = yield* (yield* ApiKeys).authenticate(Redacted.make(made.key))
        const running = asking(caller, 30)
        yield* usage.reserve(running)
        yield* usage.record(spending(caller, running.responseId, 20))
        yield* usage.reserve(asking(caller, 10))
        const params = { id: made.id }
        const { limits } = yield* accounts.setKeyLimits({
          params,
          payload: { monthly_tokens: 1_000, requests_per_minute: null }
        })
        assert.deepInclude(limits.daily, { limit: 100, used: 20, reserved: 10 })
        assert.deepInclude(limits.monthly, { limit: 1_000, used: 20, reserved: 10 })
        assert.isNull(limits.requests_per_minute)
        const now = yield* DateTime.now
        assert.isTrue(DateTime.isGreaterThan(limits.daily!.resets_at, now))
        const { data } = yield* accounts.listKeys({ query: { email } })
        assert.deepStrictEqual(
          data.map((key) => key.limits),
          [plain.limits, limits]
        )
        const none = yield* accounts.setKeyLimits({
          params,
          payload: { daily_tokens: null, monthly_tokens: null }
        })
        assert.deepStrictEqual(none.limits, plain.limits)

        const post = (id: string, body: object) =>
          Effect.flatMap(operator, (headers) =>
            raw("POST", `/admin/keys/${id}/limits`, headers, JSON.stringify(body))
          )
        for (const [field, value] of [
          ["daily_tokens", 0],
          ["monthly_tokens", 1.5],
          ["requests_per_minute", 100_001]
        ] as const) {
          const { json, status } = yield* post(made.id, { [field]: value })
          assert.strictEqual(status, 400)
          assert.strictEqual(json.error["param"], field)
        }
        const { json, status } = yield* post(randomUUID(), {})
        assert.strictEqual(status, 404)
        assert.strictEqual(json.error["code"], "api_key_not_found")
      })
    )

    it.effect("an account endpoint names in its error what exists already or doesn't exist", () =>
      Effect.gen(function* () {
        const { accounts } = yield* clientWith()
        const there = { name: "There" }
        yield* accounts.createOrganization({ payload: there })
        const user = { email: "there@example.com", organization: "There" }
        yield* accounts.createUser({ payload: user })
        const refusals = [
          { refused: accounts.createOrganization({ payload: there }), code: "organization_exists" },
          { refused: accounts.createUser({ payload: user }), code: "user_exists" },
          { refused: accounts.createUser({ payload: { ...user, with_key: true } }), code: "user_exists" },
          {
            refused: accounts.createUser({ payload: { email: "x@example.com", organization: "Nowhere" } }),
            code: "organization_not_found"
          },
          {
            refused: accounts.createKey({ payload: { email: "nobody@example.com", name: "n" } }),
            code: "user_not_found"
          },
          { refused: accounts.listKeys({ query: { email: "nobody@example.com" } }), code: "user_not_found" },
          {
            refused: accounts.revokeKey({ params: { id: ApiKeyId.make(randomUUID()) } }),
            code: "api_key_not_found"
          }
        ] as ReadonlyArray<{ readonly refused: Effect.Effect<unknown, unknown>; readonly code: string }>
        for (const { code, refused } of refusals) {
          const error = yield* Effect.flip(refused)
          assert.nestedPropertyVal(error, "error.code", code)
        }
      })
    )

    it.effect("an account endpoint rejects a malformed request with a 400 that names the field", () =>
      Effect.gen(function* () {
        const headers = yield* operator
        const bad = [
          { path: "/admin/organizations", body: { name: "" }, param: "name" },
          { path: "/admin/organizations", body: { name: "a".repeat(101) }, param: "name" },
          { path: "/admin/organizations", body: { name: "nul\u0000" }, param: "name" },
          { path: "/admin/organizations", body: { name: "lone \ud800" }, param: "name" },
          { path: "/admin/organizations", body: { name: "n", plan: "Not A Plan" }, param: "plan" },
          { path: "/admin/organizations", body: {}, param: "name" },
          { path: "/admin/users", body: { email: "no address", organization: "n" }, param: "email" },
          { path: "/admin/users", body: { email: "a\u0000@b", organization: "n" }, param: "email" },
          { path: "/admin/users", body: { email: "a@b", organization: "n", with_key: 1 }, param: "with_key" },
          { path: "/admin/users/unlink", body: { email: "a@b", issuer: "a\u0000" }, param: "issuer" },
          { path: "/admin/keys", body: { email: "a@b", name: 5 }, param: "name" },
          ...[0, -1, 1.5, 315_360_001, "30d"].map((expires_in_seconds) => ({
            path: "/admin/keys",
            body: { email: "a@b", name: "n", expires_in_seconds },
            param: "expires_in_seconds"
          })),
          { path: "/admin/keys/not-an-id/revoke", body: {}, param: "id" }
        ]
        for (const { body, param, path } of bad) {
          const { json, status } = yield* raw("POST", path, headers, JSON.stringify(body))
          assert.strictEqual(status, 400, `${path} ${JSON.stringify(body)}`)
          assert.strictEqual(json.error["param"], param)
          assert.strictEqual(json.error["code"], "invalid_request")
        }
        for (const path of [
          "/admin/keys",
          "/admin/keys?email=",
          "/admin/keys?email=a%00@b",
          "/admin/users?after=1"
        ]) {
          assert.strictEqual((yield* raw("GET", path, headers)).status, 400, path)
        }
        assert.strictEqual((yield* raw("POST", "/admin/users", headers, "{not json")).status, 400)
        assert.strictEqual((yield* raw("GET", "/admin/nothing", headers)).status, 404)
      })
    )

    it.effect("an account endpoint answers 503 while the database is unavailable", () =>
      Effect.gen(function* () {
        const faults = yield* SqlFaults
        const headers = yield* operator
        yield* faults.failStatement(1, "before")
        const { json, status } = yield* raw("GET", "/admin/users", headers)
        assert.strictEqual(status, 503)
        assert.strictEqual(json.error["code"], "database_unavailable")
        assert.strictEqual((yield* raw("GET", "/admin/users", headers)).status, 200)
      })
    )
  })

  describe("the server", () => {
    it.effect("the server lists its models", () =>
      Effect.gen(function* () {
        const { server } = yield* clientWith()
        const { data } = yield* server.models()
        assert.deepStrictEqual(
          data.map(({ id }) => id),
          ["scripted-1", "scripted-2"]
        )
      })
    )

    it.effect("the server reports the health of its models in their order", () =>
      Effect.gen(function* () {
        const { server } = yield* clientWith()
        const { data, health } = yield* server.models()
        assert.strictEqual(health.length, data.length)
        assert.deepInclude(health[0], { firstOutputSeconds: 0.5, failureShare: 0.25 })
      })
    )

    it.effect("the server explains which model it would ask", () =>
      Effect.gen(function* () {
        const { server } = yield* clientWith()
        const payload = { text: "Prove it.", documents: 2, max_output_tokens: 50 }
        const { candidates, difficulty, excluded } = yield* server.explainModels({ payload })
        assert.deepStrictEqual(
          candidates.map(({ max_output_tokens, model }) => [model, max_output_tokens]),
          [
            ["scripted-1", 50],
            ["scripted-2", 50]
          ]
        )
        assert.deepStrictEqual(excluded, [])
        const sum = difficulty.features.reduce((all, { points }) => all + points, 0)
        assert.closeTo(difficulty.score, sum, 1e-9)
        const without = yield* server.explainModels({ payload: { ...payload, documents: 0, tools: false } })
        assert.isBelow(without.difficulty.score, difficulty.score)
        const tooMany = yield* Effect.flip(server.explainModels({ payload: { text: "x".repeat(200_001) } }))
        assert.exists(tooMany)
      })
    )

    it.effect("the server lists its settings without secrets", () =>
      Effect.gen(function* () {
        const { dataDir } = yield* AdminServer
        const { server } = yield* clientWith()
        const { data } = yield* server.config()
        const valueOf = new Map(data.map(({ name, value }) => [name, value]))
        assert.strictEqual(valueOf.get("PARLEY_DATA_DIR"), dataDir)
        assert.strictEqual(valueOf.get("OPENAI_API_KEY"), "<redacted>")
        assert.notInclude(JSON.stringify(data), modelServerKey)
      })
    )

    it.effect("the server reports its own checks", () =>
      Effect.gen(function* () {
        const faults = yield* SqlFaults
        const { server } = yield* clientWith()
        const { checks } = yield* server.doctor()
        const statusOf = new Map(checks.map(({ name, status }) => [name, status]))
        for (const name of [
          "database",
          "clock",
          "conversations",
          "models",
          "web search",
          "admin key",
          "single sign-on",
          "settings"
        ]) {
          assert.strictEqual(statusOf.get(name), "ok", `${name}: ${JSON.stringify(checks)}`)
        }
        assert.isTrue(statusOf.has("disk"))
        const learned = checks.find(({ name }) => name === "model scripted-1")
        assert.strictEqual(learned?.status, "ok")
        assert.match(
          learned?.detail ?? "",
          /for 540 seconds more, because its server said: Unknown parameter/
        )
        const database = checks.find(({ name }) => name === "database")
        assert.match(database?.detail ?? "", /^PostgreSQL \d+.*version [1-9]\d*\.$/)

        yield* faults.outage
        const during = (yield* Effect.ensuring(server.doctor(), faults.off)).checks
        const plans = during.find(({ name }) => name === "plans")
        assert.strictEqual(
          plans?.detail,
          "The database does not answer, which this check needs: see the line `database`."
        )
        assert.strictEqual(during.length, checks.length)
      })
    )
  })
})
