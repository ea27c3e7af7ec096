import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { describe as failureOf } from "../../../src/api/Failure.ts"
import type { AnswerFormat, ModelPart, ModelRequest } from "../../../src/domain/ModelCall.ts"
import type { Attempt } from "../../../src/responses/Attempts.ts"
import { type CheckOutput, jsonIn } from "../../../src/responses/generation/OutputCheck.ts"
import type { GenerationPart } from "../../../src/responses/generation/Round.ts"
import { says, ScriptedModel } from "../../support/ScriptedModel.ts"
import { shownEvents } from "../../support/shownEvents.ts"
import { assertGrammar } from "../../support/StreamGrammar.ts"
import { answerForAlice, eventsForAlice, layerResponses } from "../asAlice.ts"
import { attempt, drain, start } from "../attempts.ts"

const usage = {
  inputTokens: 10,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 20,
  reasoningTokens: 0,
  source: "provider" as const
}
const text = (value: string): ModelPart => ({ type: "text", text: value })
const calling = (name: string): ModelPart => ({ type: "tool_call", call: { id: "1", name, arguments: "{}" } })
const finish = (reason: "stop" | "tool_calls" | "length" = "stop"): ModelPart => ({
  type: "finish",
  reason,
  usage
})

const scripted = (structuredOutput: boolean, rounds: ReadonlyArray<ReadonlyArray<ModelPart>>) => {
  const asked: Array<ModelRequest> = []
  const base = attempt("a", Stream.empty)
  const one: Attempt = {
    ...base,
    model: { ...base.model, contextWindow: 10_000, tools: true, structuredOutput },
    request: {
      messages: [{ role: "user", text: "Hi" }],
      maxOutputTokens: 100,
      tools: ["calculator", "weather"].map((name) => ({ name, description: "", parameters: {} })),
      options: { toolChoice: "auto", temperature: 0 }
    },
    stream: (request) => {
      asked.push(request)
      return Stream.fromIterable(rounds[asked.length - 1] ?? [finish()])
    }
  }
  return { asked, attempt: one }
}

const wantsGood: CheckOutput = (value) =>
  Effect.succeed(value === "good" || value === '"good"' ? null : "It is not good.")
const rules = { functions: new Set(["weather"]), ownCallsMax: 9 }
const begin = (one: Attempt) =>
  start([one], (call) => Effect.succeed({ output: call.name, error: null }), 15, rules, wantsGood)
const generated = (one: Attempt) => Effect.flatMap(begin(one), drain)
const textsOf = (parts: ReadonlyArray<GenerationPart>) =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : []))

