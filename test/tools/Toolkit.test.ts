import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { defineTool, type ToolAnswer, ToolFailed } from "../../src/tools/Tool.ts"
import { makeToolkit } from "../../src/tools/Toolkit.ts"
import { testConfig } from "../support/TestConfig.ts"

const config = Layer.succeed(AppConfig, testConfig({ tools: { callSeconds: 5 } }))

/** A toolkit with one tool, which does this. */
const toolkitWith = (run: (args: { readonly text: string }) => Effect.Effect<ToolAnswer, ToolFailed>) =>
  makeToolkit([
    defineTool({
      name: "calculator",
      description: "does what the test says",
      parameters: Schema.Struct({ text: Schema.String }),
      run
    })
  ]).pipe(Effect.provide(config))

const call = (args: string, name = "calculator") => ({ id: "1", name, arguments: args })
const good = call('{"text":"hi"}')

describe("Toolkit", () => {
  it.effect("Toolkit gives models the schema of the arguments", () =>
    Effect.gen(function* () {
      const { offered } = yield* toolkitWith(() => Effect.succeed({ text: "" }))
      assert.deepInclude(offered[0]?.parameters, { type: "object", required: ["text"] })
    })
  )

  it.effect("Toolkit passes the arguments to the tool and returns its answer", () =>
    Effect.gen(function* () {
      const { run } = yield* toolkitWith(({ text }) => Effect.succeed({ text: `${text}!` }))
      assert.deepStrictEqual(yield* run(good), { output: "hi!", error: null })
    })
  )

  it.effect("Toolkit refuses a tool that was not offered like an unknown one", () =>
    Effect.gen(function* () {
      const { run } = yield* toolkitWith(({ text }) => Effect.succeed({ text }))
      const offered = new Set(["web_fetch"])
      const refused = yield* run(good, offered)
      assert.isNull(refused.output)
      assert.deepStrictEqual(refused, yield* run(call("{}", "no_such_tool"), offered))
      assert.notInclude(refused.error ?? "", "calculator")
      assert.deepStrictEqual(yield* run(good, new Set(["calculator"])), { output: "hi", error: null })
    })
  )

  it.effect.each([
    [call("{"), "not valid JSON"],
    [call(""), "not valid JSON"],
    [call('{"text":1}'), "don't fit"],
    [call("null"), "don't fit"],
    [call("{}"), "don't fit"],
    [call("{}", "hack"), "The tools are: calculator."],
    [call("{}", "__proto__"), "The tools are: calculator."]
  ] as const)("Toolkit names the fault of %j", ([asked, words]) =>
    Effect.gen(function* () {
      const { run } = yield* toolkitWith(() => Effect.die(new Error("not to be run")))
      const { error, output } = yield* run(asked)
      assert.isNull(output)
      assert.include(error, words)
    })
  )

  it.effect("Toolkit turns failures and defects into results, without the message of a defect", () =>
    Effect.gen(function* () {
      const failing = yield* toolkitWith(() => Effect.fail(new ToolFailed({ message: "No such zone." })))
      assert.deepStrictEqual(yield* failing.run(good), { output: null, error: "No such zone." })
      const dying = yield* toolkitWith(() => Effect.die(new Error("secret")))
      assert.deepStrictEqual(yield* dying.run(good), { output: null, error: "The tool failed." })
    })
  )

  it.effect("Toolkit stops a tool that takes too long", () =>
    Effect.gen(function* () {
      let interrupted = false
      const { run } = yield* toolkitWith(() =>
        Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (interrupted = true)))
      )
      const running = yield* Effect.forkChild(run(good), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      assert.include((yield* Fiber.join(running)).error, "5 seconds")
      assert.isTrue(interrupted)
    })
  )

  it.effect("Toolkit interrupts the tool with its caller", () =>
    Effect.gen(function* () {
      const { run } = yield* toolkitWith(() => Effect.never)
      const running = yield* Effect.forkChild(run(good), { startImmediately: true })
      yield* Fiber.interrupt(running)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(running)))
    })
  )

  it.effect("Toolkit cuts an answer that is too long, with a note", () =>
    Effect.gen(function* () {
      const { run } = yield* toolkitWith(() => Effect.succeed({ text: "x".repeat(1_000_000) }))
      const { output } = yield* run(good)
      assert.isBelow(output!.length, 201_000)
      assert.include(output, "cut here")
    })
  )
})
