import { type ClientRequest, request as httpRequest } from "node:http"
import { type ClientHttp2Session, connect, constants } from "node:http2"
import { request as httpsRequest } from "node:https"
import { Readable } from "node:stream"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Layer, Logger, References, Stream } from "effect"
import { FileStoreLayer } from "../../src/files/FileStoreLayer.ts"
import { finish, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until, untilValue } from "../support/until.ts"
import { installedProxies, type ProxyName, proxyNames, ReverseProxies, siteName } from "./ReverseProxies.ts"
import { siteCertificate } from "./siteCertificate.ts"

const tls = { ca: siteCertificate.cert, servername: siteName }

/** A connection to the proxy by HTTP/2, as browsers and most clients have it. */
const openSession = Effect.fnUntraced(function* (name: ProxyName) {
  const { https } = (yield* ReverseProxies).ports(name)
  return yield* Effect.acquireRelease(
    Effect.sync(() => connect(`https://127.0.0.1:${https}`, tls)),
    (session) => Effect.sync(() => session.destroy())
  )
})

interface Sent {
  readonly path: string
  readonly key?: string
  readonly headers?: Record<string, string>
  readonly body?: string | Readable
}

/** Begins an exchange on the session; `seen` is what has come of the response's body. */
const send = (session: ClientHttp2Session, { body, headers, key, path }: Sent) => {
  const stream = session.request({
    ":method": body === undefined ? "GET" : "POST",
    ":path": path,
    ":authority": siteName,
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(typeof body === "string" ? { "content-type": "application/json" } : {}),
    ...headers
  })
  let seen = ""
  let status: number | null = null
  let ended = false
  stream.setEncoding("utf8").on("data", (piece) => (seen += piece))
  stream.on("response", (response) => (status = response[":status"] ?? null))
  stream.on("close", () => (ended = true))
  if (body instanceof Readable) body.pipe(stream)
  else stream.end(body)
  return { stream, seen: () => seen, status: () => status, ended: () => ended }
}

/** The whole exchange. */
const exchange = Effect.fnUntraced(function* (session: ClientHttp2Session, sent: Sent) {
  const open = send(session, sent)
  yield* until(Effect.sync(open.ended))
  return { status: open.status(), text: open.seen() }
})

const written: Array<string> = []
const Log = Layer.merge(
  Logger.layer([Logger.map(Logger.formatJson, (line) => void written.push(line))]),
  Layer.succeed(References.MinimumLogLevel, "Info")
)

const addressOf = (id: string) =>
  untilValue(
    Effect.sync(
      () =>
        written
          .map((line) => JSON.parse(line).annotations)
          .find((annotations) => annotations.requestId === id && annotations.status !== undefined)?.address
    ),
    (address) => address !== undefined
  )

const App = ReverseProxies.layer.pipe(
  Layer.provideMerge(
    TestApp.layerWith(
      TestDatabase.layer,
      FileStoreLayer,
      { console: { publicUrl: `https://${siteName}`, trustedProxies: ["127.0.0.1"] } },
      ScriptedModel.layer,
      Log
    )
  )
)

const question = (stream: boolean) => JSON.stringify({ input: "Hi", stream })

/** Four times of what nginx passes on by default. */
const uploadBytes = 4 * 2 ** 20
const boundary = "parley-proxy-test"
const uploadParts = function* () {
  yield `--${boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nassistants\r\n`
  yield `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="large.bin"\r\n\r\n`
  for (let at = 0; at < uploadBytes; at += 2 ** 20) yield Buffer.alloc(2 ** 20, 7)
  yield `\r\n--${boundary}--\r\n`
}

for (const name of proxyNames.filter((one) => !installedProxies.includes(one))) {
  console.info(`The example for ${name} is not tested: ${name} is not installed.`)
}

