import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import manifest from "../../package.json" with { type: "json" }
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { call, errorOf, responseOf } from "../support/Wire.ts"

const bodyBytesMax = 10_000

/** Sends bytes as they are and returns everything that comes back until the server closes. */
const raw = (url: string, bytes: string) =>
  Effect.callback<string>((resume) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    let seen = ""
    socket.setEncoding("utf8")
    socket.on("data", (chunk) => (seen += chunk))
    socket.on("close", () => resume(Effect.succeed(seen)))
    socket.on("error", () => resume(Effect.succeed(seen)))
    return Effect.sync(() => socket.destroy())
  })

/** Specification, chapter Errors: every error response is JSON and the envelope. */
layer(TestApp.layer({ http: { bodyBytesMax, requestSeconds: 2, headersSeconds: 2 } }), {
  excludeTestServices: true
})("Errors", (it) => {
  it.effect.each([
    { method: "GET", path: "/nothing" },
    { method: "GET", path: "/v1" },
    { method: "POST", path: "/v1/response" },
    { method: "POST", path: "/v2/responses" },
    { method: "DELETE", path: "/v1/responses/x" },
    { method: "GET", path: "/%ff" },
    { method: "GET", path: "/..%2f..%2fetc/passwd" }
  ])("404 for an unknown route: $method $path", ({ method, path }) =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const error = errorOf(yield* call(app.url + path, { method, key: app.alice.key }), 404)
      assert.strictEqual(error.code, "route_not_found")
    })
  )

  it.effect.each([
    { method: "GET", path: "/v1/responses", allow: "POST" },
    { method: "PUT", path: "/v1/responses", allow: "POST" },
    { method: "DELETE", path: "/v1/responses?x=1", allow: "POST" },
    { method: "POST", path: "/openapi.json", allow: "GET, HEAD" },
    { method: "PATCH", path: "/healthz", allow: "GET, HEAD" }
  ])("405 with Allow for a wrong method: $method $path", ({ method, path, allow }) =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const reply = yield* call(app.url + path, { method, key: app.alice.key })
      assert.strictEqual(errorOf(reply, 405).code, "method_not_allowed")
      assert.strictEqual(reply.headers.get("allow"), allow)
    })
  )

  it.effect("400 for malformed JSON, without an echo of it", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      for (const body of ["{secret", '{"input": secret}', "[", " ", "\u0000"]) {
        const reply = yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body })
        assert.strictEqual(errorOf(reply, 400).param, "")
        assert.notInclude(reply.text, "secret")
      }
      const empty = yield* call(`${app.url}/v1/responses`, { key: app.alice.key, method: "POST" })
      assert.strictEqual(errorOf(empty, 400).type, "invalid_request_error")
    })
  )

  it.effect("400 for a body that nests too deep, and not at the bound", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      const nested = (levels: number) =>
        `{"input":"a","stream":false,"extra":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`
      yield* model.next(says("ok"))
      const at = yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body: nested(64) })
      assert.strictEqual(responseOf(at).output_text, "ok")
      errorOf(yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body: nested(65) }), 400)
    })
  )

  it.effect.each([
    { "content-type": "text/plain" },
    { "content-type": "multipart/form-data; boundary=x" },
    { "content-type": "application/json", "content-encoding": "gzip" },
    { "content-type": "application/json; charset=iso-8859-1" },
    { "content-type": 'application/json;Charset="UTF-16"' }
  ])("415 for a body of another type or encoding: %o", (headers) =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const reply = yield* call(`${app.url}/v1/responses`, {
        key: app.alice.key,
        headers,
        body: '{"input":"a"}'
      })
      assert.strictEqual(errorOf(reply, 415).code, "unsupported_media_type")
    })
  )

  it.effect.each(["utf-8", '"UTF-8"', "utf8", "us-ascii"])(
    "a body may declare the charset UTF-8: %s",
    (charset) =>
      Effect.gen(function* () {
        const app = yield* TestApp
        yield* (yield* ScriptedModel).next(says("ok"))
        const reply = yield* call(`${app.url}/v1/responses`, {
          key: app.alice.key,
          headers: { "content-type": `application/json; charset=${charset}` },
          body: '{"input":"a","stream":false}'
        })
        assert.strictEqual(responseOf(reply).output_text, "ok")
      })
  )

  it.effect("413 for a body over the bound, and not at it", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      const bodyOf = (bytes: number) => {
        const frame = '{"input":"","stream":false}'
        return frame.replace('""', `"${"word ".repeat(bytes / 5).slice(0, bytes - frame.length)}"`)
      }
      yield* model.next(says("ok"), says("ok"))
      for (const bytes of [bodyBytesMax - 1, bodyBytesMax]) {
        const reply = yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body: bodyOf(bytes) })
        assert.strictEqual(responseOf(reply).output_text, "ok")
      }
      const over = yield* call(`${app.url}/v1/responses`, {
        key: app.alice.key,
        body: bodyOf(bodyBytesMax + 1)
      })
      assert.strictEqual(errorOf(over, 413).code, "body_too_large")
    })
  )

  it.effect("413 also for a body of unknown length, without waiting for its end", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const chunk = "x".repeat(1_000)
      const head =
        `POST /v1/responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${app.alice.key}\r\n` +
        "content-type: application/json\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
      const endless = head + `${chunk.length.toString(16)}\r\n${chunk}\r\n`.repeat(50)
      assert.match(yield* raw(app.url, endless), /^HTTP\/1\.1 413 /)
    })
  )

  it.effect("408 for a body that comes too slowly, and the connection ends", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const seen = yield* raw(
        url,
        `POST /v1/responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${alice.key}\r\n` +
          `content-type: application/json\r\ncontent-length: 20\r\n\r\n{"input":`
      )
      assert.match(seen, /^HTTP\/1\.1 408 /)
      assert.include(seen, '"code":"request_timeout"')
    })
  )

  it.effect("401 ends a connection whose body is still to come", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const seen = yield* raw(url, "POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: 20\r\n\r\n{")
      assert.match(seen, /^HTTP\/1\.1 401 /)
    })
  )

  it.effect("every response has an id, the client's where that is harmless", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const idOf = (given: string) =>
        Effect.map(call(`${app.url}/healthz`, { headers: { "x-request-id": given } }), ({ headers }) =>
          headers.get("x-request-id")
        )
      assert.strictEqual(yield* idOf("trace-1.2_3"), "trace-1.2_3")
      assert.notStrictEqual(yield* idOf("a b<script>"), "a b<script>")
      assert.notStrictEqual(yield* idOf("x".repeat(101)), "x".repeat(101))
    })
  )

  it.effect("500 for a defect, with nothing of its cause", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(Stream.die(new Error("secret detail")))
      const reply = yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body: { input: "Hi" } })
      const error = errorOf(reply, 500)
      assert.deepStrictEqual([error.code, error.type], ["internal_error", "server_error"])
      assert.notInclude(reply.text, "secret")
    })
  )

  it.effect("the probes answer without a key", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      assert.strictEqual((yield* call(`${app.url}/healthz`, {})).status, 200)
      const ready = yield* call(`${app.url}/readyz`, {})
      assert.deepStrictEqual(JSON.parse(ready.text), {
        status: "ready",
        draining: false,
        database: true,
        files: true,
        disk: true,
        models: "failing",
        providers: [{ provider: "scripted", state: "open" }]
      })
    })
  )

  it.effect("/version says without a key what runs", () =>
    Effect.gen(function* () {
      const reply = yield* call(`${(yield* TestApp).url}/version`, {})
      assert.deepStrictEqual(JSON.parse(reply.text), {
        name: "parley",
        version: manifest.version,
        build: "dev",
        api: "1.0.0"
      })
    })
  )

  it.effect("the service has no CORS, and no way to override the method", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const preflight = yield* call(`${app.url}/v1/responses`, {
        method: "OPTIONS",
        headers: { origin: "http://evil.test", "access-control-request-method": "POST" }
      })
      assert.strictEqual(preflight.status, 405)
      assert.isNull(preflight.headers.get("access-control-allow-origin"))
      const overridden = yield* call(`${app.url}/v1/responses`, {
        method: "GET",
        key: app.alice.key,
        headers: { "x-http-method-override": "POST" }
      })
      assert.strictEqual(overridden.status, 405)
    })
  )
})

layer(TestApp.layerOn(TestDatabase.layerFailing), { excludeTestServices: true })(
  "a database that is away",
  (it) => {
    it.effect("an outage of the database is 503 before the stream, and the service recovers by itself", () =>
      Effect.gen(function* () {
        const app = yield* TestApp
        const model = yield* ScriptedModel
        const faults = yield* SqlFaults
        const post = (stream: boolean) =>
          call(`${app.url}/v1/responses`, { key: app.alice.key, body: { input: "Hi", stream } })
        for (const stream of [true, false]) {
          yield* model.next(says("ok"))
          yield* faults.outage
          const reply = yield* post(stream)
          assert.strictEqual(errorOf(reply, 503).code, "database_unavailable")
          assert.isNotNull(reply.headers.get("retry-after"))
          yield* faults.off
        }
        yield* model.next(says("ok"))
        assert.strictEqual(responseOf(yield* post(false)).output_text, "ok")
      })
    )
  }
)
