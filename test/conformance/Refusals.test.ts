import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { openRaw } from "../support/RawClient.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { upload } from "../support/Uploads.ts"
import { call, errorOf, responseOf } from "../support/Wire.ts"

const bodyBytesMax = 10_000

const ask = Effect.fnUntraced(function* (method: string, path: string, headers: Record<string, string> = {}) {
  const { alice, url } = yield* TestApp
  return yield* Effect.promise(async () => {
    const reply = await fetch(url + path, {
      method,
      redirect: "manual",
      headers: { authorization: `Bearer ${alice.key}`, ...headers }
    })
    return { status: reply.status, headers: reply.headers, text: await reply.text() }
  })
})

/** Wire contract, section 6. */
layer(TestApp.layer({ http: { bodyBytesMax } }), { excludeTestServices: true })("A refusal", (it) => {
  it.effect.each([
    { method: "POST", path: "/v1/completions", says: /Use POST \/openai\/v1\/completions: / },
    { method: "GET", path: "/v1/models", says: /Use GET \/openai\/v1\/models: the base URL/ },
    { method: "GET", path: "/v1/models/auto", says: /Use GET \/openai\/v1\/models\/auto: / },
    { method: "GET", path: "/openai/models", says: /Use GET \/openai\/v1\/models: / },
    { method: "GET", path: "/v1/openai/models", says: /Use GET \/openai\/v1\/models: / },
    { method: "GET", path: "/openai", says: /base URL .* ends with `\/openai\/v1`/ },
    { method: "POST", path: "/openai/responses", says: /base URL .* ends with `\/openai\/v1`/ },
    { method: "POST", path: "/v1/openai/responses", says: /base URL .* ends with `\/openai\/v1`/ },
    { method: "POST", path: "/openai/deployments/x/responses", says: /ends with `\/openai\/v1`/ },
    { method: "POST", path: "/responses", says: /base URL .* ends with `\/openai\/v1`, or with `\/v1`/ },
    { method: "POST", path: "/v1/responses/responses", says: /base URL .* ends with .*`\/v1`/ },
    { method: "POST", path: "/v1/v1/responses", says: /base URL .* ends with .*`\/v1`/ },
    {
      method: "POST",
      path: "/openai/v1/audio/speech",
      says: /no such interface: GET \/openai\/v1\/openapi\.json/
    },
    { method: "GET", path: "/openai/v1/nothing", says: /GET \/openai\/v1\/openapi\.json/ },
    { method: "GET", path: "/v1", says: /base URL/ },
    { method: "PUT", path: "/v1/responses/resp_1", says: /previous_response_id/ },
    { method: "PUT", path: "/v1/conversations/x/items", says: /`conversation_id`/ },
    { method: "PUT", path: "/v1/vector_stores/vs_1/files", says: /`project_id`/ },
    { method: "POST", path: "/v1/moderations", says: /no such interface/ },
    { method: "POST", path: "/v1/file", says: /Did you mean \/v1\/files/ },
    { method: "POST", path: "/v1/reponses", says: /Did you mean POST \/v1\/responses/ },
    { method: "GET", path: "/v1/files/x/contents", says: /\/v1\/files\/\{file_id\}\/content/ },
    { method: "GET", path: "/swagger.json", says: /GET \/openapi\.json/ },
    { method: "GET", path: "/nothing", says: /The endpoints are/ }
  ])("a refusal of $method $path names it and points to the right one", ({ method, path, says }) =>
    Effect.gen(function* () {
      const error = errorOf(yield* ask(method, path), 404)
      assert.strictEqual(error.code, "route_not_found")
      assert.include(error.message, `\`${method} ${path}\``)
      assert.match(error.message, says)
    })
  )

  it.effect("a refusal shows of a strange or long path only what a path may have, and no query", () =>
    Effect.gen(function* () {
      const { message } = errorOf(yield* ask("GET", `/v1/<script>'${"x".repeat(5_000)}?secret`), 404)
      assert.isBelow(message.length, 300)
      assert.notMatch(message, /[<>']|secret/)
    })
  )

  it.effect("a refusal of a wrong method names the methods that there are, HEAD with GET", () =>
    Effect.gen(function* () {
      const reply = yield* ask("GET", "/v1/responses")
      assert.include(errorOf(reply, 405).message, "`/v1/responses` doesn't have the method GET. It has POST.")
      const files = yield* ask("PUT", "/v1/files")
      errorOf(files, 405)
      assert.strictEqual(files.headers.get("allow"), "GET, HEAD, POST")
    })
  )

  it.effect("a refusal of a misplaced key says how to send it, and does not repeat it", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const told = (headers: Record<string, string>) =>
        Effect.map(call(`${url}/v1/files`, { headers }), (reply) => {
          const error = errorOf(reply, 401)
          assert.notInclude(reply.text, alice.key)
          assert.isNotNull(reply.headers.get("www-authenticate"))
          assert.include(error.message, "`Authorization: Bearer <key>`")
          return `${error.code}: ${error.message}`
        })
      const lacking = yield* told({ authorization: alice.key })
      assert.match(lacking, /^invalid_api_key: .* lacks the word `Bearer`/)
      for (const scheme of ["Basic", "Token"]) {
        const other = yield* told({ authorization: `${scheme} ${alice.key}` })
        assert.match(other, /^invalid_api_key: .* another scheme than `Bearer`/)
      }
      assert.match(yield* told({ authorization: "Bearer " }), /^invalid_api_key: .* has no key/)
      assert.match(yield* told({ "x-api-key": alice.key }), /^api_key_missing: .* from no other header/)
    })
  )

  it.effect("a refusal comes at once for a body that is announced as too long, and reads none of it", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      for (const expect of ["", "expect: 100-continue\r\n"]) {
        const client = yield* openRaw(url)
        yield* client.send(
          `POST /v1/responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${alice.key}\r\n` +
            `content-type: application/json\r\ncontent-length: ${bodyBytesMax + 1}\r\n${expect}\r\n`
        )
        const seen = yield* client.whole
        assert.match(seen, /^HTTP\/1\.1 413 /)
        assert.include(seen, '"code":"body_too_large"')
      }
    }).pipe(Effect.scoped)
  )

  it.effect(
    "a client that waits to be asked for its body gets 100 Continue in the one version of HTTP that knows it",
    () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const body = '{"input":"Hi","stream":false}'
        for (const [version, begins] of [
          ["1.1", /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/],
          ["1.0", /^HTTP\/1\.1 200 OK\r\n/]
        ] as const) {
          yield* (yield* ScriptedModel).next(says("Hello"))
          const client = yield* openRaw(url)
          yield* client.send(
            `POST /v1/responses HTTP/${version}\r\nhost: x\r\nauthorization: Bearer ${alice.key}\r\nconnection: close\r\n` +
              `content-type: application/json\r\ncontent-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n${body}`
          )
          const seen = yield* client.whole
          assert.match(seen, begins)
          assert.strictEqual(seen.match(/^HTTP\//gm)?.length, version === "1.1" ? 2 : 1)
        }
      }).pipe(Effect.scoped)
  )

  it.effect("a refusal comes at once for a body that does not say that it is JSON", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      for (const [type, says] of [
        ["", "it has no Content-Type"],
        ["content-type: application/x-www-form-urlencoded\r\n", "-H 'Content-Type: application/json'"],
        ["content-type: text/plain\r\n", "`Content-Type: application/json`"]
      ] as const) {
        const client = yield* openRaw(url)
        yield* client.send(
          `POST /v1/responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${alice.key}\r\n` +
            `${type}content-length: 20\r\nexpect: 100-continue\r\n\r\n`
        )
        const seen = yield* client.whole
        assert.match(seen, /^HTTP\/1\.1 415 /)
        assert.include(seen, says)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("a refusal of an upload that is no form says so, with and without a trailing slash", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      for (const path of ["/v1/files", "/v1/files/"]) {
        const reply = yield* call(url + path, { key: alice.key, body: {} })
        assert.include(errorOf(reply, 415).message, "multipart/form-data")
      }
    })
  )

  it.effect("a refusal is kept by no cache, and neither is any other JSON", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(says("ok"))
      const body = { input: "Hi", stream: false }
      const answer = yield* call(`${url}/v1/responses`, { key: alice.key, body })
      assert.strictEqual(responseOf(answer).output_text, "ok")
      const { id } = yield* upload(alice, "a.txt", "text")
      for (const { headers } of [
        answer,
        yield* ask("GET", "/v1/files"),
        yield* ask("GET", `/v1/files/${id}`),
        yield* ask("GET", "/openapi.json"),
        yield* ask("GET", "/nothing"),
        yield* call(`${url}/v1/files`, {}),
        yield* ask("GET", "/readyz")
      ]) {
        assert.strictEqual(headers.get("cache-control"), "no-store")
      }
      const bytes = yield* ask("GET", `/v1/files/${id}/content`)
      assert.strictEqual(bytes.headers.get("cache-control"), "private, no-cache")
    })
  )
})
