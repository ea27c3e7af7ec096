import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ProfileEvent } from "../../src/api/openai/ResponseEvents.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call } from "../support/Wire.ts"
import { connect } from "./connection.ts"
import { assertFields, calling, dot, forecast } from "./openResponsesCases.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"

/**
 * Requirements of the public Open Responses interface for a server's WebSocket, case by case, in the words
 * of this project.
 */

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(ProfileEvent))
const decodeRefusal = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      type: Schema.Literal("error"),
      status: Schema.Finite,
      error: Schema.Struct({ code: Schema.String })
    })
  )
)
const decodeEnd = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ response: Schema.Record(Schema.String, Schema.Unknown) }))
)
const decodeOutput = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ output: Schema.Array(Schema.Unknown) }))
)

/** A connection of Alice's that sends one message after the other. */
const open = Effect.gen(function* () {
  const { alice, url } = yield* TestApp
  const { last, received, send } = yield* connect(url, alice.key)
  let answered = 0

  /** The messages that answer one. */
  const sent = Effect.fnUntraced(function* (body: object) {
    const before = received.length
    send({ type: "response.create", model: "auto", ...body })
    yield* last(++answered)
    return received.slice(before)
  })

  const answer = Effect.fnUntraced(function* (body: object) {
    const messages = yield* sent(body)
    const events = messages.map((message) => decode(message))
    const { whole } = assertProfileGrammar(events)
    assert.strictEqual(whole?.status, "completed", messages.at(-1))
    assertFields(decodeEnd(messages.at(-1)).response)
    return { events, whole: whole! }
  })

  /** The status and code of a message that can't be answered. */
  const refusal = Effect.fnUntraced(function* (body: object) {
    const [only, ...others] = yield* sent(body)
    assert.deepStrictEqual(others, [])
    const { error, status } = decodeRefusal(only)
    return [status, error.code]
  })

  return { answer, refusal }
})

const user = (content: unknown) => ({ type: "message", role: "user", content })
const missing = [404, "previous_response_not_found"]

const lastAsked = Effect.gen(function* () {
  const { asked } = yield* ScriptedModel
  return (yield* asked).at(-1)!.request
})

