import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema, Stream } from "effect"
import { ModelFailure } from "../../../src/domain/Errors.ts"
import type { ModelPart, ModelRequest, ModelUsage, ToolCall } from "../../../src/domain/ModelCall.ts"
import type { Attempt } from "../../../src/responses/Attempts.ts"
import type { GenerationPart } from "../../../src/responses/generation/Round.ts"
import { type RunTool, toolRoundsMax } from "../../../src/responses/generation/ToolCalls.ts"
import { callIdOf } from "../../../src/responses/prompt/PromptMessages.ts"
import { attempt, drain, start } from "../attempts.ts"

const usage = (outputTokens: number): ModelUsage => ({
  inputTokens: 10,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens,
  reasoningTokens: 0,
  source: "provider"
})
const text = (value: string): ModelPart => ({ type: "text", text: value })
const calling = (name: string, args = "{}"): ModelPart => ({
  type: "tool_call",
  call: { id: "same", name, arguments: args }
})
const finish = (reason: "stop" | "tool_calls" | "length" = "stop", outputTokens = 1): ModelPart => ({
  type: "finish",
  reason,
  usage: usage(outputTokens)
})
const tool = { name: "calculator", description: "counts", parameters: {} }

/** A model that answers each round as the script says, and what it was asked. */
const scripted = (rounds: ReadonlyArray<ReadonlyArray<ModelPart>>, contextWindow = 10_000) => {
  const asked: Array<ModelRequest> = []
  const base = attempt("a", Stream.empty)
  const one: Attempt = {
    ...base,
    model: { ...base.model, contextWindow, tools: true },
    request: { messages: [{ role: "user", text: "Hi" }], maxOutputTokens: 100, tools: [tool] },
    stream: (request) => {
      asked.push(request)
      return Stream.fromIterable(rounds[asked.length - 1] ?? [finish()])
    }
  }
  return { asked, attempt: one }
}

const echo: RunTool = (call) => Effect.succeed({ output: `${call.name}(${call.arguments})`, error: null })

const kinds = (parts: ReadonlyArray<GenerationPart>) => parts.map((part) => part.type)
const toolEnds = (parts: ReadonlyArray<GenerationPart>) =>
  parts.flatMap((part) => (part.type === "tool_end" ? [part.result] : []))

