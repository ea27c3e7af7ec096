import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import OpenAI from "openai"
import { ChatChunk, ChatCompletion } from "../../src/api/openai/ChatCompletion.ts"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { completionWithCustoms, makeChunkWithCustoms } from "../../src/openai/ChatCustoms.ts"
import { makeChatRenderer, renderCompletion } from "../../src/openai/ChatRendering.ts"
import * as Events from "../../src/responses/generation/Events.ts"
import { isFinished } from "../../src/responses/generation/EventsState.ts"
import type { GenerationPart } from "../../src/responses/generation/Round.ts"
import { counter, play, saidOf, Script, start, usage } from "../responses/eventScripts.ts"
import { ScriptedModel, scriptedUsage, says } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"
import { chunksIn, foldChunks } from "./chatChunks.ts"

const view = { includeUsage: true, metadata: null }

const shown = (core: ReturnType<typeof play>, customs: ReadonlySet<string>) => {
  const chunks = core.flatMap(makeChatRenderer(view)).flatMap(makeChunkWithCustoms(customs))
  const end = core.at(-1)!
  const whole =
    end.type === "response.completed"
      ? completionWithCustoms(customs)(renderCompletion(end.response, view))
      : null
  return { chunks, whole, calls: foldChunks(chunks).calls }
}

const assertEncodes = Effect.fnUntraced(function* ({ chunks, whole }: ReturnType<typeof shown>) {
  for (const chunk of chunks)
    assert.deepStrictEqual(yield* Schema.encodeUnknownEffect(ChatChunk)(chunk), chunk)
  if (whole !== null) assert.deepStrictEqual(yield* Schema.encodeUnknownEffect(ChatCompletion)(whole), whole)
})

/** A call of either kind, the sizes of its pieces, and the model's text: JSON of an input, or anything. */
const Called = Schema.Struct({
  isCustom: Schema.Boolean,
  text: Schema.String,
  isJson: Schema.Boolean,
  size: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })),
  isAtOnce: Schema.Boolean
})

/** The events of these calls; `isCut` of an answer that ends in the middle of the last one. */
const calling = (calls: ReadonlyArray<typeof Called.Type>, isCut: boolean) => {
  const nextId = counter()
  const parts = calls.flatMap(({ isAtOnce, isCustom, isJson, size, text }, at): Array<GenerationPart> => {
    const args = isJson ? JSON.stringify({ input: text }) : text
    const named = { id: nextId(), name: isCustom ? "note" : "weather" }
    const points = [...args]
    const pieces = Array.from({ length: Math.ceil(points.length / size) }, (_, index) => ({
      type: "function_text" as const,
      ...named,
      text: points.slice(index * size, index * size + size).join("")
    }))
    if (isCut && at === calls.length - 1) return pieces.slice(0, -1)
    return [
      ...(isAtOnce ? [] : pieces),
      { type: "function_call", ...named, arguments: args, round: "one" } as const
    ]
  })
  const reason = isCut ? "length" : "tool_calls"
  const [begun, first] = Events.begin(start)
  const [state, events] = Events.steps(begun, [...parts, { type: "finish", reason, usage }], nextId)
  assert(isFinished(state))
  return [...first, ...events, Events.complete(state, 1_795_257_700_999)]
}

describe("calls of custom tools in a chat", () => {
  it.effect.prop(
    "custom calls are the same in the folded chunks and in the document, whatever the model writes",
    [Schema.Array(Called), Schema.Boolean],
    ([calls, isCut]) =>
      Effect.gen(function* () {
        const all = shown(calling(calls, isCut), new Set(["note"]))
        yield* assertEncodes(all)
        assert.deepStrictEqual(all.calls, [...(all.whole?.choices[0]?.message.tool_calls ?? [])])
        const whole = isCut ? calls.slice(0, -1) : calls
        for (const [at, { isCustom, isJson, text }] of whole.entries()) {
          const one = all.calls[at]
          assert.strictEqual(one?.type, isCustom ? "custom" : "function")
          if (one?.type !== "custom" || !isJson || !text.isWellFormed()) continue
          assert.strictEqual(one.custom.name, "note")
          assert.strictEqual(one.custom.input, text)
        }
      })
  )

  it.effect.prop(
    "the pieces of custom calls fold to those of the document in any script",
    [Script.said, Script.ending, Script.batch],
    ([said, ending, batch]) =>
      Effect.gen(function* () {
        const all = shown(play(saidOf(said), ending, batch), new Set(["f\u{fffd}", "f"]))
        yield* assertEncodes(all)
        if (all.whole !== null)
          assert.deepStrictEqual(all.calls, [...(all.whole.choices[0]?.message.tool_calls ?? [])])
        assert.notInclude(JSON.stringify([all.whole, ...all.chunks]), '"function":')
      })
  )
})

