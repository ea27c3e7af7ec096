import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import type {
  AnswerOptions,
  ModelPart,
  ModelRequest,
  ToolChoice,
  ToolSpec
} from "../../src/domain/ModelCall.ts"
import type { Attempt } from "../../src/responses/Attempts.ts"
import { functionCall } from "../../src/responses/generation/CallItems.ts"
import type { CallRules } from "../../src/responses/generation/CallRules.ts"
import type { GenerationPart } from "../../src/responses/generation/Round.ts"
import { type RunTool, toolRoundsMax } from "../../src/responses/generation/ToolCalls.ts"
import { makeOffers } from "../../src/responses/Offers.ts"
import type { Demands } from "../../src/responses/prompt/ResponseRequest.ts"
import { attempt, drain, start } from "./attempts.ts"

const spec = (name: string): ToolSpec => ({ name, description: "", parameters: { type: "object" } })
const usage = {
  inputTokens: 10,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 2,
  reasoningTokens: 0,
  source: "provider" as const
}
const text = (value: string): ModelPart => ({ type: "text", text: value })
const calling = (name: string): ModelPart => ({
  type: "tool_call",
  call: { id: "same", name, arguments: `{"of":"${name}"}` }
})
const finish = (reason: "stop" | "tool_calls" | "length"): ModelPart => ({ type: "finish", reason, usage })

/**
 * A model with a calculator of the service, and a client's function `weather`, that answers each round as the
 * script says.
 */
const scripted = (rounds: ReadonlyArray<ReadonlyArray<ModelPart>>, options: AnswerOptions = {}) => {
  const asked: Array<ModelRequest> = []
  const base = attempt("a", Stream.empty)
  const one: Attempt = {
    ...base,
    model: { ...base.model, contextWindow: 10_000, tools: true },
    request: {
      messages: [{ role: "user", text: "Hi" }],
      maxOutputTokens: 100,
      tools: [spec("calculator"), spec("weather")],
      options
    },
    stream: (request) => {
      asked.push(request)
      return Stream.fromIterable(rounds[asked.length - 1] ?? [finish("stop")])
    }
  }
  return { asked, attempt: one }
}

const rules = (ownCallsMax = Number.POSITIVE_INFINITY): CallRules => ({
  functions: new Set(["weather"]),
  ownCallsMax
})
const echo: RunTool = (call) => Effect.succeed({ output: call.name, error: null })
const generated = (one: Attempt, called = rules()) => Effect.flatMap(start([one], echo, 15, called), drain)

const seen = (parts: ReadonlyArray<GenerationPart>) =>
  parts.map((part) => ("name" in part ? `${part.type} ${part.name}` : part.type))

