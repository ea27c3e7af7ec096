import { assert, layer } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import OpenAI from "openai"
import { TextCompletion } from "../../src/api/openai/CompletionsApi.ts"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { failure, says, ScriptedModel, scriptedUsage, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"

const post = Effect.fnUntraced(function* (body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/openai/v1/completions`, { key: alice.key, body })
})

const client = Effect.map(
  TestApp,
  ({ alice, url }) => new OpenAI({ apiKey: alice.key, baseURL: `${url}/openai/v1`, maxRetries: 0 })
)

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(TextCompletion))

const answer = Effect.fnUntraced(function* (body: object) {
  const reply = yield* post(body)
  assert.strictEqual(reply.status, 200, reply.text)
  return yield* decode(reply.text)
})

const lastAsked = Effect.gen(function* () {
  return (yield* (yield* ScriptedModel).asked).at(-1)!.request
})

layer(TestApp.layer(), { excludeTestServices: true })("POST /openai/v1/completions", (it) => {
  it.effect("a completion has a chat model continue a text, without tools and with the parameters", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ tools: true, contextWindow: 20_000 })
      yield* model.next(says(" upon", " a time"))
      const completion = yield* answer({
        model: "auto",
        prompt: "Once",
        max_tokens: 20,
        temperature: 0.5,
        stop: ["\n"],
        seed: 3
      })
      assert.match(completion.id, /^cmpl-[0-9a-f-]{36}$/)
      assert.strictEqual(completion.object, "text_completion")
      assert.deepStrictEqual(completion.choices, [
        { text: " upon a time", index: 0, logprobs: null, finish_reason: "stop" }
      ])
      assert.strictEqual(completion.usage.total_tokens, 18)
      const { maxOutputTokens, messages, options, tools } = yield* lastAsked
      assert.deepStrictEqual([maxOutputTokens, tools], [20, []])
      assert.deepStrictEqual(options, { temperature: 0.5, stop: ["\n"], seed: 3 })
      assert.deepStrictEqual(
        messages.map(({ role }) => role),
        ["system", "user"]
      )
      assert.include(messages[0]?.text, "Continue it from exactly where it ends")
      assert.strictEqual(messages[1]?.text, "Once")
    })
  )

  it.effect("a completion tells the model the suffix, and repeats the prompt if the client wants it", () =>
    Effect.gen(function* () {
      yield* (yield* ScriptedModel).next(says("b"))
      const { choices } = yield* answer({ prompt: "a", suffix: "c", echo: true })
      assert.strictEqual(choices[0]?.text, "ab")
      const { messages } = yield* lastAsked
      assert.include(messages[0]?.text, "a text with a gap")
      assert.strictEqual(messages[1]?.text, "<before>a</before>\n<after>c</after>")
    })
  )

  it.effect("a completion answers each of several prompts as often as n says, in their order", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("1"), says("1"), says("1"), says("1"))
      const before = (yield* model.asked).length
      const { choices, usage } = yield* answer({ prompt: ["a", "b"], n: 2, echo: true })
      assert.deepStrictEqual(
        choices.map(({ index, text: written }) => [index, written]),
        [
          [0, "a1"],
          [1, "a1"],
          [2, "b1"],
          [3, "b1"]
        ]
      )
      assert.strictEqual(usage.total_tokens, 4 * 18)
      const asked = (yield* model.asked).slice(before).map(({ request }) => request.messages.at(-1)?.text)
      assert.sameMembers(asked, ["a", "a", "b", "b"])
    })
  )

  it.effect("a completion streams for the client of OpenAI", () =>
    Effect.gen(function* () {
      const openai = yield* client
      yield* (yield* ScriptedModel).next(says(" up", "on"), says(" upon"))
      const stream = yield* Effect.promise(() =>
        openai.completions.create({
          model: "auto",
          prompt: "Once",
          stream: true,
          echo: true,
          stream_options: { include_usage: true }
        })
      )
      const chunks = yield* Stream.runCollect(Stream.fromAsyncIterable(stream, () => failure("server_error")))
      assert.strictEqual(chunks.map(({ choices }) => choices[0]?.text ?? "").join(""), "Once upon")
      assert.strictEqual(chunks.at(-2)?.choices[0]?.finish_reason, "stop")
      assert.strictEqual(chunks.at(-1)?.usage?.total_tokens, 18)
      const whole = yield* Effect.promise(() => openai.completions.create({ model: "auto", prompt: "Once" }))
      assert.strictEqual(whole.choices[0]?.text, " upon")
    })
  )

  it.effect("a completion says `length` of a cut text, and ends a stream that fails with the error", () =>
    Effect.gen(function* () {
      const cut = Stream.fromIterable<ModelPart>([
        text("Hel"),
        { type: "finish", reason: "length", usage: scriptedUsage }
      ])
      const broken = Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("server_error")))
      yield* (yield* ScriptedModel).next(cut, broken)
      assert.strictEqual((yield* answer({ prompt: "a" })).choices[0]?.finish_reason, "length")
      const streamed = yield* post({ prompt: "a", stream: true })
      assert.match(streamed.text, /"text":"Hel".+\n\ndata: \{"error":.+\n\ndata: \[DONE\]\n\n$/s)
    })
  )

  const refused: ReadonlyArray<readonly [field: string, body: object, words: string]> = [
    ["prompt", {}, "prompt"],
    ["prompt", { prompt: [1, 2] }, "lists of tokens are not taken"],
    ["prompt", { prompt: [[1], [2]] }, "lists of tokens are not taken"],
    ["prompt", { prompt: [] }, "prompt[0]"],
    ["prompt", { prompt: Array.from({ length: 21 }, () => "a") }, "at most 20 texts"],
    ["n", { prompt: ["a", "b", "c"], n: 8 }, "at most 20"],
    ["best_of", { prompt: "a", best_of: 2 }, "send `n`"],
    ["logprobs", { prompt: "a", logprobs: 6 }, "an integer from 0 to 5"],
    ["max_tokens", { prompt: "a", max_tokens: 0 }, "positive integer"]
  ]
  it.effect.each(refused)("a completion refuses and names %s of %j", ([field, body, words]) =>
    Effect.gen(function* () {
      const { message, param } = errorOf(yield* post(body), 400)
      assert.include(param ?? "", field)
      assert.include(message, words)
    })
  )

  it.effect("a completion names its own fields, unknown ones, and the model that isn't there", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      yield* (yield* ScriptedModel).next(says("b"))
      const reply = yield* post({ prompt: "a", foo: 1 })
      assert.strictEqual(reply.headers.get("x-ignored-fields"), "foo")
      const long = errorOf(yield* post({ prompt: "many words ".repeat(20_000) }), 400)
      assert.deepStrictEqual([long.code, long.param], ["context_length_exceeded", "prompt"])
      assert.strictEqual(errorOf(yield* post({ prompt: "a", model: "x" }), 404).code, "model_not_found")
      errorOf(yield* call(`${url}/openai/v1/completions`, { body: { prompt: "a" } }), 401)
    })
  )

  it.effect("a completion is described with its schemas", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const document = yield* call(`${url}/openai/v1/openapi.json`, { key: alice.key })
      for (const name of ["CreateCompletionBody", "TextCompletion", "/openai/v1/completions"])
        assert.include(document.text, name)
    })
  )
})