const patch = {
  type: "custom" as const,
  custom: {
    name: "patch",
    description: "Changes files.",
    format: {
      type: "grammar" as const,
      grammar: { syntax: "lark" as const, definition: 'start: "*** x" /\\n+/' }
    }
  }
}
const note = { type: "custom" as const, custom: { name: "note" } }
const weather = { type: "function" as const, function: { name: "weather", parameters: { type: "object" } } }
const tools = [note, patch, weather]
const hello = { role: "user" as const, content: "Go" }

const patchArgs = '{"input":"*** x\\n"}'
const inPieces = (args: string) =>
  Stream.fromIterable<ModelPart>([
    ...(args.match(/.{1,4}/gsu) ?? []).map((text): ModelPart => ({
      type: "call_text",
      position: 0,
      name: "note",
      text,
      reasoning: []
    })),
    { type: "tool_call", call: { id: "p0", name: "note", arguments: args } },
    { type: "tool_call", call: { id: "p1", name: "patch", arguments: patchArgs } },
    { type: "finish", reason: "tool_calls", usage: scriptedUsage }
  ])

const prepared = Effect.gen(function* () {
  const model = yield* ScriptedModel
  yield* model.change({ tools: true, contextWindow: 20_000 })
  return model
})

const lastAsked = Effect.flatMap(ScriptedModel, ({ asked }) =>
  Effect.map(asked, (all) => all.at(-1)!.request)
)

