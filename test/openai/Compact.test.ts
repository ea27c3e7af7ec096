import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import OpenAI from "openai"
import { finish, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"

const client = Effect.map(
  TestApp,
  ({ alice, url }) => new OpenAI({ apiKey: alice.key, baseURL: `${url}/openai/v1`, maxRetries: 0 })
)

const lastAsked = Effect.gen(function* () {
  const model = yield* ScriptedModel
  return (yield* model.asked).at(-1)!.request.messages
})

layer(TestApp.layer(), { excludeTestServices: true })("POST /openai/v1/responses/compact", (it) => {
  it.effect("compacting summarizes the input, and takes the summary in its place", () =>
    Effect.gen(function* () {
      const openai = yield* client
      const model = yield* ScriptedModel
      yield* model.next(says("The user is called Ada."), says("Ada."))
      const compaction = yield* Effect.promise(() =>
        openai.responses.compact({
          model: "scripted-1",
          input: [
            { role: "user", content: "I am Ada." },
            { role: "assistant", content: "Hello Ada." }
          ]
        })
      )
      assert.strictEqual(compaction.object, "response.compaction")
      assert.strictEqual(compaction.usage.total_tokens, 18)
      assert.deepStrictEqual(
        compaction.output.map(({ type }) => type),
        ["compaction"]
      )
      const asked = yield* lastAsked
      assert.deepStrictEqual(
        asked.slice(0, 2).map(({ text }) => text),
        ["I am Ada.", "Hello Ada."]
      )
      assert.include(asked.at(-1)?.text, "Summarize")
      // The package's own types tell outputs and inputs apart in details that don't matter on the wire.
      const replayed = compaction.output as unknown as Array<OpenAI.Responses.ResponseInputItem>
      const input = [...replayed, { role: "user" as const, content: "Who am I?" }]
      yield* Effect.promise(() => openai.responses.create({ model: "auto", input, store: false }))
      const texts = (yield* lastAsked).map(({ text }) => text)
      assert.include(texts[0], "The user is called Ada.")
      assert.strictEqual(texts.at(-1), "Who am I?")
    })
  )

  it.effect("an empty or cut summary is an error: a client would lose its conversation by it", () =>
    Effect.gen(function* () {
      const openai = yield* client
      const model = yield* ScriptedModel
      for (const answer of [says(""), Stream.fromIterable([text("The user wa"), finish("length")])]) {
        yield* model.next(answer)
        const failure = yield* Effect.flip(
          Effect.tryPromise(() => openai.responses.compact({ model: "scripted-1", input: "I am Ada." }))
        )
        assert.include(String(failure.cause), "could not produce an answer")
      }
    })
  )

  it.effect("compacting summarizes an earlier response, and leaves it as it was", () =>
    Effect.gen(function* () {
      const openai = yield* client
      const model = yield* ScriptedModel
      yield* model.next(says("one"), says("A summary."), says("two"))
      const first = yield* Effect.promise(() => openai.responses.create({ model: "auto", input: "a" }))
      yield* Effect.promise(() =>
        openai.responses.compact({ model: "scripted-1", previous_response_id: first.id })
      )
      assert.deepStrictEqual(
        (yield* lastAsked).slice(0, 2).map(({ text }) => text),
        ["a", "one"]
      )
      yield* Effect.promise(() =>
        openai.responses.create({ model: "auto", input: "b", previous_response_id: first.id })
      )
      assert.deepStrictEqual(
        (yield* lastAsked).map(({ text }) => text),
        ["a", "one", "b"]
      )
    })
  )

  it.effect("compacting refuses a request without input, and a summary of another service", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const path = `${url}/openai/v1/responses`
      const nothing = yield* call(`${path}/compact`, { key: alice.key, body: { model: "auto" } })
      assert.strictEqual(errorOf(nothing, 400).param, "input")
      errorOf(yield* call(`${path}/compact`, { body: { input: "Hi" } }), 401)
      const body = { model: "auto", previous_response_id: "resp_00000000-0000-7000-8000-000000000000" }
      const unknown = errorOf(yield* call(`${path}/compact`, { key: alice.key, body }), 404)
      assert.strictEqual(unknown.code, "previous_response_not_found")
      for (const content of ["gAAAAABpencrypted", "aGVsbG8="]) {
        const input = [
          { type: "compaction", encrypted_content: content },
          { role: "user", content: "Hi" }
        ]
        const { message, param } = errorOf(yield* call(path, { key: alice.key, body: { input } }), 400)
        assert.isTrue(param?.startsWith("input[0]"), `${param}: ${message}`)
      }
    })
  )
})
