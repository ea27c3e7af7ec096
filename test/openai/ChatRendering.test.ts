import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ChatChunk, ChatCompletion } from "../../src/api/openai/ChatCompletion.ts"
import { makeChatRenderer, renderCompletion } from "../../src/openai/ChatRendering.ts"
import { play, saidOf, Script } from "../responses/eventScripts.ts"
import { foldChunks } from "./chatChunks.ts"

const view = { includeUsage: true, metadata: null }

describe("The rendering as Chat Completions", () => {
  it.effect.prop(
    "a rendered chat as one document equals its folded chunks, and both encode as their schemas say",
    [Script.said, Script.ending, Script.batch],
    ([script, ending, batch]) =>
      Effect.gen(function* () {
        const core = play(saidOf(script), ending, batch)
        const chunks = core.flatMap(makeChatRenderer(view))
        for (const chunk of chunks) {
          assert.deepStrictEqual(yield* Schema.encodeUnknownEffect(ChatChunk)(chunk), chunk)
        }
        const folded = foldChunks(chunks)
        const end = core.at(-1)!
        if (end.type !== "response.completed") {
          assert.isNull(folded.finish)
          return
        }
        const whole = renderCompletion(end.response, view)
        assert.deepStrictEqual(yield* Schema.encodeUnknownEffect(ChatCompletion)(whole), whole)
        const { finish_reason, logprobs, message } = whole.choices[0]!
        const told = chunks.flatMap(({ choices }) => choices[0]?.logprobs?.content ?? [])
        assert.deepStrictEqual(logprobs, told.length === 0 ? null : { content: told, refusal: null })
        assert.deepStrictEqual(folded, {
          content: message.content,
          ...(message.reasoning_content === undefined ? {} : { thoughts: message.reasoning_content }),
          ...(message.refusal === null ? {} : { refusal: message.refusal }),
          calls: [...(message.tool_calls ?? [])],
          finish: finish_reason,
          usage: whole.usage
        })
      })
  )

  it.effect("a rendered chat shows neither usage nor metadata that the request didn't ask for", () =>
    Effect.sync(() => {
      const core = play(["Hi"], "stop", 1)
      const plain = { includeUsage: false, metadata: null }
      for (const chunk of core.flatMap(makeChatRenderer(plain))) assert.notProperty(chunk, "usage")
      const end = core.at(-1)!
      if (end.type !== "response.completed") return assert.fail("the script completes")
      assert.notProperty(renderCompletion(end.response, plain), "metadata")
      const noted = renderCompletion(end.response, { includeUsage: false, metadata: { a: "b" } })
      assert.deepStrictEqual(noted.metadata, { a: "b" })
    })
  )
})
