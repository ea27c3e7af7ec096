import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { openRaw } from "../support/RawClient.ts"
import { says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { untilValue } from "../support/until.ts"
import { call, errorOf } from "../support/Wire.ts"
import { connect } from "./connection.ts"

const bodyBytesMax = 10_000
const mediaBodyBytesMax = 100_000

/** A body that has so many bytes because of a field that nothing reads. */
const bodyOf = (fields: object, bytes: number) => {
  const empty = JSON.stringify({ ...fields, unknown: "" })
  return JSON.stringify({ ...fields, unknown: "a".repeat(bytes - empty.length) })
}

const chat = { model: "auto", messages: [{ role: "user", content: "Hi" }] }

layer(TestApp.layer({ http: { bodyBytesMax, mediaBodyBytesMax } }), { excludeTestServices: true })(
  "A body of /openai/v1",
  (it) => {
    it.effect.each([
      ["/openai/v1/responses", { input: "Hi" }],
      ["/openai/v1/chat/completions", chat],
      ["/openai/v1/conversations", {}]
    ] as const)("a body of /openai/v1 has a longer bound than one of /v1: %s", ([path, fields]) =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const model = yield* ScriptedModel
        if (path !== "/openai/v1/conversations") yield* model.next(says("Hello"))
        const post = (bytes: number) => call(url + path, { key: alice.key, body: bodyOf(fields, bytes) })
        assert.strictEqual((yield* post(mediaBodyBytesMax)).status, 200)
        const { code, message } = errorOf(yield* post(mediaBodyBytesMax + 1), 413)
        assert.strictEqual(code, "body_too_large")
        assert.strictEqual(
          message,
          "The body is larger than 100000 bytes. Upload large files with POST /openai/v1/files, and send their ids."
        )
      })
    )

    it.effect("a body of /v1 has the shorter bound, and is told of /v1/files", () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const body = bodyOf({ input: "Hi" }, bodyBytesMax + 1)
        const { message } = errorOf(yield* call(`${url}/v1/responses`, { key: alice.key, body }), 413)
        assert.include(message, "10000 bytes")
        assert.include(message, "POST /v1/files")
      })
    )

    it.effect("a message of a WebSocket may have as many bytes", () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        yield* (yield* ScriptedModel).next(says("Hello"))
        const { last, socket } = yield* connect(url, alice.key)
        socket.send(bodyOf({ type: "response.create", input: "Hi" }, mediaBodyBytesMax))
        assert.include((yield* last(1))[0], "response.completed")
      })
    )
  }
)

layer(TestApp.layer({ http: { bodyBytesMax, mediaBodyBytesMax: 2_000 } }), { excludeTestServices: true })(
  "A bound of /openai/v1 below that of other bodies",
  (it) => {
    it.effect("a bound of /openai/v1 below that of other bodies has no effect", () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        yield* (yield* ScriptedModel).next(says("Hello"))
        const body = bodyOf({ input: "Hi" }, bodyBytesMax)
        const reply = yield* call(`${url}/openai/v1/responses`, { key: alice.key, body })
        assert.strictEqual(reply.status, 200, reply.text)
      })
    )
  }
)

const messageBytes = 600_000
const long = { type: "response.create", input: "Hi" }
const longMessage = bodyOf(long, messageBytes)

/** A connection of which a message of 983,040 bytes has come in part. */
const beginMessage = Effect.fnUntraced(function* (url: string, key: string) {
  const client = yield* openRaw(url)
  yield* client.send(
    `GET /openai/v1/responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\nconnection: upgrade\r\n` +
      "upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
  )
  assert.include(yield* client.read((seen) => seen.includes("\r\n\r\n")), "101 Switching Protocols")
  const head = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0x0f, 0, 0, 0, 0, 0, 0])
  client.socket.write(Buffer.concat([head, Buffer.alloc(400_000, "a")]))
  return client
})

/** Holds the bytes of one body until the connection closes. */
const holdByPost = Effect.fnUntraced(function* (url: string, key: string) {
  yield* (yield* ScriptedModel).next(Stream.concat(Stream.make(text("Hel")), Stream.never))
  const client = yield* openRaw(url)
  const body = bodyOf({ input: "Hi", stream: true }, messageBytes)
  yield* client.send(
    `POST /openai/v1/responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  )
  assert.include(yield* client.read((seen) => seen.includes("response.created")), "response.created")
  return client
})

layer(
  TestApp.layer({ http: { mediaBodyBytesMax: 1_000_000, userBodyBytesMax: 1_200_000, userWaitSeconds: 0 } }),
  { excludeTestServices: true }
)("A long message of a WebSocket", (it) => {
  it.effect(
    "a long WebSocket message needs room beside the user's bodies, and a refused one gets an error",
    () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const model = yield* ScriptedModel
        const holder = yield* holdByPost(url, alice.key)
        const { last, received, socket } = yield* connect(url, alice.key)
        socket.send(longMessage)
        const refusal = (yield* last(1))[0] ?? ""
        assert.include(refusal, '"code":"too_many_body_bytes"')
        assert.include(refusal, '"status":429')
        holder.socket.destroy()
        yield* model.next(says("Hello"))
        socket.send(JSON.stringify(long))
        const ends = yield* last(2)
        assert.include(ends[1], "response.completed")
        assert.strictEqual(received.filter((message) => message.includes("too_many_body_bytes")).length, 1)
      }).pipe(Effect.scoped)
  )

  it.effect("a long WebSocket message takes room before it is whole, until its client goes away", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const client = yield* beginMessage(url, alice.key)
      // Refused as a body if there is room for it, so that no model is asked.
      const body = bodyOf({ input: 5 }, messageBytes)
      const status = Effect.map(
        call(`${url}/openai/v1/responses`, { key: alice.key, body }),
        (reply) => reply.status
      )
      yield* untilValue(status, (one) => one === 429)
      client.socket.destroy()
      yield* untilValue(status, (one) => one === 400)
    }).pipe(Effect.scoped)
  )

  it.effect("a long WebSocket message releases its room when it is answered", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      const { last, socket } = yield* connect(url, alice.key)
      for (let count = 1; count <= 4; count++) {
        yield* model.next(says("Hello"))
        socket.send(longMessage)
        assert.include((yield* last(count)).at(-1), "response.completed")
      }
    }).pipe(Effect.scoped)
  )
})

layer(TestApp.layer({ http: { requestSeconds: 0.2 } }), { excludeTestServices: true })(
  "A long message that stops arriving",
  (it) => {
    it.effect("a long WebSocket message that stops arriving ends its connection", () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const client = yield* beginMessage(url, alice.key)
        yield* client.whole
      }).pipe(Effect.scoped)
    )
  }
)