layer(App, { excludeTestServices: true })("a reverse proxy with its example", (it) => {
  const each = it.effect.each(installedProxies.map((name) => ({ name })))

  // This test is the only one if no proxy is installed, because vitest refuses a file without a test.
  it.effect.skipIf(installedProxies.length === 0)("each reverse proxy has ports that no other has", () =>
    Effect.map(ReverseProxies, ({ ports }) => {
      const all = installedProxies.flatMap((name) => Object.values(ports(name)))
      assert.strictEqual(new Set(all).size, all.length)
    })
  )

  each("$name passes each event on before the model says the next, by HTTP/2", ({ name }) =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const gate = yield* Deferred.make<void>()
      const first = Stream.make(text("first"))
      const rest = Stream.unwrap(Effect.as(Deferred.await(gate), Stream.make(text("second"), finish())))
      yield* (yield* ScriptedModel).next(Stream.concat(first, rest))
      const session = yield* openSession(name)
      const open = send(session, { path: "/v1/responses", key: alice.key, body: question(true) })
      yield* until(Effect.sync(() => open.seen().includes("first")))
      assert.strictEqual(session.alpnProtocol, "h2")
      assert.notInclude(open.seen(), "second")
      yield* Deferred.succeed(gate, undefined)
      yield* until(Effect.sync(open.ended))
      assert.include(open.seen(), "response.completed")
    })
  )

  each("$name tells the service who the client is, whatever the client claims", ({ name }) =>
    Effect.gen(function* () {
      const session = yield* openSession(name)
      const id = `claims-${name}`
      const headers = {
        "x-request-id": id,
        "x-forwarded-for": "203.0.113.9",
        "x-forwarded-proto": "http",
        forwarded: "for=203.0.113.9"
      }
      const { status } = yield* exchange(session, { path: "/v1/files", headers })
      assert.strictEqual(status, 401)
      assert.strictEqual(yield* addressOf(id), "127.0.0.1")
    })
  )

  each("$name passes on an upload of 4 MiB", ({ name }) =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const session = yield* openSession(name)
      const { status, text: answer } = yield* exchange(session, {
        path: "/v1/files",
        key: alice.key,
        headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
        body: Readable.from(uploadParts(), { objectMode: false })
      })
      assert.strictEqual(status, 200, answer)
      assert.strictEqual(JSON.parse(answer).bytes, uploadBytes)
    })
  )

  each("$name ends the model's work when the client of a stream or of a JSON answer goes away", ({ name }) =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const model = yield* ScriptedModel
      for (const stream of [true, false]) {
        const [asked, ended] = [(yield* model.asked).length, yield* model.ended]
        yield* model.next(Stream.never)
        const session = yield* openSession(name)
        const open = send(session, { path: "/v1/responses", key: alice.key, body: question(stream) })
        yield* until(Effect.map(model.asked, ({ length }) => length > asked))
        open.stream.close(constants.NGHTTP2_CANCEL)
        yield* until(Effect.map(model.ended, (count) => count > ended))
      }
    })
  )

  each("$name ends the model's work when a client of HTTP/1.1 hangs up before its JSON answer", ({ name }) =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const model = yield* ScriptedModel
      const [asked, ended] = [(yield* model.asked).length, yield* model.ended]
      yield* model.next(Stream.never)
      const { https } = (yield* ReverseProxies).ports(name)
      const request = yield* Effect.acquireRelease(
        Effect.sync((): ClientRequest => {
          const headers = {
            authorization: `Bearer ${alice.key}`,
            "content-type": "application/json",
            host: siteName
          }
          const open = httpsRequest({
            ...tls,
            host: "127.0.0.1",
            port: https,
            path: "/v1/responses",
            method: "POST",
            headers
          })
          return open.on("error", () => {}).end(question(false))
        }),
        (open) => Effect.sync(() => open.destroy())
      )
      yield* until(Effect.map(model.asked, ({ length }) => length > asked))
      request.destroy()
      yield* until(Effect.map(model.ended, (count) => count > ended))
    })
  )

  each("$name keeps the operator's interface and the metrics inside, however they are spelled", ({ name }) =>
    Effect.gen(function* () {
      const session = yield* openSession(name)
      for (const path of [
        "/admin/users",
        "/%61dmin/users",
        "//admin/users",
        "/v1/../admin/users",
        "/metrics"
      ]) {
        const { status, text: answer } = yield* exchange(session, { path })
        // The service itself asks for the operator's key.
        assert.notStrictEqual(status, 401, `${path}: ${answer}`)
        assert.isAtLeast(status ?? 0, 300, path)
      }
      yield* (yield* ScriptedModel).next(says("Hello"))
      const { alice } = yield* TestApp
      const answered = yield* exchange(session, {
        path: "/v1/responses",
        key: alice.key,
        body: question(false)
      })
      assert.strictEqual(answered.status, 200, answered.text)
    })
  )

  each("$name leads from HTTP to HTTPS", ({ name }) =>
    Effect.gen(function* () {
      const { http } = (yield* ReverseProxies).ports(name)
      const location = yield* Effect.callback<string | undefined>((resume) => {
        httpRequest(
          { host: "127.0.0.1", port: http, path: "/keys", headers: { host: siteName } },
          (response) => {
            response.resume()
            resume(Effect.succeed(response.headers.location))
          }
        ).end()
      })
      assert.match(location ?? "", /^https:\/\/parley\.example\.com(:\d+)?\/keys$/)
    })
  )
})
