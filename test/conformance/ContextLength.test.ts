import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { ModelFailure } from "../../src/domain/Errors.ts"
import type { ModelRequest } from "../../src/domain/ModelCall.ts"
import { estimateTokens } from "../../src/domain/Tokens.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { textSamples } from "../support/TextSamples.ts"
import { call, errorOf, eventsOf, responseOf } from "../support/Wire.ts"

/** The answer of a server to a prompt that it finds too long. */
const tooLong = (contextTokens?: number) =>
  Stream.fail(
    new ModelFailure({
      reason: "context_length",
      provider: "scripted",
      model: "scripted-1",
      status: 400,
      detail: "scripted",
      ...(contextTokens === undefined ? {} : { contextTokens })
    })
  )

const post = Effect.fnUntraced(function* (body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/v1/responses`, { key: alice.key, body: { stream: false, ...body } })
})

/** The requests of models since so many. */
const askedSince = Effect.fnUntraced(function* (count: number) {
  return (yield* (yield* ScriptedModel).asked).slice(count)
})

const sizeOf = ({ maxOutputTokens, messages }: ModelRequest): number =>
  messages.reduce((sum, { text }) => sum + estimateTokens(text), maxOutputTokens)

const english = textSamples["English"] ?? ""

layer(TestApp.layer(), { excludeTestServices: true })(
  "a prompt that the model server finds too long",
  (it) => {
    it.effect("a prompt that the server finds too long is sent again once without the oldest turns", () =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        yield* model.next(says("ok"), says("ok"), says("ok"))
        const first = responseOf(yield* post({ input: `The first. ${english}` }))
        const conversation_id = first.conversation_id
        for (const name of ["second", "third"]) {
          responseOf(yield* post({ input: `The ${name}. ${english}`, conversation_id }))
        }
        const before = (yield* model.asked).length
        yield* model.next(tooLong(), says("Found it"))
        const response = responseOf(yield* post({ input: "And now?", conversation_id }))
        assert.strictEqual(response.output_text, "Found it")
        assert.strictEqual(response.model, "scripted-1")
        const [long, short] = yield* askedSince(before)
        const texts = (request?: ModelRequest) => JSON.stringify(request?.messages)
        assert.include(texts(long?.request), "The first.")
        assert.notInclude(texts(short?.request), "The first.")
        assert.include(texts(short?.request), "The third.")
        assert.include(texts(short?.request), "And now?")
        assert.isAtMost(sizeOf(short!.request), sizeOf(long!.request) / 2 + 50)
      })
    )

    it.effect("a prompt that the server finds too long is shortened to the context that it states", () =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        yield* model.change({ contextWindow: 100_000, maxOutputTokens: 8_000 })
        yield* model.next(says("ok"), says("ok"))
        const { conversation_id } = responseOf(yield* post({ input: english }))
        responseOf(yield* post({ input: english, conversation_id }))
        const before = (yield* model.asked).length
        yield* model.next(tooLong(512), says("ok"))
        responseOf(yield* post({ input: "And now?", conversation_id }))
        const [, short] = yield* askedSince(before)
        assert.isAtMost(sizeOf(short!.request), 512)
        yield* model.change({ contextWindow: 4_000, maxOutputTokens: 500 })
      })
    )

    it.effect("a prompt that the server finds too long is a 400 where nothing can be left out", () =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        const before = (yield* model.asked).length
        yield* model.next(tooLong(), tooLong())
        const error = errorOf(yield* post({ input: english.repeat(2) }), 400)
        assert.strictEqual(error.code, "context_length_exceeded")
        assert.strictEqual(error.param, "input")
        assert.match(error.message, /too long for the model/)
        // Each model is asked once: shortening wouldn't help.
        assert.strictEqual((yield* askedSince(before)).length, 2)
      })
    )

    it.effect("a prompt that stays too long is a 400, in a stream too", () =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        const before = (yield* model.asked).length
        yield* model.next(tooLong(), tooLong(), tooLong(), tooLong())
        const reply = yield* post({ input: "Hi", stream: true })
        assert.strictEqual(errorOf(reply, 400).code, "context_length_exceeded")
        assert.strictEqual((yield* askedSince(before)).length, 4)
      })
    )

    it.effect("a prompt that the server finds too long is answered by a model with more room", () =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        yield* model.next(tooLong(), says("ok"))
        const reply = yield* post({ input: english.repeat(2), stream: true })
        const last = eventsOf(reply.text).at(-1)
        assert.strictEqual(last?.type === "response.completed" && last.response.model, "scripted-2")
      })
    )
  }
)
