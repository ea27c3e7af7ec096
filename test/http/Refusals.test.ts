import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Stream } from "effect"
import { messagesErrorOf } from "../anthropic/messagesCalls.ts"
import { openRaw, replyOf } from "../support/RawClient.ts"
import { finish, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { untilValue } from "../support/until.ts"
import { errorOf } from "../support/Wire.ts"

const requestIdPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

const post = (key: string, ...fields: ReadonlyArray<string>) =>
  [
    "POST /v1/responses HTTP/1.1",
    "host: x",
    `authorization: Bearer ${key}`,
    "content-type: application/json",
    ...fields,
    "",
    ""
  ].join("\r\n")

const jsonRequest = (key: string, body: object) => {
  const content = JSON.stringify(body)
  return post(key, `content-length: ${Buffer.byteLength(content)}`) + content
}

const limits = {
  http: { headersSeconds: 1, requestSeconds: 1 },
  files: { uploadSeconds: 1 },
  stream: { beginSeconds: 0.05 }
}

/** Requests that Node refuses before any of the service's own code sees them. */
layer(TestApp.layer(limits), { excludeTestServices: true })("bytes that are no request", (it) => {
  it.effect.each([
    { what: "no HTTP", bytes: "hello\r\n\r\n", code: "malformed_request", status: 400 },
    {
      what: "a header without a name",
      bytes: "GET /healthz HTTP/1.1\r\nhost: x\r\n: y\r\n\r\n",
      code: "malformed_request",
      status: 400
    },
    {
      what: "a length that is no number",
      bytes: "POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: 1x\r\n\r\n",
      code: "malformed_request",
      status: 400
    },
    {
      what: "two framings",
      bytes: "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
      code: "malformed_request",
      status: 400
    },
    {
      what: "no host",
      bytes: "GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n",
      code: "malformed_request",
      status: 400
    },
    ...[
      ["an empty host", "host:"],
      ["a host with spaces", "host: a b"],
      ["a host with a path", "host: a/b"],
      ["a host with a user", "host: a@b"],
      ["a port that is no number", "host: a:x"],
      ["two hosts", "host: x\r\nHost: y"],
      ["the same host twice", "host: x\r\nhost: x"]
    ].map(([what = "", fields]) => ({
      what,
      bytes: `GET /healthz HTTP/1.1\r\n${fields}\r\nconnection: close\r\n\r\n`,
      code: "malformed_request",
      status: 400
    })),
    {
      what: "two content types",
      bytes:
        "POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-type: text/plain\r\n" +
        "connection: close\r\ncontent-length: 2\r\n\r\n{}",
      code: "malformed_request",
      status: 400
    },
    {
      what: "a transfer coding beside chunked",
      bytes:
        "POST /v1/responses HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\nconnection: close\r\n\r\n" +
        "2\r\n{}\r\n0\r\n\r\n",
      code: "malformed_request",
      status: 400
    },
    {
      what: "headers that are too long",
      bytes: `GET /healthz HTTP/1.1\r\nhost: x\r\nx-long: ${"y".repeat(20_000)}\r\n\r\n`,
      code: "headers_too_large",
      status: 431
    },
    {
      what: "an expectation that nobody knows",
      bytes: "GET /healthz HTTP/1.1\r\nhost: x\r\nexpect: the-impossible\r\n\r\n",
      code: "expectation_failed",
      status: 417
    }
  ])("bytes that are no request get the envelope: $what", ({ bytes, code, status }) =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const client = yield* openRaw(url)
      yield* client.send(bytes)
      const reply = replyOf(yield* client.whole)
      assert.strictEqual(errorOf(reply, status).code, code)
      assert.match(reply.headers.get("x-request-id") ?? "", requestIdPattern)
      assert.strictEqual(reply.headers.get("connection"), "close")
    }).pipe(Effect.scoped)
  )

  it.effect.each([
    "GET /healthz HTTP/1.0\r\n\r\n",
    "GET /healthz HTTP/1.0\r\nhost: x\r\n\r\n",
    ...["x", "x:3000", "127.0.0.1:3000", "[::1]:3000", "my_service", "EXAMPLE.com.", "x:"].map(
      (host) => `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`
    ),
    "GET http://example.com/healthz HTTP/1.1\r\nhost: example.com\r\nconnection: close\r\n\r\n"
  ])("a request with a valid host, or of HTTP/1.0, is answered: %j", (bytes) =>
    Effect.gen(function* () {
      const client = yield* openRaw((yield* TestApp).url)
      yield* client.send(bytes)
      assert.match(yield* client.whole, /^HTTP\/1\.1 200 /)
    }).pipe(Effect.scoped)
  )

  it.effect("bytes that are no request name no field in the words of the profile that was asked", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      for (const [path, param] of [
        ["/v1/responses", ""],
        ["/openai/v1/responses?a=b", null]
      ] as const) {
        const client = yield* openRaw(url)
        yield* client.send(`GET ${path} HTTP/1.1\r\nhost: x\r\nexpect: y\r\n\r\n`)
        assert.strictEqual(errorOf(replyOf(yield* client.whole), 417).param, param)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("bytes that are no request get the envelope of Anthropic's clients if these ask", () =>
    Effect.gen(function* () {
      const client = yield* openRaw((yield* TestApp).url)
      yield* client.send("GET /anthropic/v1/models?a=b HTTP/1.1\r\nhost: x\r\nexpect: y\r\n\r\n")
      assert.strictEqual(messagesErrorOf(replyOf(yield* client.whole), 417).type, "invalid_request_error")
    }).pipe(Effect.scoped)
  )

  it.effect("bytes that are no request keep the client's request id if it could be parsed", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const client = yield* openRaw(url)
      yield* client.send("GET / HTTP/1.1\r\nhost: x\r\nx-request-id: mine\r\nexpect: y\r\n\r\n")
      assert.strictEqual(replyOf(yield* client.whole).headers.get("x-request-id"), "mine")
    }).pipe(Effect.scoped)
  )

  it.effect.each([
    {
      what: "chunks that are none",
      bytes: (key: string) => `${post(key, "transfer-encoding: chunked")}zz\r\n`
    },
    {
      what: "a length that is not kept",
      bytes: (key: string) => `${post(key, "content-length: 9")}{`,
      end: true
    }
  ])("bytes that are no body get the envelope too: $what", ({ bytes, end }) =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const client = yield* openRaw(url)
      yield* client.send(bytes(alice.key))
      if (end) client.socket.end()
      assert.strictEqual(errorOf(replyOf(yield* client.whole), 400).code, "unreadable_body")
    }).pipe(Effect.scoped)
  )

  it.effect("a body that is no UTF-8 gets the envelope, and nothing of it is replaced", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const client = yield* openRaw(url)
      const body = Buffer.from(JSON.stringify({ input: "caf\u00e9" }), "latin1")
      yield* client.send(post(alice.key, `content-length: ${body.length}`, "connection: close"))
      client.socket.write(body)
      const error = errorOf(replyOf(yield* client.whole), 400)
      assert.strictEqual(error.code, "unreadable_body")
      assert.include(error.message, "UTF-8")
    }).pipe(Effect.scoped)
  )

  it.effect("long chunk extensions are refused", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const client = yield* openRaw(url)
      yield* client.send(`${post(alice.key, "transfer-encoding: chunked")}1;${"x".repeat(40_000)}\r\n{\r\n`)
      assert.strictEqual(errorOf(replyOf(yield* client.whole), 413).code, "chunk_extensions_too_large")
    }).pipe(Effect.scoped)
  )

  it.effect.each([
    { what: "nothing at all", bytes: () => "" },
    { what: "half of the headers", bytes: () => "GET /healthz HTTP/1.1\r\nhost:" },
    {
      what: "half of a body",
      bytes: (key: string) => `${post(key, "content-length: 99")}{`
    }
  ])("time out by the limits: $what", ({ bytes }) =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const client = yield* openRaw(url)
      yield* client.send(bytes(alice.key))
      const reply = replyOf(yield* client.whole)
      assert.strictEqual(errorOf(reply, 408).code, "request_timeout")
      assert.strictEqual(reply.headers.get("connection"), "close")
    }).pipe(Effect.scoped)
  )

  it.effect("malformed bytes don't change a response that was finished before them", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const client = yield* openRaw(url)
      yield* client.send("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
      yield* client.read((seen) => seen.includes('{"status":"ok"}'))
      yield* client.send("hello\r\n\r\n")
      const seen = yield* client.whole
      const second = seen.indexOf("HTTP/1.1 400 ")
      assert.strictEqual(replyOf(seen.slice(0, second)).status, 200)
      assert.strictEqual(errorOf(replyOf(seen.slice(second)), 400).code, "malformed_request")
    }).pipe(Effect.scoped)
  )

  it.effect.each([
    { stream: true, extra: "hello\r\n\r\n" },
    { stream: false, extra: "hello\r\n\r\n" },
    { stream: true, extra: "x" },
    { stream: false, extra: "x" }
  ])(
    "refused bytes get their answer after an earlier one that is running: $extra, stream $stream",
    ({ extra, stream }) =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const model = yield* ScriptedModel
        const gate = yield* Deferred.make<void>()
        yield* model.next(
          Stream.concat(
            Stream.make(text("first")),
            Stream.fromEffect(Effect.as(Deferred.await(gate), text("last")))
          ).pipe(Stream.concat(Stream.make(finish())))
        )
        const client = yield* openRaw(url)
        const asked = (yield* model.asked).length
        yield* client.send(jsonRequest(alice.key, { input: "Hi", stream }) + extra)
        yield* untilValue(model.asked, ({ length }) => length > asked)
        if (stream) yield* client.read((seen) => seen.includes('"delta":"first"'))
        yield* client.send(extra)
        yield* Deferred.succeed(gate, undefined)
        const seen = yield* client.whole
        const refusal = seen.indexOf("HTTP/1.1 400 ")
        assert.isAbove(refusal, 0, seen)
        assert.include(seen.slice(0, refusal), stream ? "event: message" : '"output_text":"firstlast"')
        if (stream) assert.include(seen.slice(0, refusal), "response.completed")
        assert.strictEqual(errorOf(replyOf(seen.slice(refusal)), 400).code, "malformed_request")
      }).pipe(Effect.scoped)
  )

  it.effect("refused bytes end the model call of an earlier answer when their client leaves", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      const ended = yield* model.ended
      const asked = (yield* model.asked).length
      yield* model.next(Stream.concat(Stream.make(text("first")), Stream.never))
      const client = yield* openRaw(url)
      yield* client.send(`${jsonRequest(alice.key, { input: "Hi", stream: false })}x`)
      yield* untilValue(model.asked, ({ length }) => length > asked)
      client.socket.destroy()
      yield* untilValue(model.ended, (count) => count > ended)
    }).pipe(Effect.scoped)
  )

  it.effect("a request to upgrade the protocol is handled like any other request", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(Stream.make(text("plain"), finish()))
      const body = JSON.stringify({ input: "Hi", stream: false })
      const client = yield* openRaw(url)
      const head = post(alice.key, "connection: upgrade, close", "upgrade: h2c", "transfer-encoding: chunked")
      yield* client.send(`${head}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
      const reply = replyOf(yield* client.whole)
      assert.strictEqual(reply.status, 200)
      assert.include(reply.text, '"output_text":"plain"')
    }).pipe(Effect.scoped)
  )
})
