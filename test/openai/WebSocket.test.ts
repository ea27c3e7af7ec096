import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema, Stream } from "effect"
import { ProfileEvent } from "../../src/api/openai/ResponseEvents.ts"
import { ConnectionLimits, connectionsPerUserMax } from "../../src/openai/WebSocketHandlers.ts"
import { failure, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { until, untilValue } from "../support/until.ts"
import { call, errorOf } from "../support/Wire.ts"
import { connect as connectTo } from "./connection.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"

/** A connection to the service under test. */
const connect = (key?: string) => Effect.flatMap(TestApp, ({ url }) => connectTo(url, key))

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(ProfileEvent))

layer(TestApp.layer(), { excludeTestServices: true })("A WebSocket on /openai/v1/responses", (it) => {
  it.effect("a WebSocket answers message after message with the events of their streams", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(says("Hel", "lo"), says("again"))
      const { last, received, send } = yield* connect(alice.key)
      send({ type: "response.create", model: "auto", input: "Hi" })
      // Sent while the first is being answered.
      send({ type: "response.create", model: "auto", input: "Hi", store: false, stream: true })
      yield* last(2)
      const events = received.map((message) => decode(message))
      const second = events.findLastIndex(({ type }) => type === "response.created")
      const texts = [events.slice(0, second), events.slice(second)].map(
        (one) => assertProfileGrammar(one).whole?.output_text
      )
      assert.deepStrictEqual(texts, ["Hello", "again"])
    })
  )

  it.effect("a WebSocket continues an answer that isn't stored, on the same connection alone", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(says("one"), says("two"), says("three"))
      const create = { type: "response.create", store: false }
      const first = yield* connect(alice.key)
      first.send({ ...create, input: "a" })
      const idIn = (message: string | undefined) => /"id":"(resp_[^"]+)"/.exec(message ?? "")?.[1] ?? ""
      const id = idIn((yield* first.last(1)).at(-1))
      first.send({ ...create, input: "b", previous_response_id: id })
      const [, second = ""] = yield* first.last(2)
      assert.include(second, `"previous_response_id":"${id}"`)
      first.send({ ...create, input: [{ role: "user", content: "c" }], previous_response_id: idIn(second) })
      yield* first.last(3)
      assert.deepStrictEqual(
        (yield* model.asked).at(-1)!.request.messages.map(({ text: said }) => said),
        ["a", "one", "b", "two", "c"]
      )
      // The connection remembers the last answer only, and no other one remembers any.
      first.send({ ...create, input: "d", previous_response_id: id })
      assert.include((yield* first.last(4)).at(-1), '"code":"previous_response_not_found"')
      const other = yield* connect(alice.key)
      other.send({ ...create, input: "d", previous_response_id: id })
      other.send({ ...create, input: "d", previous_response_id: "resp_nothing_1" })
      for (const refused of yield* other.last(2)) {
        assert.include(refused, '"code":"previous_response_not_found"')
      }
    })
  )

  it.effect("a WebSocket forgets an answer when what continues it fails", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(says("one"))
      const { last, send } = yield* connect(alice.key)
      const create = { type: "response.create", store: false }
      send({ ...create, input: "a" })
      const id = /"id":"(resp_[^"]+)"/.exec((yield* last(1)).at(-1) ?? "")?.[1]
      const output = { type: "function_call_output", call_id: "call_nothing", output: "x" }
      send({ ...create, previous_response_id: id, input: [output] })
      send({ ...create, previous_response_id: id, input: "b" })
      const [, failed, stale] = yield* last(3)
      assert.include(failed, "call_id")
      assert.include(stale, '"code":"previous_response_not_found"')
    })
  )

  it.effect("a WebSocket continues a response of the same connection", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(says("one"), says("two"))
      const { last, received, send } = yield* connect(alice.key)
      send({ type: "response.create", input: "a" })
      yield* last(1)
      const first = decode(received.at(-1) ?? "")
      assert.isTrue("response" in first)
      if ("response" in first)
        send({ type: "response.create", input: "b", previous_response_id: first.response.id })
      yield* last(2)
      const { messages } = (yield* model.asked).at(-1)!.request
      assert.deepStrictEqual(
        messages.map((message) => message.text),
        ["a", "one", "b"]
      )
    })
  )

  it.effect("a WebSocket reports what is wrong with a message, and stays open", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const model = yield* ScriptedModel
      const { last, received, send, socket } = yield* connect(alice.key)
      socket.send("no JSON")
      send({ type: "response.cancel" })
      send({ type: "response.create", input: "" })
      send({ type: "response.create", input: "Hi", model: "gpt-nothing" })
      send({ type: "response.create", input: "Hi", background: true })
      yield* last(5)
      const errors = received.map((message) => JSON.parse(message))
      assert.deepStrictEqual(
        errors.map(({ code, param, status, type }) => [type, status, code, param]),
        [
          ["error", 400, "invalid_request", null],
          ["error", 400, "invalid_request", "type"],
          ["error", 400, "invalid_request", "input"],
          ["error", 404, "model_not_found", "model"],
          ["error", 400, "invalid_request", "background"]
        ]
      )
      yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("server_error"))))
      send({ type: "response.create", input: "Hi" })
      yield* last(7)
      assert.strictEqual(JSON.parse(received.at(-1) ?? "").type, "response.failed")
      yield* model.next(says("Hello"))
      send({ type: "response.create", input: "Hi" })
      yield* last(8)
    })
  )

  // More than may wait: the connection isn't read meanwhile.
  it.effect.each([1, 8])("a WebSocket cancels the model on a disconnect after %i messages", (count) =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const model = yield* ScriptedModel
      const ended = yield* model.ended
      yield* model.next(Stream.concat(Stream.make(text("Hello")), Stream.never))
      const { received, send, socket } = yield* connect(alice.key)
      for (let message = 0; message < count; message++) send({ type: "response.create", input: "Hi" })
      yield* untilValue(
        Effect.sync(() => received.length),
        (length) => length > 2
      )
      socket.close()
      yield* untilValue(model.ended, (all) => all > ended)
    })
  )

  it.effect("a WebSocket is refused without a valid key, and a plain request is told what to do", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      assert.strictEqual((yield* connect()).state, "refused")
      assert.strictEqual((yield* connect("parley_nothing")).state, "refused")
      const plain = yield* call(`${url}/openai/v1/responses`, { key: alice.key })
      assert.include(errorOf(plain, 400).message, "WebSocket")
    })
  )

  it.effect("idle connections take no place of requests, and have a bound of their own", () =>
    Effect.gen(function* () {
      const { bob, url } = yield* TestApp
      const opened = yield* Effect.forEach(
        Array.from({ length: connectionsPerUserMax }),
        () => connect(bob.key),
        { concurrency: 8 }
      )
      assert.isTrue(opened.every(({ state }) => state === "open"))
      assert.strictEqual((yield* call(`${url}/openai/v1/models`, { key: bob.key })).status, 200)
      assert.strictEqual((yield* connect(bob.key)).state, "refused")
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"))
      opened[0]?.send({ type: "response.create", input: "Hi" })
      assert.include((yield* opened[0]!.last(1))[0], "response.completed")
      opened[1]?.socket.close()
      yield* until(Effect.map(connect(bob.key), ({ state }) => state === "open"))
    })
  )
})