layer(TestApp.layer(), { excludeTestServices: true })("Open Responses over a WebSocket", (it) => {
  it.effect("a message is answered with the events of a stream", () =>
    Effect.gen(function* () {
      yield* (yield* ScriptedModel).next(says("1, ", "2, ", "3"))
      const { events, whole } = yield* (yield* open).answer({ input: [user("Count.")] })
      assert.strictEqual(whole.output_text, "1, 2, 3")
      assert.includeMembers(
        events.map(({ type }) => type),
        ["response.created", "response.output_item.added", "response.output_text.delta", "response.completed"]
      )
    })
  )

  it.effect("messages are answered one after the other", () =>
    Effect.gen(function* () {
      yield* (yield* ScriptedModel).next(says("first"), says("second"))
      const { answer } = yield* open
      const one = yield* answer({ store: false, input: "Say first." })
      const other = yield* answer({ store: false, input: "Say second." })
      assert.deepStrictEqual([one.whole.output_text, other.whole.output_text], ["first", "second"])
      assert.notStrictEqual(one.whole.id, other.whole.id)
    })
  )

  it.effect("an answer that isn't stored is continued with new input alone", () =>
    Effect.gen(function* () {
      yield* (yield* ScriptedModel).next(says("Noted."), says("Teal."))
      const { answer } = yield* open
      const first = yield* answer({ store: false, input: "The word is teal." })
      const previous = { store: false, previous_response_id: first.whole.id }
      const second = yield* answer({ ...previous, input: "Which word?" })
      assert.strictEqual(second.whole.previous_response_id, first.whole.id)
      assert.deepStrictEqual(
        (yield* lastAsked).messages.map(({ text }) => text),
        ["The word is teal.", "Noted.", "Which word?"]
      )
    })
  )

  it.effect("an unstored answer is unknown to the next connection, which answers a whole input", () =>
    Effect.gen(function* () {
      yield* (yield* ScriptedModel).next(says("Noted."), says("Teal."))
      const first = yield* (yield* open).answer({ store: false, input: "The word is teal." })
      const { answer, refusal } = yield* open
      const previous = { store: false, previous_response_id: first.whole.id }
      assert.deepStrictEqual(yield* refusal({ ...previous, input: "Which word?" }), missing)
      const again = yield* answer({ store: false, input: [user("The word is teal."), user("Which word?")] })
      assert.strictEqual(again.whole.output_text, "Teal.")
    })
  )

  it.effect("an answer that never was is not found", () =>
    Effect.gen(function* () {
      const { refusal } = yield* open
      for (const store of [false, true]) {
        assert.deepStrictEqual(
          yield* refusal({ store, previous_response_id: "resp_that_never_was", input: "Go on." }),
          missing
        )
      }
    })
  )

  it.effect("what fails to continue an answer makes the connection forget it", () =>
    Effect.gen(function* () {
      yield* (yield* ScriptedModel).next(says("Noted."))
      const { answer, refusal } = yield* open
      const first = yield* answer({ store: false, input: "The word is teal." })
      const previous = { store: false, previous_response_id: first.whole.id }
      const result = { type: "function_call_output", call_id: "call_of_nobody", output: "rain" }
      assert.deepStrictEqual(yield* refusal({ ...previous, input: [result] }), [400, "invalid_request"])
      assert.deepStrictEqual(yield* refusal({ ...previous, input: "Which word?" }), missing)
    })
  )

  it.effect("compacted items begin a new chain", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.change({ contextWindow: 20_000 })
      yield* model.next(says("The word is teal."), says("Teal."))
      const input = [
        user([{ type: "input_text", text: "The word is teal." }]),
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "Noted." }] },
        user([{ type: "input_text", text: "Shorten this." }])
      ]
      const compacted = yield* call(`${url}/openai/v1/responses/compact`, {
        key: alice.key,
        body: { model: "auto", input }
      })
      const { output } = decodeOutput(compacted.text)
      const { whole } = yield* (yield* open).answer({
        store: false,
        tools: [],
        input: [...output, user("Which word?")]
      })
      assert.strictEqual(whole.output_text, "Teal.")
      assert.include(JSON.stringify((yield* lastAsked).messages), "The word is teal.")
    })
  )

  it.effect("a system message and earlier turns come with a message", () =>
    Effect.gen(function* () {
      yield* (yield* ScriptedModel).next(says("Green."))
      const input = [
        { type: "message", role: "system", content: "Be brief." },
        user("I like green."),
        { type: "message", role: "assistant", phase: "final_answer", content: "A fine colour." },
        user("What do I like?")
      ]
      const { whole } = yield* (yield* open).answer({ input })
      assert.strictEqual(whole.output_text, "Green.")
      assert.deepStrictEqual(
        (yield* lastAsked).messages.map(({ role, text }) => [role, text]),
        [
          ["system", "Be brief."],
          ["user", "I like green."],
          ["assistant", "A fine colour."],
          ["user", "What do I like?"]
        ]
      )
    })
  )

  it.effect("an image comes with a message", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ vision: true, contextWindow: 200_000 })
      yield* model.next(says("A dot."))
      const content = [
        { type: "input_text", text: "What is it?" },
        { type: "input_image", image_url: `data:image/png;base64,${dot}` }
      ]
      const { whole } = yield* (yield* open).answer({ input: [user(content)] })
      assert.strictEqual(whole.output_text, "A dot.")
      assert.include(JSON.stringify((yield* lastAsked).messages), dot)
    })
  )

  it.effect.each([true, false])("a call and its result with an image, stored: %s", (store) =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ tools: true, vision: true, contextWindow: 200_000 })
      yield* model.next(calling("forecast", { town: "Kiel" }), says("It is wet."))
      const { answer } = yield* open
      const first = yield* answer({ store, input: [user("Is it wet in Kiel?")], tools: [forecast] })
      const steps = first.events.flatMap((event) =>
        event.type.includes("function_call_arguments") || "item" in event ? [event.type] : []
      )
      assert.deepStrictEqual(
        [steps[0], ...new Set(steps.slice(1, -2)), ...steps.slice(-2)],
        [
          "response.output_item.added",
          "response.function_call_arguments.delta",
          "response.function_call_arguments.done",
          "response.output_item.done"
        ]
      )
      const [made] = first.whole.output
      assert.isTrue(made?.type === "function_call")
      if (made?.type !== "function_call") return
      const output = [
        { type: "input_text", text: "The map:" },
        { type: "input_image", image_url: `data:image/png;base64,${dot}` }
      ]
      const { whole } = yield* answer({
        store,
        previous_response_id: first.whole.id,
        tools: [forecast],
        input: [{ type: "function_call_output", call_id: made.call_id, output }]
      })
      assert.strictEqual(whole.output_text, "It is wet.")
      const { messages } = yield* lastAsked
      assert.deepStrictEqual(
        messages.slice(0, 3).map(({ role }) => role),
        ["user", "assistant", "tool"]
      )
      assert.include(JSON.stringify(messages), dot)
    })
  )
})
