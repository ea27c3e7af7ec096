import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { ItemId } from "../../src/domain/Ids.ts"
import type { ModelMessage, ModelPart, ToolSpec } from "../../src/domain/ModelCall.ts"
import type { Demands, ResponseRequest } from "../../src/responses/prompt/ResponseRequest.ts"
import { says, ScriptedModel, scriptedUsage } from "../support/ScriptedModel.ts"
import { shownEvents } from "../support/shownEvents.ts"
import { assertGrammar } from "../support/StreamGrammar.ts"
import { answerForAlice, eventsForAlice, layerResponses } from "./asAlice.ts"

const weather: ToolSpec = {
  name: "weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } } }
}
const demands: Demands = { functions: [weather], functionItems: true }

const calls = (...cities: ReadonlyArray<string>): Stream.Stream<ModelPart> =>
  Stream.fromIterable([
    ...cities.map((city) => ({
      type: "tool_call" as const,
      call: { id: "same", name: "weather", arguments: JSON.stringify({ city }) }
    })),
    { type: "finish", reason: "tool_calls", usage: scriptedUsage } as const
  ])

const callIdsOf = ({ output }: { readonly output: ReadonlyArray<{ readonly type: string }> }) =>
  output.flatMap((item) => ("call_id" in item ? [String(item.call_id)] : []))

const results = (callIds: ReadonlyArray<string>, output: unknown = "sunny") =>
  callIds.map((call_id) => ({ type: "function_call_output" as const, call_id, output }))

const lastAsked = Effect.gen(function* () {
  const { asked } = yield* ScriptedModel
  return (yield* asked).at(-1)!.request
})

/** Roles and texts, calls by their cities. */
const shown = (messages: ReadonlyArray<ModelMessage>) =>
  messages.map((message) => {
    const called = message.role === "assistant" ? message.toolCalls : []
    return `${message.role}: ${called.map((call) => call.arguments).join(" ") || message.text}`
  })

const toolsOn = Effect.flatMap(ScriptedModel, (model) => model.change({ tools: true }))

