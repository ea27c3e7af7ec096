import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { ChatCompletion } from "../../src/api/openai/ChatCompletion.ts"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { progressOf } from "../../src/openai/BackgroundReading.ts"
import { messagePart } from "../../src/openai/ItemRendering.ts"
import { play } from "../responses/eventScripts.ts"
import { says, ScriptedModel, scriptedUsage, text } from "../support/ScriptedModel.ts"
import { assertGrammar } from "../support/StreamGrammar.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, eventsOf, responseOf } from "../support/Wire.ts"
import { chunksIn, foldChunks } from "./chatChunks.ts"
import { framesIn } from "./frames.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"

const refused = (...pieces: ReadonlyArray<string>): ReadonlyArray<ModelPart> =>
  pieces.map((piece) => ({ type: "text", text: piece, isRefusal: true }))
const end: ModelPart = { type: "finish", reason: "stop", usage: scriptedUsage, isRefusal: true }
const refuses = Stream.fromIterable<ModelPart>([...refused("I ", "won't."), end])

const send = Effect.fnUntraced(function* (path: string, body?: object) {
  const { alice, url } = yield* TestApp
  const reply = yield* call(`${url}${path}`, { key: alice.key, ...(body === undefined ? {} : { body }) })
  assert.strictEqual(reply.status, 200, reply.text)
  return reply
})
const next = (...streams: ReadonlyArray<ReturnType<typeof says>>) =>
  Effect.flatMap(ScriptedModel, (model) => model.next(...streams))

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ResponseResource))
const decodeChat = Schema.decodeUnknownEffect(Schema.fromJsonString(ChatCompletion))

const refusal = [{ type: "refusal" as const, refusal: "I won't." }]
const person = {
  type: "json_schema",
  name: "person",
  schema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] }
}

describe("What the events of a response show before its end", () => {
  it("an unfinished response has the refusal so far, as a refusal", () => {
    const events = play(["First,", { refused: "I " }, { refused: "won't." }], "nothing", 1)
    const { output } = progressOf(events)
    assert.deepStrictEqual(
      output.map((item) => item.type === "message" && item.content.map(messagePart)),
      [[{ type: "output_text", text: "First,", annotations: [], logprobs: [] }], refusal]
    )
  })
})

layer(TestApp.layer(), { excludeTestServices: true })("a refusal of the model", (it) => {
  it.effect("a refusal is a part of its own in a response, whole, streamed, stored and listed", () =>
    Effect.gen(function* () {
      yield* next(refuses, refuses)
      const whole = yield* decode((yield* send("/openai/v1/responses", { input: "Do harm." })).text)
      const [message] = whole.output
      assert(message?.type === "message")
      assert.deepStrictEqual([message.content, whole.output_text, whole.status], [refusal, "", "completed"])
      const stored = yield* decode((yield* send(`/openai/v1/responses/${whole.id}`)).text)
      assert.deepStrictEqual(stored, whole)
      const items = yield* send(`/openai/v1/conversations/${whole.conversation?.id}/items`)
      assert.include(items.text, '"refusal":"I won\'t."')

      const events = framesIn((yield* send("/openai/v1/responses", { input: "Do harm.", stream: true })).text)
      assertProfileGrammar(events)
      assert.deepStrictEqual(
        events.map(({ type }) => type),
        [
          "response.created",
          "response.in_progress",
          "response.output_item.added",
          "response.content_part.added",
          "response.refusal.delta",
          "response.refusal.delta",
          "response.refusal.done",
          "response.content_part.done",
          "response.output_item.done",
          "response.completed"
        ]
      )
    })
  )

  it.effect("a refusal stands behind the text that was written before it", () =>
    Effect.gen(function* () {
      const partly = Stream.fromIterable([text("First,"), ...refused("no."), text("Well."), end])
      yield* next(partly, partly)
      const { output, output_text } = yield* decode(
        (yield* send("/openai/v1/responses", { input: "?" })).text
      )
      assert.deepStrictEqual(
        output.map((item) => item.type === "message" && item.content.map(({ type }) => type)),
        [["output_text"], ["refusal"], ["output_text"]]
      )
      assert.strictEqual(output_text, "First,Well.")
      const chat = yield* send("/openai/v1/chat/completions", { messages: [{ role: "user", content: "?" }] })
      const [choice] = (yield* decodeChat(chat.text)).choices
      assert.deepStrictEqual([choice?.message.content, choice?.message.refusal], ["First,\n\nWell.", "no."])
    })
  )

  it.effect("a refusal is the refusal of a chat's message, whole and streamed", () =>
    Effect.gen(function* () {
      yield* next(refuses, refuses)
      const body = { messages: [{ role: "user", content: "Do harm." }] }
      const chat = yield* decodeChat((yield* send("/openai/v1/chat/completions", body)).text)
      const [choice] = chat.choices
      assert.deepStrictEqual(
        [choice?.message.content, choice?.message.refusal, choice?.finish_reason],
        [null, "I won't.", "stop"]
      )
      const streamed = yield* send("/openai/v1/chat/completions", { ...body, stream: true })
      const folded = foldChunks(chunksIn(streamed.text))
      assert.deepStrictEqual([folded.content, folded.refusal, folded.finish], [null, "I won't.", "stop"])
    })
  )

  it.effect("a refusal is shown and not checked where the client wants a form", () =>
    Effect.gen(function* () {
      yield* next(refuses)
      const body = { input: "Who?", text: { format: person } }
      const { output, status } = yield* decode((yield* send("/openai/v1/responses", body)).text)
      const [message] = output
      assert.deepStrictEqual([message?.type === "message" && message.content, status], [refusal, "completed"])
    })
  )

  it.effect("a refusal is text on /v1, and text for the model in later turns", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* next(refuses, refuses, says("Still no."))
      const streamed = yield* send("/v1/responses", { input: "Do harm.", stream: true })
      const { outputText } = assertGrammar(eventsOf(streamed.text))
      assert.strictEqual(outputText, "I won't.")
      assert.notInclude(streamed.text.toLowerCase(), "refusal")
      const reply = yield* send("/v1/responses", { input: "Do harm.", stream: false })
      const whole = responseOf(reply)
      assert.notInclude(reply.text.toLowerCase(), "refusal")
      assert.deepStrictEqual([whole.output_text, whole.incomplete_details], ["I won't.", null])
      const turns = yield* send(`/v1/conversations/${whole.conversation_id}`)
      assert.include(turns.text, "I won't.")
      assert.notInclude(turns.text.toLowerCase(), "refusal")
      yield* send("/v1/responses", {
        input: "Please.",
        conversation_id: whole.conversation_id,
        stream: false
      })
      const { messages } = (yield* model.asked).at(-1)!.request
      assert.isTrue(messages.some(({ role, text: said }) => role === "assistant" && said === "I won't."))
    })
  )

  it.effect("a refusal is the same in a background response", () =>
    Effect.gen(function* () {
      yield* next(refuses)
      const body = { input: "Do harm.", background: true, stream: true }
      const { whole } = assertProfileGrammar(framesIn((yield* send("/openai/v1/responses", body)).text))
      const [message] = whole?.output ?? []
      assert.deepStrictEqual(message?.type === "message" && message.content, refusal)
    })
  )
})
