import { assert, layer } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { type Item, ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import type { ModelMessage, ModelPart, Reasoning, ToolCall } from "../../src/domain/ModelCall.ts"
import { ScriptedModel, scriptedUsage, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call } from "../support/Wire.ts"
import { framesIn } from "./frames.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"

const origin = "a protocol, a server and a model"
const opaque = (data: string) => ({ origin, data })
const thought = (words: string, data: string): ReadonlyArray<ModelPart> => [
  { type: "reasoning_text", text: words },
  { type: "reasoning", reasoning: { text: words, opaque: opaque(data) } }
]
const called = (name: string, id: string, more: Partial<ToolCall> = {}): ToolCall => ({
  id,
  name,
  arguments: name === "calculator" ? '{"expression":"2+3"}' : "{}",
  opaque: { ...opaque(`call ${id}`), callId: id },
  ...more
})
const calls = (...all: ReadonlyArray<ToolCall>): ReadonlyArray<ModelPart> => [
  ...all.map((one) => ({ type: "tool_call", call: one }) as const),
  { type: "finish", reason: "tool_calls", usage: scriptedUsage }
]
const ended: ReadonlyArray<ModelPart> = [
  text("It is sunny."),
  { type: "finish", reason: "stop", usage: scriptedUsage }
]
const script = (...parts: ReadonlyArray<ReadonlyArray<ModelPart>>) =>
  Effect.flatMap(ScriptedModel, (model) =>
    Effect.andThen(
      model.change({ tools: true, contextWindow: 20_000 }),
      model.next(...parts.map((all) => Stream.fromIterable(all)))
    )
  )

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ResponseResource))
const tools = [{ type: "function", name: "weather", parameters: { type: "object" } }]
const include = ["reasoning.encrypted_content"]
const stateless = { store: false, include, tools, own_tools: "on" }

const request = Effect.fnUntraced(function* (body: object, user: "alice" | "bob" = "alice") {
  const app = yield* TestApp
  return yield* call(`${app.url}/openai/v1/responses`, { key: app[user].key, body })
})
const answer = Effect.fnUntraced(function* (body: object) {
  const reply = yield* request(body)
  assert.strictEqual(reply.status, 200, reply.text)
  return yield* decode(reply.text)
})
/** The same, streamed. The items of its events are those of its end. */
const streamed = Effect.fnUntraced(function* (body: object) {
  const { whole } = assertProfileGrammar(framesIn((yield* request({ ...body, stream: true })).text))
  assert(whole !== null && whole !== undefined)
  return whole
})

const user = (words: string) => ({ role: "user", content: words })
const resultsOf = (output: ReadonlyArray<Item>) =>
  output.flatMap((item) =>
    item.type === "function_call"
      ? [{ type: "function_call_output", call_id: item.call_id, output: "sun" }]
      : []
  )
const sealedIn = (output: ReadonlyArray<Item>) =>
  output.flatMap((item) => (item.type === "reasoning" ? [item.encrypted_content] : []))

const dataOf = (all: ReadonlyArray<Reasoning> = []) => all.map((one) => one.opaque?.data)
/** The items of the model, with opaque values in the order in which they are sent back. */
const said = (messages: ReadonlyArray<ModelMessage>) =>
  messages
    .flatMap((message) =>
      message.role === "assistant"
        ? [
            ...dataOf(message.reasoning),
            message.text,
            ...message.toolCalls.flatMap((one) => [
              ...dataOf(one.reasoning),
              one.name,
              one.opaque?.data,
              one.opaque?.callId
            ])
          ]
        : [`${message.role}: ${message.text}`]
    )
    .filter((one) => one !== "")
const lastMessages = Effect.flatMap(ScriptedModel, (model) =>
  Effect.map(model.asked, (asked) => asked.at(-1)!.request.messages)
)

