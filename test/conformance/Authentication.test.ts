import { request } from "node:http"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Redacted } from "effect"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf, responseOf } from "../support/Wire.ts"

/** The status of a request whose headers are sent exactly as given, also twice. */
const statusWith = (url: string, headers: ReadonlyArray<string>) =>
  Effect.promise(
    () =>
      new Promise<number>((resolve, reject) => {
        const sent = request(`${url}/v1/responses`, {
          method: "POST",
          headers: ["host", "x", "content-type", "application/json", "content-length", "2", ...headers]
        })
        sent.on("response", (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        })
        sent.on("error", reject)
        sent.end("{}")
      })
  )

/** Specification, chapter Authentication. */
layer(TestApp.layer(), { excludeTestServices: true })("Authentication", (it) => {
  it.effect("a key acts as the user it was given to", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(says("ok"))
      const reply = yield* call(`${app.url}/v1/responses`, {
        key: app.alice.key,
        body: { input: "Hi", stream: false }
      })
      assert.strictEqual(responseOf(reply).output_text, "ok")
    })
  )

  it.effect("a request without a key is answered by 401", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const reply = yield* call(`${app.url}/v1/responses`, { body: { input: "Hi" } })
      const error = errorOf(reply, 401)
      assert.deepStrictEqual([error.code, error.type], ["api_key_missing", "authentication_error"])
      assert.strictEqual(reply.headers.get("www-authenticate"), "Bearer")
    })
  )

  it.effect("401 for a key that is malformed, unknown, of another scheme or elsewhere", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const good = app.alice.key
      const flipped = good.slice(0, -1) + (good.endsWith("a") ? "b" : "a")
      for (const authorization of [
        "Bearer",
        "Bearer ",
        `Basic ${good}`,
        good,
        `Bearer ${flipped}`,
        `Bearer ${good} `.padEnd(300, "x"),
        "Bearer parley_",
        `Bearer ${good}, Bearer ${good}`,
        `Bearer "${good}"`
      ]) {
        const reply = yield* call(`${app.url}/v1/responses`, {
          headers: { authorization },
          body: { input: "Hi" }
        })
        const error = errorOf(reply, 401)
        assert.strictEqual(error.code, "invalid_api_key", authorization.slice(0, 12))
        assert.notInclude(reply.text, good)
      }
      for (const [path, headers] of [
        [`?api_key=${good}`, {}],
        ["", { "x-api-key": good }],
        ["", { cookie: `key=${good}` }]
      ] as const) {
        errorOf(yield* call(`${app.url}/v1/responses${path}`, { headers, body: { input: "Hi" } }), 401)
      }
    })
  )

  it.effect("the authorization scheme may have any case, and only one header is accepted", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const bearer = (scheme: string) => ["authorization", `${scheme} ${app.alice.key}`]
      // 400: the key was good, and the empty body was looked at.
      assert.strictEqual(yield* statusWith(app.url, bearer("bearer")), 400)
      assert.strictEqual(yield* statusWith(app.url, bearer("BEARER")), 400)
      assert.strictEqual(yield* statusWith(app.url, [...bearer("Bearer"), ...bearer("Bearer")]), 401)
    })
  )

  it.effect("401 for an expired and for a revoked key", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const keys = yield* ApiKeys
      const now = yield* DateTime.now
      const make = (expiresAt: DateTime.Utc) => keys.create({ userId: app.alice.id, name: "k", expiresAt })
      const expired = yield* make(DateTime.subtract(now, { seconds: 1 }))
      const revoked = yield* make(DateTime.add(now, { hours: 1 }))
      yield* keys.revoke(revoked.id)
      for (const { key } of [expired, revoked]) {
        const reply = yield* call(`${app.url}/v1/responses`, {
          key: Redacted.value(key),
          body: { input: "Hi" }
        })
        assert.strictEqual(errorOf(reply, 401).code, "invalid_api_key")
      }
    })
  )

  it.effect("the OpenAPI document requires a key, too", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      errorOf(yield* call(`${app.url}/openapi.json`, {}), 401)
      assert.strictEqual((yield* call(`${app.url}/openapi.json`, { key: app.alice.key })).status, 200)
    })
  )
})

layer(TestApp.layer({ http: { openapiPublic: true } }), { excludeTestServices: true })(
  "an open description",
  (it) => {
    it.effect("an open description needs no key, and nothing else is opened by it", () =>
      Effect.gen(function* () {
        const app = yield* TestApp
        assert.strictEqual((yield* call(`${app.url}/openapi.json`, {})).status, 200)
        errorOf(yield* call(`${app.url}/v1/responses`, { body: { input: "Hi" } }), 401)
      })
    )
  }
)
