import { assert, layer } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import { reasoningEfforts } from "../../src/domain/ModelCall.ts"
import { FileStoreLayer } from "../../src/files/FileStoreLayer.ts"
import { failure, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { call, errorOf } from "../support/Wire.ts"
import { framesIn } from "./frames.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"

const post = Effect.fnUntraced(function* (body: unknown) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/openai/v1/responses`, { key: alice.key, body })
})

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ResponseResource))
const errorIn = Schema.decodeUnknownEffect(
  Schema.fromJsonString(
    Schema.Struct({
      error: Schema.Struct({
        code: Schema.String,
        param: Schema.NullOr(Schema.String),
        message: Schema.String
      })
    })
  )
)

layer(TestApp.layer(), { excludeTestServices: true })("POST /openai/v1/responses", (it) => {
  it.effect("a response is one document unless a stream is asked for, whatever the client accepts", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"))
      const reply = yield* post({ input: "Hi", metadata: { a: "b" }, temperature: 0.5, user: "u" })
      assert.strictEqual(reply.headers.get("content-type"), "application/json")
      const response = yield* decode(reply.text)
      assert.match(response.id, /^resp_[0-9a-f-]{36}$/)
      assert.match(response.conversation?.id ?? "", /^conv_/)
      assert.deepStrictEqual(response.metadata, { a: "b" })
      assert.deepStrictEqual([response.temperature, response.user], [0.5, "u"])
      const { options } = (yield* model.asked).at(-1)!.request
      assert.strictEqual(options?.temperature, 0.5)
    })
  )

  it.effect("a response streams events under their own names, and [DONE] at the end", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Hel", "lo"))
      const reply = yield* post({ input: "Hi", stream: true })
      assert.strictEqual(reply.headers.get("content-type"), "text/event-stream")
      const { whole } = assertProfileGrammar(framesIn(reply.text))
      assert.strictEqual(whole?.output_text, "Hello")
      assert.isTrue(reply.text.endsWith("\n\ndata: [DONE]\n\n"))
    })
  )

  it.effect("a response ends a stream that fails with an error and the failed response", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("server_error"))))
      const reply = yield* post({ input: "Hi", stream: true })
      const { whole } = assertProfileGrammar(framesIn(reply.text))
      assert.strictEqual(whole?.status, "failed")
      assert.strictEqual(whole?.error?.code, "generation_failed")
    })
  )

  it.effect("a response takes ids with their prefix and without", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("one"), says("two"), says("three"))
      const first = yield* decode((yield* post({ input: "a" })).text)
      const second = yield* decode((yield* post({ input: "b", previous_response_id: first.id })).text)
      const bare = first.conversation!.id.replace("conv_", "")
      const third = yield* decode((yield* post({ input: "c", conversation: bare })).text)
      assert.deepStrictEqual(
        [second, third].map(({ conversation }) => conversation),
        [first.conversation, first.conversation]
      )
    })
  )

  it.effect("a response may name one of the models, and refuses one that there isn't", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"))
      const named = yield* decode((yield* post({ input: "Hi", model: "scripted-2" })).text)
      assert.strictEqual(named.model, "scripted-2")
      const reply = yield* post({ input: "Hi", model: "gpt-nothing" })
      assert.strictEqual(reply.status, 404)
      const { error } = yield* errorIn(reply.text)
      assert.deepStrictEqual([error.code, error.param], ["model_not_found", "model"])
      assert.include(error.message, "/openai/v1/models")
    })
  )

  const refused: ReadonlyArray<readonly [field: string, body: object]> = [
    ["tools[0]", { tools: [{ type: "custom", description: "no name" }] }],
    [
      "tools",
      {
        tools: [
          { type: "function", name: "a" },
          { type: "function", name: "a" }
        ]
      }
    ],
    ["tools[0].filters", { tools: [{ type: "web_search", filters: {} }] }],
    ["tool_choice", { tool_choice: { type: "file_search" } }],
    [
      "tool_choice.tools[1]",
      {
        tool_choice: {
          type: "allowed_tools",
          mode: "auto",
          tools: [{ type: "web_search" }, { type: "function", name: "b" }]
        }
      }
    ],
    ["top_logprobs", { top_logprobs: 21 }],
    ["temperature", { temperature: 3 }],
    ["metadata", { metadata: { a: 1 } }],
    ["prompt", { prompt: { id: "pmpt_1" } }],
    ["text.format", { text: { format: { type: "grammar" } } }],
    ["include[0]", { include: [1] }],
    ["input[0]", { input: [{ type: "computer_call" }] }],
    ["previous_response_id", { previous_response_id: "resp_nothing" }]
  ]
  for (const [field, body] of refused) {
    it.effect(`a response refuses what it can't honor, and names ${field}`, () =>
      Effect.gen(function* () {
        const reply = yield* post({ input: "Hi", ...body })
        assert.strictEqual(reply.status, 400)
        const { error } = yield* errorIn(reply.text)
        const param = error.param ?? ""
        assert.isTrue(param.startsWith(field), param)
        assert.include(error.message, param)
      })
    )
  }

  it.effect("a response names the fields that it doesn't know", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"))
      const reply = yield* post({ input: "Hi", wishes: 1, demands: { model: "x" } })
      assert.strictEqual(reply.headers.get("x-ignored-fields"), "wishes, demands")
      assert.strictEqual((yield* decode(reply.text)).output_text, "Hello")
    })
  )

  it.effect("a response names the unknown parts of the fields that it knows", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"))
      const reply = yield* post({
        input: [{ role: "user", content: "Hi", status: "completed" }],
        text: { tone: "warm", verbosity: "low" },
        reasoning: { effort: "low", budget: 3, nothing: null },
        tools: [{ type: "web_search", "cache control": {} }],
        metadata: { mine: "x" },
        wishes: 1
      })
      assert.strictEqual(
        reply.headers.get("x-ignored-fields"),
        "wishes, text.tone, reasoning.budget, tools[0].?",
        reply.text
      )
    })
  )

  it.effect.each(["concise", "detailed", "whatever"])(
    "a response takes the hint %s for the summary of the reasoning",
    (summary) =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        yield* model.next(says("Hello"))
        const reply = yield* post({ input: "Hi", reasoning: { summary } })
        assert.strictEqual(reply.status, 200, reply.text)
        assert.strictEqual(reply.headers.get("x-ignored-fields"), null)
        assert.strictEqual((yield* decode(reply.text)).reasoning?.summary, summary)
      })
  )

  it.effect(
    "a call that is demanded is one of the client's own functions, or a search that it asked for",
    () =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        yield* model.change({ tools: true, contextWindow: 20_000 })
        const weather = { type: "function", name: "weather", parameters: { type: "object" } }
        const offered = (tools: ReadonlyArray<object>) =>
          Effect.gen(function* () {
            yield* model.next(says("Hello"))
            const reply = yield* post({ input: "Hi", tools, tool_choice: "required" })
            assert.strictEqual(reply.status, 200, reply.text)
            return (yield* model.asked).at(-1)!.request.tools.map(({ name }) => name)
          })
        assert.deepStrictEqual(yield* offered([weather]), ["weather"])
        assert.notInclude(yield* offered([weather, { type: "web_search" }]), "calculator")
        assert.include(yield* offered([{ type: "web_search" }]), "calculator")
      })
  )

  it.effect("a response names the hints that change nothing", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"))
      const reply = yield* post({
        input: "Hi",
        service_tier: "flex",
        prompt_cache_retention: "24h",
        include: ["file_search_call.results", "message.output_audio.transcript"]
      })
      assert.strictEqual(reply.status, 200, reply.text)
      assert.strictEqual(reply.headers.get("x-ignored-fields"), "service_tier, include[1]")
    })
  )

  it.effect.each(reasoningEfforts)("a response gives the model the effort %s, and so does a chat", (effort) =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"), says("Hello"))
      const { status } = yield* post({ input: "Hi", reasoning: { effort } })
      const chat = yield* call(`${url}/openai/v1/chat/completions`, {
        key: alice.key,
        body: { messages: [{ role: "user", content: "Hi" }], reasoning_effort: effort }
      })
      assert.deepStrictEqual([status, chat.status], [200, 200])
      const asked = (yield* model.asked).slice(-2).map(({ request }) => request.options?.reasoningEffort)
      assert.deepStrictEqual(asked, [effort, effort])
    })
  )

  it.effect("a response leads a chat's body to the endpoint for chats", () =>
    Effect.gen(function* () {
      const { error } = yield* errorIn((yield* post({ messages: [{ role: "user", content: "Hi" }] })).text)
      assert.strictEqual(error.param, "input")
      assert.include(error.message, "POST /openai/v1/chat/completions")
    })
  )

  it.effect("the endpoint for responses needs a key, and describes itself", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const stranger = yield* call(`${url}/openai/v1/responses`, { body: { input: "Hi" } })
      assert.strictEqual(stranger.status, 401)
      // Clients of OpenAI expect null where no field is at fault.
      assert.isNull(errorOf(stranger, 401).param)
      assert.isNull(errorOf(yield* call(`${url}/openai/v1/nothing`, { key: alice.key }), 404).param)
      assert.strictEqual(errorOf(yield* call(`${url}/v1/nothing`, { key: alice.key }), 404).param, "")
      const reply = yield* call(`${url}/openai/v1/openapi.json`, { key: alice.key })
      assert.include(reply.text, "/openai/v1/responses")
      assert.deepStrictEqual(JSON.parse(reply.text).components.schemas.ErrorBody.properties.param.type, [
        "string",
        "null"
      ])
      const models = yield* call(`${url}/openai/v1/models/auto`, { key: alice.key })
      assert.strictEqual(models.status, 200)
    })
  )
})

const slashed = "hf.co/house/model:Q4"

layer(TestApp.layerWith(TestDatabase.layer, FileStoreLayer, {}, ScriptedModel.named(slashed)), {
  excludeTestServices: true
})("A model whose id has slashes", (it) => {
  it.effect("a model whose id has slashes is shown by its id as it is, and encoded", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const show = (id: string, key = alice.key) => call(`${url}/openai/v1/models/${id}`, { key })
      for (const id of [slashed, encodeURIComponent(slashed), "hf.co%2Fhouse%2Fmodel:Q4"]) {
        const reply = yield* show(id)
        assert.strictEqual(reply.status, 200, reply.text)
        assert.include(reply.text, `"id":"${slashed}"`)
      }
      assert.strictEqual(errorOf(yield* show("hf.co/house/other"), 404).code, "model_not_found")
      errorOf(yield* show(slashed, "parley_nothing"), 401)
      const list = yield* call(`${url}/openai/v1/models`, { key: alice.key })
      assert.include(list.text, slashed)
    })
  )
})
