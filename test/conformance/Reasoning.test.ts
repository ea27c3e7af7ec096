import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import type { ModelMessage, ModelPart, Reasoning, ToolCall } from "../../src/domain/ModelCall.ts"
import { says, ScriptedModel, scriptedUsage, text } from "../support/ScriptedModel.ts"
import { assertGrammar } from "../support/StreamGrammar.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, eventsOf, responseOf } from "../support/Wire.ts"

const origin = "a protocol, a server and a model"
const opaque = (data: string) => ({ origin, data })
const thought = (words: string, data: string): ReadonlyArray<ModelPart> => [
  { type: "reasoning_text", text: words },
  { type: "reasoning", reasoning: { text: words, opaque: opaque(data) } }
]
const calls = (...all: ReadonlyArray<ToolCall>): ReadonlyArray<ModelPart> => [
  ...all.map((one) => ({ type: "tool_call", call: one }) as const),
  { type: "finish", reason: "tool_calls", usage: scriptedUsage }
]
const sum = (id: string, more: Partial<ToolCall> = {}): ToolCall => ({
  id,
  name: "calculator",
  arguments: '{"expression":"2+3"}',
  opaque: opaque(`call ${id}`),
  ...more
})
const weather = (id: string): ToolCall => ({
  id,
  name: "weather",
  arguments: "{}",
  opaque: opaque(`call ${id}`)
})

