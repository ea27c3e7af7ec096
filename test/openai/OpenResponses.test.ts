import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call } from "../support/Wire.ts"
import { framesIn } from "./frames.ts"
import { assertFields, calling, dot, forecast } from "./openResponsesCases.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"

/**
 * Requirements that the public Open Responses interface has for a server, case by case, in the words of
 * this project.
 */

const decodeAny = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(ResponseResource))

const ask = Effect.fnUntraced(function* (body: object) {
  const { alice, url } = yield* TestApp
  const reply = yield* call(`${url}/openai/v1/responses`, {
    key: alice.key,
    body: { model: "auto", ...body }
  })
  assert.strictEqual(reply.status, 200, reply.text)
  assertFields(decodeAny(reply.text))
  return decode(reply.text)
})

const stream = Effect.fnUntraced(function* (body: object) {
  const { alice, url } = yield* TestApp
  const reply = yield* call(`${url}/openai/v1/responses`, {
    key: alice.key,
    body: { model: "auto", stream: true, ...body }
  })
  assert.strictEqual(reply.status, 200, reply.text)
  const events = framesIn(reply.text)
  const { whole } = assertProfileGrammar(events)
  assertFields({ ...whole })
  return { events, whole: whole! }
})

const user = (content: string) => ({ type: "message", role: "user", content })