const messageBytesMax = 20_000

layer(TestApp.layer({ http: { userBodyBytesMax: messageBytesMax, userWaitSeconds: 0 } }), {
  excludeTestServices: true
})("The messages of a user's connections", (it) => {
  it.effect("the messages of a user have the bytes of bodies together, until a connection closes", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* TestApp
      const model = yield* ScriptedModel
      const long = { type: "response.create", input: "Hi", unknown: "a".repeat(messageBytesMax * 0.7) }
      yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.never))
      const first = yield* connect(alice.key)
      first.send(long)
      yield* untilValue(
        Effect.sync(() => first.received.length),
        (length) => length > 2
      )
      const second = yield* connect(alice.key)
      second.send(long)
      assert.include((yield* second.last(1))[0], '"code":"too_many_body_bytes"')
      yield* model.next(says("for another user"))
      const other = yield* connect(bob.key)
      other.send(long)
      assert.include((yield* other.last(1))[0], "response.completed")
      const ended = yield* model.ended
      first.socket.close()
      yield* untilValue(model.ended, (count) => count > ended)
      yield* model.next(says("again"))
      yield* untilValue(
        Effect.gen(function* () {
          const before = second.received.length
          second.send(long)
          yield* untilValue(
            Effect.sync(() => second.received.length),
            (length) => length > before
          )
          return second.received.at(-1) ?? ""
        }),
        (message) => !message.includes("too_many_body_bytes")
      )
    })
  )

  it.effect("the messages of a user have the bounds of JSON that bodies have", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const { last, socket } = yield* connect(alice.key)
      socket.send(`{"type":"response.create","input":${"[".repeat(100)}`)
      assert.include((yield* last(1))[0], "The message nests deeper than 64 levels.")
    })
  )
})

/** Waits for the end of a connection, and gives its code. */
const limited = (idleSeconds: number, connectionSeconds: number) =>
  TestApp.layer().pipe(Layer.provide(Layer.succeed(ConnectionLimits, { idleSeconds, connectionSeconds })))

layer(limited(0.5, 60), { excludeTestServices: true })("A WebSocket without a message", (it) => {
  it.effect("a WebSocket without a message is closed as going away, after it was answered", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"))
      const { closed, last, send } = yield* connect(alice.key)
      const code = yield* Effect.forkChild(closed, { startImmediately: true })
      send({ type: "response.create", input: "Hi" })
      yield* last(1)
      assert.strictEqual(yield* Fiber.join(code), 1001)
    })
  )
})

layer(limited(60, 0.5), { excludeTestServices: true })("A WebSocket that is open for long", (it) => {
  it.effect("a WebSocket that is open for long is closed as going away, also during an answer", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const model = yield* ScriptedModel
      const ended = yield* model.ended
      yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.never))
      const { closed, send } = yield* connect(alice.key)
      const code = yield* Effect.forkChild(closed, { startImmediately: true })
      send({ type: "response.create", input: "Hi" })
      assert.strictEqual(yield* Fiber.join(code), 1001)
      yield* untilValue(model.ended, (count) => count > ended)
    })
  )
})