describe("the calls of a client's functions", () => {
  it.effect("function calls end the answer after the service's own calls of the same round have run", () =>
    Effect.gen(function* () {
      const model = scripted([
        [text("Hm."), calling("weather"), calling("calculator"), calling("weather"), finish("tool_calls")]
      ])
      const parts = yield* generated(model.attempt)
      assert.deepStrictEqual(seen(parts), [
        "text",
        "tool_begin calculator",
        "tool_end",
        "function_call weather",
        "function_call weather",
        "finish"
      ])
      assert.deepStrictEqual(parts.at(-1), { type: "finish", reason: "tool_calls", usage })
      assert.strictEqual(model.asked.length, 1)
      const rounds = parts.flatMap((part) =>
        part.type === "tool_begin" || part.type === "function_call" ? [part.round] : []
      )
      assert.strictEqual(rounds.length, 3)
      assert.strictEqual(new Set(rounds).size, 1, "they were one round")
      const callIds = parts.flatMap((part) =>
        part.type === "function_call" ? [functionCall(part).call_id] : []
      )
      assert.strictEqual(new Set(callIds).size, 2)
    })
  )

  it.effect("function calls count toward the usage of all rounds", () =>
    Effect.gen(function* () {
      const model = scripted([
        [calling("calculator"), finish("tool_calls")],
        [calling("weather"), finish("tool_calls")]
      ])
      const parts = yield* generated(model.attempt)
      assert.deepStrictEqual(parts.at(-1), {
        type: "finish",
        reason: "tool_calls",
        usage: { ...usage, inputTokens: 20, outputTokens: 4 }
      })
    })
  )

  it.effect("the calls of a cut answer are left out, because their arguments may be cut, too", () =>
    Effect.gen(function* () {
      const parts = yield* generated(scripted([[calling("weather"), finish("length")]]).attempt)
      assert.deepStrictEqual(parts.at(-1), { type: "finish", reason: "length", usage })
      assert.deepStrictEqual(seen(parts), ["finish"])
    })
  )

  it.effect("the calls of a client's functions are shown as they are written, one after the other", () =>
    Effect.gen(function* () {
      const before = { text: "I look.", opaque: null }
      const piece = (position: number, value: string, name = "weather"): ModelPart => ({
        type: "call_text",
        position,
        name,
        text: value,
        reasoning: position === 0 && value.startsWith("{") ? [before] : []
      })
      const whole = (args: string, name = "weather"): ModelPart => ({
        type: "tool_call",
        call: { id: "same", name, arguments: args }
      })
      const written = [
        piece(0, '{"of":'),
        piece(0, '"a"}'),
        whole('{"of":"a"}'),
        piece(1, "{", "calculator"),
        whole("{}", "calculator"),
        piece(2, "{}"),
        whole("{}"),
        finish("tool_calls")
      ]
      const running = scripted([])
      const endless = Stream.concat(Stream.fromIterable(written.slice(0, 2)), Stream.never)
      const { parts } = yield* start([{ ...running.attempt, stream: () => endless }], echo, 15, rules())
      assert.deepStrictEqual(
        (yield* Stream.runCollect(Stream.take(parts, 3))).map((part) =>
          "text" in part ? part.text : part.type
        ),
        ["reasoning", '{"of":', '"a"}']
      )

      const all = yield* generated(scripted([written]).attempt)
      assert.deepStrictEqual(seen(all), [
        "reasoning",
        "function_text weather",
        "function_text weather",
        "function_call weather",
        "function_text weather",
        "function_call weather",
        "tool_begin calculator",
        "tool_end",
        "finish"
      ])
      const functions = all.flatMap((part) => (part.type === "function_call" ? [part] : []))
      const pieces = all.flatMap((part) => (part.type === "function_text" ? [part.id] : []))
      assert.deepStrictEqual(
        [...new Set(pieces)],
        functions.map(({ id }) => id)
      )
      const rounds = all.flatMap((part) => ("round" in part ? [part.round] : []))
      assert.deepStrictEqual([rounds.length, new Set(rounds).size], [3, 1])

      const single = yield* generated(scripted([written], { parallelToolCalls: false }).attempt)
      assert.deepStrictEqual(seen(single), seen(all).slice(0, 4).concat("finish"))
      const silent = yield* generated(scripted([written], { toolChoice: "none" }).attempt)
      assert.deepStrictEqual(seen(silent), ["finish"])
    })
  )

  it.effect("function calls stay possible when the service's own tools may not be called any more", () =>
    Effect.gen(function* () {
      const again = [calling("calculator"), finish("tool_calls")]
      const model = scripted([
        ...Array.from({ length: toolRoundsMax }, () => again),
        [calling("calculator"), calling("weather"), finish("tool_calls")]
      ])
      const parts = yield* generated(model.attempt)
      assert.deepStrictEqual(
        model.asked.at(-1)?.tools.map(({ name }) => name),
        ["weather"]
      )
      assert.include(model.asked.at(-1)?.messages.at(-1)?.text, "Call one of the other functions")
      assert.deepStrictEqual(seen(parts).slice(-2), ["function_call weather", "finish"])
      assert.strictEqual(parts.filter(({ type }) => type === "tool_begin").length, toolRoundsMax)
    })
  )

  it.effect("a forced choice holds for the first round only", () =>
    Effect.gen(function* () {
      const options = { toolChoice: { name: "calculator" }, temperature: 0.5 }
      const model = scripted([[calling("calculator"), finish("tool_calls")]], options)
      yield* generated(model.attempt)
      assert.deepStrictEqual(
        model.asked.map((request) => request.options),
        [options, { temperature: 0.5 }]
      )
    })
  )

  it.effect("a model that ignores that it is to call nothing, or one thing at a time, is held to it", () =>
    Effect.gen(function* () {
      const round = [text("Hm."), calling("weather"), calling("calculator"), finish("tool_calls")]
      const none = yield* generated(scripted([round], { toolChoice: "none" }).attempt)
      assert.deepStrictEqual(seen(none), ["text", "finish"])
      assert.deepInclude(none.at(-1), { reason: "stop" })
      const one = yield* generated(scripted([round], { parallelToolCalls: false }).attempt)
      assert.deepStrictEqual(seen(one), ["text", "function_call weather", "finish"])
    })
  )

  it.effect("the service's own calls of all rounds together are bounded, and the client's are not", () =>
    Effect.gen(function* () {
      const two = [calling("calculator"), calling("calculator"), finish("tool_calls")]
      const model = scripted([two, two, [calling("weather"), finish("tool_calls")]])
      const parts = yield* generated(model.attempt, rules(3))
      assert.strictEqual(parts.filter(({ type }) => type === "tool_begin").length, 3)
      assert.deepStrictEqual(
        model.asked.map(({ tools }) => tools.length),
        [2, 2, 1]
      )
      assert.deepStrictEqual(seen(parts).slice(-2), ["function_call weather", "finish"])
    })
  )

  const Kind = Schema.Literals(["text", "calculator", "weather", "unknown"])
  const Bound = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 }))
  it.effect.prop(
    "whatever a model calls, each call of the service's own ends, the client's come last, and the bound holds",
    [Schema.Array(Schema.Array(Kind).check(Schema.isMaxLength(4))).check(Schema.isMaxLength(6)), Bound],
    ([script, bound]) =>
      Effect.gen(function* () {
        const rounds = script.map((kinds) => [
          ...kinds.map((kind) => (kind === "text" ? text("word") : calling(kind))),
          finish(kinds.some((kind) => kind !== "text") ? "tool_calls" : "stop")
        ])
        const parts = yield* generated(scripted(rounds).attempt, rules(bound))
        const begun = parts.flatMap((part) => (part.type === "tool_begin" ? [part.id] : []))
        const ended = parts.flatMap((part) => (part.type === "tool_end" ? [part.id] : []))
        assert.deepStrictEqual(ended.toSorted(), begun.toSorted())
        assert.isAtMost(begun.length, bound)
        const end = parts.findIndex(({ type }) => type === "function_call" || type === "finish")
        const isHandedOver = parts.slice(end, -1).length > 0
        assert.isTrue(parts.slice(end, -1).every(({ type }) => type === "function_call"))
        assert.deepInclude(parts.at(-1), { type: "finish", reason: isHandedOver ? "tool_calls" : "stop" })
      })
  )
})

