import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestApp } from "../support/TestApp.ts"
import { call } from "../support/Wire.ts"
import {
  answeredOf,
  ask,
  assertRefused,
  assertServed,
  type Case,
  type Cell,
  post,
  type Prompt,
  promptOf,
  receivedOf,
  textBehind
} from "./Cell.ts"
import { explainsRefusals, isSilent, refusesInWords, refusesSilently, tellsWrites } from "./Expectations.ts"
import { failsOnce, filtered, longHistory, longPrompt, noCredit, staysExceeded } from "./FailureCases.ts"
import { hasMark } from "./Marks.ts"
import { product, sum, weather } from "./Script.ts"

const isOneOf = (names: ReadonlyArray<string>, { provider }: Cell): boolean => names.includes(provider.name)

const answersWith =
  (prompt: Prompt, ...results: ReadonlyArray<string>): Case =>
  (cell) =>
    Effect.gen(function* () {
      const { output_text, status } = answeredOf(yield* ask(cell, prompt))
      assert.deepStrictEqual([status, output_text], ["completed", textBehind(cell, ...results)])
      yield* assertServed(cell)
    })

const thinking: Case = (cell) =>
  Effect.gen(function* () {
    const { alice, url } = yield* TestApp
    const reply = yield* ask(cell, { think: "I wonder:" })
    const shown = answeredOf(reply).output.flatMap(({ summary = [], type }) =>
      type === "reasoning" ? summary.map(({ text }) => text) : []
    )
    if (isOneOf(isSilent.thoughts, cell)) assert.deepStrictEqual(shown, [])
    else assert.match(shown.join(), new RegExp(`^I wonder: made-by-${cell.provider.name}-\\d+\\.$`))
    const id = reply.headers.get("x-conversation-id")?.replace("conv_", "") ?? ""
    const plain = yield* call(`${url}/v1/conversations/${id}`, { key: alice.key })
    assert.strictEqual(plain.status, 200, plain.text)
    assert.include(plain.text, "Results: none")
    assert.notMatch(plain.text, /made-by|"type":"reasoning/)
    yield* assertServed(cell)
  })

const nextTurn: Case = (cell) =>
  Effect.gen(function* () {
    const first = answeredOf(yield* ask(cell, { rounds: [[sum]] }))
    assert.strictEqual(first.output_text, textBehind(cell, "5"))
    const next = answeredOf(yield* ask(cell, {}, { previous_response_id: first.id }))
    assert.strictEqual(next.output_text, textBehind(cell))
    yield* assertServed(cell)
    const received = yield* receivedOf(cell)
    const keys = new Set(received.map(({ asked }) => asked.body["prompt_cache_key"]))
    assert.strictEqual(keys.size, 1, "a conversation has one key of the cache, or none")
    if (cell.isToolless) return
    const messages = received.at(-1)?.asked.messages ?? []
    const calls = messages.flatMap((one) => one.calls)
    assert.deepStrictEqual(
      calls.map(({ arguments: args, id }) => [args, hasMark(id, cell.provider.name)]),
      [[sum.arguments, true]],
      "the call goes back with the id that the server gave it"
    )
    assert.deepStrictEqual(
      messages.flatMap(({ callId, role, text }) => (role === "tool" ? [[callId, text]] : [])),
      [[calls[0]?.id, "5"]]
    )
  })

const parameters = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false
}
const functions = [{ type: "function", name: "weather", description: "The weather", parameters }]
const chatFunctions = [
  { type: "function", function: { name: "weather", description: "The weather", parameters } }
]

const clientsFunction =
  (more: object = {}): Case =>
  (cell) =>
    Effect.gen(function* () {
      const reply = yield* ask(cell, { rounds: [[weather]] }, { tools: functions, ...more })
      if (cell.param !== null) return yield* assertRefused(cell, reply, cell.param)
      const { id, output } = answeredOf(reply)
      const made = output.find(({ type }) => type === "function_call")
      assert.strictEqual(made?.name, "weather")
      const input = [{ type: "function_call_output", call_id: made?.call_id, output: "sunny" }]
      const model = cell.provider.model.id
      const next = yield* post("/openai/v1/responses", {
        model,
        input,
        previous_response_id: id,
        tools: functions,
        ...more
      })
      assert.strictEqual(answeredOf(next).output_text, "Results: sunny. Images: 0.")
      yield* assertServed(cell)
    })

const Chat = Schema.Struct({
  choices: Schema.Array(Schema.Struct({ message: Schema.Struct({ content: Schema.String }) }))
})
const decodeChat = Schema.decodeUnknownSync(Schema.fromJsonString(Chat))

const replayed: Case = (cell) =>
  Effect.gen(function* () {
    const reply = yield* post("/openai/v1/chat/completions", {
      model: cell.provider.model.id,
      tools: chatFunctions,
      messages: [
        { role: "user", content: promptOf(cell, { rounds: [[weather]] }) },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "call_of.client", type: "function", function: weather }]
        },
        { role: "tool", tool_call_id: "call_of.client", content: "sunny" }
      ]
    })
    if (cell.param !== null) return yield* assertRefused(cell, reply, cell.param)
    assert.strictEqual(reply.status, 200, reply.text)
    assert.strictEqual(decodeChat(reply.text).choices[0]?.message.content, textBehind(cell, "sunny"))
    yield* assertServed(cell)
  })

