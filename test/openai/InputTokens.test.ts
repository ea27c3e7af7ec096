import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import OpenAI from "openai"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import { countPromptTokens } from "../../src/providers/Tokenizer.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"

const post = Effect.fnUntraced(function* (path: string, body: object, headers: Record<string, string> = {}) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/openai/v1/responses${path}`, { key: alice.key, body, headers })
})

const Counted = Schema.Struct({ object: Schema.Literal("response.input_tokens"), input_tokens: Schema.Int })
const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Counted))
const decodeResponse = Schema.decodeUnknownEffect(Schema.fromJsonString(ResponseResource))

const counted = Effect.fnUntraced(function* (body: object) {
  const reply = yield* post("/input_tokens", body)
  assert.strictEqual(reply.status, 200, reply.text)
  return (yield* decode(reply.text)).input_tokens
})

/** The tokens of the prompt that a model receives for this request. */
const sentTokens = Effect.fnUntraced(function* (body: object) {
  const model = yield* ScriptedModel
  yield* model.next(says("Hello"))
  const reply = yield* post("", body)
  assert.strictEqual(reply.status, 200, reply.text)
  return yield* countPromptTokens((yield* model.asked).at(-1)!.request)
})

const rows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = ["turns", "conversations", "usage_records", "response_jobs"]
  return yield* Effect.forEach(tables, (table) =>
    Effect.map(sql`SELECT 1 FROM ${sql(table)}`, ({ length }) => length)
  )
})

const weather = { type: "function", name: "weather", parameters: { type: "object", properties: {} } }

layer(TestApp.layer(), { excludeTestServices: true })("POST /openai/v1/responses/input_tokens", (it) => {
  it.effect("input_tokens counts the prompt of the same request, with instructions, tools and history", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ tools: true, contextWindow: 20_000 })
      const plain = { input: "How is the weather in Bonn?" }
      assert.strictEqual(yield* counted(plain), yield* sentTokens(plain))
      const full = { ...plain, instructions: "Be kind and brief.", tools: [weather] }
      assert.strictEqual(yield* counted(full), yield* sentTokens(full))
      assert.isAbove(yield* counted(full), yield* counted({ ...full, tools: [], own_tools: "off" }))

      yield* model.next(says("It rains."))
      const first = yield* decodeResponse((yield* post("", plain)).text)
      const next = { input: "And tomorrow?", previous_response_id: first.id }
      const tokens = yield* counted(next)
      assert.isAbove(tokens, yield* counted({ input: "And tomorrow?" }))
      assert.strictEqual(tokens, yield* sentTokens(next))
    })
  )

  it.effect("input_tokens estimates an input that fits into no window, which a response refuses", () =>
    Effect.gen(function* () {
      const long = { input: "many words ".repeat(40_000) }
      assert.strictEqual(errorOf(yield* post("", long), 400).code, "context_length_exceeded")
      const tokens = yield* counted(long)
      assert.isAtLeast(tokens, 80_000)
      assert.isAtMost(tokens, 160_000)
      const little = { input: "many words ".repeat(20_000) }
      assert.isBelow(yield* counted(little), tokens)
    })
  )

  it.effect("input_tokens refuses a history that fits into no window where none of it may be left out", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ contextWindow: 20_000 })
      yield* model.next(says("Long."))
      const input = "many words ".repeat(4_000)
      const first = yield* decodeResponse((yield* post("", { input })).text)
      yield* model.change({ contextWindow: 5_000 })
      const next = { input: "Go on.", previous_response_id: first.id, truncation: "disabled" }
      assert.strictEqual(errorOf(yield* post("/input_tokens", next), 400).code, "context_length_exceeded")
      yield* model.change({ contextWindow: 20_000 })
    })
  )

  it.effect("input_tokens asks no model, and neither stores nor counts anything to the limits", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const asked = (yield* model.asked).length
      const before = yield* rows
      yield* counted({ input: "Hi", stream: true, background: true, store: true })
      assert.deepStrictEqual(yield* rows, before)
      assert.strictEqual((yield* model.asked).length, asked)
    })
  )

  it.effect("input_tokens answers the client of OpenAI", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const openai = new OpenAI({ apiKey: alice.key, baseURL: `${url}/openai/v1`, maxRetries: 0 })
      const { input_tokens, object } = yield* Effect.promise(() =>
        openai.responses.inputTokens.count({ model: "auto", input: "Hi" })
      )
      assert.strictEqual(object, "response.input_tokens")
      assert.strictEqual(input_tokens, yield* counted({ input: "Hi" }))
    })
  )

  it.effect("input_tokens refuses what a response refuses", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const count = (body: object) => post("/input_tokens", body)
      assert.strictEqual(errorOf(yield* count({ input: "Hi", model: "gpt-x" }), 404).code, "model_not_found")
      assert.strictEqual(errorOf(yield* count({}), 400).param, "input")
      assert.strictEqual(errorOf(yield* count({ input: [] }), 400).param, "input")
      const previous_response_id = "resp_019845e1-682f-4b02-a706-3b2422d13aec"
      errorOf(yield* count({ input: "Hi", previous_response_id }), 404)
      const keyed = yield* post("/input_tokens", { input: "Hi" }, { "idempotency-key": "k" })
      assert.strictEqual(errorOf(keyed, 400).param, "Idempotency-Key")
      errorOf(yield* call(`${url}/openai/v1/responses/input_tokens`, { body: { input: "Hi" } }), 401)
    })
  )
})
