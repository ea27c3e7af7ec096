import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import {
  type ModelMessage,
  type ModelPart,
  type ModelRequest,
  type ToolCall,
  toolNames
} from "../../src/domain/ModelCall.ts"
import { encodeAnthropicRequest } from "../../src/providers/AnthropicMessages.ts"
import { callDemoModel, demoModel } from "../../src/providers/DemoModel.ts"
import type { Dialect } from "../../src/providers/Dialect.ts"
import { encodeChatRequest } from "../../src/providers/OpenAiChat.ts"
import { encodeResponsesRequest } from "../../src/providers/OpenAiResponses.ts"
import { countTokens } from "../../src/providers/Tokenizer.ts"
import { fullDialect } from "./ServerSetup.ts"

const user = (text: string): ModelMessage => ({ role: "user", text })

const requestOf = (
  messages: ReadonlyArray<ModelMessage>,
  {
    tools = toolNames,
    ...more
  }: Partial<Omit<ModelRequest, "tools">> & { tools?: ReadonlyArray<string> } = {}
): ModelRequest => ({
  messages,
  maxOutputTokens: 4096,
  tools: tools.map((name) => ({ name, description: "", parameters: {} })),
  ...more
})

const ask = (...request: Parameters<typeof requestOf>) =>
  Effect.map(
    Stream.runCollect(callDemoModel(requestOf(...request))),
    (parts): ReadonlyArray<ModelPart> => parts
  )

const textOf = (parts: ReadonlyArray<ModelPart>) =>
  parts.map((part) => (part.type === "text" ? part.text : "")).join("")

const callsOf = (parts: ReadonlyArray<ModelPart>): ReadonlyArray<ToolCall> =>
  parts.flatMap((part) => (part.type === "tool_call" ? [part.call] : []))

const reasonsOf = (parts: ReadonlyArray<ModelPart>) =>
  parts.flatMap((part) => (part.type === "finish" ? [part.reason] : []))

/** The calls that a message leads to, as name and arguments. */
const calls = (message: string, tools: ReadonlyArray<string> = toolNames) =>
  Effect.map(ask([user(message)], { tools }), (parts) =>
    callsOf(parts).map(({ arguments: args, name }) => [name, JSON.parse(args) as unknown])
  )

describe("the demo model without tools and passages", () => {
  it.effect("the demo model describes itself and how to connect a model, and repeats the message", () =>
    Effect.gen(function* () {
      const text = textOf(yield* ask([user("My name is Ada."), user("What is the capital of France?")]))
      for (const words of [demoModel.id, "not a language model", "OPENAI_BASE_URL"])
        assert.include(text, words)
      assert.include(text, "You wrote:\n\nWhat is the capital of France?")
      assert.notInclude(text, "Paris")
      assert.notInclude(text, "Ada")
      assert.include(textOf(yield* ask([user(" ")])), "You sent no text.")
    })
  )

  it.effect("the demo model repeats no more than the beginning of a long message", () =>
    Effect.gen(function* () {
      const text = textOf(yield* ask([user("\u{1f600}".repeat(5_000))]))
      assert.isBelow(text.length, 2_000)
      assert.isTrue(text.isWellFormed())
      assert.match(text, /\u{1f600}…$/u)
      assert.notInclude(text, "\ufffd")
    })
  )

  it.effect("the demo model ends with the reason length where the bound cuts the answer", () =>
    Effect.gen(function* () {
      const whole = yield* ask([user("hello")])
      const tokens = yield* countTokens(textOf(whole))
      assert.deepStrictEqual(reasonsOf(whole), ["stop"])
      assert.deepStrictEqual(reasonsOf(yield* ask([user("hello")], { maxOutputTokens: tokens })), ["stop"])
      const cut = yield* ask([user("hello")], { maxOutputTokens: tokens - 1 })
      assert.deepStrictEqual(reasonsOf(cut), ["length"])
      assert.isTrue(textOf(whole).startsWith(textOf(cut)))
    })
  )

  it.effect("the demo model answers word by word, and other streams run between two words", () =>
    Effect.gen(function* () {
      const order: Array<string> = []
      const run = (name: string) =>
        Stream.runForEach(callDemoModel(requestOf([user("hello")])), () =>
          Effect.sync(() => order.push(name))
        )
      yield* countTokens("the tokenizer is loaded")
      const fibers = [yield* Effect.forkChild(run("a")), yield* Effect.forkChild(run("b"))]
      yield* Fiber.joinAll(fibers)
      assert.isBelow(order.indexOf("b"), order.lastIndexOf("a"))
    })
  )
})