const endsWithModel: Case = (cell) =>
  Effect.gen(function* () {
    const reply = yield* post("/openai/v1/chat/completions", {
      model: cell.provider.model.id,
      messages: [
        { role: "user", content: promptOf(cell, {}) },
        { role: "assistant", content: "I begin. " }
      ]
    })
    assert.strictEqual(reply.status, 200, reply.text)
    assert.strictEqual(decodeChat(reply.text).choices[0]?.message.content, textBehind(cell))
    yield* assertServed(cell)
  })

const forced: Case = (cell) =>
  Effect.gen(function* () {
    const reply = yield* ask(
      cell,
      { rounds: [[weather]] },
      { tools: functions, tool_choice: { type: "function", name: "weather" } }
    )
    if (cell.param !== null) return yield* assertRefused(cell, reply, cell.param)
    assert.include(
      answeredOf(reply).output.map(({ type }) => type),
      "function_call"
    )
    yield* assertServed(cell)
    assert.strictEqual((yield* receivedOf(cell)).at(-1)?.asked.forced, "weather")
  })

const strictSchema: Case = (cell) =>
  Effect.gen(function* () {
    const format = { type: "json_schema", name: "place", schema: parameters, strict: true }
    const { output_text } = answeredOf(yield* ask(cell, { say: '{"city":"Rome"}' }, { text: { format } }))
    assert.strictEqual(output_text, '{"city":"Rome"}')
    yield* assertServed(cell)
    const sent = JSON.stringify((yield* receivedOf(cell)).at(-1)?.asked.body)
    // In a field, or in words.
    assert.match(sent, /\\?"additionalProperties\\?":false/)
  })

const effort: Case = (cell) =>
  Effect.gen(function* () {
    const reply = yield* ask(cell, {}, { reasoning: { effort: "low" } })
    if (cell.param !== null) return yield* assertRefused(cell, reply, cell.param)
    answeredOf(reply)
    yield* assertServed(cell)
    assert.match(JSON.stringify((yield* receivedOf(cell)).at(-1)?.asked.body), /effort":"low"/)
  })

const pixel =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

const image: Case = (cell) =>
  Effect.gen(function* () {
    const content = [
      { type: "input_text", text: promptOf(cell, {}) },
      { type: "input_image", image_url: pixel }
    ]
    const reply = yield* ask(cell, {}, { input: [{ role: "user", content }] })
    if (cell.param !== null) return yield* assertRefused(cell, reply, cell.param)
    assert.strictEqual(answeredOf(reply).output_text, "Results: none. Images: 1.")
    yield* assertServed(cell)
  })

const refusal: Case = (cell) =>
  Effect.gen(function* () {
    const say = "I can't help with that."
    const { incomplete_details, output, output_text, status } = answeredOf(
      yield* ask(cell, { say, end: "refusal" })
    )
    const refused = output.flatMap(({ content = [] }) => content.flatMap((part) => part.refusal ?? []))
    const said = isOneOf(refusesSilently, cell) ? "" : say
    assert.deepStrictEqual([refused, output_text], isOneOf(explainsRefusals, cell) ? [[say], ""] : [[], said])
    assert.deepStrictEqual(
      [status, incomplete_details?.reason],
      isOneOf(refusesInWords, cell) ? ["completed", undefined] : ["incomplete", "content_filter"]
    )
    yield* assertServed(cell)
  })

const cut: Case = (cell) =>
  Effect.gen(function* () {
    const reply = yield* ask(cell, { end: "cut" }, { stream: true })
    assert.include(reply.text, '"delta":"Results: "')
    assert.include(reply.text, "response.failed")
    assert.include(reply.text, "generation_failed")
    yield* assertServed(cell)
  })

const usage: Case = (cell) =>
  Effect.gen(function* () {
    const told = answeredOf(yield* ask(cell, {})).usage
    const counts = (yield* receivedOf(cell)).at(-1)?.counts
    assert.deepStrictEqual(
      [
        told.input_tokens,
        told.output_tokens,
        told.input_tokens_details.cached_tokens,
        told.input_tokens_details.cache_write_tokens,
        told.output_tokens_details.reasoning_tokens
      ],
      [
        counts?.input,
        counts?.output,
        isOneOf(isSilent.cached, cell) ? 0 : counts?.cached,
        isOneOf(tellsWrites, cell) ? counts?.written : 0,
        isOneOf(isSilent.reasoning, cell) ? 0 : counts?.reasoning
      ]
    )
  })

/** The cases that every provider is tested with. */
export const cases: Readonly<Record<string, Case>> = {
  "a plain question": answersWith({}),
  "what the model thinks": thinking,
  "one round of the calculator": answersWith({ rounds: [[sum]] }, "5"),
  "three rounds of the calculator": answersWith({ rounds: [[sum], [product], [sum]] }, "5", "6", "5"),
  "two calls in one round": answersWith({ rounds: [[sum, product]] }, "5", "6"),
  "a turn behind calls": nextTurn,
  "a client's function": clientsFunction(),
  "a client's function without thinking": clientsFunction({ reasoning: { effort: "none" } }),
  "a replayed history": replayed,
  "a text of the model at the end": endsWithModel,
  "a forced function": forced,
  "a strict schema": strictSchema,
  "an effort": effort,
  "an image": image,
  "a history that is too long": longHistory,
  "a prompt that is too long": longPrompt,
  "a rate that is exceeded once": failsOnce("rate"),
  "a rate that stays exceeded": staysExceeded,
  "an overload": failsOnce("overload"),
  "a filtered prompt": filtered,
  "no credit": noCredit,
  "a refusal": refusal,
  "a cut answer": cut,
  "the usage": usage
}
