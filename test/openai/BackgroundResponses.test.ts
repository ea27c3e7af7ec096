import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { AcceptWait } from "../../src/jobs/BackgroundResponses.ts"
import { says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { until } from "../support/until.ts"
import { call, errorOf } from "../support/Wire.ts"

const base = "/openai/v1"

const send = Effect.fnUntraced(function* (method: string, path: string, body?: unknown, key?: string) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}${base}${path}`, {
    method,
    key: alice.key,
    ...(key === undefined ? {} : { headers: { "idempotency-key": key } }),
    ...(body === undefined ? {} : { body })
  })
})

const idIn = (reply: { readonly text: string }): string => (JSON.parse(reply.text) as { id: string }).id

const conversation = Effect.map(send("POST", "/conversations", {}), idIn)

const asked = Effect.flatMap(ScriptedModel, (model) => Effect.map(model.asked, ({ length }) => length))

/** An answer that begins, and goes on when it is let. */
const held = Effect.gen(function* () {
  const gate = yield* Deferred.make<void>()
  const model = yield* ScriptedModel
  const rest = Stream.unwrap(Effect.as(Deferred.await(gate), says("lo")))
  yield* model.next(Stream.concat(Stream.make(text("Hel")), rest))
  return Deferred.succeed(gate, undefined)
})

const missing = `resp_${crypto.randomUUID()}`

/** On a busy machine, too, a refusal comes before the wait for it ends. */
const patient = TestApp.layer().pipe(Layer.provide(Layer.succeed(AcceptWait, "1 minute")))

layer(patient, { excludeTestServices: true })("responses of background jobs", (it) => {
  it.effect("what a deleted conversation said can't be read again, and its key is free", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const sql = yield* SqlClient.SqlClient
      for (const kind of [{}, { background: true }]) {
        yield* model.next(says("secret"))
        const id = yield* conversation
        const body = { input: "Hi", conversation: id, stream: true, ...kind }
        const key = crypto.randomUUID()
        const answered = yield* send("POST", "/responses", body, key)
        assert.include(answered.text, "secret")
        const response = /resp_[0-9a-f-]{36}/.exec(answered.text)?.[0] ?? ""
        assert.include((yield* send("GET", `/responses/${response}?stream=true`)).text, "secret")
        assert.strictEqual((yield* send("DELETE", `/conversations/${id}`)).status, 200)

        for (const query of ["", "?stream=true"]) {
          assert.strictEqual((yield* send("GET", `/responses/${response}${query}`)).status, 404)
        }
        assert.strictEqual(
          errorOf(yield* send("POST", "/responses", body, key), 404).code,
          "conversation_not_found"
        )
        const left = yield* sql`SELECT 1 FROM response_events WHERE response_id = ${response.slice(5)}::uuid`
        assert.isEmpty(left)
        yield* model.next(says("new"))
        const again = yield* send("POST", "/responses", { input: "Hi" }, key)
        assert.include(again.text, "new")
      }
    })
  )

  it.effect("a conversation that is deleted in mid-answer ends the answer, for good", () =>
    Effect.gen(function* () {
      for (const key of [undefined, crypto.randomUUID()]) {
        const letGo = yield* held
        const before = yield* asked
        const id = yield* conversation
        const answering = yield* Effect.forkChild(
          send("POST", "/responses", { input: "Hi", conversation: id }, key)
        )
        yield* until(Effect.map(asked, (count) => count > before))
        assert.strictEqual((yield* send("DELETE", `/conversations/${id}`)).status, 200)
        yield* letGo
        const reply = yield* Fiber.join(answering)
        assert.strictEqual(errorOf(reply, 404).code, "conversation_not_found")
        assert.isNull(reply.headers.get("retry-after"))
      }
    })
  )

  it.effect("a request for the background that is refused gets the refusal at once", () =>
    Effect.gen(function* () {
      const background = { input: "Hi", background: true }
      for (const [fields, status, code] of [
        [{ model: "missing" }, 404, "model_not_found"],
        [{ previous_response_id: missing }, 404, "previous_response_not_found"],
        [{ conversation: `conv_${crypto.randomUUID()}` }, 404, "conversation_not_found"],
        [
          {
            input: [
              { role: "user", content: [{ type: "input_file", file_id: `file-${crypto.randomUUID()}` }] }
            ]
          },
          400,
          "file_not_found"
        ]
      ] as const) {
        for (const stream of [false, true]) {
          const reply = yield* send("POST", "/responses", { ...background, ...fields, stream })
          assert.strictEqual(errorOf(reply, status).code, code)
        }
      }
    })
  )

  it.effect("a response that is still being made says so where it can't be continued or listed", () =>
    Effect.gen(function* () {
      const letGo = yield* held
      const id = idIn(yield* send("POST", "/responses", { input: "Hi", background: true }))
      assert.strictEqual(
        errorOf(yield* send("GET", `/responses/${id}/input_items`), 409).code,
        "response_not_complete"
      )
      const next = yield* send("POST", "/responses", { input: "And?", previous_response_id: id })
      assert.deepInclude(errorOf(next, 409), { code: "response_not_complete", param: "previous_response_id" })
      yield* letGo
      yield* until(
        Effect.map(send("GET", `/responses/${id}`), (shown) => shown.text.includes('"status":"completed"'))
      )
      assert.strictEqual((yield* send("GET", `/responses/${id}/input_items`)).status, 200)
    })
  )

  it.effect("a key is refused where it would promise nothing", () =>
    Effect.gen(function* () {
      for (const [path, body] of [
        ["/completions", { prompt: "Hi" }],
        ["/responses/compact", { input: "Hi", model: "auto" }],
        ["/conversations", {}],
        ["/conversations/conv_01890000-0000-7000-8000-000000000000/items", { items: [] }]
      ] as const) {
        const { message, param } = errorOf(yield* send("POST", path, body, "key"), 400)
        assert.strictEqual(param, "Idempotency-Key")
        assert.include(message, "POST /openai/v1/responses")
      }
    })
  )

  it.effect("an earlier answer that a client replays is listed as one", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("three"))
      const input = [
        { role: "user", content: "one" },
        { role: "assistant", content: "two" },
        { role: "user", content: "three?" }
      ]
      const id = idIn(yield* send("POST", "/responses", { input }))
      const { data } = JSON.parse((yield* send("GET", `/responses/${id}/input_items?order=asc`)).text) as {
        data: ReadonlyArray<{ role: string; content: ReadonlyArray<{ type: string }> }>
      }
      assert.deepStrictEqual(
        data.map(({ content, role }) => [role, content[0]?.type]),
        [
          ["user", "input_text"],
          ["assistant", "output_text"],
          ["user", "input_text"]
        ]
      )
    })
  )
})