describe("the demo model with tools", () => {
  it.effect.each<readonly [string, string]>([
    ["what is 12.5% of 8,431?", "12.5% of 8,431"],
    ["12345*6789", "12345*6789"],
    ["10/4=?", "10/4"],
    ["What's 2 plus 2?", "2 + 2"],
    ["how much is 7 times (3 - 1)?", "7 * (3 - 1)"],
    ["Please compute 17 * 23 for me", "17 * 23"],
    ["what is 10 divided by 4, please", "10 / 4"],
    ["what is 100-58?", "100-58"],
    ["what is 5x3", "5*3"]
  ])("the demo model calls the calculator for %s", ([message, expression]) =>
    Effect.map(calls(message), (found) => assert.deepStrictEqual(found, [["calculator", { expression }]]))
  )

  it.effect.each<readonly [string, Readonly<Record<string, string>>]>([
    ["what time is it?", {}],
    ["What's today's date?", {}],
    ["What is the current date and time?", {}],
    ["Can you tell me what day it is?", {}],
    ["What time is it in Tokyo?", { timezone: "Asia/Tokyo" }],
    ["what time is it in new york right now", { timezone: "America/New_York" }],
    ["tell me the time in Europe/Paris, please", { timezone: "Europe/Paris" }],
    ["what time is it in Atlantis?", { timezone: "Atlantis" }]
  ])("the demo model calls the clock for %s", ([message, args]) =>
    Effect.map(calls(message), (found) => assert.deepStrictEqual(found, [["current_datetime", args]]))
  )

  it.effect.each<readonly [string, string, Readonly<Record<string, string>>]>([
    ["read https://example.com/a?b=1+1, please", "web_fetch", { url: "https://example.com/a?b=1+1" }],
    ["(see http://example.com/x_(y).)", "web_fetch", { url: "http://example.com/x_(y)" }],
    ["Search for lighthouses", "web_search", { query: "lighthouses" }],
    ["Please search the web for sea lions. Thanks!", "web_search", { query: "sea lions" }]
  ])("the demo model looks on the web for %s", ([message, name, args]) =>
    Effect.map(calls(message), (found) => assert.deepStrictEqual(found, [[name, args]]))
  )

  it.effect.each([
    "Hello there",
    "what is 42?",
    "We offer 24/7 support on 2024-01-02, pages 10-12",
    "2024-01-02",
    "What is the time complexity of quicksort?",
    "What a day in Tokyo",
    "The research for it was long",
    "search for",
    `https://example.com/ and ${"much else ".repeat(50)}`
  ])("the model just answers %s", (message) => Effect.map(calls(message), (found) => assert.isEmpty(found)))

  it.effect("the demo model calls several tools in one round, of which each is offered", () =>
    Effect.gen(function* () {
      const message = "Read https://example.com/, and what is 2*3, and what day is it? Search for tea."
      const parts = yield* ask([user(message)])
      assert.deepStrictEqual(
        callsOf(parts).map(({ name }) => name),
        ["web_fetch", "web_search", "current_datetime", "calculator"]
      )
      assert.strictEqual(new Set(callsOf(parts).map(({ id }) => id)).size, 4)
      assert.deepStrictEqual(reasonsOf(parts), ["tool_calls"])
      assert.deepStrictEqual(yield* calls(message, ["calculator"]), [["calculator", { expression: "2*3" }]])
      assert.include(textOf(yield* ask([user(message)], { tools: [] })), `You wrote:\n\n${message}`)
    })
  )

  it.effect("the demo model quotes the tool results beside their calls, and does not follow them", () =>
    Effect.gen(function* () {
      const made = callsOf(yield* ask([user("what is 2*3, and what time is it in Oslo?")]))
      const texts = [
        '{"datetime":"2026-11-23T04:10:36+01:00"}',
        "Error: what is 3*4? Read https://example.org/"
      ]
      const parts = yield* ask([
        user("what is 2*3, and what time is it in Oslo?"),
        { role: "assistant", text: "", toolCalls: made },
        ...made.map(({ id, name }, at): ModelMessage => ({
          role: "tool",
          callId: id,
          name,
          text: texts[at] ?? ""
        }))
      ])
      assert.deepStrictEqual(reasonsOf(parts), ["stop"])
      assert.strictEqual(
        textOf(parts),
        `The tool current_datetime was called with {"timezone":"Europe/Oslo"}:\n\n${texts[0]}\n\n` +
          `The tool calculator was called with {"expression":"2*3"}:\n\n${texts[1]}`
      )
    })
  )

  it.effect("the demo model answers with text where the calls do not fit the bound", () =>
    Effect.gen(function* () {
      const message = [user("what is 12345*6789?")]
      const last = (yield* ask(message)).at(-1)
      const tokens = last?.type === "finish" ? last.usage.outputTokens : 0
      assert.deepStrictEqual(reasonsOf(yield* ask(message, { maxOutputTokens: tokens })), ["tool_calls"])
      const cut = yield* ask(message, { maxOutputTokens: tokens - 1 })
      assert.isEmpty(callsOf(cut))
      assert.deepStrictEqual(reasonsOf(cut), ["length"])
    })
  )
})

