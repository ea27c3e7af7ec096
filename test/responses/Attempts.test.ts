import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf, responseOf } from "../support/Wire.ts"

const proof = "Prove that the square root of 2 is irrational, and explain why 3 + 4 = 7."

/** The estimated difficulty of a request, and the model that answered it. */
const routed = Effect.fnUntraced(function* (body: object) {
  const app = yield* TestApp
  const model = yield* ScriptedModel
  yield* model.next(says("Well."))
  const response = responseOf(
    yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body: { ...body, stream: false } })
  )
  const [need] = (yield* model.needs).slice(-1)
  return { difficulty: need?.difficulty ?? Number.NaN, need, model: response.model }
})

const message = (role: "user" | "assistant", text: string) => ({ type: "message", role, content: text })

layer(TestApp.layer(), { excludeTestServices: true })("what a request needs of a model", (it) => {
  it.effect("the difficulty of a request depends on what the user writes now", () =>
    Effect.gen(function* () {
      const easy = yield* routed({ input: "Good morning!" })
      const hard = yield* routed({ input: proof, max_output_tokens: 77 })
      assert.isAbove(hard.difficulty, easy.difficulty + 0.2)
      assert.strictEqual(hard.need?.maxOutputTokens, 77)

      const after = yield* routed({
        input: [message("user", proof), message("assistant", proof), message("user", "Good morning!")]
      })
      // Replayed turns only make the prompt longer.
      assert.isBelow(after.difficulty, easy.difficulty + 0.05)
      const both = yield* routed({ input: [message("user", proof), message("user", "Good morning!")] })
      assert.isAtLeast(both.difficulty, hard.difficulty)
    })
  )

  it.effect("no model is asked for if the texts alone exceed every window", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      const before = (yield* model.needs).length
      const input = [message("user", "word ".repeat(200_000)), message("user", "Hi")]
      const reply = yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body: { input } })
      const error = errorOf(reply, 400)
      assert.strictEqual(error.code, "context_length_exceeded")
      assert.match(error.message, /about \d{6,} tokens, where at most 3999 fit/)
      assert.strictEqual((yield* model.needs).length, before)
    })
  )

  it.effect("the difficulty of a request decides which model answers, and the response names it", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ quality: 0.55, cost: 0 }, "scripted-1")
      yield* model.change({ quality: 1, cost: 1 }, "scripted-2")
      assert.strictEqual((yield* routed({ input: "Good morning!" })).model, "scripted-1")
      const trace = "    at handle (src/app.ts:1:13)\n".repeat(30)
      const hard = yield* routed({ input: `${proof}\n${trace}` })
      assert.isAbove(hard.difficulty, 0.55)
      assert.strictEqual(hard.model, "scripted-2")
    })
  )
})
