import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema, Stream } from "effect"
import { ResponseEvent } from "../../../src/api/ResponseEvent.ts"
import { collect } from "../../../src/responses/EventStream.ts"
import * as Events from "../../../src/responses/generation/Events.ts"
import { shownEvents } from "../../support/shownEvents.ts"
import { assertGrammar } from "../../support/StreamGrammar.ts"
import { counter, expectedText, play, saidOf, Script, start, usage } from "../eventScripts.ts"

describe("Events", () => {
  it.effect.prop(
    "any script obeys the grammar, and its events encode as their schema says",
    [Script.said, Script.ending, Script.batch],
    ([script, ending, batch]) =>
      Effect.gen(function* () {
        const said = saidOf(script)
        const numbered = shownEvents(play(said, ending, batch))
        const folded = assertGrammar(numbered)
        const isWhole = ending !== "failure" && ending !== "nothing"
        assert.strictEqual(folded.last.type, isWhole ? "response.completed" : "error")
        // The schema is that of /v1, where nobody has functions.
        for (const event of ending.includes("function") ? [] : numbered) {
          const encoded: unknown = yield* Schema.encodeUnknownEffect(ResponseEvent)(event)
          assert.deepStrictEqual(encoded, event)
        }
        assert.isTrue(folded.outputText.isWellFormed())
        assert.notInclude(folded.outputText, "\0")
        if (isWhole) {
          const expected = expectedText(said)
          assert.strictEqual(folded.outputText, expected)
        }
        for (const item of folded.items) {
          assert.isTrue(JSON.stringify(item).isWellFormed())
          assert.notInclude(JSON.stringify(item), "\\u0000")
        }
      })
  )

  it.effect.prop(
    "the JSON body equals the folded stream",
    [Script.said, Script.ending, Script.batch],
    ([script, ending, batch]) =>
      Effect.gen(function* () {
        const bodies = play(saidOf(script), ending, batch)
        const last = bodies.at(-1)!
        const exit = yield* Effect.exit(collect(Stream.fromIterable(bodies)))
        if (last.type === "response.completed") assert.deepStrictEqual(exit, Exit.succeed(last.response))
        else assert.isTrue(Exit.isFailure(exit))
      })
  )

  it("an answer without a text is one message with one empty delta", () => {
    const events = play([], "stop", 1)
    const types = events.map((event) => event.type)
    const last = events.at(-1)
    assert.strictEqual(last?.type === "response.completed" && last.response.output_text, "")
    assert.deepStrictEqual(
      events.flatMap((event) => (event.type === "response.output_text.delta" ? [event.delta] : [])),
      [""]
    )
    assert.deepStrictEqual(types, [
      "response.created",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.output_item.done",
      "response.completed"
    ])
  })

  it.each([
    { ending: "stop", said: [], reason: "no_text" },
    { ending: "stop", said: ["\n "], reason: "no_text" },
    { ending: "stop", said: ["before", { calls: 1, reversed: false, failing: false }], reason: "no_text" },
    { ending: "length", said: [], reason: "max_output_tokens" },
    { ending: "content_filter", said: [], reason: "content_filter" },
    { ending: "stop", said: ["a"], reason: null },
    { ending: "functions", said: [], reason: null },
    { ending: "cut function", said: [], reason: "max_output_tokens" }
  ] as const)(
    "an answer of $said that ends by $ending has the reason $reason",
    ({ ending, reason, said }) => {
      const last = play(said, ending, 1).at(-1)
      assert.deepStrictEqual(
        last?.type === "response.completed" && last.response.incomplete_details,
        reason === null ? null : { reason }
      )
    }
  )

  it("a call stands between the text before it and the text after it, and an empty message replaces a missing one", () => {
    const call = { calls: 1, reversed: false, failing: false }
    const added = play(["before", call, "behind", call], "stop", 1).flatMap((event) =>
      event.type === "response.output_item.added" ? [event.item.type] : []
    )
    assert.deepStrictEqual(added, ["message", "mcp_call", "message", "mcp_call", "message"])
    const last = play([call], "stop", 1).at(-1)
    assert.strictEqual(last?.type === "response.completed" && last.response.output_text, "")
  })

  it("function calls stand behind the text and the service's own calls, and end the answer", () => {
    const call = { calls: 1, reversed: false, failing: false }
    const events = play(["before", call, "behind"], "functions", 1)
    const added = events.flatMap((event) =>
      event.type === "response.output_item.added" ? [event.item.type] : []
    )
    const functions = ["function_call", "function_call", "function_call"]
    assert.deepStrictEqual(added, ["message", "mcp_call", "message", ...functions])
    const last = events.at(-1)
    assert.strictEqual(last?.type === "response.completed" && last.response.output_text, "beforebehind")
  })

  it("an answer of nothing but calls of the client's functions has no message", () => {
    const last = play([], "functions", 1).at(-1)
    assert.strictEqual(last?.type, "response.completed")
    if (last?.type !== "response.completed") return
    assert.deepStrictEqual(
      last.response.output.map(
        (item) => item.type === "function_call" && item.call_id.match(/^call_[0-9a-f]{24}$/) !== null
      ),
      [true, true, true]
    )
    assert.strictEqual(last.response.output_text, "")
    assert.isNull(last.response.incomplete_details)
  })

  it.prop(
    "the pieces of a call of the client's function are its arguments, between its beginning and its end",
    [Script.said, Schema.Literals(["functions", "cut function"]), Script.batch],
    ([script, ending, batch]) => {
      const events = play(saidOf(script), ending, batch)
      const last = events.at(-1)
      assert(last?.type === "response.completed")
      const calls = [...last.response.output.entries()].filter(([, item]) => item.type === "function_call")
      assert.isAbove(calls.length, 0)
      for (const [index, call] of calls) {
        assert(call.type === "function_call")
        const own = events.filter((event) => "output_index" in event && event.output_index === index)
        const types = own.map(({ type }) => type)
        assert.strictEqual(types.indexOf("response.output_item.added"), 0)
        assert.strictEqual(types.indexOf("response.output_item.done"), types.length - 1)
        const pieces = own.flatMap((event) =>
          event.type === "response.function_call_arguments.delta" ? [event.delta] : []
        )
        assert.strictEqual(pieces.length, types.length - 2)
        assert.strictEqual(pieces.join(""), call.arguments)
        assert.strictEqual(call.status, ending === "functions" ? "completed" : "failed")
      }
    }
  )

  it("a text with other deltas has no empty delta", () => {
    const deltas = play(["", "a", "", "b", ""], "stop", 2).filter(
      (event) => event.type === "response.output_text.delta"
    )
    assert.deepStrictEqual(
      deltas.map((event) => event.delta),
      ["a", "b"]
    )
  })

  it("a surrogate pair that a model cut in two is joined again", () => {
    const deltas = play(["x\ud83d", "\ude00y"], "stop", 1).flatMap((event) =>
      event.type === "response.output_text.delta" ? [event.delta] : []
    )
    assert.deepStrictEqual(deltas, ["x", "\u{1f600}y"])
  })

  it("parts after the finish are ignored", () => {
    const nextId = counter()
    const [started] = Events.begin(start)
    const [finished] = Events.steps(
      started,
      [
        { type: "text", text: "a" },
        { type: "finish", reason: "stop", usage }
      ],
      nextId
    )
    const late = { type: "text", text: "late" } as const
    assert.deepStrictEqual(Events.step(finished, late, nextId), [finished, []])
  })

  it("a response with a cut text has status completed and says why it was cut", () => {
    const last = play(["a"], "length", 1).at(-1)!
    assert.strictEqual(last.type, "response.completed")
    if (last.type !== "response.completed") return
    assert.strictEqual(last.response.status, "completed")
    assert.deepStrictEqual(last.response.incomplete_details, { reason: "max_output_tokens" })
    assert.deepStrictEqual(last.response.usage, {
      input_tokens: 11,
      input_tokens_details: { cached_tokens: 2, cache_write_tokens: 4 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: 18
    })
  })
})
