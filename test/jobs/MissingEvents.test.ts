import { assert, describe, it } from "@effect/vitest"
import type { EventBody } from "../../src/api/ResponseEvent.ts"
import { ItemId } from "../../src/domain/Ids.ts"
import { missingEvents } from "../../src/jobs/JobEnds.ts"
import * as Events from "../../src/responses/generation/Events.ts"
import { isFinished } from "../../src/responses/generation/EventsState.ts"
import type { GenerationPart } from "../../src/responses/generation/Round.ts"
import { counter, start, usage } from "../responses/eventScripts.ts"

/** All events of an answer but the last, and the response at its end. */
const answer = (parts: ReadonlyArray<GenerationPart>) => {
  const nextId = counter()
  const [begun, first] = Events.begin(start)
  const [state, more] = Events.steps(begun, parts, nextId)
  if (!isFinished(state)) throw new Error("The parts have no finish.")
  return { events: [...first, ...more], response: Events.complete(state, 1).response }
}

/** The events with neighboring deltas in one. */
const joined = (events: ReadonlyArray<EventBody>): ReadonlyArray<EventBody> => {
  const all: Array<EventBody> = []
  for (const event of events) {
    const last = all.at(-1)
    if (event.type === "response.output_text.delta" && last?.type === event.type)
      all[all.length - 1] = { ...last, delta: last.delta + event.delta }
    else all.push(event)
  }
  return all
}

const id = ItemId.make("00000000-0000-4000-a000-000000000000")
const finish: GenerationPart = { type: "finish", reason: "stop", usage }

describe("the events that a log lacks of a stored response", () => {
  const answers: Readonly<Record<string, ReadonlyArray<GenerationPart>>> = {
    "a text": [{ type: "text", text: "Hel" }, { type: "text", text: "lo" }, finish],
    "no text": [finish],
    "a tool between two texts": [
      { type: "text", text: "I look." },
      { type: "tool_begin", id, name: "look", arguments: "{}", round: id },
      { type: "tool_end", id, result: { output: "found", error: null } },
      { type: "text", text: "Found." },
      finish
    ],
    "a call for the client": [
      { type: "text", text: "Please." },
      { type: "function_call", id, name: "look", arguments: "{}", round: id },
      { ...finish, reason: "tool_calls" }
    ]
  }
  it.each(Object.entries(answers))("missingEvents completes a log wherever it ends: %s", (_, parts) => {
    const { events, response } = answer(parts)
    for (let count = 1; count <= events.length; count++) {
      const logged = events.slice(0, count)
      assert.deepStrictEqual(joined([...logged, ...missingEvents(logged, response)]), joined(events))
    }
  })
})