const post = Effect.fnUntraced(function* (body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/openai/v1/chat/completions`, { key: alice.key, body })
})

layer(TestApp.layer(), { excludeTestServices: true })("custom tools of a chat", (it) => {
  it.effect("custom tools work with the client of OpenAI, whole and streamed, and in its history", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* prepared
      const openai = new OpenAI({ apiKey: alice.key, baseURL: `${url}/openai/v1`, maxRetries: 0 })
      const body = { model: "auto", tools, messages: [hello] }
      yield* model.next(inPieces('{"input":"a \\"b\\"\\n😀"}'), inPieces('{"input":"a \\"b\\"\\n😀"}'))
      const { choices } = yield* Effect.promise(() => openai.chat.completions.create(body))
      const message = choices[0]!.message
      assert.strictEqual(choices[0]?.finish_reason, "tool_calls")
      assert.deepStrictEqual(
        (message.tool_calls ?? []).map((one) => one.type === "custom" && one.custom),
        [
          { name: "note", input: 'a "b"\n😀' },
          { name: "patch", input: "*** x\n" }
        ]
      )
      const { tools: specs } = yield* lastAsked
      assert.deepStrictEqual(
        specs.map(({ name, text }) => [name, text?.grammar ?? null]),
        [
          ["note", null],
          ["patch", patch.custom.format.grammar],
          ["weather", null]
        ]
      )
      assert.include(specs[1]?.description ?? "", patch.custom.format.grammar.definition)

      const stream = yield* Effect.promise(() => openai.chat.completions.create({ ...body, stream: true }))
      const deltas = yield* Stream.runCollect(Stream.fromAsyncIterable(stream, String))
      const calls = deltas.flatMap(({ choices: [choice] }) => choice?.delta.tool_calls ?? [])
      assert.isAbove(calls.length, 4)
      const written = calls.map((one) => [one.index, Reflect.get(one, "custom")])
      assert.deepStrictEqual(written[0], [0, { name: "note", input: "" }])
      assert.strictEqual(
        written.map(([index, custom]) => (index === 0 ? Reflect.get(Object(custom), "input") : "")).join(""),
        'a "b"\n😀'
      )

      yield* model.next(says("Done."))
      const results = (message.tool_calls ?? []).map(({ id }) => ({
        role: "tool" as const,
        tool_call_id: id,
        content: `of ${id}`
      }))
      yield* Effect.promise(() =>
        openai.chat.completions.create({ ...body, messages: [hello, message, ...results] })
      )
      const { messages } = yield* lastAsked
      assert.deepStrictEqual(
        messages
          .flatMap((one) => (one.role === "assistant" ? one.toolCalls : []))
          .map((one) => one.arguments),
        ['{"input":"a \\"b\\"\\n😀"}', patchArgs]
      )
    })
  )

  it.effect("custom calls are written into the right one of several answers", () =>
    Effect.gen(function* () {
      const model = yield* prepared
      yield* model.next(inPieces('{"input":"abcdefghijkl"}'), inPieces('{"input":"abcdefghijkl"}'))
      const chunks = chunksIn((yield* post({ messages: [hello], tools, n: 2, stream: true })).text)
      for (const wanted of [0, 1]) {
        const own = chunks.flatMap(({ choices, ...chunk }) =>
          choices.some(({ index }) => index === wanted) ? [{ ...chunk, choices }] : []
        )
        assert.deepStrictEqual(
          foldChunks(own).calls.map((one) => one.type === "custom" && one.custom.input),
          ["abcdefghijkl", "*** x\n"]
        )
      }
    })
  )

  it.effect("custom tools can be demanded by tool_choice, and allowed by it", () =>
    Effect.gen(function* () {
      const model = yield* prepared
      const named = { type: "custom", custom: { name: "note" } }
      yield* model.next(says("a"), says("b"))
      const demanded = yield* post({ messages: [hello], tools, tool_choice: named })
      assert.strictEqual(demanded.status, 200, demanded.text)
      assert.deepStrictEqual((yield* lastAsked).options?.toolChoice, { name: "note" })
      const mode = { mode: "required", tools: [named, { type: "function", function: { name: "weather" } }] }
      const choice = { type: "allowed_tools", allowed_tools: mode }
      const allowed = yield* post({ messages: [hello], tools, tool_choice: choice })
      assert.strictEqual(allowed.status, 200, allowed.text)
      assert.deepStrictEqual(
        (yield* lastAsked).tools.map(({ name }) => name),
        ["note", "weather"]
      )
    })
  )

  const called = (custom: object) => ({
    role: "assistant",
    tool_calls: [{ id: "c", type: "custom", ...custom }]
  })
  const refused: ReadonlyArray<readonly [field: string, body: object]> = [
    ["tools[1].custom.name", { tools: [weather, { type: "custom", custom: { name: "weather" } }] }],
    ["tools[1].function.name", { tools: [{ type: "custom", custom: { name: "weather" } }, weather] }],
    ["tool_choice", { tools: [note], tool_choice: { type: "custom", custom: { name: "other" } } }],
    ...["auto", "required"].map(
      (mode) =>
        [
          "tool_choice.allowed_tools.tools[1]",
          {
            tools: [note],
            tool_choice: {
              type: "allowed_tools",
              allowed_tools: {
                mode,
                tools: ["note", "other"].map((name) => ({ type: "custom", custom: { name } }))
              }
            }
          }
        ] as const
    ),
    ["messages[1].tool_calls[0].custom.input", { messages: [hello, called({ custom: { name: "note" } })] }],
    ["messages[1].tool_calls[0].custom", { messages: [hello, called({})] }]
  ]
  it.effect.each(refused)("custom tools and calls are refused by the name of %s in %j", ([field, body]) =>
    Effect.gen(function* () {
      yield* prepared
      const { message, param } = errorOf(yield* post({ messages: [hello], ...body }), 400)
      assert.strictEqual(param, field)
      assert.include(message, `\`${field}\``)
    })
  )
})
