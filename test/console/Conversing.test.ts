import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { finish, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { until } from "../support/until.ts"
import { call, errorOf, eventsOf, openCall, responseOf } from "../support/Wire.ts"
import { someone, someTenant } from "./ConsoleFixture.ts"

const uuid = /[0-9a-f]{8}-[0-9a-f-]{27}/g

/** A stream without what differs from one request to the next: ids, times. */
const comparable = (stream: string): string =>
  stream.replace(uuid, "ID").replace(/"(created_at|completed_at)":\d+/g, '"$1":0')

const someUser = Effect.flatMap(someTenant, (tenant) => someone("member", tenant))

const requestsOf = Effect.fnUntraced(function* (userId: string) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ readonly kind: string; readonly name: string }>`
    SELECT k.kind, u.key_id FROM usage_records u JOIN api_keys k ON k.id = u.key_id WHERE u.user_id = ${userId}`
})

layer(TestApp.layer({ http: { userRequestsMax: 1, userWaitSeconds: 0.1 } }), {
  excludeTestServices: true,
  timeout: 300_000
})("A response for a signed-in user", (it) => {
  it.effect("a response for a signed-in user has the very bytes of the public endpoint", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      const { headers } = yield* someUser
      yield* model.next(says("Hel", "lo."), says("Hel", "lo."))
      const body = { input: "Hello", stream: true }
      const ofKey = yield* call(`${url}/v1/responses`, { key: alice.key, body })
      const ofSession = yield* call(`${url}/console/responses`, { headers, body })
      assert.strictEqual(ofSession.status, 200)
      assert.strictEqual(ofSession.headers.get("content-type"), ofKey.headers.get("content-type"))
      assert.strictEqual(comparable(ofSession.text), comparable(ofKey.text))
      assert.strictEqual(eventsOf(ofSession.text).at(-1)?.type, "response.completed")
      assert.isNotNull(ofSession.headers.get("x-conversation-id"))
      assert.isNull(ofSession.headers.get("content-encoding"))
    })
  )

  it.effect("a response for a signed-in user may be JSON, and continues only its own conversations", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      const { headers } = yield* someUser
      yield* model.next(says("One."), says("Two."), says("Three."))
      const ask = (body: object) =>
        call(`${url}/console/responses`, { headers, body: { stream: false, ...body } })
      const first = yield* ask({ input: "First" })
      const conversation = first.headers.get("x-conversation-id")
      assert.include(JSON.stringify(responseOf(first)), "One.")
      const second = yield* ask({ input: "Second", conversation_id: conversation })
      assert.strictEqual(second.headers.get("x-conversation-id"), conversation)
      const ofAlice = yield* call(`${url}/v1/responses`, {
        key: alice.key,
        body: { input: "Hi", stream: false }
      })
      const foreign = ofAlice.headers.get("x-conversation-id")
      const refused = errorOf(yield* ask({ input: "Third", conversation_id: foreign }), 404)
      assert.strictEqual(refused.code, "conversation_not_found")
      const previous = yield* ask({ input: "Third", previous_response_id: responseOf(ofAlice).id })
      assert.strictEqual(errorOf(previous, 404).code, "conversation_not_found")
    })
  )

  it.effect("a response for a signed-in user is accounted to the user, under the web application's key", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const model = yield* ScriptedModel
      const { headers, target } = yield* someUser
      yield* model.next(says("One."), says("Two."))
      for (const input of ["First", "Second"]) {
        responseOf(yield* call(`${url}/console/responses`, { headers, body: { input, stream: false } }))
      }
      yield* until(Effect.map(requestsOf(target.userId), ({ length }) => length === 2))
      const rows = yield* requestsOf(target.userId)
      assert.deepStrictEqual(
        rows.map(({ kind }) => kind),
        ["web", "web"]
      )
      const usage = yield* call(`${url}/console/me/usage?by=key`, { headers })
      const { data } = JSON.parse(usage.text) as { readonly data: ReadonlyArray<Record<string, unknown>> }
      assert.strictEqual(data.length, 1)
      assert.strictEqual(data[0]!["requests"], 2)
      assert.deepInclude(data[0]!["key"], { name: "Web application", owner: target.email })
      const keys = yield* call(`${url}/console/me/keys`, { headers })
      assert.notInclude(keys.text, String(data[0]!["label"]))
    })
  )

  it.effect("a response for a signed-in user ends its model call when the browser disconnects", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const model = yield* ScriptedModel
      const { headers } = yield* someUser
      const ended = yield* model.ended
      yield* model.next(Stream.concat(Stream.make(text("Hello")), Stream.never))
      const running = yield* Effect.forkChild(
        Effect.flatMap(
          openCall(`${url}/console/responses`, { headers, body: { input: "Hi", stream: true } }),
          (response) =>
            Effect.promise((signal) => {
              const reader = response.body!.getReader()
              signal.addEventListener("abort", () => void reader.cancel())
              return reader.read().then(() => new Promise(() => {}))
            })
        )
      )
      yield* until(Effect.map(model.asked, (asked) => asked.length > ended))
      yield* Fiber.interrupt(running)
      yield* until(Effect.map(model.ended, (count) => count === ended + 1))
    })
  )

  it.effect("a response for a signed-in user is bounded together with the user's other requests", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const model = yield* ScriptedModel
      const { headers } = yield* someUser
      const asked = (yield* model.asked).length
      yield* model.next(
        Stream.concat(
          Stream.concat(Stream.make(text("Hello")), Stream.fromEffectDrain(Effect.never)),
          Stream.make(finish())
        )
      )
      const running = yield* Effect.forkChild(
        call(`${url}/console/responses`, { headers, body: { input: "Hi", stream: true } })
      )
      yield* until(Effect.map(model.asked, (all) => all.length === asked + 1))
      const refused = yield* call(`${url}/console/me/keys`, { headers })
      assert.strictEqual(errorOf(refused, 429).code, "too_many_requests_at_once")
      yield* Fiber.interrupt(running)
    })
  )
})

layer(TestApp.layer(), { excludeTestServices: true })("Credentials of another interface", (it) => {
  it.effect("a key opens no page of the application, and a session no API", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const { csrfToken, headers, secret } = yield* Effect.flatMap(someTenant, (tenant) =>
        someone("owner", tenant)
      )
      const byKey = [
        { authorization: `Bearer ${alice.key}` },
        { authorization: `Bearer ${secret}`, "x-csrf-token": csrfToken },
        { cookie: `parley_session=${alice.key}` },
        { "x-api-key": secret }
      ]
      for (const given of byKey) {
        const reply = yield* call(`${url}/console/me/keys`, { headers: given })
        assert.strictEqual(errorOf(reply, 401).code, "session_ended")
        const admin = yield* call(`${url}/console/admin/users`, { headers: given })
        assert.strictEqual(errorOf(admin, 401).code, "session_ended")
      }
      for (const path of ["/v1/files", "/admin/users", "/admin/audit"]) {
        for (const given of [headers, { ...headers, authorization: `Bearer ${secret}` }]) {
          assert.strictEqual((yield* call(`${url}${path}`, { headers: given })).status, 401, path)
        }
      }
      // Beside a valid session, a key changes nothing.
      const both = yield* call(`${url}/console/me/limits`, {
        headers: { ...headers, authorization: `Bearer ${alice.key}` }
      })
      assert.notInclude(both.text, alice.email)
    })
  )
})
