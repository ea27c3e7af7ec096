import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import type { ModelMessage, ModelPart, ModelRequest } from "../../src/domain/ModelCall.ts"
import { callOfflineModel, offlineModel } from "../../src/models/OfflineModel.ts"
import { countTokens } from "../../src/models/Tokenizer.ts"

const request = (messages: ReadonlyArray<ModelMessage>, maxOutputTokens = 4096): ModelRequest => ({
  messages,
  maxOutputTokens,
  tools: []
})

const users = (...texts: ReadonlyArray<string>): ReadonlyArray<ModelMessage> =>
  texts.map((text) => ({ role: "user", text }))

const ask = (messages: ReadonlyArray<ModelMessage>, maxOutputTokens?: number) =>
  Stream.runCollect(callOfflineModel(request(messages, maxOutputTokens)))

const textOf = (parts: ReadonlyArray<ModelPart>): string =>
  parts.map((part) => (part.type === "text" ? part.text : "")).join("")

const answer = (...texts: ReadonlyArray<string>) => Effect.map(ask(users(...texts)), textOf)

const Message = Schema.Union([
  Schema.Struct({ role: Schema.Literals(["system", "user"]), text: Schema.String }),
  Schema.Struct({ role: Schema.Literal("assistant"), text: Schema.String, toolCalls: Schema.Tuple([]) }),
  Schema.Struct({
    role: Schema.Literal("tool"),
    callId: Schema.String,
    name: Schema.String,
    text: Schema.String
  })
])
const Conversation = Schema.Array(Message).check(Schema.isMaxLength(6))
const Bound = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 300 }))

/** A text long enough to be material, about three things. */
const essay = [
  "The lighthouse of Harrow Point was built in 1851 to guide ships past the reef.",
  "Its keeper lit the lamp every evening, whatever the weather.",
  "It was a fine thing.",
  "Ships that saw the lamp of the lighthouse knew that the reef was near and kept away from the rocks.",
  "In 1923 the lamp was made electric, and the keeper of the lighthouse left.",
  "Birds nest there now.",
  "The reef has claimed no ship since the lighthouse was built, as the records of the harbour show.",
  "Tea is served on Sundays."
]

