import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ProfileEvent, type ProfileEventBody } from "../../src/api/openai/ResponseEvents.ts"
import type { EventBody } from "../../src/api/ResponseEvent.ts"
import { cutOf } from "../../src/domain/Conversation.ts"
import { renderResponse, type View } from "../../src/openai/ItemRendering.ts"
import { makeRenderer } from "../../src/openai/Rendering.ts"
import { readRequest } from "../../src/openai/RequestReading.ts"
import { noSealing } from "../../src/openai/Sealing.ts"
import { play, saidOf, Script } from "../responses/eventScripts.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"

const { view: plain } = Effect.runSync(readRequest({ input: "Hi" }, noSealing))
/** The view of a client that asks for encrypted reasoning. */
const sealing: View = { ...plain, seal: (id, recalled) => JSON.stringify([id, recalled]) }

const rendered = (events: ReadonlyArray<EventBody>, view: View = plain): ReadonlyArray<ProfileEvent> => {
  const renderer = makeRenderer(view)
  return events
    .flatMap((event): ReadonlyArray<ProfileEventBody> => renderer.event(event))
    .map((event, sequence_number) => ({ ...event, sequence_number }))
}

describe("The rendering for clients of OpenAI", () => {
  it.effect.prop(
    "a rendered response obeys the grammar, and its events encode as their schema says",
    [Script.said, Script.ending, Script.batch],
    ([script, ending, batch]) =>
      Effect.gen(function* () {
        const core = play(saidOf(script), ending, batch)
        const events = rendered(core)
        const { last, text } = assertProfileGrammar(events)
        for (const event of events) {
          assert.deepStrictEqual(yield* Schema.encodeUnknownEffect(ProfileEvent)(event), event)
        }
        const end = core.at(-1)!
        if (end.type === "response.completed") {
          assert.strictEqual(text, end.response.output_text)
          const isCut = cutOf(end.response.incomplete_details) !== null
          assert.strictEqual(last.type, isCut ? "response.incomplete" : "response.completed")
        } else assert.strictEqual(last.type, "response.failed")
      })
  )

  it.prop(
    "a rendered response as one document equals the folded stream",
    [Script.said, Script.ending, Script.batch],
    ([script, ending, batch]) => {
      const core = play(saidOf(script), ending, batch)
      const end = core.at(-1)!
      for (const view of [plain, sealing]) {
        const { whole } = assertProfileGrammar(rendered(core, view))
        if (end.type === "response.completed")
          assert.deepStrictEqual(renderResponse(end.response, view), whole)
        else assert.strictEqual(whole?.status, "failed")
      }
    }
  )
})
