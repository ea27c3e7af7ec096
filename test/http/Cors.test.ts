import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { failure, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf, responseOf } from "../support/Wire.ts"

const page = "https://app.example.test"
const other = "http://localhost:5173"

const settings = { http: { corsOrigins: [page, other] } }

const preflight = Effect.fnUntraced(function* (path: string, headers: Record<string, string> = {}) {
  const { url } = yield* TestApp
  return yield* call(url + path, {
    method: "OPTIONS",
    headers: { origin: page, "access-control-request-method": "POST", ...headers }
  })
})

const create = Effect.fnUntraced(function* (
  path: string,
  body: object,
  headers: Record<string, string> = {}
) {
  const { alice, url } = yield* TestApp
  return yield* call(url + path, { key: alice.key, body, headers: { origin: page, ...headers } })
})

const isClosed = (headers: Headers) =>
  ["origin", "methods", "headers", "credentials"].every(
    (name) => headers.get(`access-control-allow-${name}`) === null
  )

layer(TestApp.layer(settings), { excludeTestServices: true })("A page of another origin", (it) => {
  it.effect.each([
    "/v1/responses",
    "/v1/files",
    "/openai/v1/responses",
    "/openai/v1/models",
    "/openai/v1/nothing",
    "/anthropic/v1/messages"
  ])("a page of a listed origin may send a request with a key to %s", (path) =>
    Effect.gen(function* () {
      const reply = yield* preflight(path, {
        "access-control-request-headers":
          "authorization,content-type, X-Stainless-Retry-Count,openai-beta,idempotency-key,x-request-id,x-api-key,anthropic-version,x-evil,cookie"
      })
      assert.strictEqual(reply.status, 204)
      assert.strictEqual(reply.text, "")
      assert.strictEqual(reply.headers.get("access-control-allow-origin"), page)
      assert.strictEqual(reply.headers.get("vary"), "Origin")
      assert.strictEqual(reply.headers.get("access-control-allow-methods"), "GET, HEAD, POST, PATCH, DELETE")
      assert.strictEqual(
        reply.headers.get("access-control-allow-headers"),
        "authorization, content-type, x-stainless-retry-count, openai-beta, idempotency-key, x-request-id, x-api-key, anthropic-version"
      )
      assert.isNull(reply.headers.get("access-control-allow-credentials"))
      assert.isNotNull(reply.headers.get("x-request-id"))
    })
  )

  it.effect.each([
    "/console/session",
    "/console/responses",
    "/admin/users",
    "/healthz",
    "/openapi.json",
    "/",
    "/v10/responses"
  ])("a page of a listed origin may not use %s", (path) =>
    Effect.gen(function* () {
      assert.isTrue(isClosed((yield* preflight(path)).headers))
      const { url } = yield* TestApp
      const reply = yield* call(url + path, { headers: { origin: page } })
      assert.isTrue(isClosed(reply.headers))
    })
  )

  it.effect.each([
    "https://evil.test",
    "https://app.example.test:8443",
    "http://app.example.test",
    "https://app.example.test.evil.test",
    "https://APP.example.test",
    "null",
    ""
  ])("a page of an origin that isn't listed may read nothing: %s", (origin) =>
    Effect.gen(function* () {
      const asked = yield* preflight("/v1/responses", { origin })
      assert.strictEqual(asked.status, 405)
      assert.isTrue(isClosed(asked.headers))
      const model = yield* ScriptedModel
      yield* model.next(says("ok"))
      const reply = yield* create("/v1/responses", { input: "Hi", stream: false }, { origin })
      responseOf(reply)
      assert.isTrue(isClosed(reply.headers))
      // A cache must not give this answer to a listed page.
      assert.strictEqual(reply.headers.get("vary"), "Origin")
    })
  )

  it.effect("a page of a listed origin reads answers, headers and streams, also one that fails", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const { alice, url } = yield* TestApp
      for (const origin of [page, other]) {
        for (const path of ["/v1/responses", "/openai/v1/responses"]) {
          for (const stream of [true, false]) {
            yield* model.next(says("ok"))
            const reply = yield* create(path, { input: "Hi", stream }, { origin })
            assert.strictEqual(reply.status, 200)
            assert.strictEqual(reply.headers.get("access-control-allow-origin"), origin)
            assert.strictEqual(reply.headers.get("vary"), "Origin")
            const exposed = reply.headers.get("access-control-expose-headers") ?? ""
            for (const name of [
              "x-request-id",
              "x-conversation-id",
              "x-response-id",
              "x-ignored-fields",
              "retry-after"
            ]) {
              assert.include(exposed.split(", "), name)
            }
          }
        }
      }
      yield* model.next(Stream.concat(Stream.make(text("cut")), Stream.fail(failure("cut"))))
      const cut = yield* create("/v1/responses", { input: "Hi", stream: true })
      assert.include(cut.text, `"type":"error"`)
      assert.strictEqual(cut.headers.get("access-control-allow-origin"), page)
      const listed = yield* call(`${url}/v1/files`, { key: alice.key, headers: { origin: page } })
      assert.strictEqual(listed.headers.get("access-control-allow-origin"), page)
    })
  )

  it.effect("a page of a listed origin reads every kind of error", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const headers = { origin: page }
      const replies = [
        errorOf(yield* call(`${url}/v1/responses`, { headers, body: { input: "Hi" } }), 401),
        errorOf(yield* create("/v1/responses", {}), 400),
        errorOf(yield* create("/openai/v1/nothing", {}), 404),
        errorOf(yield* call(`${url}/v1/responses`, { key: alice.key, headers, method: "DELETE" }), 405),
        errorOf(yield* create("/v1/responses", { input: "Hi" }, { "content-type": "text/plain" }), 415),
        errorOf(yield* create("/v1/responses", { input: "x".repeat(5_000_000) }), 413)
      ]
      assert.strictEqual(replies.length, 6)
      for (const body of [{ input: "x".repeat(5_000_000) }, {}, "["]) {
        const { headers: seen } = yield* call(`${url}/openai/v1/responses`, { key: alice.key, headers, body })
        assert.strictEqual(seen.get("access-control-allow-origin"), page)
        assert.include(seen.get("access-control-expose-headers") ?? "", "x-request-id")
      }
    })
  )

  it.effect("an OPTIONS request that is no preflight gets 405", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const reply = yield* call(`${url}/v1/responses`, { method: "OPTIONS", headers: { origin: page } })
      errorOf(reply, 405)
    })
  )

  it.effect("a preflight is granted no more request headers than the service reads", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 500 }, (_, index) => `x-stainless-${index}`)
      const reply = yield* preflight("/v1/responses", { "access-control-request-headers": names.join(",") })
      assert.strictEqual(reply.headers.get("access-control-allow-headers")?.split(", ").length, 64)
    })
  )
})

layer(TestApp.layer(), { excludeTestServices: true })("Without listed origins", (it) => {
  it.effect("no response has a header for pages of other origins", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("ok"))
      const asked = yield* preflight("/openai/v1/responses")
      assert.strictEqual(asked.status, 405)
      const reply = yield* create("/openai/v1/responses", { input: "Hi" })
      assert.strictEqual(reply.status, 200)
      for (const { headers } of [asked, reply]) {
        assert.isTrue(isClosed(headers))
        assert.isNull(headers.get("vary"))
      }
    })
  )
})
