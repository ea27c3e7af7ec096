import { assert, layer } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import { ModelFailure } from "../../src/domain/Errors.ts"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { says, ScriptedModel, scriptedUsage } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"
import { chunksIn, foldChunks } from "./chatChunks.ts"
import { framesIn } from "./frames.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ResponseResource))

const post = Effect.fnUntraced(function* (body: object, path = "responses") {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/openai/v1/${path}`, { key: alice.key, body })
})

const definition = 'start: "add " /\\w+/ | "remove " /\\w+/'
const custom = (name: string, syntax: string, text: string) => ({
  type: "custom",
  name,
  format: { type: "grammar", syntax, definition: text }
})
const tools = [
  custom("edit", "lark", definition),
  custom("date", "regex", String.raw`\d{4}-\d\d`),
  custom("loose", "lark", "%declare X\nstart: X"),
  { type: "custom", name: "note" }
]

/** A round that calls these, each in pieces of four characters. */
const calls = (given: ReadonlyArray<readonly [name: string, input: string]>, isText?: true) => {
  const mark = isText === undefined ? {} : { isText }
  const parts = given.flatMap(([name, input], position): ReadonlyArray<ModelPart> => {
    const args = JSON.stringify({ input })
    return [
      ...(args.match(/.{1,4}/gsu) ?? []).map((text) => ({
        type: "call_text" as const,
        position,
        name,
        text,
        reasoning: [],
        ...mark
      })),
      { type: "tool_call", call: { id: `c${position}`, name, arguments: args, ...mark } }
    ]
  })
  return Stream.fromIterable<ModelPart>([
    ...parts,
    { type: "finish", reason: "tool_calls", usage: scriptedUsage }
  ])
}

const prepared = Effect.gen(function* () {
  const model = yield* ScriptedModel
  yield* model.change({ tools: true, contextWindow: 100_000 })
  return { model, before: (yield* model.asked).length }
})

/** The requests since then. */
const askedSince = (before: number) =>
  Effect.flatMap(ScriptedModel, ({ asked }) => Effect.map(asked, (all) => all.slice(before)))

const streamed = Effect.gen(function* () {
  const reply = yield* post({ input: "Go", tools, stream: true })
  const frames = framesIn(reply.text)
  const { whole } = assertProfileGrammar(frames)
  const pieces = frames.flatMap((event) =>
    event.type === "response.custom_tool_call_input.delta" ? [event.delta] : []
  )
  return { pieces, output: inputsOf(whole?.output ?? []) }
})

const inputsOf = (output: ResponseResource["output"]) =>
  output.flatMap((item) => (item.type === "custom_tool_call" ? [[item.name, item.input]] : []))

layer(TestApp.layer(), { excludeTestServices: true })("a text that is to follow a grammar", (it) => {
  it.effect("an input that fits its grammar is shown in one piece, and unchecked ones as written", () =>
    Effect.gen(function* () {
      const { before, model } = yield* prepared
      yield* model.next(calls([["edit", "add something"]]))
      assert.deepStrictEqual(yield* streamed, {
        pieces: ["add something"],
        output: [["edit", "add something"]]
      })
      assert.lengthOf(yield* askedSince(before), 1)
      for (const name of ["note", "loose"]) {
        yield* model.next(calls([[name, "anything at all"]]))
        const { output, pieces } = yield* streamed
        assert.deepStrictEqual(output, [[name, "anything at all"]])
        assert.isAbove(pieces.length, 2)
      }
    })
  )

  it.effect("an input that doesn't fit its grammar is written again, with the place in words", () =>
    Effect.gen(function* () {
      const { before, model } = yield* prepared
      yield* model.next(calls([["edit", "delete x"]]), calls([["edit", "remove x"]]))
      assert.deepStrictEqual(yield* streamed, { pieces: ["remove x"], output: [["edit", "remove x"]] })
      const [, again] = yield* askedSince(before)
      assert.deepStrictEqual(
        again?.request.tools.map(({ name }) => name),
        ["edit"]
      )
      const last = again?.request.messages.at(-1)
      assert.strictEqual(last?.role, "tool")
      assert.include(last?.text ?? "", 'At line 1, column 1 one of these is expected: "add " "remove "')
      // Both rounds count.
      yield* model.next(calls([["date", "2026"]]), calls([["date", "2026-11"]]))
      const whole = yield* decode((yield* post({ input: "Go", tools })).text)
      assert.deepStrictEqual(inputsOf(whole.output), [["date", "2026-11"]])
      assert.strictEqual(whole.usage?.output_tokens, 2 * scriptedUsage.outputTokens)
    })
  )

  it.effect("an input that doesn't fit its grammar stays if the model doesn't write a better one", () =>
    Effect.gen(function* () {
      const { model } = yield* prepared
      const failed = new ModelFailure({ reason: "bad_request", detail: "", provider: "p", model: "m" })
      const cases = [
        [calls([["edit", "still wrong"]]), "still wrong"],
        [says("I can't."), "delete x"],
        [Stream.fail(failed), "delete x"]
      ] as const
      for (const [second, expected] of cases) {
        yield* model.next(calls([["edit", "delete x"]]), second)
        const reply = yield* post({ input: "Go", tools })
        const { output, output_text } = yield* decode(reply.text)
        assert.deepStrictEqual(inputsOf(output), [["edit", expected]])
        assert.strictEqual(output_text, "")
      }
    })
  )

  it.effect("only the input that doesn't fit is written again: all calls of its round keep their order", () =>
    Effect.gen(function* () {
      const { before, model } = yield* prepared
      yield* model.next(
        calls([
          ["note", "a note"],
          ["edit", "delete x"],
          ["date", "2026-11"],
          ["note", "another"]
        ]),
        calls([["edit", "add x"]])
      )
      const first = yield* decode((yield* post({ input: "Go", tools })).text)
      assert.deepStrictEqual(inputsOf(first.output), [
        ["note", "a note"],
        ["edit", "add x"],
        ["date", "2026-11"],
        ["note", "another"]
      ])
      yield* model.next(says("Done."))
      const input = first.output.flatMap((item) =>
        item.type === "custom_tool_call"
          ? [{ type: "custom_tool_call_output", call_id: item.call_id, output: item.name }]
          : []
      )
      const next = yield* post({ previous_response_id: first.id, input, tools })
      assert.strictEqual(next.status, 200, next.text)
      const { messages } = (yield* askedSince(before)).at(-1)!.request
      assert.deepStrictEqual(
        messages.flatMap((one) => (one.role === "assistant" ? [one.toolCalls.length] : [])),
        [4]
      )
    })
  )

  it.effect("a call that is written again replaces the wrong one of its name, and none of another", () =>
    Effect.gen(function* () {
      const { model } = yield* prepared
      const wrong = [
        ["edit", "delete x"],
        ["date", "2026"],
        ["date", "2027"]
      ] as const
      const [edit, first, second] = wrong
      const add = ["edit", "add x"] as const
      const november = ["date", "2026-11"] as const
      const december = ["date", "2026-12"] as const
      const cases = [
        [[november], [edit, november, second]],
        [
          [november, december, add],
          [add, november, december]
        ],
        [
          [add, add],
          [add, first, second]
        ]
      ] as const
      for (const [again, expected] of cases) {
        yield* model.next(calls(wrong), calls(again))
        const whole = yield* decode((yield* post({ input: "Go", tools })).text)
        assert.deepStrictEqual(
          inputsOf(whole.output),
          expected.map((one) => [...one])
        )
      }
    })
  )

  it.effect("a call that is to follow a grammar is written again beside a call of the service's own", () =>
    Effect.gen(function* () {
      const { before, model } = yield* prepared
      const own = { id: "own", name: "calculator", arguments: JSON.stringify({ expression: "6*7" }) }
      const both = Stream.concat(
        Stream.make<[ModelPart]>({ type: "tool_call", call: own }),
        calls([["edit", "delete x"]])
      )
      yield* model.next(both, calls([["edit", "remove x"]]))
      const first = yield* decode((yield* post({ input: "Go", tools, own_tools: "on" })).text)
      assert.deepStrictEqual(inputsOf(first.output), [["edit", "remove x"]])
      const [, again] = yield* askedSince(before)
      assert.deepStrictEqual(
        again?.request.tools.map(({ name }) => name),
        ["edit"]
      )
      yield* model.next(says("Done."))
      const input = first.output.flatMap((item) =>
        item.type === "custom_tool_call"
          ? [{ type: "custom_tool_call_output", call_id: item.call_id, output: "edited" }]
          : []
      )
      const next = yield* post({ previous_response_id: first.id, input, tools, own_tools: "on" })
      assert.strictEqual(next.status, 200, next.text)
      const { messages } = (yield* askedSince(before)).at(-1)!.request
      const rounds = messages.flatMap((one) =>
        one.role === "assistant" ? [one.toolCalls.map((made) => [made.name, made.arguments])] : []
      )
      assert.deepStrictEqual(rounds, [
        [
          ["calculator", own.arguments],
          ["edit", JSON.stringify({ input: "remove x" })]
        ]
      ])
      const results = messages.flatMap((one) => (one.role === "tool" ? [one.text] : []))
      assert.lengthOf(results, 2)
      assert.include(results[0], "42")
      assert.include(results[1], "edited")
    })
  )

  it.effect("a grammar that the server was given isn't checked here", () =>
    Effect.gen(function* () {
      const { before, model } = yield* prepared
      yield* model.next(calls([["edit", "delete x"]], true))
      const { output, pieces } = yield* streamed
      assert.deepStrictEqual(output, [["edit", "delete x"]])
      assert.isAbove(pieces.length, 1)
      assert.lengthOf(yield* askedSince(before), 1)
    })
  )

  it.effect("an input is checked against its grammar in a chat, too", () =>
    Effect.gen(function* () {
      const { model } = yield* prepared
      yield* model.next(calls([["edit", "delete x"]]), calls([["edit", "remove x"]]))
      const grammar = { syntax: "lark", definition }
      const chatTools = [{ type: "custom", custom: { name: "edit", format: { type: "grammar", grammar } } }]
      const body = { messages: [{ role: "user", content: "Go" }], tools: chatTools, stream: true }
      const folded = foldChunks(chunksIn((yield* post(body, "chat/completions")).text))
      assert.deepStrictEqual(
        folded.calls.map((one) => one.type === "custom" && one.custom),
        [{ name: "edit", input: "remove x" }]
      )
    })
  )

  it.effect("a grammar harms nobody, however costly it is", () =>
    Effect.gen(function* () {
      const { model } = yield* prepared
      const doubling = Array.from({ length: 25 }, (_, n) => `T${n}: T${n + 1} T${n + 1}`)
      const cases = [
        ["start: ()~4294967297", 200],
        ["start: ()~30000000", 200],
        ['start: "a"~3000000000..4', 400],
        [["start: T0", ...doubling, 'T25: "a"'].join("\n"), 200]
      ] as const
      for (const [costly, status] of cases) {
        if (status === 200) yield* model.next(says("Done."))
        const reply = yield* post({ input: "Go", tools: [custom("edit", "lark", costly)] })
        assert.strictEqual(reply.status, status, reply.text)
      }
    })
  )

  it.effect("a grammar that can't be used is refused by the name of its field", () =>
    Effect.gen(function* () {
      yield* prepared
      const broken = custom("edit", "lark", "start: x")
      const reply = yield* post({ input: "Go", tools: [tools[3], broken] })
      const error = errorOf(reply, 400)
      assert.strictEqual(error.param, "tools[1].format.definition")
      assert.include(error.message, "x is not defined")
      const nested = { type: "namespace", name: "n", tools: [custom("edit", "regex", "(")] }
      const inside = errorOf(yield* post({ input: "Go", tools: [nested] }), 400)
      assert.strictEqual(inside.param, "tools[0].tools[0].format.definition")
      const grammar = { syntax: "lark", definition: "start: x" }
      const chatTools = [{ type: "custom", custom: { name: "edit", format: { type: "grammar", grammar } } }]
      const messages = [{ role: "user", content: "Go" }]
      const inChat = errorOf(yield* post({ messages, tools: chatTools }, "chat/completions"), 400)
      assert.strictEqual(inChat.param, "tools[0].custom.format.grammar.definition")
      assert.include(inChat.message, "`tools[0].custom.format.grammar.definition`")
    })
  )
})