layer(TestApp.layer(), { excludeTestServices: true })("Open Responses", (it) => {
  it.effect("a message is answered", () =>
    Effect.gen(function* () {
      yield* (yield* ScriptedModel).next(says("Good day to you."))
      const response = yield* ask({ input: [user("Greet me.")] })
      assert.strictEqual(response.status, "completed")
      assert.strictEqual(response.output[0]?.type, "message")
    })
  )

  it.effect("an answer is streamed", () =>
    Effect.gen(function* () {
      yield* (yield* ScriptedModel).next(says("1, ", "2, ", "3"))
      const { whole } = yield* stream({ input: [user("Count.")] })
      assert.deepStrictEqual([whole.status, whole.output_text], ["completed", "1, 2, 3"])
    })
  )

  it.effect("a system message guides the answer", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Ahoy!"))
      const system = { type: "message", role: "system", content: "Speak as a sailor does." }
      const response = yield* ask({ input: [system, user("Greet me.")] })
      assert.strictEqual(response.status, "completed")
      assert.deepStrictEqual((yield* model.asked).at(-1)!.request.messages[0], {
        role: "system",
        text: "Speak as a sailor does."
      })
    })
  )

  it.effect("a function is called, in a document and in a stream", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ tools: true, contextWindow: 20_000 })
      yield* model.next(calling("forecast", { town: "Kiel" }), calling("forecast", { town: "Kiel" }))
      const request = { input: [user("Is it wet in Kiel?")], tools: [forecast] }
      const response = yield* ask(request)
      assert.deepStrictEqual(
        response.output.map(({ type }) => type),
        ["function_call"]
      )
      const { events } = yield* stream(request)
      assert.includeMembers(
        events.map(({ type }) => type),
        ["response.function_call_arguments.delta", "response.function_call_arguments.done"]
      )
    })
  )

  it.effect("a call and its result go there and back, by replayed history and by previous_response_id", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ tools: true, contextWindow: 20_000 })
      yield* model.next(calling("forecast", { town: "Kiel" }), says("It is wet."), says("It is wet."))
      const question = user("Is it wet in Kiel?")
      const choice = { type: "function", name: "forecast" }
      const first = yield* ask({ input: [question], tools: [forecast], tool_choice: choice })
      assert.deepStrictEqual((yield* model.asked).at(-1)!.request.options?.toolChoice, { name: "forecast" })
      const [made] = first.output
      assert.isTrue(made?.type === "function_call")
      if (made?.type !== "function_call") return
      const result = { type: "function_call_output", call_id: made.call_id, output: "rain" }
      const replayed = yield* ask({ input: [question, made, result], tools: [forecast] })
      const continued = yield* ask({ input: [result], previous_response_id: first.id, tools: [forecast] })
      assert.deepStrictEqual([replayed.output_text, continued.output_text], ["It is wet.", "It is wet."])
      const [one, other] = (yield* model.asked)
        .slice(-2)
        .map(({ request }) => request.messages.map(({ role }) => role))
      assert.deepStrictEqual(one, ["user", "assistant", "tool"])
      assert.deepStrictEqual(other, one)
    })
  )

  it.effect("a function is called in a stream, from the added item to the whole one", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ tools: true, contextWindow: 20_000 })
      yield* model.next(calling("forecast", { town: "Kiel" }))
      const { events } = yield* stream({ input: [user("Is it wet in Kiel?")], tools: [forecast] })
      const steps = events.flatMap((event) => {
        if ("item" in event && event.item.type === "function_call")
          return [[event.type, event.item.arguments]]
        if (event.type === "response.function_call_arguments.done") return [[event.type, event.arguments]]
        return []
      })
      assert.deepStrictEqual(steps, [
        ["response.output_item.added", ""],
        ["response.function_call_arguments.done", '{"town":"Kiel"}'],
        ["response.output_item.done", '{"town":"Kiel"}']
      ])
      const deltas = events.flatMap((event) =>
        event.type === "response.function_call_arguments.delta" ? [event.delta] : []
      )
      assert.strictEqual(deltas.join(""), '{"town":"Kiel"}')
    })
  )

  it.effect("the result of a call may be an image", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ tools: true, vision: true, contextWindow: 200_000 })
      yield* model.next(calling("forecast", { town: "Kiel" }), says("A map with a dot."))
      const first = yield* ask({ input: [user("Show me the forecast.")], tools: [forecast] })
      const [made] = first.output
      assert.isTrue(made?.type === "function_call")
      if (made?.type !== "function_call") return
      const output = [
        { type: "input_text", text: "The map:" },
        { type: "input_image", image_url: `data:image/png;base64,${dot}` }
      ]
      const input = [{ type: "function_call_output", call_id: made.call_id, output }]
      const response = yield* ask({ input, previous_response_id: first.id, tools: [forecast] })
      assert.strictEqual(response.output_text, "A map with a dot.")
      const messages = JSON.stringify((yield* model.asked).at(-1)!.request.messages)
      assert.include(messages, "The map:")
      assert.include(messages, dot)
    })
  )

  it.effect("earlier turns may come with the request", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Green."))
      const answer = { type: "message", role: "assistant", content: "A fine colour." }
      const response = yield* ask({ input: [user("I like green."), answer, user("What do I like?")] })
      assert.strictEqual(response.status, "completed")
      assert.deepStrictEqual(
        (yield* model.asked).at(-1)!.request.messages.map(({ role }) => role),
        ["user", "assistant", "user"]
      )
    })
  )

  it.effect("earlier turns are known by previous_response_id", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Noted."), says("Plum."))
      const first = yield* ask({ input: "The word is plum." })
      const second = yield* ask({ input: "Which word?", previous_response_id: first.id })
      assert.deepStrictEqual([second.status, second.previous_response_id], ["completed", first.id])
      assert.include(JSON.stringify((yield* model.asked).at(-1)!.request.messages), "The word is plum.")
    })
  )

  it.effect("a search of the web without a way to the web offers no tool for it", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ tools: true, contextWindow: 20_000 })
      yield* model.next(says("I can't look that up."))
      yield* ask({ input: "What's new?", tools: [{ type: "web_search", external_web_access: false }] })
      const { tools } = (yield* model.asked).at(-1)!.request
      assert.notIncludeMembers(
        tools.map(({ name }) => name),
        ["web_search", "web_fetch"]
      )
    })
  )

  it.effect("a model that calls a function though it must not is not heeded", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ tools: true, contextWindow: 20_000 })
      yield* model.next(calling("forecast", { town: "Kiel" }))
      const response = yield* ask({ input: "Is it wet?", tools: [forecast], tool_choice: "none" })
      assert.deepStrictEqual(
        response.output.map(({ type }) => type),
        ["message"]
      )
      const { options, tools } = (yield* model.asked).at(-1)!.request
      assert.deepStrictEqual([options?.toolChoice, tools.map(({ name }) => name)], ["none", ["forecast"]])
    })
  )

  it.effect("earlier answers may say their phase", () =>
    Effect.gen(function* () {
      yield* (yield* ScriptedModel).next(says("Seven."))
      const answers = ["commentary", "final_answer"].map((phase) => ({
        type: "message",
        role: "assistant",
        phase,
        content: "It is seven."
      }))
      const response = yield* ask({ input: [...answers, user("Say it again.")] })
      assert.strictEqual(response.status, "completed")
    })
  )

  it.effect("an image and a document come with a message", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ vision: true, contextWindow: 200_000 })
      yield* model.next(says("A dot."))
      const text = Buffer.from("The title is Harbour.").toString("base64")
      const content = [
        { type: "input_text", text: "What are they?" },
        { type: "input_image", image_url: `data:image/png;base64,${dot}` },
        { type: "input_file", filename: "note.txt", file_data: `data:text/plain;base64,${text}` }
      ]
      const response = yield* ask({ input: [{ type: "message", role: "user", content }] })
      assert.strictEqual(response.status, "completed")
      const { messages } = (yield* model.asked).at(-1)!.request
      assert.include(JSON.stringify(messages), "The title is Harbour.")
      assert.include(JSON.stringify(messages), dot)
    })
  )

  it.effect("a conversation is compacted, and goes on from the compacted items", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.change({ contextWindow: 20_000 })
      yield* model.next(says("The word is slate."), says("Slate."))
      const compact = (body: object) => call(`${url}/openai/v1/responses/compact`, { key: alice.key, body })
      const input = [user("The word is slate."), { type: "message", role: "assistant", content: "Noted." }]
      const unnamed = yield* compact({ input })
      assert.deepStrictEqual([unnamed.status, /`model` is missing/.test(unnamed.text)], [400, true])
      const reply = yield* compact({ model: "auto", prompt_cache_key: "k", input })
      const compacted = decodeAny(reply.text)
      assert.strictEqual(compacted["object"], "response.compaction")
      const output = Array.isArray(compacted["output"]) ? compacted["output"] : []
      const response = yield* ask({ input: [...output, user("Which word?")], store: false, tools: [] })
      assert.strictEqual(response.output_text, "Slate.")
      assert.include(JSON.stringify((yield* model.asked).at(-1)!.request.messages), "The word is slate.")
    })
  )

  it.effect("a result without a call is refused", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const input = [{ type: "function_call_output", call_id: "call_nothing", output: "rain" }]
      const reply = yield* call(`${url}/openai/v1/responses`, { key: alice.key, body: { input } })
      assert.strictEqual(reply.status, 400)
      assert.include(reply.text, "input[0].call_id")
    })
  )
})