const wholeExchange = [
  [...thought("I add.", "first"), ...calls(called("calculator", "a"))],
  [...thought("I look.", "second"), text("Wait."), ...calls(called("weather", "b"), called("weather", "c"))],
  [...thought("Sunny.", "third"), ...ended],
  ended
]
const remembered = [
  "first",
  "calculator",
  "call a",
  "a",
  "tool: 5",
  "second",
  "Wait.",
  "weather",
  "call b",
  "b",
  "weather",
  "call c",
  "c",
  "tool: sun",
  "tool: sun",
  "third",
  "It is sunny."
]

layer(TestApp.layer(), { excludeTestServices: true })("reasoning.encrypted_content", (it) => {
  it.effect("a stored conversation and a replayed history give the model the same", () =>
    Effect.gen(function* () {
      yield* script(...wholeExchange)
      const all = { tools, own_tools: "on" }
      const first = yield* answer({ input: "Weather?", ...all })
      const second = yield* answer({
        previous_response_id: first.id,
        input: resultsOf(first.output),
        ...all
      })
      yield* answer({ previous_response_id: second.id, input: "Sure?", ...all })
      const stored = said(yield* lastMessages)
      assert.deepStrictEqual(stored.slice(1, -1), remembered)

      for (const ask of [answer, streamed]) {
        yield* script(...wholeExchange)
        const one = yield* ask({ ...stateless, input: [user("Weather?")] })
        const history = [user("Weather?"), ...one.output, ...resultsOf(one.output)]
        const two = yield* ask({ ...stateless, input: history })
        for (const sealed of [...sealedIn(one.output), ...sealedIn(two.output)])
          assert.match(sealed ?? "", /^parley1\.[\w-]+$/)
        yield* ask({ ...stateless, input: [...history, ...two.output, user("Sure?")] })
        assert.deepStrictEqual(said(yield* lastMessages), stored)
      }
    })
  )

  it.effect("what was thought between two calls goes back between them", () =>
    Effect.gen(function* () {
      const between: Reasoning = { text: "Once more.", opaque: opaque("between") }
      const both = calls(called("weather", "a"), called("weather", "b", { reasoning: [between] }))
      for (const ask of [answer, streamed]) {
        yield* script([...thought("I look.", "first"), ...both], ended)
        const { output } = yield* ask({ ...stateless, input: [user("Weather?")] })
        yield* ask({ ...stateless, input: [user("Weather?"), ...output, ...resultsOf(output)] })
        const kept = ["first", "weather", "call a", "a", "between", "weather", "call b", "b"]
        assert.deepStrictEqual(said(yield* lastMessages).slice(1, -2), kept)
      }
    })
  )

  it.effect("a call that has a signature and no thought before it has an item behind it", () =>
    Effect.gen(function* () {
      for (const ask of [answer, streamed]) {
        yield* script(calls(called("weather", "a"), called("weather", "b")), ended)
        const { output } = yield* ask({ ...stateless, input: [user("Weather?")] })
        assert.deepStrictEqual(
          output.map((item) => [item.type, item.type === "reasoning" && item.summary]),
          [
            ["function_call", false],
            ["function_call", false],
            ["reasoning", []]
          ]
        )
        yield* ask({ ...stateless, input: [user("Weather?"), ...output, ...resultsOf(output)] })
        const kept = said(yield* lastMessages)
        for (const value of ["call a", "a", "call b", "b"]) assert.include(kept, value)
      }
      yield* script(calls(called("weather", "a", { opaque: { ...opaque(""), callId: "a" } })))
      const plain = yield* answer({ ...stateless, input: "Weather?" })
      assert.deepStrictEqual(
        plain.output.map(({ type }) => type),
        ["function_call"]
      )
    })
  )

  it.effect(
    "tool calls of the service and of the client that a model makes at once go back together in one round",
    () =>
      Effect.gen(function* () {
        const plain = { opaque: { ...opaque(""), callId: "b" } }
        const both = calls(
          called("calculator", "a"),
          called("weather", "b", plain),
          called("weather", "c", plain)
        )
        const written: ReadonlyArray<ModelPart> = [
          { type: "call_text", position: 0, name: "weather", reasoning: [], text: "{}" },
          ...calls(called("weather", "b"), called("calculator", "a"))
        ]
        for (const made of [both, written]) {
          yield* script(made, ended)
          const all = { tools, own_tools: "on" }
          const first = yield* answer({ input: "Weather?", ...all })
          yield* answer({ previous_response_id: first.id, input: resultsOf(first.output), ...all })
          const stored = yield* lastMessages
          const rounds = (messages: ReadonlyArray<ModelMessage>) =>
            messages.flatMap((message) =>
              message.role === "assistant" ? [message.toolCalls.map(({ name }) => name)] : []
            )
          assert.lengthOf(rounds(stored), 1)
          for (const ask of [answer, streamed]) {
            yield* script(made, ended)
            const { output } = yield* ask({ ...stateless, input: [user("Weather?")] })
            yield* ask({ ...stateless, input: [user("Weather?"), ...output, ...resultsOf(output)] })
            const replayed = yield* lastMessages
            assert.deepStrictEqual(rounds(replayed), rounds(stored))
            assert.deepStrictEqual(said(replayed), said(stored))
          }
        }
      })
  )

  it.effect("tool calls of successive rounds go back in a round each", () =>
    Effect.gen(function* () {
      for (const ask of [answer, streamed]) {
        yield* script(calls(called("calculator", "a")), calls(called("weather", "b")), ended)
        const { output } = yield* ask({ ...stateless, input: [user("Weather?")] })
        yield* ask({ ...stateless, input: [user("Weather?"), ...output, ...resultsOf(output)] })
        const messages = yield* lastMessages
        assert.deepStrictEqual(
          messages.map(({ role }) => role),
          ["user", "assistant", "tool", "assistant", "tool"]
        )
      }
    })
  )

  it.effect("what another user or service sealed, or somebody changed, is ignored and named", () =>
    Effect.gen(function* () {
      yield* script([...thought("I think.", "secret"), ...ended])
      const { output } = yield* answer({ ...stateless, input: "Weather?" })
      const [reasoning, message] = output
      assert(reasoning?.type === "reasoning")
      const sealed = reasoning.encrypted_content ?? ""
      const at = sealed.length - 5
      const changed = sealed.slice(0, at) + (sealed[at] === "A" ? "B" : "A") + sealed.slice(at + 1)
      const asked = (encrypted_content: string) => ({
        ...stateless,
        input: [user("Weather?"), { ...reasoning, encrypted_content }, message, user("Sure?")]
      })
      const cases = [
        ["alice", sealed, null],
        ["bob", sealed, "input[1].encrypted_content"],
        ["alice", changed, "input[1].encrypted_content"],
        ["alice", "gAAAAABo_of_another_service", "input[1].encrypted_content"],
        ["alice", "parley1.", "input[1].encrypted_content"]
      ] as const
      for (const [who, value, named] of cases) {
        yield* script(ended)
        const reply = yield* request(asked(value), who)
        assert.strictEqual(reply.status, 200, reply.text)
        assert.strictEqual(reply.headers.get("x-ignored-fields"), named)
        assert.strictEqual(said(yield* lastMessages).includes("secret"), named === null)
      }
    })
  )

  it.effect("nothing of it is there unless it is asked for, and nothing of a call in any case", () =>
    Effect.gen(function* () {
      for (const body of [{ tools }, { tools, include }]) {
        yield* script([...thought("I look.", "SECRET"), ...calls(called("weather", "SECRET"))])
        const whole = yield* request({ ...body, input: "Weather?" })
        yield* script([...thought("I look.", "SECRET"), ...calls(called("weather", "SECRET"))])
        const stream = yield* request({ ...body, input: "Weather?", stream: true })
        for (const { text: shown } of [whole, stream]) {
          for (const word of ["SECRET", origin, '"opaque"']) assert.notInclude(shown, word)
          assert.strictEqual(shown.includes("encrypted_content"), "include" in body)
        }
      }
    })
  )

  it.effect("a stored response shows it again", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      yield* script([...thought("I think.", "secret"), ...ended])
      const { id } = yield* answer({ include, input: "Weather?" })
      const reply = yield* call(`${url}/openai/v1/responses/${id}`, { key: alice.key })
      const { output } = yield* decode(reply.text)
      yield* script(ended)
      yield* answer({ ...stateless, input: [user("Weather?"), ...output, user("Sure?")] })
      assert.include(said(yield* lastMessages), "secret")
    })
  )

  it.effect("a response in the background has it too", () =>
    Effect.gen(function* () {
      yield* script([...thought("I think.", "secret"), ...ended], ended)
      const frames = framesIn(
        (yield* request({ include, input: "Weather?", background: true, stream: true })).text
      )
      const { whole } = assertProfileGrammar(frames)
      assert(whole !== null && whole !== undefined)
      assert.match(sealedIn(whole.output)[0] ?? "", /^parley1\./)
      const input = [user("Weather?"), ...whole.output, user("Sure?")]
      yield* request({ input, background: true, stream: true })
      assert.include(said(yield* lastMessages), "secret")
      yield* script(ended)
      const others = whole.output.map((item) =>
        item.type === "reasoning" ? { ...item, encrypted_content: "gAAAAABo" } : item
      )
      const reply = yield* request({
        input: [user("Weather?"), ...others, user("Sure?")],
        background: true,
        stream: true
      })
      assert.strictEqual(reply.headers.get("x-ignored-fields"), "input[1].encrypted_content")
    })
  )

  it.effect("items with it can be added to a conversation", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      yield* script([...thought("I think.", "secret"), ...ended], ended)
      const { output } = yield* answer({ ...stateless, input: "Weather?" })
      const items = [user("Weather?"), ...output]
      const created = yield* call(`${url}/openai/v1/conversations`, { key: alice.key, body: { items } })
      const { id } = JSON.parse(created.text) as { readonly id: string }
      yield* answer({ conversation: id, input: "Sure?" })
      assert.include(said(yield* lastMessages), "secret")
    })
  )

  it.effect("what was thought before a search of the web that is shown as such isn't given back", () =>
    Effect.gen(function* () {
      yield* script(
        [...thought("I search.", "first"), ...calls(called("web_search", "a", { arguments: "{}" }))],
        [...thought("I know.", "second"), ...ended],
        ended
      )
      const web = { ...stateless, tools: [{ type: "web_search" }] }
      const { output } = yield* answer({ ...web, input: "Weather?" })
      assert.deepStrictEqual(
        output.map(({ type }) => type),
        ["reasoning", "web_search_call", "reasoning", "message"]
      )
      const [lost, kept] = sealedIn(output)
      assert.isNull(lost)
      assert.isString(kept)
      const reply = yield* request({ ...web, input: [user("Weather?"), ...output, user("Sure?")] })
      assert.isNull(reply.headers.get("x-ignored-fields"))
      assert.deepStrictEqual(said(yield* lastMessages).slice(1, -1), ["second", "It is sunny."])
    })
  )
})

