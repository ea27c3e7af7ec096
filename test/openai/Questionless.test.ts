import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"

const post = Effect.fnUntraced(function* (path: string, body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}${path}`, { key: alice.key, body })
})

const chat = (messages: ReadonlyArray<object>) => post("/openai/v1/chat/completions", { messages })
const respond = (body: object) => post("/openai/v1/responses", body)

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ResponseResource))

/** The roles and texts of what the model was sent last. */
const sent = Effect.gen(function* () {
  const { messages } = (yield* (yield* ScriptedModel).asked).at(-1)!.request
  return messages.map(({ role, text }) => [role, text])
})

const system = { role: "system", content: "Tell a story." }

const saidBefore = ["user", "[What was said before is left out.]"]

layer(TestApp.layer(), { excludeTestServices: true })("A request without a message of the user", (it) => {
  it.effect.each([
    ["has instructions alone", [system], [["system", "Tell a story."]]],
    ["has developer messages", [{ ...system, role: "developer" }], [["system", "Tell a story."]]],
    [
      "ends with the model's text",
      [
        { role: "user", content: "Begin." },
        { role: "assistant", content: "Once" }
      ],
      [
        ["user", "Begin."],
        ["assistant", "Once"]
      ]
    ],
    [
      "has the model's text alone",
      [{ role: "assistant", content: "Once" }],
      [saidBefore, ["assistant", "Once"]]
    ],
    [
      "has empty messages beside its instructions",
      [
        system,
        { role: "user", content: "" },
        { role: "assistant", content: null },
        { role: "user", content: [] }
      ],
      [
        ["system", "Tell a story."],
        ["user", ""],
        ["user", ""]
      ]
    ]
  ] as const)("a request without a question is answered by a chat if it %s", ([, messages, expected]) =>
    Effect.gen(function* () {
      yield* (yield* ScriptedModel).next(says("upon a time"))
      const reply = yield* chat(messages)
      assert.strictEqual(reply.status, 200, reply.text)
      assert.deepStrictEqual(yield* sent, expected as never)
    })
  )

  it.effect.each([
    ["an empty text", ""],
    ["no items", []],
    ["an empty message", [{ role: "user", content: "" }]],
    ["a message without parts", [{ role: "user", content: [] }]]
  ] as const)("a request without a question is answered with instructions and %s", ([, input]) =>
    Effect.gen(function* () {
      yield* (yield* ScriptedModel).next(says("Once."))
      const reply = yield* respond({ input, instructions: "Tell a story." })
      assert.strictEqual(reply.status, 200, reply.text)
      assert.deepStrictEqual((yield* sent)[0], ["system", "Tell a story."])
    })
  )

  it.effect("a request without a question continues a stored conversation, and is stored", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Once"), says("upon a time"), says("The end."))
      const first = yield* decode((yield* respond({ input: "Begin." })).text)
      const next = yield* decode((yield* respond({ input: [], previous_response_id: first.id })).text)
      assert.strictEqual(next.status, "completed")
      assert.deepStrictEqual(yield* sent, [
        ["user", "Begin."],
        ["assistant", "Once"]
      ])
      yield* respond({ input: "And?", previous_response_id: next.id })
      assert.deepStrictEqual(yield* sent, [
        ["user", "Begin."],
        ["assistant", "Once"],
        saidBefore,
        ["assistant", "upon a time"],
        ["user", "And?"]
      ])
      const { alice, url } = yield* TestApp
      const items = yield* call(`${url}/openai/v1/responses/${next.id}/input_items`, { key: alice.key })
      assert.include(items.text, `"data":[]`)
    })
  )

  it.effect("a request without a question answers what a conversation was created with", () =>
    Effect.gen(function* () {
      const created = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Struct({ id: Schema.String })))
      for (const [role, expected] of [
        ["user", ["user", "Begin."]],
        ["system", ["system", "Begin."]]
      ] as const) {
        yield* (yield* ScriptedModel).next(says("Once"))
        const items = [{ type: "message", role, content: "Begin." }]
        const { id } = yield* created((yield* post("/openai/v1/conversations", { items })).text)
        const reply = yield* respond({ conversation: id, input: [] })
        assert.strictEqual(reply.status, 200, reply.text)
        assert.deepStrictEqual(yield* sent, [[...expected]])
      }
    })
  )

  it.effect("a request without a question streams, and is made in the background", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      yield* (yield* ScriptedModel).next(says("Once."), says("Twice."))
      const streamed = yield* respond({ input: [], instructions: "Tell.", stream: true })
      assert.include(streamed.text, "response.completed")
      const keyed = yield* call(`${url}/openai/v1/responses`, {
        key: alice.key,
        headers: { "idempotency-key": "questionless" },
        body: { input: "", instructions: "Tell." }
      })
      assert.include(keyed.text, "Twice.")
    })
  )

  it.effect("a request that gives a model nothing at all is refused by the name of the field", () =>
    Effect.gen(function* () {
      for (const messages of [
        [{ role: "user", content: "" }],
        [{ role: "system", content: "" }],
        [{ role: "assistant", content: null }]
      ]) {
        const { code, message, param } = errorOf(yield* chat(messages), 400)
        assert.deepStrictEqual([code, param], ["invalid_request", "messages"])
        assert.include(message, "`messages` has no content")
      }
      for (const input of ["", [], [{ role: "user", content: [{ type: "input_text", text: "" }] }]]) {
        const { code, param } = errorOf(yield* respond({ input, instructions: "" }), 400)
        assert.deepStrictEqual([code, param], ["invalid_request", "input"])
      }
      assert.strictEqual(errorOf(yield* chat([]), 400).param, "messages")
      const compaction = yield* post("/openai/v1/responses/compact", { model: "auto", input: [] })
      assert.strictEqual(errorOf(compaction, 400).param, "input")
    })
  )

  it.effect("a request without a question stays refused on /v1", () =>
    Effect.gen(function* () {
      for (const input of ["", [], [{ role: "user", content: "" }], [{ role: "system", content: "Tell." }]]) {
        const reply = yield* post("/v1/responses", { input, instructions: "Tell.", stream: false })
        assert.strictEqual(errorOf(reply, 400).code, "invalid_request")
      }
    })
  )
})