describe("what models are offered", () => {
  const offerOf = makeOffers([spec("calculator"), spec("web_search"), spec("web_fetch")])
  const permitted = new Set(["calculator", "web_search"])
  const offered = (demands: Demands) =>
    Effect.map(offerOf(demands, permitted), ({ tools }) => tools.specs.map(({ name }) => name))

  it.effect(
    "the client's functions stand beside the permitted tools, and replace those of the same name",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* offered({}), ["calculator", "web_search"])
        const functions = [spec("weather"), spec("calculator")]
        assert.deepStrictEqual(yield* offered({ functions }), ["web_search", "weather", "calculator"])
        assert.deepStrictEqual(yield* offered({ functions, ownTools: new Set() }), ["weather", "calculator"])
        assert.deepStrictEqual(yield* offered({ ownTools: new Set(["web_search", "web_fetch"]) }), [
          "web_search"
        ])
        assert.deepStrictEqual(yield* offered({ functions, maxToolCalls: 0 }), ["weather", "calculator"])
      })
  )

  it.effect(
    "only a model that can call tools may answer a client that has functions, or demands a call",
    () =>
      Effect.gen(function* () {
        const mustCall = (demands: Demands) =>
          Effect.map(offerOf(demands, permitted), (offer) => offer.mustCall)
        const functions = [spec("weather")]
        const choose = (toolChoice: ToolChoice) => ({ answer: { toolChoice } })
        assert.isFalse(yield* mustCall({}))
        assert.isFalse(yield* mustCall({ functions, ...choose("none") }))
        assert.isTrue(yield* mustCall({ functions }))
        assert.isTrue(yield* mustCall(choose("required")))
        assert.isTrue(yield* mustCall(choose({ name: "calculator" })))
      })
  )

  it.effect("a choice of what is not offered is refused", () =>
    Effect.gen(function* () {
      const refusals = [
        { answer: { toolChoice: { name: "weather" } } },
        { answer: { toolChoice: { name: "web_fetch" } } },
        { answer: { toolChoice: "required" as const }, ownTools: new Set<never>() }
      ]
      for (const demands of refusals) {
        const error = yield* Effect.flip(offerOf(demands, permitted))
        assert.strictEqual(error.param, "tool_choice")
        assert.include(error.message, "`tools`")
      }
    })
  )

  it.effect("an unknown name is answered with the names of all that may be called", () =>
    Effect.gen(function* () {
      const offer = yield* offerOf({ functions: [spec("weather")] }, permitted)
      const run = offer.run((call) => Effect.succeed({ output: call.name, error: null }))
      const unknown = yield* run({ id: "1", name: "web_fetch", arguments: "{}" })
      assert.strictEqual(
        unknown.error,
        "There is no such tool. The tools are: calculator, web_search, weather."
      )
      assert.strictEqual((yield* run({ id: "1", name: "calculator", arguments: "{}" })).output, "calculator")
    })
  )
})
