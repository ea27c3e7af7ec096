import { request } from "node:http"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { pagePaths } from "../../src/console/PagePaths.ts"
import { declared, isSafe, send, someone, someTenant } from "../console/ConsoleFixture.ts"
import { expectations } from "../console/endpoints.ts"
import { TestApp } from "../support/TestApp.ts"
import { untilValue } from "../support/until.ts"
import { call } from "../support/Wire.ts"

interface Raw {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

/** A request whose path and headers are sent as they are. */
const raw = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  Effect.flatMap(TestApp, ({ url }) =>
    Effect.callback<Raw>((resume) => {
      const { hostname, port } = new URL(url)
      const sent = request({ hostname, port, path, headers, method }, (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (piece: string) => (text += piece))
        response.on("end", () =>
          resume(Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, text }))
        )
      })
      sent.on("error", (error) => resume(Effect.die(error)))
      sent.end()
    })
  )

const settledMillis = 500

/** The number of rows of each table. Rows of sessions may change, but not their number. */
const rowCounts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ readonly name: string }>`
    SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`
  return yield* Effect.forEach(tables, ({ name }) =>
    name === "sessions"
      ? sql.unsafe(`SELECT count(*)::text AS state FROM ${name}`)
      : sql.unsafe(
          `SELECT '${name} ' || md5(coalesce(string_agg(t::text, ' ' ORDER BY t::text), '')) AS state FROM ${name} AS t`
        )
  )
})

/** Indexing goes on in the background: the counts once nothing has changed for a while. */
const settledCounts = Effect.gen(function* () {
  let last = ""
  return yield* untilValue(Effect.delay(rowCounts, settledMillis), (counts) => {
    const text = JSON.stringify(counts)
    const isSettled = text === last
    last = text
    return isSettled
  })
})

layer(TestApp.layer(), { excludeTestServices: true })("The web application", (it) => {
  it.effect("the web application changes nothing by a GET", () =>
    Effect.gen(function* () {
      const tenant = yield* someTenant
      const owner = yield* someone("owner", tenant)
      const before = yield* settledCounts
      for (const endpoint of declared.filter(isSafe)) {
        const { admitted, sample } = expectations[endpoint.name]!
        const target = admitted === "users" ? owner.target : tenant
        const reply = yield* send(endpoint, sample(target), owner.headers)
        assert.strictEqual(reply.status, admitted.length === 0 ? 403 : 200, `${endpoint.name}: ${reply.text}`)
      }
      const after = yield* rowCounts
      assert.deepStrictEqual(JSON.stringify(after, null, 1), JSON.stringify(before, null, 1))
    })
  )

  it.effect("the web application lets no page of another origin read an answer", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const { headers } = yield* someone("owner", yield* someTenant)
      const foreign = { ...headers, origin: "https://evil.example" }
      for (const path of ["/", "/console/session", "/console/me/keys", "/v1/responses", "/admin/users"]) {
        for (const method of ["GET", "OPTIONS"]) {
          const reply = yield* call(`${url}${path}`, {
            method,
            headers: { ...foreign, "access-control-request-method": "POST" },
            ...(path === "/v1/responses" ? { key: alice.key } : {})
          })
          assert.deepStrictEqual(
            [...reply.headers.keys()].filter((name) => name.startsWith("access-control-")),
            [],
            `${method} ${path}`
          )
        }
      }
    })
  )

  it.effect("the web application has the same pages, whatever host a request names", () =>
    Effect.gen(function* () {
      const forged = {
        host: "evil.example",
        "x-forwarded-host": "evil.example",
        "x-forwarded-proto": "https",
        "x-forwarded-prefix": "/evil.example",
        "x-original-url": "/evil.example",
        forwarded: "host=evil.example"
      }
      for (const path of [...Object.values(pagePaths), "/docs"]) {
        const usual = yield* raw(path)
        const poisoned = yield* raw(path, forged)
        assert.strictEqual(usual.status, 200, path)
        assert.deepStrictEqual([poisoned.status, poisoned.text], [200, usual.text], path)
        assert.strictEqual(poisoned.headers["etag"], usual.headers["etag"])
        assert.notInclude(JSON.stringify(poisoned.headers), "evil.example")
      }
    })
  )

  it.effect("the web application can't be framed, and its answers are taken for what they are", () =>
    Effect.gen(function* () {
      for (const path of [...Object.values(pagePaths), "/docs"]) {
        const { headers } = yield* raw(path)
        const policy = String(headers["content-security-policy"])
        assert.include(policy, "frame-ancestors 'none'", path)
        assert.include(policy, "script-src 'self';", path)
        assert.notInclude(policy, "unsafe-eval", path)
        assert.strictEqual(headers["x-content-type-options"], "nosniff", path)
        assert.strictEqual(headers["referrer-policy"], "no-referrer", path)
      }
    })
  )

  it.effect("the web application serves no file but those of its build", () =>
    Effect.gen(function* () {
      const paths = [
        "/assets/../../package.json",
        "/assets/../index.html",
        "/assets/..%2f..%2fpackage.json",
        "/assets/%2e%2e/%2e%2e/package.json",
        "/assets/..%5c..%5cpackage.json",
        "/assets/..\\..\\package.json",
        "/assets//etc/passwd",
        "/assets/%00",
        "/assets/a%0d%0aset-cookie:x=y",
        "/assets/",
        "/assets/__proto__",
        "/..%2fpackage.json",
        "//evil.example/%2e%2e",
        "/.env",
        "/src/main.ts"
      ]
      for (const path of paths) {
        const { headers, status, text } = yield* raw(path)
        assert.include([400, 404], status, path)
        assert.match(String(headers["content-type"]), /^application\/json/, path)
        assert.notInclude(text, "dependencies", path)
        assert.isUndefined(headers["set-cookie"], path)
        assert.isUndefined(headers["location"], path)
      }
    })
  )

  it.effect("the web application takes cookies that can't be its own for none", () =>
    Effect.gen(function* () {
      const { secret } = yield* someone("owner", yield* someTenant)
      const cookies = [
        `parley_session=${"x".repeat(4_000)}`,
        `parley_session="${secret.slice(0, -1)}`,
        `PARLEY_SESSION=${secret}`,
        `__Host-parley_session=${secret}`,
        `parley_session=; x=${secret}`,
        `parley_session=%00${secret}`,
        `parley_session=x; parley_session=${secret}`,
        Array.from({ length: 500 }, (_, at) => `c${at}=1`).join("; ")
      ]
      for (const cookie of cookies) {
        const { status, text } = yield* raw("/console/session", { cookie })
        assert.strictEqual(status, 200, cookie)
        assert.include(text, '"user":null', cookie)
      }
      const { status } = yield* raw("/console/session", { cookie: `parley_session=${"x".repeat(20_000)}` })
      assert.strictEqual(status, 431)
    })
  )
})