const post = Effect.fnUntraced(function* (path: string, body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}${path}`, { key: alice.key, body })
})

/** The messages of the last request to the model. */
const lastMessages = Effect.gen(function* () {
  const model = yield* ScriptedModel
  return (yield* model.asked).at(-1)!.request.messages
})

const dataOf = (all: ReadonlyArray<Reasoning> = []) => all.map((one) => one.opaque?.data)

/** The opaque values of reasoning and calls, in the order in which they are sent back to the model. */
const keptIn = (messages: ReadonlyArray<ModelMessage>) =>
  messages.flatMap((message) =>
    message.role === "assistant"
      ? [
          [
            ...dataOf(message.reasoning),
            message.text,
            ...message.toolCalls.flatMap((one) => [...dataOf(one.reasoning), one.opaque?.data])
          ]
        ]
      : []
  )

const useTools = Effect.flatMap(ScriptedModel, (model) =>
  model.change({ tools: true, contextWindow: 20_000 })
)

layer(TestApp.layer(), { excludeTestServices: true })("what a model thinks", (it) => {
  it.effect("reasoning goes back in the next round and in later turns, in its place", () =>
    Effect.gen(function* () {
      yield* useTools
      const model = yield* ScriptedModel
      const behind: Reasoning = { text: "Twice.", opaque: opaque("second") }
      const between: Reasoning = { text: "Once more.", opaque: opaque("between") }
      yield* model.next(
        Stream.fromIterable([
          ...thought("I add.", "first"),
          text("Wait."),
          ...calls(sum("a", { reasoning: [behind] }), sum("b", { reasoning: [between] }))
        ]),
        Stream.fromIterable([
          ...thought("It is 5.", "third"),
          text("5."),
          { type: "finish", reason: "stop", usage: scriptedUsage }
        ])
      )
      const first = responseOf(yield* post("/v1/responses", { input: "2+3?", stream: false }))
      const round = ["first", "Wait.", "second", "call a", "between", "call b"]
      assert.deepStrictEqual(keptIn(yield* lastMessages), [round])
      yield* model.next(says("Yes."))
      yield* post("/v1/responses", {
        input: "Sure?",
        stream: false,
        conversation_id: first.conversation_id
      })
      assert.deepStrictEqual(keptIn(yield* lastMessages), [round, ["third", "5."]])
    })
  )

  it.effect("reasoning goes back with calls that the client runs, whose results come later", () =>
    Effect.gen(function* () {
      yield* useTools
      const model = yield* ScriptedModel
      const tools = [{ type: "function", name: "weather", parameters: { type: "object" } }]
      yield* model.next(Stream.fromIterable([...thought("I look.", "first"), ...calls(weather("a"))]))
      const asked = yield* post("/openai/v1/responses", { input: "Weather?", tools })
      const { id, output } = JSON.parse(asked.text) as {
        readonly id: string
        readonly output: ReadonlyArray<{ readonly type: string; readonly call_id?: string }>
      }
      assert.deepStrictEqual(
        output.map(({ type }) => type),
        ["reasoning", "function_call"]
      )
      yield* model.next(says("Sun."))
      yield* post("/openai/v1/responses", {
        previous_response_id: id,
        input: [{ type: "function_call_output", call_id: output[1]?.call_id, output: "sun" }],
        tools
      })
      const kept = keptIn(yield* lastMessages)
      assert.deepStrictEqual(kept.flat(), ["", "first", "call a"])
    })
  )

  it.effect("reasoning is shown on /openai/v1, streamed and whole, and not on /v1", () =>
    Effect.gen(function* () {
      yield* useTools
      const model = yield* ScriptedModel
      const answer = Stream.fromIterable([
        { type: "reasoning_text", text: "I " },
        { type: "reasoning_text", text: "add." },
        { type: "reasoning", reasoning: { text: "I add.", opaque: opaque("secret") } },
        text("5"),
        ...thought("Done.", "secret"),
        { type: "finish", reason: "stop", usage: scriptedUsage }
      ] satisfies ReadonlyArray<ModelPart>)
      yield* model.next(answer, answer, answer)
      const plain = yield* post("/v1/responses", { input: "2+3?", stream: true })
      assertGrammar(eventsOf(plain.text))
      for (const word of ["reasoning_text", "I add", "secret", '"output_index":1'])
        assert.notInclude(plain.text, word)
      const streamed = yield* post("/openai/v1/responses", { input: "2+3?", stream: true })
      const kinds = [...streamed.text.matchAll(/^event: (.*)$/gm)].map(([, kind]) => kind)
      assert.deepStrictEqual(kinds.slice(2, 9), [
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done"
      ])
      assert.notInclude(streamed.text, "secret")
      const whole = yield* post("/openai/v1/responses", { input: "2+3?" })
      const { output } = JSON.parse(whole.text) as {
        readonly output: ReadonlyArray<{ readonly type: string; readonly summary?: unknown }>
      }
      assert.deepStrictEqual(
        output.map(({ summary, type }) => [type, summary]),
        [
          ["reasoning", [{ type: "summary_text", text: "I add." }]],
          ["message", undefined],
          ["reasoning", [{ type: "summary_text", text: "Done." }]]
        ]
      )
    })
  )
})

/**
 * One answer in two rounds, on /openai/v1: what its output shows, what went back in the second round, and
 * what is stored.
 */
const answered = Effect.gen(function* () {
  yield* useTools
  const model = yield* ScriptedModel
  const sql = yield* SqlClient.SqlClient
  yield* model.next(Stream.fromIterable([...thought("I add.", "first"), ...calls(sum("a"))]), says("5."))
  const reply = yield* post("/openai/v1/responses", { input: "2+3?" })
  const { output } = JSON.parse(reply.text) as {
    readonly output: ReadonlyArray<{ readonly summary?: unknown }>
  }
  const went = keptIn(yield* lastMessages)
  const rows = yield* sql<{ item: string }>`SELECT item::text FROM items WHERE side = 'output'`
  return {
    shown: output.filter(({ summary }) => JSON.stringify(summary)?.includes("I add.")).length,
    went,
    stored: rows.filter(({ item }) => item.includes(origin) || item.includes("I add.")).length
  }
})
const round = ["first", "", "call a"]

layer(TestApp.layer({ models: { reasoning: "turn" } }), { excludeTestServices: true })(
  "what a model thinks, if only for the turn",
  (it) => {
    it.effect("reasoning for the turn only is shown and goes back, and isn't stored", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* answered, { shown: 1, went: [round], stored: 0 })
      })
    )
  }
)

layer(TestApp.layer({ models: { reasoning: "off" } }), { excludeTestServices: true })(
  "what a model thinks, if not at all",
  (it) => {
    it.effect("disabled reasoning goes back while the answer is made, and is neither shown nor stored", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* answered, { shown: 0, went: [round], stored: 0 })
      })
    )
  }
)

layer(TestApp.layer({ models: { reasoningOnV1: "shown" } }), { excludeTestServices: true })(
  "what a model thinks, if it is shown on /v1",
  (it) => {
    it.effect("reasoning on /v1 is an item of the output, streamed and stored, without a new event", () =>
      Effect.gen(function* () {
        yield* useTools
        const model = yield* ScriptedModel
        const answer = Stream.fromIterable([
          ...thought("I add.", "secret"),
          text("5"),
          { type: "finish", reason: "stop", usage: scriptedUsage }
        ] satisfies ReadonlyArray<ModelPart>)
        yield* model.next(answer, answer)
        const whole = responseOf(yield* post("/v1/responses", { input: "2+3?", stream: false }))
        const [reasoning, message] = whole.output
        const summary = [{ type: "summary_text", text: "I add." }]
        assert.deepInclude(reasoning as object, { type: "reasoning", status: "completed", summary })
        assert.strictEqual(message?.type, "message")
        const { alice, url } = yield* TestApp
        const read = yield* call(`${url}/v1/conversations/${whole.conversation_id}`, { key: alice.key })
        const { turns } = JSON.parse(read.text) as { turns: { data: ReadonlyArray<{ output: unknown }> } }
        assert.deepStrictEqual(turns.data[0]?.output, whole.output)

        const streamed = yield* post("/v1/responses", { input: "2+3?", stream: true })
        const { items } = assertGrammar(eventsOf(streamed.text))
        assert.deepStrictEqual(
          items.map(({ type }) => type),
          ["reasoning", "message"]
        )
        assert.notInclude(streamed.text, "reasoning_text")
        for (const reply of [read, streamed]) assert.notInclude(reply.text, "secret")
      })
    )
  }
)
