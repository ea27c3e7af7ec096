import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { until } from "../support/until.ts"
import { call, errorOf, eventsOf, responseOf } from "../support/Wire.ts"

const post = Effect.fnUntraced(function* (body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/v1/responses`, { key: alice.key, body: { stream: false, ...body } })
})

const answered = Effect.fnUntraced(function* (body: object, answer = "ok") {
  const model = yield* ScriptedModel
  yield* model.next(says(answer))
  const reply = yield* post(body)
  return { reply, asked: (yield* model.asked).at(-1)!.request.messages }
})

/** Every table that may hold a text of a conversation, as one text. */
const stored = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ all: string }>`SELECT coalesce(string_agg(line, ''), '') AS all FROM (
    SELECT conversations::text AS line FROM conversations
    UNION ALL SELECT turns::text FROM turns UNION ALL SELECT items::text FROM items
  ) AS lines`
  return rows[0]!.all
})

/** Wire contract, section 1: `store: false` is honored. */
layer(TestApp.layer(), { excludeTestServices: true })("A request with `store: false`", (it) => {
  it.effect("an unstored request leaves no text, no turn and no conversation, and says so", () =>
    Effect.gen(function* () {
      const { reply } = yield* answered(
        { input: "secret-question", instructions: "secret-instructions", store: false },
        "secret-answer"
      )
      const response = responseOf(reply)
      assert.isFalse(response.store)
      assert.strictEqual(response.output_text, "secret-answer")
      assert.strictEqual(reply.headers.get("x-conversation-id"), response.conversation_id)
      const kept = yield* stored
      assert.notInclude(kept, "secret")
      assert.notInclude(kept, response.conversation_id)
      for (const name of ["conversation_id", "conversation"]) {
        const refused = yield* post({ input: "Hi", [name]: response.conversation_id })
        assert.strictEqual(errorOf(refused, 404).code, "conversation_not_found")
      }
      const refused = errorOf(yield* post({ input: "Hi", previous_response_id: response.id }), 404)
      assert.strictEqual(refused.code, "conversation_not_found")
      assert.strictEqual(refused.param, "previous_response_id")
      assert.match(refused.message, /response .* does not exist, or .* not stored/)
    })
  )

  it.effect("an unstored request is counted in the usage records all the same", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { reply } = yield* answered({ input: "Hi", store: false })
      const { id } = responseOf(reply)
      yield* until(
        Effect.map(
          sql`SELECT 1 FROM usage_records WHERE response_id = ${id}::uuid`,
          (rows) => rows.length === 1
        )
      )
    })
  )

  it.effect("an unstored request streams `store: false` in its first and in its last event", () =>
    Effect.gen(function* () {
      const { reply } = yield* answered({ input: "Hi", store: false, stream: true })
      const events = eventsOf(reply.text)
      const told = events.flatMap((event) => ("response" in event ? [event.response.store] : []))
      assert.deepStrictEqual(told, [false, false])
    })
  )

  it.effect("an unstored request uses the history of its conversation, and adds nothing to it", () =>
    Effect.gen(function* () {
      const first = responseOf((yield* answered({ input: "one", instructions: "Rule." })).reply)
      const named = { conversation_id: first.conversation_id }
      const before = yield* stored
      const unstored = yield* answered({ input: "two", store: false, ...named })
      assert.deepStrictEqual(
        unstored.asked.map(({ text }) => text),
        ["Rule.", "one", "ok", "two"]
      )
      assert.strictEqual(responseOf(unstored.reply).conversation_id, first.conversation_id)
      assert.strictEqual(yield* stored, before)
      const third = yield* answered({ input: "three", ...named })
      assert.deepStrictEqual(
        third.asked.map(({ text }) => text),
        ["Rule.", "one", "ok", "three"]
      )
    })
  )

  it.effect("an unstored request does not wait for a turn that is being answered", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { conversation_id } = responseOf((yield* answered({ input: "one" })).reply)
      yield* sql`UPDATE conversations SET lease_until = now() + interval '1 hour' WHERE id = ${conversation_id}::uuid`
      const { reply } = yield* answered({ input: "aside", store: false, conversation_id })
      assert.isFalse(responseOf(reply).store)
    })
  )

  it.effect("an unstored request finds no conversation that does not exist or is another user's", () =>
    Effect.gen(function* () {
      const { bob, url } = yield* TestApp
      const { conversation_id } = responseOf((yield* answered({ input: "one" })).reply)
      const body = { input: "Hi", stream: false, store: false }
      const strange = yield* call(`${url}/v1/responses`, {
        key: bob.key,
        body: { ...body, conversation: conversation_id }
      })
      assert.strictEqual(errorOf(strange, 404).param, "conversation")
      const unknown = yield* post({ ...body, conversation_id: crypto.randomUUID() })
      assert.strictEqual(errorOf(unknown, 404).code, "conversation_not_found")
    })
  )

  it.effect("a request must say `store` as true or false", () =>
    Effect.gen(function* () {
      const error = errorOf(yield* post({ input: "Hi", store: "no" }), 400)
      assert.strictEqual(error.param, "store")
      assert.match(error.message, /true, false or null/)
    })
  )
})
