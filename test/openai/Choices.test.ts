import { assert, layer } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import OpenAI from "openai"
import { ChatCompletion } from "../../src/api/openai/ChatCompletion.ts"
import { failure, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { until, untilValue } from "../support/until.ts"
import { call, errorOf, openCall } from "../support/Wire.ts"
import { chunksIn, foldChunks } from "./chatChunks.ts"

const path = "/openai/v1/chat/completions"

const post = Effect.fnUntraced(function* (body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}${path}`, { key: alice.key, body: { messages: hello, ...body } })
})

const hello = [{ role: "user", content: "Hi" }]

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ChatCompletion))

const endless = Stream.concat(Stream.make(text("Begun")), Stream.never)

layer(TestApp.layer(), { excludeTestServices: true })("n of Chat Completions", (it) => {
  it.effect("n of Chat Completions generates so many answers, each recorded by itself", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const model = yield* ScriptedModel
      const count = Effect.map(sql`SELECT 1 FROM usage_records`, ({ length }) => length)
      const before = yield* count
      yield* model.next(says("One"), says("Two"), says("Three"))
      const reply = yield* post({ n: 3, seed: 5, metadata: { a: "b" } })
      assert.strictEqual(reply.status, 200, reply.text)
      assert.isNull(reply.headers.get("x-conversation-id"))
      const { choices, metadata, usage } = yield* decode(reply.text)
      assert.deepStrictEqual(
        choices.map(({ index }) => index),
        [0, 1, 2]
      )
      const contents = choices.map(({ message }) => message.content)
      assert.sameMembers(contents, ["One", "Two", "Three"])
      assert.deepStrictEqual([usage.prompt_tokens, usage.completion_tokens, usage.total_tokens], [33, 21, 54])
      assert.deepStrictEqual(metadata, { a: "b" })
      const seeds = (yield* model.asked).slice(-3).map(({ request }) => request.options?.seed)
      assert.sameMembers(seeds, [5, 6, 7])
      yield* untilValue(count, (records) => records === before + 3)
    })
  )

  it.effect("n of Chat Completions streams all choices with their index, and their usage at the end", () =>
    Effect.gen(function* () {
      yield* (yield* ScriptedModel).next(says("O", "ne"), says("T", "wo"))
      const reply = yield* post({ n: 2, stream: true, stream_options: { include_usage: true } })
      const chunks = chunksIn(reply.text)
      assert.strictEqual(new Set(chunks.map(({ id }) => id)).size, 1)
      const folded = [0, 1].map((index) =>
        foldChunks(chunks.filter(({ choices }) => choices[0]?.index === index))
      )
      assert.sameMembers(
        folded.map(({ content }) => content),
        ["One", "Two"]
      )
      assert.deepStrictEqual(
        folded.map(({ finish }) => finish),
        ["stop", "stop"]
      )
      assert.strictEqual(chunks.at(-1)?.usage?.total_tokens, 36)
    })
  )

  it.effect("n of Chat Completions gives the client of OpenAI the choices, streamed and whole", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const openai = new OpenAI({ apiKey: alice.key, baseURL: `${url}/openai/v1`, maxRetries: 0 })
      yield* (yield* ScriptedModel).next(says("A"), says("A"), says("B", "B"), says("B", "B"))
      const body = { model: "auto", n: 2, messages: [{ role: "user" as const, content: "Hi" }] }
      const whole = yield* Effect.promise(() => openai.chat.completions.create(body))
      assert.deepStrictEqual(
        whole.choices.map(({ index, message }) => [index, message.content]),
        [
          [0, "A"],
          [1, "A"]
        ]
      )
      const streamed = yield* Effect.promise(() => openai.chat.completions.stream(body).finalChatCompletion())
      assert.deepStrictEqual(
        streamed.choices.map(({ index, message }) => [index, message.content]),
        [
          [0, "BB"],
          [1, "BB"]
        ]
      )
    })
  )

  it.effect("n of Chat Completions fails as a whole where one answer fails, and ends the others", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const ended = yield* model.ended
      const fails = Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("server_error")))
      yield* model.next(endless, fails)
      assert.strictEqual(errorOf(yield* post({ n: 2 }), 500).code, "generation_failed")
      yield* model.next(endless, fails)
      const streamed = yield* post({ n: 2, stream: true })
      assert.match(streamed.text, /data: \{"error":.+\n\ndata: \[DONE\]\n\n$/)
      yield* until(Effect.map(model.ended, (all) => all === ended + 4))
    })
  )

  it.effect("n of Chat Completions ends all generations when the client leaves", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      const ended = yield* model.ended
      yield* model.next(endless, endless, endless)
      const response = yield* openCall(`${url}${path}`, {
        key: alice.key,
        body: { messages: hello, n: 3, stream: true }
      })
      assert.strictEqual(response.status, 200)
      yield* Effect.promise(() => response.body!.cancel())
      yield* until(Effect.map(model.ended, (all) => all === ended + 3))
    })
  )

  it.effect("n of Chat Completions is refused beyond its limit, and beside store", () =>
    Effect.gen(function* () {
      for (const n of [0, 9, 1.5]) {
        const { message, param } = errorOf(yield* post({ n }), 400)
        assert.strictEqual(param, "n")
        assert.include(message, "an integer from 1 to 8")
      }
      assert.strictEqual(errorOf(yield* post({ n: 2, store: true }), 400).param, "store")
    })
  )
})
