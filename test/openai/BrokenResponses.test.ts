import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { failure, ScriptedModel, says, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { untilValue } from "../support/until.ts"
import { call, errorOf, openCall } from "../support/Wire.ts"
import { connect } from "./connection.ts"
import { framesIn } from "./frames.ts"
import { decodeResponse } from "./jobCalls.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"

const send = Effect.fnUntraced(function* (
  method: string,
  path: string,
  body?: object,
  user: "alice" | "bob" = "alice"
) {
  const app = yield* TestApp
  return yield* call(`${app.url}/openai/v1${path}`, {
    method,
    key: app[user].key,
    ...(body === undefined ? {} : { body })
  })
})

const breaksOff = Stream.concat(Stream.make(text("SECRET")), Stream.fail(failure("server_error")))

/** A streamed response that breaks off after its first text, as its last event has it. */
const broken = Effect.fnUntraced(function* (fields: object = {}) {
  const model = yield* ScriptedModel
  yield* model.next(breaksOff)
  const reply = yield* send("POST", "/responses", { input: "PRIVATE", stream: true, ...fields })
  const { whole } = assertProfileGrammar(framesIn(reply.text))
  assert.strictEqual(whole?.status, "failed")
  return whole!
})

const statusOf = (id: string, user?: "alice" | "bob") =>
  Effect.map(send("GET", `/responses/${id}`, undefined, user), ({ status }) => status)

layer(TestApp.layer(), { excludeTestServices: true })("A response that broke off", (it) => {
  it.effect("a broken response is shown as failed, without its text, to its user alone", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const whole = yield* broken({ instructions: "Be brief.", metadata: { a: "b" } })
      const shown = decodeResponse((yield* send("GET", `/responses/${whole.id}`)).text)
      assert.deepStrictEqual(shown, { ...whole, output: [], output_text: "" })
      assert.strictEqual(shown.error?.code, "generation_failed")
      assert.strictEqual(yield* statusOf(whole.id, "bob"), 404)
      const rows = yield* sql`SELECT to_json(response_jobs) AS row FROM response_jobs`
      assert.notMatch(JSON.stringify(rows), /SECRET|PRIVATE/)
      assert.isEmpty(yield* sql`SELECT 1 FROM response_events`)
    })
  )

  it.effect("a broken response is in no history, can't be continued or streamed, and can be deleted", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const { conversation, id } = yield* broken()
      const items = yield* send("GET", `/conversations/${conversation?.id}/items`)
      assert.deepStrictEqual((JSON.parse(items.text) as { data: unknown }).data, [])
      const next = yield* send("POST", "/responses", { input: "And?", previous_response_id: id })
      const { code, message, param } = errorOf(next, 409)
      assert.deepStrictEqual([code, param], ["response_without_answer", "previous_response_id"])
      assert.include(message, "`failed`")
      assert.strictEqual(errorOf(yield* send("GET", `/responses/${id}?stream=true`), 400).param, "stream")
      assert.strictEqual(
        errorOf(yield* send("POST", `/responses/${id}/cancel`), 409).code,
        "response_not_cancellable"
      )
      yield* model.next(says("Hello"))
      const asked = { input: "Again", conversation: conversation?.id }
      assert.strictEqual((yield* send("POST", "/responses", asked)).status, 200)
      assert.strictEqual((yield* send("DELETE", `/responses/${id}`)).status, 200)
      assert.strictEqual(yield* statusOf(id), 404)
    })
  )

  it.effect("a broken response isn't kept with `store: false`, and is deleted with its conversation", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* statusOf((yield* broken({ store: false })).id), 404)
      const { conversation, id } = yield* broken()
      assert.strictEqual(yield* statusOf(id), 200)
      assert.strictEqual((yield* send("DELETE", `/conversations/${conversation?.id}`)).status, 200)
      assert.strictEqual(yield* statusOf(id), 404)
    })
  )

  it.effect("a broken response is shown as cancelled when its client went away", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(Stream.concat(Stream.make(text("SECRET")), Stream.never))
      const response = yield* openCall(`${url}/openai/v1/responses`, {
        key: alice.key,
        body: { input: "Hi", stream: true }
      })
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
      const first = yield* Effect.promise(() => reader.read())
      const id = /resp_[0-9a-f-]{36}/.exec(first.value ?? "")?.[0] ?? ""
      yield* Effect.promise(() => reader.cancel())
      const reply = yield* untilValue(send("GET", `/responses/${id}`), ({ status }) => status === 200)
      const shown = decodeResponse(reply.text)
      assert.deepStrictEqual([shown.status, shown.error], ["cancelled", null])
    })
  )

  it.effect("a broken response of a WebSocket is shown in the same way, broken off or left", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(breaksOff, Stream.concat(Stream.make(text("SECRET")), Stream.never))
      const socket = yield* connect(url, alice.key)
      const ids = () =>
        socket.received
          .filter((message) => message.startsWith('{"type":"response.created"'))
          .map((message) => /resp_[0-9a-f-]{36}/.exec(message)?.[0] ?? "")
      const ask = { type: "response.create", input: "Hi" }
      socket.send(ask)
      yield* socket.last(2)
      assert.include((yield* send("GET", `/responses/${ids()[0]}`)).text, '"status":"failed"')
      socket.send(ask)
      yield* untilValue(Effect.sync(ids), ({ length }) => length === 2)
      socket.socket.close()
      yield* untilValue(send("GET", `/responses/${ids()[1]}`), ({ text: shown }) =>
        shown.includes('"status":"cancelled"')
      )
    })
  )
})