describe("the offline model", () => {
  it.effect.prop(
    "ends any conversation with exactly one finish, within the bound, always the same",
    { messages: Conversation, long: Schema.Boolean, bound: Bound },
    ({ bound, long, messages }) =>
      Effect.gen(function* () {
        const conversation = long
          ? messages.map((message) => ({ ...message, text: `${message.text} x. `.repeat(100) }))
          : messages
        const parts = yield* ask(conversation, bound)
        const finishes = parts.filter((part) => part.type === "finish")
        assert.strictEqual(finishes.length, 1)
        const last = parts.at(-1)
        if (last?.type !== "finish") return assert.fail("the finish is not last")
        const text = textOf(parts)
        assert.isAtMost(last.usage.outputTokens, bound)
        assert.strictEqual(last.usage.outputTokens, yield* countTokens(text))
        assert.isTrue(text.isWellFormed())
        assert.isTrue(parts.every((part) => part.type !== "text" || part.text !== ""))
        assert.deepStrictEqual(yield* ask(conversation, bound), parts)
      }),
    { arbitrary: { runs: 60 } }
  )

  it.effect("says when the bound has cut the answer, and only then", () =>
    Effect.gen(function* () {
      const whole = yield* ask(users("hello"))
      const tokens = yield* countTokens(textOf(whole))
      const reason = (parts: ReadonlyArray<ModelPart>) =>
        parts.flatMap((part) => (part.type === "finish" ? [part.reason] : []))
      assert.deepStrictEqual(reason(whole), ["stop"])
      assert.deepStrictEqual(reason(yield* ask(users("hello"), tokens)), ["stop"])
      const cut = yield* ask(users("hello"), tokens - 1)
      assert.deepStrictEqual(reason(cut), ["length"])
      assert.isTrue(textOf(whole).startsWith(textOf(cut)))
    })
  )

  it.effect.each([
    "hello",
    "Hi there!",
    "who are you?",
    "What's your name?",
    "Are you a language model?",
    "你好",
    "Hola"
  ])("says what it is to %s", (greeting) =>
    Effect.gen(function* () {
      const text = yield* answer(greeting)
      assert.include(text, offlineModel.id)
      assert.include(text, "not a language model")
      assert.include(text, "OPENAI_BASE_URL")
    })
  )

  it.effect("admits that it can't answer, and repeats what was asked", () =>
    Effect.gen(function* () {
      const text = yield* answer("What is the capital of France?")
      assert.include(text, "What is the capital of France?")
      assert.include(text, "not a language model")
      assert.notInclude(text, "Paris")
    })
  )

  it.effect("quotes what was said before", () =>
    Effect.gen(function* () {
      const text = yield* answer("My name is Ada.", "I like tea.", "What did I say before?")
      assert.include(text, "My name is Ada.")
      assert.include(text, "I like tea.")
      assert.include(yield* answer("what did I say before?"), "nothing before")
      const recalled = yield* answer("My name is Ada.", "I like tea.", "What is my name?")
      assert.include(recalled, "My name is Ada.")
      assert.notInclude(recalled, "tea")
    })
  )

  it.effect("says that it follows no instructions, when asked, without repeating them", () =>
    Effect.gen(function* () {
      const system: ModelMessage = { role: "system", text: "Talk like a pirate." }
      const asked = textOf(yield* ask([system, ...users("Do you follow your instructions?")]))
      assert.include(asked, "can't follow any")
      assert.notInclude(asked, "pirate")
      const other = textOf(yield* ask([system, ...users("hello")]))
      assert.notInclude(other, "instructions")
    })
  )

  it.effect("sums up a text by its own sentences, in their order", () =>
    Effect.gen(function* () {
      const text = yield* answer(essay.join(" "))
      const chosen = essay.filter((sentence) => text.includes(sentence))
      assert.isAtLeast(chosen.length, 1)
      assert.isBelow(chosen.length, essay.length / 2)
      assert.notInclude(text, "Tea is served")
      assert.notInclude(text, "It was a fine thing.")
      const places = chosen.map((sentence) => text.indexOf(sentence))
      assert.deepStrictEqual(
        places,
        places.toSorted((one, other) => one - other)
      )
    })
  )

  it.effect("heeds the question that a text was sent with, also an earlier text", () =>
    Effect.gen(function* () {
      const text = yield* answer(essay.join(" "), "When did electric light come?")
      assert.include(text, "In 1923 the lamp was made electric")
    })
  )

  it.effect("sums up a hard-wrapped text, and one without blanks between words", () =>
    Effect.gen(function* () {
      const wrapped = essay.join(" ").replaceAll(/(.{40}\S*) /g, "$1\n")
      assert.strictEqual(yield* answer(wrapped), yield* answer(essay.join(" ")))
      const sentences = ["灯台は岬に立っている。", "船は灯台の光を見る。", "鳥が飛ぶ。"]
      const text = yield* answer(sentences.join("").repeat(20))
      assert.isTrue(sentences.some((sentence) => text.includes(sentence)))
    })
  )

  it.effect("counts the prompt and comes word by word", () =>
    Effect.gen(function* () {
      const parts = yield* ask(users("hello"))
      const words = textOf(parts).split(/\s+/)
      assert.strictEqual(parts.length, words.length + 1)
      const last = parts.at(-1)
      assert.isTrue(
        last?.type === "finish" && last.usage.inputTokens > 0 && last.usage.outputTokens > words.length
      )
    })
  )

  it.effect("lets other streams have their turn", () =>
    Effect.gen(function* () {
      const order: Array<string> = []
      const run = (name: string) =>
        Stream.runForEach(callOfflineModel(request(users("hello"))), () =>
          Effect.sync(() => order.push(name))
        )
      yield* countTokens("the tokenizer is loaded")
      const fibers = [yield* Effect.forkChild(run("a")), yield* Effect.forkChild(run("b"))]
      yield* Fiber.joinAll(fibers)
      assert.isBelow(order.indexOf("b"), order.lastIndexOf("a"))
    })
  )
})