layer(TestApp.layer({ models: { reasoning: "turn" } }), { excludeTestServices: true })(
  "reasoning.encrypted_content, where what models think is forgotten after the turn",
  (it) => {
    it.effect("reasoning that is forgotten is given to the client, and isn't stored when it comes back", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* script([...thought("I look.", "secret"), ...calls(called("weather", "a"))], ended)
        const { output } = yield* answer({ ...stateless, input: "Weather?" })
        yield* answer({ tools, input: [user("Weather?"), ...output, ...resultsOf(output)] })
        assert.include(said(yield* lastMessages), "secret")
        const rows = yield* sql<{ item: string }>`SELECT item::text FROM items`
        assert.isAbove(rows.length, 0)
        for (const { item } of rows) assert.notInclude(item, origin)
      })
    )
  }
)

layer(TestApp.layer({ models: { reasoning: "off" } }), { excludeTestServices: true })(
  "reasoning.encrypted_content, where nothing of what models think is shown",
  (it) => {
    it.effect("reasoning that is not shown is null", () =>
      Effect.gen(function* () {
        yield* script([...thought("I add.", "first"), ...calls(called("calculator", "a"))], ended)
        const { output } = yield* answer({ ...stateless, input: "2+3?" })
        assert.deepStrictEqual(sealedIn(output), [null])
      })
    )
  }
)
