import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
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
    ] as const)("may be longer than one of /v1, and is refused beyond its own bound: %s", ([path, fields]) =>
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
          "The body is larger than 100000 bytes. Upload images and documents with POST /openai/v1/files, and send their ids."
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
    it.effect("has no effect", () =>
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
