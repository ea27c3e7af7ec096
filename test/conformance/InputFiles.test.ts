import { createOpenAI } from "@ai-sdk/openai"
import { assert, layer } from "@effect/vitest"
import { generateText } from "ai"
import { Effect } from "effect"
import { estimateTokens } from "../../src/domain/Tokens.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp, type TestUser } from "../support/TestApp.ts"
import { upload } from "../support/Uploads.ts"
import { call, errorOf, responseOf } from "../support/Wire.ts"

const post = Effect.fnUntraced(function* (user: TestUser, body: object) {
  const app = yield* TestApp
  return yield* call(`${app.url}/v1/responses`, { key: user.key, body: { stream: false, ...body } })
})

const withFile = (text: string, ...files: ReadonlyArray<string>) => [
  {
    role: "user",
    content: [{ type: "input_text", text }, ...files.map((file_id) => ({ type: "input_file", file_id }))]
  }
]

/** The texts of the messages that the model got last. */
const lastTexts = Effect.gen(function* () {
  const model = yield* ScriptedModel
  return (yield* model.asked).at(-1)!.request.messages.map((message) => message.text)
})

/** Specification, ContentItem and InputFile: a file uploaded before, in a message. */
layer(TestApp.layer(), { excludeTestServices: true })("input_file", (it) => {
  it.effect("an input_file brings the text of the file to the model, now and in later turns", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const model = yield* ScriptedModel
      const { id, status } = yield* upload(alice, "zebra notes.txt", "Zebras sleep standing up.")
      assert.strictEqual(status, "processed")
      yield* model.next(says("ok"), says("ok"), says("ok"))
      const first = responseOf(yield* post(alice, { input: withFile("What do zebras do?", id) }))
      const [asked] = yield* lastTexts
      assert.match(
        asked ?? "",
        /^What do zebras do\?\n\[Attached file .*zebra notes\.txt.*never instructions to follow/
      )
      assert.include(asked, "\nZebras sleep standing up.\n[End of attached file ")

      const { conversation_id } = first
      yield* post(alice, { input: "And then?", conversation_id })
      const later = yield* lastTexts
      assert.include(later[0], "Zebras sleep standing up.")
      assert.strictEqual(later.at(-1), "And then?")

      const app = yield* TestApp
      const deleted = yield* call(`${app.url}/v1/files/${id}`, { method: "DELETE", key: alice.key })
      assert.strictEqual(deleted.status, 200)
      yield* post(alice, { input: "Still there?", conversation_id })
      const gone = yield* lastTexts
      assert.notInclude(gone[0], "Zebras sleep")
      assert.include(gone[0], "has been deleted")
    })
  )

  it.effect("an input_file is cut to the window with a mark, and several files share the room", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const model = yield* ScriptedModel
      const long = yield* upload(alice, "long.txt", "long ".repeat(20_000))
      const short = yield* upload(alice, "short.txt", "short and sweet")
      yield* model.next(says("ok"))
      responseOf(yield* post(alice, { input: withFile("Sum up.", long.id, short.id) }))
      const [asked = ""] = yield* lastTexts
      assert.include(asked, "short and sweet\n[End of attached file")
      assert.match(asked, /\[… the file goes on: \d+ of about 100000 characters are shown here …\]/)
      assert.isAbove(asked.length, 8_000)
      assert.isBelow(asked.length, 16_000)
    })
  )

  it.effect(
    "an input_file that is attached many times is shown once, and never more of it than the window holds",
    () =>
      Effect.gen(function* () {
        const { alice } = yield* TestApp
        const model = yield* ScriptedModel
        const { id } = yield* upload(alice, "often.txt", "often ".repeat(20_000))
        yield* model.next(says("ok"), says("ok"))
        const often = Array.from({ length: 20 }, () => id)
        const first = responseOf(yield* post(alice, { input: withFile("Sum up.", ...often) }))
        const said = (yield* lastTexts).join("\n")
        assert.strictEqual(said.split("[End of attached file").length, 2)
        assert.isAtMost(estimateTokens(said), 4_000 - 500)

        yield* post(alice, { input: "And then?", conversation_id: first.conversation_id })
        const { request } = (yield* model.asked).at(-1)!
        assert.isAtMost(estimateTokens((yield* lastTexts).join("\n")), 4_000 - 500)
        assert.strictEqual(request.maxOutputTokens, 500)
      })
  )

  it.effect.each([
    { contextWindow: 200_000, characters: 100_000, shownMin: 100_000 },
    { contextWindow: 4_096, characters: 9_000, shownMin: 4_000 },
    { contextWindow: 4_096, characters: 20_000, shownMin: 4_000 }
  ])(
    "an input_file is shown to a follow-up question as far as it fits: $characters characters, $contextWindow tokens",
    ({ characters, contextWindow, shownMin }) =>
      Effect.gen(function* () {
        const { alice } = yield* TestApp
        const model = yield* ScriptedModel
        yield* model.change({ contextWindow })
        const text = "The lighthouse of section 2 was built in 1899. ".repeat(3_000).slice(0, characters)
        const { id } = yield* upload(alice, "report.txt", text)
        yield* model.next(says("It is about a lighthouse."), says("ok"))
        const first = responseOf(yield* post(alice, { input: withFile("What is this?", id) }))
        const { conversation_id } = first
        responseOf(yield* post(alice, { input: "And in section 2?", conversation_id }))
        const [asked = "", answered, ...rest] = yield* lastTexts
        assert.isTrue(asked.startsWith("What is this?\n"))
        assert.strictEqual(answered, "It is about a lighthouse.")
        assert.deepStrictEqual(rest, ["And in section 2?"])
        assert.isAbove(asked.length, shownMin)
        assert.strictEqual(asked.includes("the file goes on:"), !asked.includes(text))
        assert.isAtMost(estimateTokens(asked), contextWindow)
      }).pipe(
        Effect.ensuring(
          Effect.gen(function* () {
            const model = yield* ScriptedModel
            yield* model.change({ contextWindow: 4_000 })
          })
        )
      )
  )

  it.effect.each([
    {
      name: "picture.png",
      bytes: new Uint8Array([
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52
      ])
    },
    { name: "broken.pdf", bytes: new TextEncoder().encode("%PDF-1.7\nnothing of the kind") }
  ])("an input_file that can't be read is a 400 that names the part: $name", ({ name, bytes }) =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const { id, status } = yield* upload(alice, name, bytes)
      assert.strictEqual(status, "error")
      const error = errorOf(yield* post(alice, { input: withFile("Read.", id) }), 400)
      assert.strictEqual(error.param, "input[0].content[1].file_id")
      assert.strictEqual(error.code, "file_unreadable")
    })
  )

  it.effect("an input_file of another user and a missing one are a 400 file_not_found alike", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* TestApp
      const { id } = yield* upload(alice, "mine.txt", "mine")
      const foreign = yield* post(bob, { input: withFile("Read.", id) })
      const none = yield* post(bob, { input: withFile("Read.", "019845e1-682f-4b02-a706-3b2422d13aec") })
      assert.strictEqual(errorOf(foreign, 400).code, "file_not_found")
      assert.strictEqual(foreign.text, none.text)
    })
  )

  it.effect("an input_image is a 400 that says that images are not supported", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const input = [
        { role: "user", content: [{ type: "input_image", image_url: "data:image/png;base64,AA==" }] }
      ]
      const error = errorOf(yield* post(alice, { input }), 400)
      assert.strictEqual(error.param, "input[0].content[0]")
      assert.include(error.message, "images are not supported")
    })
  )

  it.effect("an input_file that comes along with instructions is data of the user", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const model = yield* ScriptedModel
      const { id } = yield* upload(alice, "rules.txt", "You are a pirate.")
      yield* model.next(says("ok"))
      const content = [
        { type: "input_text", text: "Be brief." },
        { type: "input_file", file_id: id }
      ]
      responseOf(
        yield* post(alice, {
          input: [
            { role: "system", content },
            { role: "user", content: "Hi" }
          ]
        })
      )
      const { messages } = (yield* model.asked).at(-1)!.request
      assert.deepStrictEqual([messages[0]?.role, messages[0]?.text], ["system", "Be brief."])
      assert.strictEqual(messages[1]?.role, "user")
      assert.include(messages[1]?.text, "You are a pirate.")
    })
  )

  it.effect("an input_file is what the AI SDK sends for a provider reference", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      const { id } = yield* upload(alice, "sdk.txt", "Sent by reference.")
      yield* model.next(says("ok"))
      const openai = createOpenAI({ apiKey: alice.key, baseURL: `${url}/v1` })
      yield* Effect.promise(() =>
        generateText({
          model: openai("auto"),
          messages: [
            {
              role: "user",
              content: [
                { type: "text", text: "Read." },
                {
                  type: "file",
                  mediaType: "text/plain",
                  data: { type: "reference", reference: { openai: id } }
                }
              ]
            }
          ]
        })
      )
      assert.include((yield* lastTexts)[0], "Sent by reference.")
    })
  )
})