describe("an answer in a form that its provider doesn't enforce", () => {
  it.effect("a checked answer is shown in one piece, without the block of code around it", () =>
    Effect.gen(function* () {
      const model = scripted(false, [[text('Here:\n```json\n"go'), text('od"\n```'), finish()]])
      const parts = yield* generated(model.attempt)
      assert.deepStrictEqual(textsOf(parts), ['"good"'])
      assert.strictEqual(model.asked.length, 1)
    })
  )

  it.effect("a checked answer that doesn't match is written again once, and both rounds count", () =>
    Effect.gen(function* () {
      const model = scripted(false, [
        [text("bad"), finish()],
        [text("good"), finish()]
      ])
      const parts = yield* generated(model.attempt)
      assert.deepStrictEqual(textsOf(parts), ["good"])
      assert.deepStrictEqual(parts.at(-1), {
        type: "finish",
        reason: "stop",
        usage: { ...usage, inputTokens: 20, outputTokens: 40 }
      })
      const [, again] = model.asked
      assert.deepStrictEqual(again?.messages.slice(1), [
        { role: "assistant", text: "bad", toolCalls: [] },
        {
          role: "user",
          text:
            "[Your answer is not in the form that was asked for. It is not good. " +
            "Write the whole answer again in that form: JSON and nothing else.]"
        }
      ])
      assert.deepInclude(again, { tools: [], maxOutputTokens: 80 })
      assert.deepStrictEqual(again?.options, { temperature: 0, toolChoice: "none" })
    })
  )

  it.effect("a checked answer fails if it doesn't match the second time, or has no tokens left", () =>
    Effect.gen(function* () {
      const twice = scripted(false, [
        [text("bad"), finish()],
        [text("worse"), finish()]
      ])
      assert.deepInclude(yield* Effect.flip(generated(twice.attempt)), {
        _tag: "OutputMismatch",
        mismatch: "It is not good."
      })
      assert.strictEqual(twice.asked.length, 2)
      const silent = scripted(false, [[finish()], [finish()]])
      assert.deepInclude(yield* Effect.flip(generated(silent.attempt)), { _tag: "OutputMismatch" })
      const spent: ModelPart = { type: "finish", reason: "stop", usage: { ...usage, outputTokens: 100 } }
      const once = scripted(false, [[text("bad"), spent]])
      assert.deepInclude(yield* Effect.flip(generated(once.attempt)), { _tag: "OutputMismatch" })
      assert.strictEqual(once.asked.length, 1)
    })
  )

  it.effect("a checked answer is not written again where it was cut, or the model refuses", () =>
    Effect.gen(function* () {
      const cut = yield* generated(scripted(false, [[text("ba"), finish("length")]]).attempt)
      assert.deepStrictEqual(cut, [
        { type: "text", text: "ba" },
        { type: "finish", reason: "length", usage }
      ])
      const refusal: ModelPart = { type: "finish", reason: "stop", usage, isRefusal: true }
      const words: ModelPart = { type: "text", text: "I won't.", isRefusal: true }
      const refused = yield* generated(scripted(false, [[words, refusal]]).attempt)
      assert.deepStrictEqual(refused, [words, { type: "finish", reason: "stop", usage }])
      const again = yield* generated(
        scripted(false, [
          [text("bad"), finish()],
          [text("go"), finish("length")]
        ]).attempt
      )
      assert.deepStrictEqual(textsOf(again), ["go"])
      assert.deepInclude(again.at(-1), { reason: "length" })
    })
  )

  it.effect("a checked answer has only the text of its last round", () =>
    Effect.gen(function* () {
      const model = scripted(false, [
        [text("Let me see."), calling("calculator"), finish("tool_calls")],
        [text("good"), finish()]
      ])
      assert.deepStrictEqual(textsOf(yield* generated(model.attempt)), ["good"])
      assert.strictEqual(model.asked[1]?.messages[1]?.text, "Let me see.")
      const handed = scripted(false, [[text("Let me ask."), calling("weather"), finish("tool_calls")]])
      assert.deepStrictEqual(
        (yield* generated(handed.attempt)).map(({ type }) => type),
        ["function_call", "finish"]
      )
    })
  )
})

describe("an answer in a form that its provider enforces", () => {
  it.effect("an answer in an enforced form is shown as it comes, and fails if it doesn't match", () =>
    Effect.gen(function* () {
      const parts = yield* generated(scripted(true, [[text("go"), text("od"), finish()]]).attempt)
      assert.strictEqual(textsOf(parts).join(""), "good")
      const chunks = Stream.rechunk(Stream.make(text("ba"), text("d"), finish()), 1)
      const generation = yield* begin({ ...scripted(true, []).attempt, stream: () => chunks })
      assert.deepStrictEqual(textsOf(yield* generation.pull), ["ba"])
      assert.deepInclude(yield* Effect.flip(drain(generation)), { _tag: "OutputMismatch" })
      const refusal: ModelPart = { type: "finish", reason: "stop", usage, isRefusal: true }
      const words: ModelPart = { type: "text", text: "I won't.", isRefusal: true }
      const refused = yield* generated(scripted(true, [[words, refusal]]).attempt)
      assert.deepStrictEqual(refused, [words, { type: "finish", reason: "stop", usage }])
    })
  )
})