describe("Rounds", () => {
  it.effect("the calls of a round are run, and the model goes on with their results", () =>
    Effect.gen(function* () {
      const model = scripted([
        [
          text("Let me see. "),
          calling("calculator", '{"e":1}'),
          calling("calculator", '{"e":2}'),
          finish("tool_calls", 5)
        ],
        [text("Done."), finish("stop", 3)]
      ])
      const parts = yield* drain(yield* start([model.attempt], echo))
      assert.deepStrictEqual(kinds(parts), [
        "text",
        "tool_begin",
        "tool_begin",
        "tool_end",
        "tool_end",
        "text",
        "finish"
      ])
      const ids = parts.flatMap((part) => (part.type === "tool_begin" ? [callIdOf(part.id)] : []))
      assert.deepStrictEqual(model.asked[1]?.messages.slice(1), [
        {
          role: "assistant",
          text: "Let me see. ",
          toolCalls: [
            { id: ids[0]!, name: "calculator", arguments: '{"e":1}' },
            { id: ids[1]!, name: "calculator", arguments: '{"e":2}' }
          ]
        },
        { role: "tool", callId: ids[0]!, name: "calculator", text: 'calculator({"e":1})' },
        { role: "tool", callId: ids[1]!, name: "calculator", text: 'calculator({"e":2})' }
      ])
      assert.deepStrictEqual(parts.at(-1), {
        type: "finish",
        reason: "stop",
        usage: { ...usage(8), inputTokens: 20 }
      })
    })
  )

  it.effect("the text of an answer that came at once is there before the call has been closed", () =>
    Effect.gen(function* () {
      let isClosed = false
      const base = scripted([]).attempt
      const model: Attempt = {
        ...base,
        stream: () =>
          Stream.ensuring(
            Stream.fromArray([text("All "), text("of it."), finish("stop", 2)]),
            Effect.sync(() => void (isClosed = true))
          )
      }
      const generation = yield* start([model], echo)
      assert.deepStrictEqual(yield* generation.pull, [
        { type: "text", text: "All " },
        { type: "text", text: "of it." }
      ])
      assert.isFalse(isClosed)
      assert.deepStrictEqual(yield* generation.pull, [{ type: "finish", reason: "stop", usage: usage(2) }])
      assert.isTrue(isClosed)
    })
  )

  it.effect("a call is shown before it has ended, and the calls of a round run concurrently", () =>
    Effect.gen(function* () {
      const model = scripted([[calling("slow"), calling("quick"), finish("tool_calls")]])
      const gate = yield* Deferred.make<void>()
      const run = (call: ToolCall) =>
        Effect.as(call.name === "slow" ? Deferred.await(gate) : Effect.void, {
          output: call.name,
          error: null
        })
      const generation = yield* start([model.attempt], run)
      const begun = yield* generation.pull
      assert.deepStrictEqual(kinds(begun), ["tool_begin", "tool_begin"])
      const first = yield* generation.pull
      assert.deepStrictEqual(toolEnds(first), [{ output: "quick", error: null }])
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(toolEnds(yield* generation.pull), [{ output: "slow", error: null }])
    })
  )

  it.effect("a model that never stops calling tools must answer without them in the end", () =>
    Effect.gen(function* () {
      const always = [text("."), calling("calculator"), finish("tool_calls", 1)]
      const model = scripted(Array.from({ length: 100 }, () => always))
      const parts = yield* drain(yield* start([model.attempt], echo))
      assert.strictEqual(model.asked.length, toolRoundsMax + 1)
      assert.deepStrictEqual(
        model.asked.map(({ tools }) => tools.length),
        [...Array.from({ length: toolRoundsMax }, () => 1), 0]
      )
      assert.strictEqual(toolEnds(parts).length, toolRoundsMax)
      assert.deepInclude(parts.at(-1), { type: "finish", reason: "stop" })
      const told = model.asked.map(({ messages }) => messages.at(-1)?.text.includes("Answer the user now"))
      assert.deepStrictEqual(told, [...Array.from({ length: toolRoundsMax }, () => false), true])
    })
  )

  it.effect("a later round may use the answer's tokens that earlier rounds left", () =>
    Effect.gen(function* () {
      const model = scripted([[calling("calculator"), finish("tool_calls", 70)], [finish("stop", 1)]])
      yield* drain(yield* start([model.attempt], echo))
      assert.deepStrictEqual(
        model.asked.map(({ maxOutputTokens }) => maxOutputTokens),
        [100, 30]
      )
      const greedy = scripted([[text("Hm."), calling("calculator"), finish("tool_calls", 100)]])
      const parts = yield* drain(yield* start([greedy.attempt], echo))
      assert.deepStrictEqual(kinds(parts), ["text", "finish"])
      assert.deepInclude(parts.at(-1), { reason: "length" })
    })
  )

  it.effect("results are cut visibly to the room that the window has", () =>
    Effect.gen(function* () {
      const model = scripted([[calling("calculator"), calling("calculator"), finish("tool_calls")]], 2_000)
      const long: RunTool = () => Effect.succeed({ output: "word ".repeat(5_000), error: null })
      const parts = yield* drain(yield* start([model.attempt], long))
      for (const { output } of toolEnds(parts)) {
        assert.isBelow(output!.length, 4_000)
        assert.include(output, "[… cut here")
      }
      const tight = scripted([[calling("calculator"), finish("tool_calls")]], 60)
      const refused = toolEnds(yield* drain(yield* start([tight.attempt], long)))
      assert.include(refused[0]?.error, "no room")
    })
  )

  it.effect("no more calls of one round are run than the limit", () =>
    Effect.gen(function* () {
      const model = scripted([
        [...Array.from({ length: 20 }, () => calling("calculator")), finish("tool_calls")]
      ])
      const results = toolEnds(yield* drain(yield* start([model.attempt], echo)))
      assert.strictEqual(results.filter(({ error }) => error !== null).length, 4)
      assert.strictEqual(results.length, 20)
    })
  )

  it.effect("running calls end when the client disconnects", () =>
    Effect.gen(function* () {
      const model = scripted([[calling("calculator"), finish("tool_calls")]])
      const started = yield* Deferred.make<void>()
      const stopped = yield* Deferred.make<void>()
      const hanging: RunTool = () =>
        Deferred.succeed(started, undefined).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
        )
      const answer = yield* Effect.forkChild(
        Effect.scoped(Effect.flatMap(start([model.attempt], hanging), drain))
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(answer)
      yield* Deferred.await(stopped)
    })
  )

  it.effect("a model that calls a tool it was never offered is a failure", () =>
    Effect.gen(function* () {
      const generation = yield* start(
        [attempt("a", Stream.make(calling("calculator"), finish("tool_calls")))],
        echo
      )
      assert.instanceOf(yield* Effect.flip(drain(generation)), ModelFailure)
    })
  )

  const Script = Schema.Array(Schema.Literals(["text", "call"])).check(Schema.isMaxLength(4))
  it.effect.prop(
    "whatever a model writes and calls, every call ends once and the answer finishes once",
    [Schema.Array(Script).check(Schema.isMaxLength(6))],
    ([script]) =>
      Effect.gen(function* () {
        const rounds = script.map((kindsOfRound) => [
          ...kindsOfRound.map((kind) => (kind === "text" ? text("word") : calling("calculator"))),
          finish(kindsOfRound.includes("call") ? "tool_calls" : "stop", 2)
        ])
        const parts = yield* drain(yield* start([scripted(rounds).attempt], echo))
        const begun = parts.flatMap((part) => (part.type === "tool_begin" ? [part.id] : []))
        const ended = parts.flatMap((part) => (part.type === "tool_end" ? [part.id] : []))
        assert.deepStrictEqual(ended.toSorted(), begun.toSorted())
        assert.strictEqual(kinds(parts).filter((kind) => kind === "finish").length, 1)
        assert.strictEqual(parts.at(-1)?.type, "finish")
      })
  )
})
