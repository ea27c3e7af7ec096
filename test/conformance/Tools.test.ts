import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { finish, says, ScriptedModel, scriptedUsage, text } from "../support/ScriptedModel.ts"
import { assertGrammar } from "../support/StreamGrammar.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, eventsOf, responseOf } from "../support/Wire.ts"

const post = Effect.fnUntraced(function* (body: object) {
  const app = yield* TestApp
  return yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body })
})

const calling = (
  ...calls: ReadonlyArray<readonly [name: string, args: string]>
): ReadonlyArray<ModelPart> => [
  ...calls.map(([name, args], index): ModelPart => ({
    type: "tool_call",
    call: { id: `call_${index}`, name, arguments: args }
  })),
  { type: "finish", reason: "tool_calls", usage: scriptedUsage }
]

const useTools = Effect.flatMap(ScriptedModel, (model) =>
  model.change({ tools: true, contextWindow: 20_000 })
)

/** Specification, Tools; wire contract, section 4. */
layer(TestApp.layer(), { excludeTestServices: true })("tool calls", (it) => {
  it.effect("tool calls are items, the same in both deliveries, between the texts around them", () =>
    Effect.gen(function* () {
      yield* useTools
      const model = yield* ScriptedModel
      const rounds = [
        Stream.fromIterable([
          text("Let me count. "),
          ...calling(["calculator", '{"expression":"12345*6789"}'], ["calculator", '{"expression":"1+"}'])
        ]),
        says("It is 83810205.")
      ]
      yield* model.next(...rounds, ...rounds)
      const response = responseOf(yield* post({ input: "12345*6789?", stream: false }))
      assert.deepStrictEqual(
        response.output.map((item) => item.type),
        ["message", "mcp_call", "mcp_call", "message"]
      )
      const [, good, bad] = response.output
      assert.deepStrictEqual(good, {
        id: good!.id,
        type: "mcp_call",
        status: "completed",
        server_label: "builtin",
        name: "calculator",
        arguments: '{"expression":"12345*6789"}',
        output: "83810205",
        error: null,
        approval_request_id: null
      })
      assert.deepInclude(bad, { status: "failed", output: null })
      assert.strictEqual(response.output_text, "Let me count. It is 83810205.")
      assert.strictEqual(response.usage?.output_tokens, 2 * scriptedUsage.outputTokens)

      const events = eventsOf((yield* post({ input: "12345*6789?", stream: true })).text)
      const folded = assertGrammar(events)
      assert.deepStrictEqual(
        folded.items.map((item) => ({ ...item, id: "" })),
        response.output.map((item) => ({ ...item, id: "" }))
      )
      const added = events.flatMap((event) =>
        event.type === "response.output_item.added" && event.item.type === "mcp_call" ? [event.item] : []
      )
      assert.deepStrictEqual(Object.keys(added[0]!), Object.keys(good!))
      assert.strictEqual(added[0]?.status, "in_progress")
    })
  )

  it.effect("a failed tool call tells the model what was wrong, and never ends the stream", () =>
    Effect.gen(function* () {
      yield* useTools
      const model = yield* ScriptedModel
      yield* model.next(
        Stream.fromIterable(
          calling(
            ["no_such_tool", "{}"],
            ["calculator", "{not json"],
            ["calculator", '{"expression":7}'],
            ["calculator", '{"expression":"2/0"}'],
            ["current_datetime", '{"timezone":"Mars/Base"}']
          )
        ),
        says("I could not.")
      )
      const response = responseOf(yield* post({ input: "Hi", stream: false }))
      const calls = response.output.filter((item) => item.type === "mcp_call")
      assert.deepStrictEqual(
        calls.map(({ output, status }) => [status, output]),
        calls.map(() => ["failed", null])
      )
      const told = (yield* model.asked).at(-1)!.request.messages.filter(({ role }) => role === "tool")
      assert.deepStrictEqual(
        told.map((message) => message.text),
        calls.map(({ error }) => `Error: ${error}`)
      )
      assert.include(told[0]?.text, "calculator")
      assert.include(told[1]?.text, "JSON")
    })
  )

  it.effect("tool calls are given to the model again in later turns, as calls", () =>
    Effect.gen(function* () {
      yield* useTools
      const model = yield* ScriptedModel
      yield* model.next(Stream.fromIterable(calling(["calculator", '{"expression":"1+1"}'])), says("Two."))
      const first = responseOf(yield* post({ input: "1+1?", stream: false }))
      yield* model.next(says("Still two."))
      yield* post({ input: "Sure?", stream: false, conversation_id: first.conversation_id })
      const { messages } = (yield* model.asked).at(-1)!.request
      assert.deepStrictEqual(
        messages.map((message) => [message.role, message.text]),
        [
          ["user", "1+1?"],
          ["assistant", ""],
          ["tool", "2"],
          ["assistant", "Two."],
          ["user", "Sure?"]
        ]
      )
    })
  )

  it.effect("tool calls of separate rounds are given again as separate rounds, also by reference", () =>
    Effect.gen(function* () {
      yield* useTools
      const model = yield* ScriptedModel
      const round = (count: number) =>
        Stream.fromIterable(
          calling(...Array.from({ length: count }, () => ["calculator", '{"expression":"1+1"}'] as const))
        )
      yield* model.next(round(2), round(1), says("Two."), says("ok"), says("ok"))
      const first = responseOf(yield* post({ input: "1+1?", stream: false }))
      const roles = Effect.map(model.asked, (asked) =>
        asked
          .at(-1)!
          .request.messages.map((message) =>
            message.role === "assistant" ? message.toolCalls.length : message.role
          )
      )
      const rounds = [2, "tool", "tool", 1, "tool", 0, "user"]
      yield* post({ input: "Sure?", stream: false, conversation_id: first.conversation_id })
      assert.deepStrictEqual(yield* roles, ["user", ...rounds])
      const references = first.output.map(({ id }) => ({ type: "item_reference", id }))
      const input = [{ role: "user", content: "1+1?" }, ...references, { role: "user", content: "Sure?" }]
      yield* post({ input, stream: false })
      assert.deepStrictEqual(yield* roles, ["user", ...rounds])
    })
  )

  it.effect("tool calls that a client replays reach the model, with their results", () =>
    Effect.gen(function* () {
      yield* useTools
      const model = yield* ScriptedModel
      const called = (call_id: string, name: string) => ({
        type: "function_call",
        call_id,
        name,
        arguments: '{"city":"Oslo"}'
      })
      const input = [
        { role: "user", content: "What is the weather?" },
        called("a", "get_weather"),
        called("b", "get_time"),
        { type: "function_call_output", call_id: "b", output: [{ type: "input_text", text: "noon" }] },
        { type: "function_call_output", call_id: "a", output: "sunny" },
        called("c", "get_wind"),
        { type: "function_call_output", call_id: "lost", output: "calm" }
      ]
      yield* model.next(says("Fine."))
      responseOf(yield* post({ input, stream: false }))
      const { messages } = (yield* model.asked).at(-1)!.request
      assert.deepStrictEqual(
        messages.map((message) => [
          message.role,
          message.text,
          ...(message.role === "assistant" ? message.toolCalls.map(({ name }) => name) : [])
        ]),
        [
          ["user", "What is the weather?"],
          ["assistant", "", "get_weather", "get_time"],
          ["tool", "sunny"],
          ["tool", "noon"],
          ["assistant", "", "get_wind"],
          ["tool", "Error: The result of this call is not known."],
          ["user", "[result of an earlier call]\ncalm"]
        ]
      )
    })
  )

  it.effect("tools are offered only to models that can call", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* useTools
      yield* model.next(says("ok"))
      yield* post({ input: "Hi", stream: false })
      assert.include(
        (yield* model.asked).at(-1)!.request.tools.map(({ name }) => name),
        "calculator"
      )
      yield* model.change({ tools: false })
      yield* model.next(says("ok"))
      yield* post({ input: "Hi", stream: false })
      assert.deepStrictEqual((yield* model.asked).at(-1)!.request.tools, [])
    })
  )

  it.effect("tool calls count once when the client continues", () =>
    Effect.gen(function* () {
      yield* useTools
      const model = yield* ScriptedModel
      yield* model.next(Stream.make(text("cut"), finish("length")))
      const response = responseOf(yield* post({ input: "Hi", stream: false }))
      assert.strictEqual(response.usage?.output_tokens, scriptedUsage.outputTokens)
    })
  )
})

layer(TestApp.layer({ tools: { enabled: ["current_datetime"] } }), { excludeTestServices: true })(
  "an installation with few tools",
  (it) => {
    it.effect("an installation with few tools offers no other, and runs no other", () =>
      Effect.gen(function* () {
        yield* useTools
        const model = yield* ScriptedModel
        yield* model.next(Stream.fromIterable(calling(["calculator", '{"expression":"1+1"}'])), says("No."))
        const response = responseOf(yield* post({ input: "1+1?", stream: false }))
        const asked = (yield* model.asked)[0]!.request
        assert.deepStrictEqual(
          asked.tools.map(({ name }) => name),
          ["current_datetime"]
        )
        assert.deepInclude(response.output[0], { type: "mcp_call", status: "failed" })
      })
    )
  }
)
