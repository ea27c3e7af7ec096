import { assert, describe, it } from "@effect/vitest"
import { Array as Arr, Effect, Schema } from "effect"
import { TextChunk, TextCompletion } from "../../src/api/openai/CompletionsApi.ts"
import { makeCompletionRenderer, renderCompletions } from "../../src/openai/CompletionRendering.ts"
import { play, saidOf, Script } from "../responses/eventScripts.ts"

const Answers = Schema.Array(Schema.Struct({ said: Script.said, batch: Script.batch })).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(3)
)

describe("The rendering as completions of texts", () => {
  it.effect.prop(
    "rendered completions as one document equal the folded chunks of each choice",
    [Answers, Schema.Boolean],
    ([answers, echo]) =>
      Effect.gen(function* () {
        const view = { includeUsage: true, before: echo ? answers.map((_, index) => `prompt ${index} `) : [] }
        const played = answers.map(({ batch, said }) => play(saidOf(said), "stop", batch))
        const events = played.flatMap((all, index) => all.map((event) => ({ index, event })))
        const chunks = events.flatMap(makeCompletionRenderer(view, played.length))
        for (const chunk of chunks)
          assert.deepStrictEqual(yield* Schema.encodeUnknownEffect(TextChunk)(chunk), chunk)
        const ends = played.flatMap((all) =>
          all.flatMap((event) => (event.type === "response.completed" ? [event.response] : []))
        )
        if (!Arr.isReadonlyArrayNonEmpty(ends)) return assert.fail("the scripts complete")
        const whole = renderCompletions(ends, view)
        assert.deepStrictEqual(yield* Schema.encodeUnknownEffect(TextCompletion)(whole), whole)
        assert.deepStrictEqual(chunks.at(-1)?.usage, whole.usage)
        for (const { finish_reason, index, logprobs, text } of whole.choices) {
          const own = chunks.flatMap(({ choices }) => choices.filter((choice) => choice.index === index))
          assert.strictEqual(own.map((choice) => choice.text).join(""), text)
          const told = own.flatMap((choice) => choice.logprobs ?? [])
          const folded = {
            tokens: told.flatMap(({ tokens }) => tokens),
            token_logprobs: told.flatMap(({ token_logprobs }) => token_logprobs),
            top_logprobs: told.flatMap(({ top_logprobs }) => top_logprobs),
            text_offset: told.flatMap(({ text_offset }) => text_offset)
          }
          assert.deepStrictEqual(logprobs, told.length === 0 ? null : folded)
          assert.deepStrictEqual(
            own.flatMap(({ finish_reason: finish }) => (finish === null ? [] : [finish])),
            [finish_reason]
          )
        }
      })
  )
})
