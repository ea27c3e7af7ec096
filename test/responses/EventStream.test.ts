import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { EventBody } from "../../src/api/ResponseEvent.ts"
import { eventsOf } from "../../src/responses/EventStream.ts"
import { newMeter } from "../../src/responses/generation/Accounting.ts"
import type { Generation } from "../../src/responses/generation/Generation.ts"
import { failure } from "../support/ScriptedModel.ts"
import { attempt } from "./attempts.ts"
import { counter, start } from "./eventScripts.ts"

const { model } = attempt("a", Stream.empty)

/** The outcome that is noted of an answer with these parts, when `consume` is done with its events. */
const outcomeAfter = Effect.fnUntraced(function* <E>(
  parts: Generation["parts"],
  consume: (event: EventBody) => Effect.Effect<void, E>
) {
  const meter = newMeter(model)
  const events = eventsOf({
    start,
    generation: { model, lacksLogprobs: false, parts },
    reasoning: "keep",
    search: null,
    store: () => Effect.void,
    meter,
    onOutput: Effect.void,
    nextItemId: counter()
  })
  yield* Effect.exit(Stream.runForEach(events, consume))
  return meter.outcome
})

const endless: Generation["parts"] = Stream.forever(Stream.make({ type: "text", text: "Hi" }))
const takes = () => Effect.void

describe("the outcome of an answer", () => {
  it.effect("the outcome of an answer is a failure where its model or its consumer fails", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* outcomeAfter(Stream.fail(failure("server_error")), takes), "failed")
      assert.strictEqual(yield* outcomeAfter(endless, () => Effect.fail("full")), "failed")
    })
  )

  it.effect("the outcome of an answer is none where its consumer is interrupted", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* outcomeAfter(endless, () => Effect.interrupt), "abandoned")
    })
  )
})
