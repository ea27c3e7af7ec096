import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Schema, Stream } from "effect"
import OpenAI from "openai"
import { ChatCompletion } from "../../src/api/openai/ChatCompletion.ts"
import { failure, finish, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { until } from "../support/until.ts"
import { call, errorOf, openCall } from "../support/Wire.ts"
import { chunksIn, foldChunks } from "./chatChunks.ts"

const messages = [{ role: "user" as const, content: "Hi" }]
const path = "/openai/v1/chat/completions"

const post = Effect.fnUntraced(function* (key: string, body: object = {}) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}${path}`, {
    key: alice.key,
    headers: { "idempotency-key": key },
    body: { messages, ...body }
  })
})

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ChatCompletion))

const answer = Effect.fnUntraced(function* (key: string, body: object = {}) {
  const reply = yield* post(key, body)
  assert.strictEqual(reply.status, 200, reply.text)
  const { choices, id } = yield* decode(reply.text)
  return { id, content: choices[0]?.message.content, headers: reply.headers }
})

const askedCount = Effect.gen(function* () {
  return (yield* (yield* ScriptedModel).asked).length
})

/** A model that goes on when it is told to. */
const gated = Effect.map(Deferred.make<void>(), (gate) => ({
  gate,
  says: Stream.concat(
    Stream.make(text("Hel")),
    Stream.fromIterableEffect(Effect.as(Deferred.await(gate), [text("lo"), finish()]))
  )
}))

layer(TestApp.layer(), { excludeTestServices: true })("an Idempotency-Key of a chat", (it) => {
  it.effect("a chat with a key returns the same answer again, and generates it once", () =>
    Effect.gen(function* () {
      const before = yield* askedCount
      yield* (yield* ScriptedModel).next(says("Hello"))
      const first = yield* answer("again")
      const second = yield* answer("again")
      assert.deepStrictEqual([second.id, second.content], [first.id, "Hello"])
      assert.isNull(first.headers.get("x-conversation-id"))
      assert.strictEqual(yield* askedCount, before + 1)
    })
  )

  it.effect("a chat with a key returns the same stream again, and joins the one that runs", () =>
    Effect.gen(function* () {
      const { gate, says: script } = yield* gated
      yield* (yield* ScriptedModel).next(script)
      const before = yield* askedCount
      const body = { stream: true, stream_options: { include_usage: true } }
      const both = yield* Effect.all([post("streamed", body), post("streamed", body)], {
        concurrency: "unbounded"
      }).pipe(
        Effect.race(
          Effect.andThen(
            until(Effect.map(askedCount, (count) => count > before)),
            Effect.andThen(Deferred.succeed(gate, undefined), Effect.never)
          )
        )
      )
      const texts = [...both, yield* post("streamed", body)].map((reply) => reply.text)
      assert.strictEqual(new Set(texts).size, 1)
      const folded = foldChunks(chunksIn(texts[0] ?? ""))
      assert.deepStrictEqual(
        [folded.content, folded.finish, folded.usage?.total_tokens],
        ["Hello", "stop", 18]
      )
      assert.strictEqual(yield* askedCount, before + 1)
    })
  )

  it.effect("a chat with a key is answered to its end when the client leaves", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      const { gate, says: script } = yield* gated
      const ended = yield* model.ended
      yield* model.next(script)
      const response = yield* openCall(`${url}${path}`, {
        key: alice.key,
        headers: { "idempotency-key": "left" },
        body: { messages, stream: true }
      })
      yield* Effect.promise(() => response.body!.cancel())
      yield* Deferred.succeed(gate, undefined)
      yield* until(Effect.map(model.ended, (count) => count > ended))
      const again = yield* post("left", { stream: true })
      assert.strictEqual(foldChunks(chunksIn(again.text)).content, "Hello")
    })
  )

  it.effect("a chat with a key is refused for another body, another `stream`, and a response", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      yield* (yield* ScriptedModel).next(says("Hello"))
      yield* answer("taken")
      const others = [
        yield* post("taken", { temperature: 1 }),
        yield* post("taken", { stream: true }),
        yield* call(`${url}/openai/v1/responses`, {
          key: alice.key,
          headers: { "idempotency-key": "taken" },
          body: { input: "Hi" }
        })
      ]
      for (const reply of others) assert.strictEqual(errorOf(reply, 422).code, "idempotency_key_reused")
    })
  )

  it.effect("a chat's key is free again after a refusal, and not after a later failure", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const long = { messages: [{ role: "user", content: "many words ".repeat(40_000) }] }
      const tooLong = errorOf(yield* post("refused", long), 400)
      assert.deepStrictEqual([tooLong.code, tooLong.param], ["context_length_exceeded", "messages"])
      yield* model.next(Stream.fail(failure("server_error")), Stream.fail(failure("server_error")))
      assert.strictEqual(errorOf(yield* post("refused"), 500).code, "generation_failed")
      yield* model.next(says("Hello"))
      assert.strictEqual((yield* answer("refused")).content, "Hello")

      yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("server_error"))))
      const before = yield* askedCount
      for (let times = 0; times < 2; times++)
        assert.strictEqual(errorOf(yield* post("broken"), 500).code, "generation_failed")
      assert.strictEqual(yield* askedCount, before + 1)
    })
  )

  it.effect("a chat with a key stores the exchange on request, and frees the key once it is deleted", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"), says("Hello again"))
      const first = yield* answer("stored", { store: true })
      const conversation = first.headers.get("x-conversation-id")
      assert.match(conversation ?? "", /^conv_/)
      assert.strictEqual(
        (yield* answer("stored", { store: true })).headers.get("x-conversation-id"),
        conversation
      )
      yield* call(`${url}/openai/v1/conversations/${conversation}`, { key: alice.key, method: "DELETE" })
      // The key is free where what it was used for is deleted.
      assert.strictEqual((yield* answer("stored", { store: true })).content, "Hello again")
    })
  )

  it.effect("a chat with a key keeps an answer that is no response, which is deleted by its id", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      yield* (yield* ScriptedModel).next(says("Hello"), says("Hello again"))
      const { id } = yield* answer("kept")
      const address = `${url}/openai/v1/responses/${id.replace("chatcmpl-", "resp_")}`
      errorOf(yield* call(address, { key: alice.key }), 404)
      errorOf(yield* call(`${address}?stream=true`, { key: alice.key }), 404)
      errorOf(yield* call(`${address}/cancel`, { key: alice.key, method: "POST" }), 404)
      assert.strictEqual((yield* call(address, { key: alice.key, method: "DELETE" })).status, 200)
      assert.strictEqual((yield* answer("kept")).content, "Hello again")
    })
  )

  it.effect("a chat with a key works with the client of OpenAI", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const openai = new OpenAI({ apiKey: alice.key, baseURL: `${url}/openai/v1`, maxRetries: 0 })
      yield* (yield* ScriptedModel).next(says("Hello"))
      const ask = Effect.promise(() =>
        openai.chat.completions.create(
          { model: "auto", messages },
          { headers: { "Idempotency-Key": "of the client" } }
        )
      )
      assert.strictEqual((yield* ask).id, (yield* ask).id)
    })
  )

  it.effect.each([
    ["store", { store: false }],
    ["n", { n: 2 }]
  ] as const)("a chat with a key is refused beside %s", ([param, body]) =>
    Effect.gen(function* () {
      assert.strictEqual(errorOf(yield* post("beside", body), 400).param, param)
    })
  )

  it.effect(
    "a malformed key is refused, and so is a key on other endpoints, whose refusal names the right ones",
    () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        assert.strictEqual(errorOf(yield* post("x".repeat(256)), 400).param, "Idempotency-Key")
        const completion = yield* call(`${url}/openai/v1/completions`, {
          key: alice.key,
          headers: { "idempotency-key": "k" },
          body: { prompt: "a" }
        })
        const { message } = errorOf(completion, 400)
        for (const path of ["chat/completions", "embeddings"])
          assert.include(message, `POST /openai/v1/${path}`)
      })
  )
})