describe("jsonIn", () => {
  it.each([
    ['\n```JSON\n{"a":1}\n```\n', '{"a":1}'],
    ["```\n[1,\n2]```", "[1,\n2]"],
    ['\ufeff{"a":1}', '{"a":1}'],
    ['Here you are:\n```json\n{"a":"```"}\n```\nAnything else?', '{"a":"```"}'],
    ["First: ```json\n1\n```\nBetter: ```json\n2\n```", "2"],
    ['Sure! {"a":[1]} That is all.', '{"a":[1]}'],
    ['As in [1], the answer is {"a":1}.', '{"a":1}'],
    ['{"a":1}\nIts value is:\n```\n1\n```', '{"a":1}'],
    ['Use {placeholders}. {"a":1}', '{"a":1}'],
    ["The list is [1, 2].", "[1, 2]"],
    ["I think {this} is right: {}", "{}"],
    ["I think {this} is right.", "I think {this} is right."],
    ['{"a":"```"}', '{"a":"```"}'],
    [' {"a":1} ', ' {"a":1} '],
    ["```json\n{", "```json\n{"],
    ["", ""]
  ])("jsonIn finds the JSON in %j", (text, json) => {
    assert.strictEqual(jsonIn(text), json)
  })
})

const format: AnswerFormat = {
  type: "json_schema",
  name: "person",
  description: null,
  schema: {
    type: "object",
    properties: { name: { type: "string" } },
    required: ["name"],
    additionalProperties: false
  },
  strict: true
}

layer(layerResponses, { excludeTestServices: true })("structured output", (it) => {
  it.effect("an answer is repaired before any of it is shown, stored as shown, and paid for twice", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const sql = yield* SqlClient.SqlClient
      yield* model.next(says("Sure! ", '{"name":'), says('{"name"', ':"Ada"}'))
      const events = yield* eventsForAlice({ input: "Who?" }, { answer: { format } })
      const { last, outputText } = assertGrammar(shownEvents(events))
      assert.strictEqual(outputText, '{"name":"Ada"}')
      assert.strictEqual(last.type === "response.completed" && last.response.usage?.total_tokens, 36)
      const asked = (yield* model.asked).at(-1)
      assert.include(asked?.request.messages.at(-1)?.text, "It is not valid JSON.")
      const stored = yield* sql`SELECT item->'content'->0->>'text' AS text FROM items
        WHERE response_id = ${last.type === "response.completed" ? last.response.id : ""}::uuid AND side = 'output'`
      assert.deepStrictEqual(stored, [{ text: '{"name":"Ada"}' }])
    })
  )

  it.effect("an answer that can't be repaired fails, stores nothing, and says what didn't match", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const sql = yield* SqlClient.SqlClient
      yield* model.next(says('{"SECRET":1}'), says('{"name":7}'))
      const error = yield* Effect.flip(eventsForAlice({ input: "Who?" }, { answer: { format } }))
      assert.deepInclude(error, { _tag: "OutputMismatch", mismatch: "`/name` must be string." })
      if (error._tag !== "OutputMismatch") return
      const { body, headers, status } = failureOf(error)
      assert.deepInclude(body, { type: "server_error", code: "output_mismatch" })
      assert.include(body.message, "`/name` must be string.")
      assert.deepStrictEqual([status, headers["x-should-retry"]], [500, "false"])
      const told = (yield* model.asked).at(-1)?.request.messages.at(-1)?.text
      assert.include(told, "must have required property 'name'")
      const [record] = yield* sql`SELECT outcome, input_tokens, output_tokens FROM usage_records
        ORDER BY created_at DESC LIMIT 1`
      assert.deepInclude(record, { outcome: "failed", inputTokens: 22, outputTokens: 14 })
    })
  )

  it.effect("a schema that can't be used is refused before a model is asked", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const before = (yield* model.asked).length
      const bad = { ...format, schema: { type: "strin" } }
      const error = yield* Effect.flip(eventsForAlice({ input: "Who?" }, { answer: { format: bad } }))
      assert.deepInclude(error, { _tag: "InvalidRequest", param: "text.format.schema" })
      assert.strictEqual((yield* model.asked).length, before)
    })
  )

  it.effect("a JSON object may be any, but must be one", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const demands = { answer: { format: { type: "json_object" } } } as const
      yield* model.next(says("[1]"), says('```json\n{"a":[1]}\n```'))
      assert.strictEqual((yield* answerForAlice({ input: "Any." }, demands)).output_text, '{"a":[1]}')
      yield* model.next(says("null"), says("{"))
      const error = yield* Effect.flip(eventsForAlice({ input: "Any." }, demands))
      assert.deepInclude(error, { _tag: "OutputMismatch", mismatch: "It is not valid JSON." })
    })
  )
})
