import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { openRaw, replyOf } from "../support/RawClient.ts"
import { finish, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { until } from "../support/until.ts"
import { call, errorOf, eventsOf, openCall } from "../support/Wire.ts"

const post = Effect.fnUntraced(function* (key: string, stream: boolean) {
  const { url } = yield* TestApp
  return yield* call(`${url}/v1/responses`, { key, body: { input: "Hello", stream } })
})

const list = Effect.fnUntraced(function* (key: string) {
  const { url } = yield* TestApp
  return yield* call(`${url}/v1/files`, { key })
})

/** A model that answers when it is let. */
const held = Effect.map(Deferred.make<void>(), (gate) => ({
  answer: Stream.concat(
    Stream.make(text("Hello")),
    Stream.concat(Stream.fromEffectDrain(Deferred.await(gate)), Stream.make(finish()))
  ),
  open: Deferred.succeed(gate, undefined)
}))

const asked = (count: number) =>
  Effect.flatMap(ScriptedModel, (model) =>
    until(Effect.map(model.asked, (requests) => requests.length === count))
  )

const two = { http: { userRequestsMax: 2 } }

layer(TestApp.layer({ http: { ...two.http, userWaitSeconds: 0.2 } }), { excludeTestServices: true })(
  "Requests of one user beyond the most at once",
  (it) => {
    it.effect("a user's requests beyond the concurrent limit get 429, and others are served", () =>
      Effect.gen(function* () {
        const { alice, bob } = yield* TestApp
        const model = yield* ScriptedModel
        const gate = yield* held
        yield* model.next(gate.answer, gate.answer)
        const running = yield* Effect.forEach([true, false], (stream) =>
          Effect.forkChild(post(alice.key, stream))
        )
        yield* asked(2)
        for (const reply of [yield* post(alice.key, true), yield* list(alice.key)]) {
          const error = errorOf(reply, 429)
          assert.strictEqual(error.code, "too_many_requests_at_once")
          assert.strictEqual(error.type, "rate_limit_error")
          assert.strictEqual(
            error.message,
            "You may have 2 requests under way at once. Try again when one has ended."
          )
          assert.strictEqual(reply.headers.get("retry-after"), "1")
          assert.isNull(reply.headers.get("x-should-retry"))
        }
        assert.strictEqual((yield* list(bob.key)).status, 200)
        yield* gate.open
        const [stream, json] = yield* Effect.forEach(running, Fiber.join)
        assert.strictEqual(eventsOf(stream!.text).at(-1)?.type, "response.completed")
        assert.strictEqual(json!.status, 200)
        assert.strictEqual((yield* list(alice.key)).status, 200)
      })
    )
  }
)

layer(TestApp.layer({ http: { ...two.http, userWaitSeconds: 60 } }), { excludeTestServices: true })(
  "A request that waits for an earlier one of its user",
  (it) => {
    it.effect("a waiting request is answered as soon as the client gives up a stream", () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const model = yield* ScriptedModel
        const gate = yield* held
        yield* model.next(gate.answer, gate.answer, says("Third."), says("Fourth."))
        const running = yield* Effect.forkChild(post(alice.key, true))
        const request = { key: alice.key, body: { input: "Hello" } }
        const given = yield* openCall(`${url}/v1/responses`, request)
        yield* asked(2)
        const third = yield* Effect.forkChild(post(alice.key, false))
        const fourth = yield* Effect.forkChild(post(alice.key, false))
        yield* Effect.promise(() => given.body!.cancel())
        assert.strictEqual((yield* Fiber.join(third)).status, 200)
        assert.strictEqual((yield* Fiber.join(fourth)).status, 200)
        yield* gate.open
        assert.strictEqual((yield* Fiber.join(running)).status, 200)
      })
    )
  }
)

layer(TestApp.layer({ http: { userRequestsPerMinute: 6, userWaitSeconds: 0 } }), {
  excludeTestServices: true
})("Requests of one user beyond the most a minute", (it) => {
  it.effect("a user's requests beyond the limit per minute get 429, and others are served", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* TestApp
      assert.strictEqual((yield* list(alice.key)).status, 200)
      const reply = yield* list(alice.key)
      assert.strictEqual(errorOf(reply, 429).code, "request_rate_exceeded")
      const seconds = Number(reply.headers.get("retry-after"))
      assert.isTrue(seconds >= 1 && seconds <= 10)
      assert.isNull(reply.headers.get("x-should-retry"))
      assert.strictEqual((yield* list(bob.key)).status, 200)
    })
  )
})

/** A request whose body is announced and never comes. */
const announce = Effect.fnUntraced(function* (key: string, ...fields: ReadonlyArray<string>) {
  const { url } = yield* TestApp
  const client = yield* openRaw(url)
  const head = [
    "POST /v1/responses HTTP/1.1",
    "host: x",
    `authorization: Bearer ${key}`,
    "content-type: application/json",
    ...fields,
    "",
    ""
  ]
  yield* client.send(head.join("\r\n"))
  return client
})

/**
 * Waits until bodies that were announced count: then one more of so many bytes, which is no request, is
 * refused for its size.
 */
const counted = (key: string, bytes: number) =>
  until(
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const padding = "x".repeat(bytes - JSON.stringify({ padding: "" }).length)
      const { status } = yield* call(`${url}/v1/responses`, { method: "POST", key, body: { padding } })
      return status === 429
    })
  )

const bodies = { bodyBytesMax: 1_000, userBodyBytesMax: 1_500, bodiesBytesMax: 2_000, userWaitSeconds: 0.2 }

layer(TestApp.layer({ http: bodies }), { excludeTestServices: true })("Bodies under way", (it) => {
  it.effect("bodies of one user beyond their bytes are refused unread, and others' are not", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* TestApp
      const model = yield* ScriptedModel
      const first = yield* announce(alice.key, "content-length: 1000")
      yield* counted(alice.key, 600)
      const second = yield* announce(alice.key, "transfer-encoding: chunked")
      const reply = replyOf(yield* second.whole)
      assert.strictEqual(errorOf(reply, 429).code, "too_many_body_bytes")
      assert.strictEqual(reply.headers.get("retry-after"), "1")
      yield* model.next(says("Hello."))
      assert.strictEqual((yield* post(bob.key, false)).status, 200)
      first.socket.destroy()
      yield* model.next(says("Hello."))
      assert.strictEqual((yield* post(alice.key, false)).status, 200)
    }).pipe(Effect.scoped)
  )

  it.effect("bodies of all users beyond their bytes are refused as too much for the service", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* TestApp
      yield* announce(alice.key, "content-length: 1000")
      yield* announce(alice.key, "content-length: 400")
      yield* counted(alice.key, 200)
      const client = yield* announce(bob.key, "content-length: 900")
      const reply = replyOf(yield* client.whole)
      assert.strictEqual(errorOf(reply, 503).code, "server_busy")
      assert.strictEqual(reply.headers.get("retry-after"), "1")
    }).pipe(Effect.scoped)
  )

  it.effect("a received body counts no more than its bytes", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const model = yield* ScriptedModel
      const before = (yield* model.asked).length
      yield* model.next(Stream.never, Stream.never, Stream.never)
      for (let n = 1; n <= 3; n++) {
        const client = yield* announce(alice.key, "transfer-encoding: chunked")
        yield* client.send('2e\r\n{"input":"What is the time?","stream":false  }\r\n0\r\n\r\n')
        yield* asked(before + n)
      }
    }).pipe(Effect.scoped)
  )
})
