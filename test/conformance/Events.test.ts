import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { failure, finish, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { assertGrammar } from "../support/StreamGrammar.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf, eventsOf, framesOf, responseOf } from "../support/Wire.ts"

/** Specification, chapter Events. */
layer(TestApp.layer(), { excludeTestServices: true })("Events", (it) => {
  it.effect("each event is sent as `event: message`, one line of JSON and a blank line", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(says("Hello", " there"))
      const reply = yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body: { input: "Hi" } })
      assert.strictEqual(reply.status, 200)
      assert.strictEqual(reply.headers.get("content-type"), "text/event-stream")
      assert.strictEqual(reply.headers.get("cache-control"), "no-cache")
      assert.strictEqual(reply.headers.get("x-accel-buffering"), "no")
      assert.isNotNull(reply.headers.get("x-request-id"))
      const events = eventsOf(reply.text)
      const { created, outputText } = assertGrammar(events)
      assert.strictEqual(outputText, "Hello there")
      assert.strictEqual(reply.headers.get("x-conversation-id"), created.conversation_id)
      assert.deepStrictEqual(
        events.map((event) => event.type),
        [
          "response.created",
          "response.output_item.added",
          "response.content_part.added",
          "response.output_text.delta",
          "response.output_text.delta",
          "response.output_text.done",
          "response.output_item.done",
          "response.completed"
        ]
      )
      assert.notInclude(reply.text, "[DONE]")
      assert.notInclude(reply.text, "\r")
    })
  )

  it.effect("a delta carries its text chunk in `delta`, whatever characters it has", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      const pieces = [
        '"q"',
        "\n\n",
        "data: ",
        "\u2028",
        "\u0085",
        "[DONE]",
        "\ud83d",
        "\ude00",
        "\0",
        "\r\nevent: x",
        "中"
      ]
      yield* model.next(says(...pieces))
      const reply = yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body: { input: "Hi" } })
      const { outputText } = assertGrammar(eventsOf(reply.text))
      assert.strictEqual(outputText, pieces.join("").replace("\0", "\u{fffd}"))
      assert.notMatch(reply.text, /[\u0085\u2028\u2029\r]/)
    })
  )

  it.effect("a silent model's answer has one empty delta, which the next turn leaves out", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(Stream.make(finish()))
      const reply = yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body: { input: "Hi" } })
      const { items, last, outputText } = assertGrammar(eventsOf(reply.text))
      assert.strictEqual(outputText, "")
      assert.strictEqual(items.length, 1)
      assert.strictEqual(last.type, "response.completed")
      if (last.type !== "response.completed") return
      const { conversation_id, incomplete_details, status } = last.response
      assert.deepStrictEqual([status, incomplete_details], ["completed", { reason: "no_text" }])

      yield* model.next(says("ok"))
      yield* call(`${app.url}/v1/responses`, {
        key: app.alice.key,
        body: { input: "And?", conversation_id, stream: false }
      })
      const { messages } = (yield* model.asked).at(-1)!.request
      assert.deepStrictEqual(
        messages.map(({ role, text: said }) => [role, said]),
        [
          ["user", "Hi"],
          ["user", "And?"]
        ]
      )
      const shown = yield* call(`${app.url}/v1/conversations/${conversation_id}`, {
        key: app.alice.key
      })
      assert.deepNestedPropertyVal(JSON.parse(shown.text), "turns.data[0].incomplete_details", {
        reason: "no_text"
      })
    })
  )

  it.effect.each(["cut", "malformed", "idle_timeout", "in_stream", "no_finish"] as const)(
    "a stream ends with exactly one error event when the model fails after its first output: %s",
    (reason) =>
      Effect.gen(function* () {
        const app = yield* TestApp
        const model = yield* ScriptedModel
        yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.fail(failure(reason))))
        const reply = yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body: { input: "Hi" } })
        assert.strictEqual(reply.status, 200)
        const { last } = assertGrammar(eventsOf(reply.text))
        assert.deepStrictEqual(last, {
          type: "error",
          sequence_number: 4,
          code: "generation_failed",
          message: "The model could not produce an answer. Try again.",
          param: null,
          error: {
            type: "server_error",
            code: "generation_failed",
            message: "The model could not produce an answer. Try again.",
            param: null
          }
        })
      })
  )

  it.effect("a stream ends with an error event after a defect, and shows nothing of it", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.die(new Error("secret detail"))))
      const reply = yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body: { input: "Hi" } })
      const { last } = assertGrammar(eventsOf(reply.text))
      assert.strictEqual(last.type, "error")
      if (last.type === "error") assert.strictEqual(last.code, "internal_error")
      assert.notInclude(reply.text, "secret detail")
    })
  )

  it.effect("a failure before the first output is an HTTP error, in both deliveries", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      for (const stream of [true, false]) {
        yield* model.next(Stream.fail(failure("refused")), Stream.fail(failure("server_error")))
        const reply = yield* call(`${app.url}/v1/responses`, {
          key: app.alice.key,
          body: { input: "Hi", stream }
        })
        assert.strictEqual(errorOf(reply, 500).code, "generation_failed")
      }
    })
  )

  it.effect("a request falls back to another model until the first output, and reports which answered", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(Stream.fail(failure("server_error")), says("ok"))
      const reply = yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body: { input: "Hi" } })
      const { created } = assertGrammar(eventsOf(reply.text))
      assert.strictEqual(created.model, "scripted-2")
    })
  )

  it.effect("the completed event has the same response as the JSON delivery", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(says("a", "b"), says("a", "b"))
      const streamed = yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body: { input: "Hi" } })
      const json = yield* call(`${app.url}/v1/responses`, {
        key: app.alice.key,
        body: { input: "Hi", stream: false }
      })
      const { last } = assertGrammar(eventsOf(streamed.text))
      assert.strictEqual(last.type, "response.completed")
      if (last.type !== "response.completed") return
      const steady = (response: typeof last.response) => ({
        ...response,
        id: "",
        created_at: 0,
        completed_at: 0,
        conversation_id: "",
        conversation: {},
        output: response.output.map((item) => ({ ...item, id: "" }))
      })
      assert.deepStrictEqual(steady(responseOf(json)), steady(last.response))
    })
  )

  it.effect("a stream without silence has no empty frame and no comment", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(says("a"))
      const reply = yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body: { input: "Hi" } })
      assert.notInclude(reply.text, ": keepalive")
      assert.isTrue(framesOf(reply.text).every((block) => block.startsWith("event: message\n")))
    })
  )
})
