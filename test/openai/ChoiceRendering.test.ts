import { assert, describe, it } from "@effect/vitest"
import { Array as Arr, Effect, Schema } from "effect"
import { ChatChunk, ChatCompletion } from "../../src/api/openai/ChatCompletion.ts"
import type { EventBody } from "../../src/api/ResponseEvent.ts"
import { makeChoicesRenderer, renderChoices } from "../../src/openai/ChoiceRendering.ts"
import { play, saidOf, Script } from "../responses/eventScripts.ts"
import { foldChunks } from "./chatChunks.ts"

const view = { includeUsage: true, metadata: null }

/** The events of all answers, one of each in turn. */
const interleaved = (answers: ReadonlyArray<ReadonlyArray<EventBody>>) =>
  Arr.makeBy(Math.max(...answers.map(({ length }) => length)), (at) =>
    answers.flatMap((events, index) => events.slice(at, at + 1).map((event) => ({ index, event })))
  ).flat()

const Answers = Schema.Array(Schema.Struct({ said: Script.said, batch: Script.batch })).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(3)
)

describe("The rendering of several choices", () => {
  it.effect.prop(
    "several choices as one document equal the folded chunks of each choice",
    [Answers],
    ([answers]) =>
      Effect.gen(function* () {
        const played = answers.map(({ batch, said }) => play(saidOf(said), "stop", batch))
        const chunks = interleaved(played).flatMap(makeChoicesRenderer(view, played.length))
        for (const chunk of chunks)
          assert.deepStrictEqual(yield* Schema.encodeUnknownEffect(ChatChunk)(chunk), chunk)
        const ends = played.flatMap((events) =>
          events.flatMap((event) => (event.type === "response.completed" ? [event.response] : []))
        )
        if (!Arr.isReadonlyArrayNonEmpty(ends)) return assert.fail("the scripts complete")
        const whole = renderChoices(ends, view)
        assert.deepStrictEqual(yield* Schema.encodeUnknownEffect(ChatCompletion)(whole), whole)
        assert.deepStrictEqual(chunks.at(-1)?.usage, whole.usage)
        assert.strictEqual(chunks.filter(({ choices }) => choices.length === 0).length, 1)
        for (const { finish_reason, index, message } of whole.choices) {
          const folded = foldChunks(chunks.filter(({ choices }) => choices[0]?.index === index))
          assert.deepStrictEqual([folded.content, folded.finish], [message.content, finish_reason])
          assert.strictEqual(folded.thoughts, message.reasoning_content)
          assert.deepStrictEqual(folded.calls, [...(message.tool_calls ?? [])])
        }
      })
  )
})
