import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { ModelMessage } from "../../src/domain/ModelCall.ts"
import { failure, finish, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { assertGrammar } from "../support/StreamGrammar.ts"
import { TestApp, type TestUser } from "../support/TestApp.ts"
import { call, errorOf, eventsOf, responseOf } from "../support/Wire.ts"

const nobody = "019845e1-682f-4b02-a706-3b2422d13aec"

/** Posts a body as a user. */
const post = Effect.fnUntraced(function* (
  body: unknown,
  options: { readonly user?: TestUser; readonly headers?: Record<string, string> } = {}
) {
  const app = yield* TestApp
  const user = options.user ?? app.alice
  return yield* call(`${app.url}/v1/responses`, {
    key: user.key,
    body,
    ...(options.headers === undefined ? {} : { headers: options.headers })
  })
})

/** One answered JSON request, and the messages that the model got. */
const answered = Effect.fnUntraced(function* (body: object, user?: TestUser) {
  const model = yield* ScriptedModel
  yield* model.next(says("ok"))
  const reply = yield* post({ stream: false, ...body }, user === undefined ? {} : { user })
  const response = responseOf(reply)
  const asked = (yield* model.asked).at(-1)!
  return { response, request: asked.request, messages: asked.request.messages, reply }
})

const user = (text: string): ModelMessage => ({ role: "user", text })
const assistant = (text: string): ModelMessage => ({ role: "assistant", text, toolCalls: [] })
const system = (text: string): ModelMessage => ({ role: "system", text })

/** Specification, chapter Endpoints: POST /v1/responses, and its resources. */
layer(TestApp.layer(), { excludeTestServices: true })("POST /v1/responses", (it) => {
  it.effect("a response is one JSON document when `stream` is false", () =>
    Effect.gen(function* () {
      const { response, reply } = yield* answered({
        input: "Hi",
        max_output_tokens: 7,
        instructions: "Be brief."
      })
      assert.strictEqual(response.object, "response")
      assert.strictEqual(response.status, "completed")
      assert.strictEqual(response.output_text, "ok")
      assert.strictEqual(response.model, "scripted-1")
      assert.strictEqual(response.max_output_tokens, 7)
      assert.strictEqual(response.instructions, "Be brief.")
      assert.strictEqual(response.conversation.id, response.conversation_id)
      assert.strictEqual(reply.headers.get("x-conversation-id"), response.conversation_id)
      assert.isAbove(response.created_at, 1_700_000_000_000)
      assert.isAtLeast(response.completed_at ?? 0, response.created_at)
      assert.deepStrictEqual(response.usage?.total_tokens, 18)
      assert.match(response.id, /^[0-9a-f-]{36}$/)
    })
  )

  it.effect.each([
    { stream: undefined, accept: undefined, events: true },
    { stream: undefined, accept: "*/*", events: true },
    { stream: undefined, accept: "text/event-stream", events: true },
    { stream: undefined, accept: "application/json, text/event-stream", events: true },
    { stream: undefined, accept: "application/json, */*;q=0.1", events: true },
    { stream: undefined, accept: "application/json", events: false },
    { stream: undefined, accept: "Application/JSON; charset=utf-8", events: false },
    { stream: null, accept: "application/json", events: false },
    { stream: true, accept: "application/json", events: true },
    { stream: false, accept: "text/event-stream", events: false }
  ])("a response is delivered as chosen: %o", ({ stream, accept, events }) =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("ok"))
      const reply = yield* post(
        { input: "Hi", ...(stream === undefined ? {} : { stream }) },
        { headers: accept === undefined ? {} : { accept } }
      )
      assert.strictEqual(reply.headers.get("content-type"), events ? "text/event-stream" : "application/json")
    })
  )

  it.effect(
    "a response to the AI SDK is JSON when the request omits `stream`, and a stream when it says so",
    () =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        const headers = { "user-agent": "ai/7.0.173 ai-sdk-provider-utils/5.0.81 node.js/24" }
        yield* model.next(says("ok"), says("ok"))
        const json = yield* post({ input: "Hi" }, { headers })
        const streamed = yield* post({ input: "Hi", stream: true }, { headers })
        assert.strictEqual(json.headers.get("content-type"), "application/json")
        assert.strictEqual(streamed.headers.get("content-type"), "text/event-stream")
      })
  )

  it.effect.each(["my app (not ai-sdk)", "x (ai-sdk/1.0)", "not-ai-sdk/1.0", "ai-sdk-like app"])(
    "a response streams to a client whose `User-Agent` names the AI SDK as no product: %s",
    (agent) =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        yield* model.next(says("ok"))
        const reply = yield* post({ input: "Hi" }, { headers: { "user-agent": agent } })
        assert.strictEqual(reply.headers.get("content-type"), "text/event-stream")
      })
  )

  it.effect.each([
    { model: "gpt-4o" },
    { model: "auto" },
    {
      tools: [{ type: "function" }],
      include: [],
      text: {},
      store: false,
      temperature: 0.1,
      metadata: {},
      foo: 1
    }
  ])("a response ignores the model and unknown fields (%#)", (extra) =>
    Effect.gen(function* () {
      const { response } = yield* answered({ input: "Hi", ...extra })
      assert.strictEqual(response.model, "scripted-1")
    })
  )

  it.effect("a response passes the message, its parts and its roles on to the model", () =>
    Effect.gen(function* () {
      const { messages } = yield* answered({
        instructions: "One.",
        input: [
          { role: "system", content: "Two." },
          {
            role: "user",
            content: [
              { type: "input_text", text: "a" },
              { type: "input_text", text: "b" }
            ]
          },
          { role: "assistant", content: [{ type: "output_text", text: "earlier answer" }] },
          { role: "developer", content: [{ type: "input_text", text: "Three." }] },
          { type: "reasoning", id: "rs_1", summary: [] },
          { type: "function_call_output", call_id: "x", output: "y" },
          {
            type: "reasoning",
            id: "rs_2",
            summary: [],
            content: [{ type: "reasoning_text", text: "thought" }]
          },
          { role: "anybody", content: "c" },
          { role: null, content: "d" },
          { content: "e" }
        ]
      })
      assert.deepStrictEqual(messages, [
        system("One.\n\nTwo.\n\nThree."),
        user("a\nb"),
        assistant("earlier answer"),
        user("[result of an earlier call]\ny"),
        user("c"),
        user("d"),
        user("e")
      ])
    })
  )

  it.effect("a request with assistant output in an item of another role is refused", () =>
    Effect.gen(function* () {
      const content = [
        { type: "input_text", text: "a" },
        { type: "output_text", text: "b" }
      ]
      for (const role of ["user", undefined, null, "system", "anybody"]) {
        const error = errorOf(yield* post({ input: [{ content: "Hi" }, { role, content }] }), 400)
        assert.strictEqual(error.param, "input[1].content[1]")
        assert.match(error.message, /assistant/)
      }
    })
  )

  it.effect("a request with replayed texts that can't be stored is refused by the field", () =>
    Effect.gen(function* () {
      for (const [field, item] of [
        ["output", { type: "mcp_call", name: "n", arguments: "{}", output: "a\0" }],
        ["arguments", { type: "mcp_call", name: "n", arguments: "\0", output: "a" }],
        ["output", { type: "function_call_output", call_id: "c", output: "\0" }]
      ] as const) {
        const error = errorOf(yield* post({ input: [item, { content: "Hi" }] }), 400)
        assert.strictEqual(error.param, `input[0].${field}`)
      }
    })
  )

  it.effect("the max_output_tokens are clamped silently to the model's maximum, which is the default", () =>
    Effect.gen(function* () {
      const over = yield* answered({ input: "Hi", max_output_tokens: 1_000_000 })
      assert.strictEqual(over.request.maxOutputTokens, 500)
      assert.strictEqual(over.response.max_output_tokens, 1_000_000)
      assert.strictEqual(
        (yield* answered({ input: "Hi", max_output_tokens: null })).request.maxOutputTokens,
        500
      )
      assert.strictEqual((yield* answered({ input: "Hi" })).request.maxOutputTokens, 500)
      assert.strictEqual((yield* answered({ input: "Hi", max_output_tokens: 3 })).request.maxOutputTokens, 3)
    })
  )

  it.effect("a response says why a text was cut by the bound, and keeps the status", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(Stream.make(text("cut"), finish("length")))
      const response = responseOf(yield* post({ input: "Hi", stream: false, max_output_tokens: 1 }))
      assert.strictEqual(response.status, "completed")
      assert.deepStrictEqual(response.incomplete_details, { reason: "max_output_tokens" })
    })
  )

  it.effect("a response cuts an answer whose model heeds no bound, and says so", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const words = Array.from({ length: 6 }, () => "word ")
      // The model counts 7 tokens.
      yield* model.next(says(...words))
      const heeded = responseOf(yield* post({ input: "Hi", stream: false, max_output_tokens: 7 }))
      assert.strictEqual(heeded.output_text, words.join(""))
      assert.isNull(heeded.incomplete_details)
      yield* model.next(says(...words))
      const cut = responseOf(yield* post({ input: "Hi", stream: false, max_output_tokens: 4 }))
      // The blank at the end is the fourth token.
      assert.strictEqual(cut.output_text, "word word word ")
      assert.deepStrictEqual(cut.incomplete_details, { reason: "max_output_tokens" })
      const before = yield* model.ended
      yield* model.next(Stream.forever(Stream.make(text("word "))))
      const endless = responseOf(yield* post({ input: "Hi", stream: false, max_output_tokens: 4 }))
      assert.strictEqual(endless.output_text, cut.output_text)
      assert.deepStrictEqual(endless.incomplete_details, { reason: "max_output_tokens" })
      assert.strictEqual(endless.usage?.output_tokens, 4)
      assert.strictEqual(yield* model.ended, before + 1)
    })
  )

  it.effect("a response to a stateless request creates a conversation, which can be continued", () =>
    Effect.gen(function* () {
      const first = yield* answered({ input: "one" })
      const second = yield* answered({ input: "two", conversation_id: first.response.conversation_id })
      assert.strictEqual(second.response.conversation_id, first.response.conversation_id)
      assert.deepStrictEqual(second.messages, [user("one"), assistant("ok"), user("two")])
      const third = yield* answered({ input: "three" })
      assert.notStrictEqual(third.response.conversation_id, first.response.conversation_id)
      assert.deepStrictEqual(third.messages, [user("three")])
    })
  )

  it.effect(
    "a conversation keeps its first instructions, and uses those of a later turn for that turn only",
    () =>
      Effect.gen(function* () {
        const first = yield* answered({ input: "one", instructions: "Stay." })
        const conversation_id = first.response.conversation_id
        const second = yield* answered({ input: "two", conversation_id, instructions: "Only now." })
        assert.deepStrictEqual(second.messages[0], system("Only now."))
        const third = yield* answered({ input: "three", conversation_id })
        assert.deepStrictEqual(third.messages[0], system("Stay."))
        assert.strictEqual(third.messages.length, 6)
      })
  )

  it.effect("a conversation is continued by every name that clients have for it", () =>
    Effect.gen(function* () {
      const first = yield* answered({ input: "one" })
      const id = first.response.conversation_id
      for (const name of [
        { conversation: id },
        { conversation: { id } },
        { conversation_id: id.toUpperCase() },
        { previous_response_id: first.response.id },
        { conversation_id: id, conversation: nobody, previous_response_id: nobody }
      ]) {
        const next = yield* answered({ input: "again", ...name })
        assert.strictEqual(next.response.conversation_id, id)
        assert.deepStrictEqual(next.messages[0], user("one"))
      }
    })
  )

  it.effect("a reference to an item is replaced by the item", () =>
    Effect.gen(function* () {
      const first = yield* answered({ input: "one" })
      const item = first.response.output[0]!
      const next = yield* answered({
        input: [
          { role: "user", content: "one" },
          { type: "item_reference", id: item.id },
          { role: "user", content: "two" }
        ]
      })
      assert.deepStrictEqual(next.messages, [user("one"), assistant("ok"), user("two")])
      assert.notStrictEqual(next.response.conversation_id, first.response.conversation_id)
    })
  )

  it.effect("an item that is referred to many times is in the prompt once", () =>
    Effect.gen(function* () {
      const first = yield* answered({ input: "one" })
      const { id } = first.response.output[0]!
      const references = Array.from({ length: 9_998 }, () => ({ type: "item_reference", id }))
      const [one, two] = ["one", "two"].map((content) => ({ role: "user", content }))
      const next = yield* answered({ input: [one, ...references, two] })
      assert.deepStrictEqual(next.messages, [user("one"), assistant("ok"), user("two")])
    })
  )

  it.effect("a referenced item of the conversation's own history isn't repeated", () =>
    Effect.gen(function* () {
      const first = yield* answered({ input: "one" })
      const { id } = first.response.output[0]!
      const input = [
        { type: "item_reference", id },
        { role: "user", content: "two" }
      ]
      const next = yield* answered({ input, previous_response_id: first.response.id })
      assert.deepStrictEqual(next.messages, [user("one"), assistant("ok"), user("two")])
    })
  )

  it.effect.each([
    { name: "conversation_id", value: nobody },
    { name: "conversation", value: nobody },
    { name: "conversation", value: { id: nobody } },
    { name: "previous_response_id", value: nobody }
  ])("a conversation that doesn't exist is a 404: $name (%#)", ({ name, value }) =>
    Effect.gen(function* () {
      const error = errorOf(yield* post({ input: "Hi", [name]: value }), 404)
      assert.deepStrictEqual(error, {
        message:
          name === "previous_response_id"
            ? "The response that `previous_response_id` names does not exist, or was not stored."
            : "The conversation does not exist.",
        type: "not_found_error",
        code: "conversation_not_found",
        param: name
      })
    })
  )

  it.effect("everything of another user is hidden: conversation, response and items", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const { response } = yield* answered({ input: "mine" })
      const asBob = { user: app.bob }
      const byId = yield* post({ input: "Hi", conversation_id: response.conversation_id }, asBob)
      const unknown = yield* post({ input: "Hi", conversation_id: nobody }, asBob)
      assert.strictEqual(byId.status, 404)
      assert.strictEqual(byId.text, unknown.text)
      assert.strictEqual(
        errorOf(yield* post({ input: "Hi", previous_response_id: response.id }, asBob), 404).param,
        "previous_response_id"
      )
      const input = [{ content: "Hi" }, { type: "item_reference", id: response.output[0]!.id }]
      const error = errorOf(yield* post({ input }, asBob), 400)
      assert.deepStrictEqual([error.code, error.param], ["item_not_found", "input[1].id"])
    })
  )

  it.effect("a missing project is a 404, and a missing file a 400", () =>
    Effect.gen(function* () {
      const project = errorOf(yield* post({ input: "Hi", project_id: nobody }), 404)
      assert.deepStrictEqual([project.code, project.param], ["project_not_found", "project_id"])
      const input = [
        { content: "a" },
        {
          content: [
            { type: "input_text", text: "b" },
            { type: "input_file", file_id: nobody }
          ]
        }
      ]
      const file = errorOf(yield* post({ input }), 400)
      assert.deepStrictEqual([file.code, file.param], ["file_not_found", "input[1].content[1].file_id"])
    })
  )

  it.effect.each([
    {},
    { input: "" },
    { input: [] },
    { input: [{ content: "" }] },
    { input: [{ content: [] }] },
    { input: [{ role: "assistant", content: "only an answer" }] },
    { input: [{ role: "system", content: "only instructions" }] },
    { input: [{ type: "function_call_output", output: "x" }] }
  ])("an input without a message of the user is a 400 (%#)", (body) =>
    Effect.gen(function* () {
      const error = errorOf(yield* post(body), 400)
      assert.strictEqual(error.param, "input")
      assert.strictEqual(error.type, "invalid_request_error")
    })
  )

  it.effect("a message that no model's window holds is a 400", () =>
    Effect.gen(function* () {
      const error = errorOf(yield* post({ input: "word ".repeat(10_000) }), 400)
      assert.deepStrictEqual([error.code, error.param], ["context_length_exceeded", "input"])
    })
  )

  it.effect("a request is checked for its key first, then its body, then what the body names", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const both = { input: 7, conversation_id: nobody }
      assert.strictEqual(
        (yield* call(`${app.url}/v1/responses`, { key: "parley_x", body: both })).status,
        401
      )
      assert.strictEqual((yield* post(both)).status, 400)
      assert.strictEqual((yield* post({ ...both, input: "Hi" })).status, 404)
    })
  )

  it.effect(
    "a conversation that outgrows the window loses its oldest turns, and keeps its system message",
    () =>
      Effect.gen(function* () {
        const first = yield* answered({ input: "turn 0", instructions: "Stay." })
        const conversation_id = first.response.conversation_id
        for (let turn = 1; turn <= 5; turn++) {
          yield* answered({ input: `turn ${turn} ${"word ".repeat(600)}`, conversation_id })
        }
        const { messages } = yield* answered({ input: "last", conversation_id })
        assert.deepStrictEqual(messages[0], system("Stay."))
        assert.deepStrictEqual(messages.at(-1), user("last"))
        const turns = messages.flatMap((message) => /^turn (\d)/.exec(message.text)?.[1] ?? [])
        assert.isAbove(turns.length, 0)
        assert.isBelow(turns.length, 6)
        assert.strictEqual(turns.at(-1), "5")
        assert.strictEqual(messages.filter(({ role }) => role === "assistant").length, turns.length)
      })
  )

  it.effect.each([
    { size: "short", words: 2 },
    { size: "long", words: 800 }
  ])(
    "a conversation keeps the $size instructions of a first turn that fails after it was named",
    ({ words }) =>
      Effect.gen(function* () {
        const app = yield* TestApp
        const model = yield* ScriptedModel
        const instructions = "Rule. ".repeat(words)
        yield* model.next(Stream.concat(Stream.make(text("half")), Stream.fail(failure("cut"))))
        const failed = yield* call(`${app.url}/v1/responses`, {
          key: app.alice.key,
          body: { input: "lost", instructions }
        })
        const conversation_id = assertGrammar(eventsOf(failed.text)).created.conversation_id
        for (const input of ["one", "two"]) {
          const { messages } = yield* answered({ input, conversation_id })
          assert.deepStrictEqual(messages[0], system(instructions))
        }
      })
  )
})

layer(TestApp.layer(), { excludeTestServices: true })("a conversation that outgrows the best model", (it) => {
  it.effect("a conversation that outgrows the best model goes on with one that holds all of it", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ contextWindow: 50_000, maxOutputTokens: 500 }, "scripted-2")
      const long = "word ".repeat(1_000)
      const first = yield* answered({ input: long })
      assert.strictEqual(first.response.model, "scripted-1")
      const again = { conversation_id: first.response.conversation_id, input: long }
      assert.strictEqual((yield* answered(again)).response.model, "scripted-1")
      const third = yield* answered(again)
      assert.strictEqual(third.response.model, "scripted-2")
      assert.deepStrictEqual(
        third.messages.map((message) => message.text),
        [long, "ok", long, "ok", long]
      )
    })
  )
})