layer(layerResponses, { excludeTestServices: true })("functions of a client", (it) => {
  it.effect(
    "a call is streamed as an item, stored, and continued with its result by previous_response_id",
    () =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        yield* toolsOn
        yield* model.next(calls("Rome", "Oslo"))
        const events = yield* eventsForAlice({ input: "Weather in Rome and Oslo?" }, demands)
        const { items, last } = assertGrammar(shownEvents(events))
        assert.deepStrictEqual(
          items.map((item) => item.type === "function_call" && [item.name, item.arguments]),
          [
            ["weather", '{"city":"Rome"}'],
            ["weather", '{"city":"Oslo"}']
          ]
        )
        const first = last.type === "response.completed" ? last.response : undefined
        assert.strictEqual(first?.usage?.total_tokens, 18)
        const offered = (yield* lastAsked).tools.map(({ name }) => name)
        assert.include(offered, "weather")
        assert.include(offered, "calculator")

        yield* model.next(says("Fine in both."))
        const callIds = callIdsOf(first!)
        const next = yield* answerForAlice(
          { input: results(callIds.toReversed()), previous_response_id: first!.id },
          demands
        )
        assert.strictEqual(next.output_text, "Fine in both.")
        assert.deepStrictEqual(shown((yield* lastAsked).messages), [
          "user: Weather in Rome and Oslo?",
          'assistant: {"city":"Rome"} {"city":"Oslo"}',
          "tool: sunny",
          "tool: sunny"
        ])

        yield* model.next(says("You're welcome."))
        yield* answerForAlice({ input: "Thanks.", previous_response_id: next.id })
        assert.deepStrictEqual(shown((yield* lastAsked).messages).slice(3), [
          "tool: sunny",
          "assistant: Fine in both.",
          "user: Thanks."
        ])
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql`SELECT item->>'type' AS type, side FROM items JOIN turns USING (response_id)
        WHERE conversation_id = ${first!.conversation_id}::uuid ORDER BY turns.position, side, items.position`
        assert.deepStrictEqual(
          rows.map(({ side, type }) => `${String(side)} ${String(type)}`),
          [
            "input message",
            "output function_call",
            "output function_call",
            "input function_call_output",
            "input function_call_output",
            "output message",
            "input message",
            "output message"
          ]
        )
      })
  )

  it.effect("a whole history is replayed as calls, whose ids the client may have from anywhere", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* toolsOn
      yield* model.next(says("Rain."))
      const call = { type: "function_call" as const, call_id: "call_1", name: "weather" }
      yield* answerForAlice(
        {
          input: [
            { role: "user", content: "Weather?" },
            { ...call, arguments: '{"city":"Rome"}' },
            ...results(
              ["call_1"],
              [
                { type: "input_text", text: "sun" },
                { type: "input_text", text: "shine" }
              ]
            ),
            { ...call, arguments: '{"city":"Oslo"}' },
            ...results(["call_1"], "snow")
          ]
        },
        demands
      )
      assert.deepStrictEqual(shown((yield* lastAsked).messages), [
        "user: Weather?",
        'assistant: {"city":"Rome"}',
        "tool: sun\nshine",
        'assistant: {"city":"Oslo"}',
        "tool: snow"
      ])
    })
  )

  it.effect("a reference to a stored call stands for the call", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* toolsOn
      yield* model.next(calls("Rome"), says("Sunny."), says("Sunny."))
      const first = yield* answerForAlice({ input: "Weather in Rome?" }, demands)
      const input: ResponseRequest["input"] = [
        { role: "user", content: "Weather in Rome?" },
        { type: "item_reference", id: ItemId.make(first.output[0]!.id) },
        ...results(callIdsOf(first))
      ]
      yield* answerForAlice({ input }, demands)
      const expected = ["user: Weather in Rome?", 'assistant: {"city":"Rome"}', "tool: sunny"]
      assert.deepStrictEqual(shown((yield* lastAsked).messages), expected)
      // In the same conversation, its history has the call.
      yield* answerForAlice({ input: input.slice(1), previous_response_id: first.id }, demands)
      assert.deepStrictEqual(shown((yield* lastAsked).messages), expected)
    })
  )

  it.effect("a call can be answered once more, in a branch that knows nothing of the first result", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* toolsOn
      yield* model.next(calls("Rome"), says("Sunny."), says("Rainy."))
      const first = yield* answerForAlice({ input: "Weather in Rome?" }, demands)
      const branching = { ...demands, branches: true }
      for (const output of ["sun", "rain"]) {
        const input = results(callIdsOf(first), output)
        yield* answerForAlice({ input, previous_response_id: first.id }, branching)
        assert.deepStrictEqual(shown((yield* lastAsked).messages), [
          "user: Weather in Rome?",
          'assistant: {"city":"Rome"}',
          `tool: ${output}`
        ])
      }
    })
  )

  it.effect("a result without its call is refused, and says what to send", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* toolsOn
      yield* model.next(calls("Rome"))
      const first = yield* answerForAlice({ input: "Weather in Rome?" }, demands)
      const [callId = ""] = callIdsOf(first)
      const before = (yield* model.asked).length
      const refused = [
        { input: results([callId]) },
        { input: results(["call_other"]), previous_response_id: first.id }
      ]
      for (const request of refused) {
        const error = yield* Effect.flip(eventsForAlice(request, demands))
        assert.deepInclude(error, { _tag: "InvalidRequest", param: "input[0].call_id" })
        assert.include(error.message, "`previous_response_id`")
      }
      assert.strictEqual((yield* model.asked).length, before)
    })
  )

  it.effect("a call or a result that is not well-formed is refused, and names its field", () =>
    Effect.gen(function* () {
      const question = { role: "user", content: "?" }
      const call = { type: "function_call" as const, call_id: "c", name: "weather", arguments: "{}" }
      const result = { type: "function_call_output" as const, call_id: "c", output: "sun" }
      for (const field of ["call_id", "name", "arguments"]) {
        for (const value of [null, 7, undefined, ...(field === "arguments" ? [] : [""])]) {
          const input = [question, { ...call, [field]: value }, result]
          const error = yield* Effect.flip(eventsForAlice({ input }, demands))
          assert.deepInclude(error, { _tag: "InvalidRequest", param: `input[1].${field}` })
        }
      }
      for (const output of [null, 7, undefined, [{ type: "input_image" }], ["text"]]) {
        const input = [question, call, { ...result, output }]
        const error = yield* Effect.flip(eventsForAlice({ input }, demands))
        assert.deepInclude(error, { _tag: "InvalidRequest", param: "input[2].output" })
      }
    })
  )

  it.effect("long results are cut visibly to what the largest window leaves beside them", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* toolsOn
      yield* model.next(calls("Rome", "Oslo"), says("Long."), says("Yes."))
      const first = yield* answerForAlice({ input: "Weather?" }, demands)
      const [rome = "", oslo = ""] = callIdsOf(first)
      const next = yield* answerForAlice(
        {
          input: [...results([rome], "word ".repeat(50_000)), ...results([oslo], "snow")],
          previous_response_id: first.id
        },
        demands
      )
      const asked = shown((yield* lastAsked).messages)
      assert.match(asked[2] ?? "", /^tool: word word .*\[… cut here: the rest has no room …\]$/s)
      assert.strictEqual(asked[3], "tool: snow")
      // It stays in the history, cut in the same way.
      yield* answerForAlice({ input: "Sure?", previous_response_id: next.id })
      assert.strictEqual(shown((yield* lastAsked).messages)[2], asked[2])
    })
  )

  it.effect(
    "functions are refused without a model that calls them, and calls become text without tools",
    () =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        yield* toolsOn
        yield* model.next(calls("Rome"), says("Sunny."))
        const first = yield* answerForAlice({ input: "Weather in Rome?" }, demands)
        yield* model.change({ tools: false })
        const error = yield* Effect.flip(eventsForAlice({ input: "Weather?" }, demands))
        assert.deepInclude(error, { _tag: "InvalidRequest", param: "tools" })
        yield* answerForAlice(
          { input: results(callIdsOf(first)), previous_response_id: first.id },
          { functionItems: true }
        )
        assert.deepStrictEqual(shown((yield* lastAsked).messages), [
          "user: Weather in Rome?",
          'assistant: [called weather with {"city":"Rome"}]',
          "user: [result of weather]\nsunny"
        ])
      })
  )

  it.effect("a history that must be whole and doesn't fit is refused", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("One."), says("Two."), says("Three."))
      const first = yield* answerForAlice({ input: "word ".repeat(1_500) })
      const conversation_id = first.conversation_id
      yield* answerForAlice({ input: "Short.", conversation_id }, { wholeHistory: true })
      const long = { input: "word ".repeat(1_500), conversation_id }
      const error = yield* Effect.flip(eventsForAlice(long, { wholeHistory: true }))
      assert.deepInclude(error, { _tag: "PromptTooLong", ofHistory: true })
      assert.strictEqual((yield* answerForAlice(long)).output_text, "Three.")
    })
  )

  it.effect("the result of a function on /v1 stays context", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* toolsOn
      yield* model.next(says("Fine."))
      yield* answerForAlice({ input: [{ role: "user", content: "?" }, ...results(["call_other"])] })
      assert.deepStrictEqual(shown((yield* lastAsked).messages), [
        "user: ?",
        "user: [result of an earlier call]\nsunny"
      ])
    })
  )
})