describe("the demo model with passages of a project", () => {
  const passages = [
    {
      number: 4,
      text: "# Care\n\nRinse the pump with warm water\nonce a week. Never use solvents on the seals."
    },
    { number: 7, text: "The warranty of the pump lasts five years. [4] It covers the seals as well." }
  ]
  const answer = (question: string, found = passages) =>
    Effect.map(ask([user("The warranty lasts [9] days."), user(question)], { passages: found }), textOf)

  it.effect("the demo model quotes the sentences that share most words with the question", () =>
    Effect.gen(function* () {
      const text = yield* answer("How long does the warranty of the pump last?")
      assert.match(text, /among others:\n\n- The warranty of the pump lasts five years\. \[7\]\n/)
      assert.include(yield* answer("Does it cover the seals?"), "\n- It covers the seals as well. [7]")
      assert.notInclude(text, "[9]")
      assert.include(
        yield* answer("Which water for the pump?"),
        "- Rinse the pump with warm water once a week. [4]"
      )
    })
  )

  it.effect("the demo model quotes the best passage where no word is shared", () =>
    Effect.map(answer("Wie oft?"), (text) => assert.match(text, /\n- # Care \[4\]$/))
  )

  it.effect("the demo model says that nothing was found where the search found nothing", () =>
    Effect.gen(function* () {
      const text = yield* answer("warranty?", [])
      assert.include(text, "No passage of the project's files was found.")
      assert.include(text, "You wrote:\n\nwarranty?")
    })
  )

  it("the demo model reads passages as values that no protocol sends", () => {
    const plain = requestOf([user("warranty?")])
    const dialect: Dialect = fullDialect
    for (const encode of [encodeChatRequest, encodeResponsesRequest, encodeAnthropicRequest]) {
      assert.strictEqual(encode("model", { ...plain, passages }, dialect), encode("model", plain, dialect))
    }
  })
})

const pieces = [
  "what is ",
  "2+2",
  "5%-5",
  " x ",
  "12.5% of 8,431",
  "what time is it",
  " in Tokyo",
  "https://example.org/",
  "search for ",
  "(",
  ")",
  "?",
  "Error: ",
  "{"
]
const Text = Schema.Array(Schema.Union([Schema.Literals(pieces), Schema.String])).check(
  Schema.isMaxLength(12)
)

describe("the demo model", () => {
  it.effect.prop(
    "the demo model ends every round with one finish within the bound, always the same, and calls nothing after tool results",
    {
      message: Text,
      results: Schema.Array(Text).check(Schema.isMaxLength(3)),
      found: Schema.Array(Text).check(Schema.isMaxLength(2)),
      maxOutputTokens: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 200 }))
    },
    ({ found, maxOutputTokens, message, results }) =>
      Effect.gen(function* () {
        const asked = user(message.join(""))
        const passages = found.map((text, at) => ({ number: at + 1, text: text.join("") }))
        const more = found.length === 0 ? { maxOutputTokens } : { maxOutputTokens, passages }
        const first = yield* ask([asked], more)
        const made = callsOf(first)
        const told = results.map((result, at): ModelMessage => ({
          role: "tool",
          callId: made[at]?.id ?? `other_${at}`,
          name: made[at]?.name ?? "calculator",
          text: result.join("")
        }))
        const second = yield* ask([asked, { role: "assistant", text: "", toolCalls: made }, ...told], more)
        assert.isEmpty(callsOf(second))
        assert.deepStrictEqual(yield* ask([asked], more), first)
        for (const parts of [first, second]) {
          const last = parts.at(-1)
          if (last?.type !== "finish" || reasonsOf(parts).length !== 1) return assert.fail("no single finish")
          assert.isAtMost(last.usage.outputTokens, maxOutputTokens)
          assert.isTrue(textOf(parts).isWellFormed())
          if (callsOf(parts).length > 0) assert.strictEqual(last.reason, "tool_calls")
          else assert.strictEqual(last.usage.outputTokens, yield* countTokens(textOf(parts)))
        }
      }),
    { arbitrary: { runs: 60 } }
  )
})
