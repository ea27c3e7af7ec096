import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call } from "../support/Wire.ts"

type User = "alice" | "bob"

/** The answer to a request, and what its request to the model shares with others that begin alike. */
const ask = Effect.fnUntraced(function* (path: string, body: object, user: User = "alice") {
  const app = yield* TestApp
  const model = yield* ScriptedModel
  yield* model.next(says("Yes."))
  const reply = yield* call(`${app.url}${path}`, { key: app[user].key, body })
  assert.strictEqual(reply.status, 200, reply.text)
  const json = JSON.parse(reply.text) as { readonly id: string; readonly conversation_id: string }
  const scope = (yield* model.asked).at(-1)!.request.cacheScope
  assert.isDefined(scope)
  return { ...json, scope }
})

const respond = (body: object, user?: User) => ask("/openai/v1/responses", { input: "Well?", ...body }, user)
const chat = (body: object, user?: User) =>
  ask("/openai/v1/chat/completions", { messages: [{ role: "user", content: "Well?" }], ...body }, user)

layer(TestApp.layer(), { excludeTestServices: true })("what requests share that begin alike", (it) => {
  it.effect("the cache scope is the conversation, for all its turns and for no other", () =>
    Effect.gen(function* () {
      const first = yield* respond({})
      const second = yield* respond({ previous_response_id: first.id })
      const unstored = yield* respond({ previous_response_id: second.id, store: false })
      assert.strictEqual(second.scope, first.scope)
      assert.strictEqual(unstored.scope, first.scope)
      assert.notStrictEqual((yield* respond({})).scope, first.scope)
      const own = yield* ask("/v1/responses", { input: "Well?", stream: false })
      const again = { input: "Well?", stream: false, conversation_id: own.conversation_id }
      assert.strictEqual((yield* ask("/v1/responses", again)).scope, own.scope)
    })
  )

  it.effect("the cache scope is the user and the instructions where nothing is stored", () =>
    Effect.gen(function* () {
      const { scope } = yield* respond({ store: false, instructions: "Be brief." })
      assert.strictEqual((yield* respond({ store: false, instructions: "Be brief." })).scope, scope)
      assert.notStrictEqual((yield* respond({ store: false, instructions: "Be long." })).scope, scope)
      assert.notStrictEqual((yield* respond({ store: false, instructions: "Be brief." }, "bob")).scope, scope)
      const messages = (system: string) => [
        { role: "system", content: system },
        { role: "user", content: "Well?" }
      ]
      const told = yield* chat({ messages: messages("Be brief.") })
      assert.strictEqual((yield* chat({ messages: messages("Be brief.") })).scope, told.scope)
      assert.notStrictEqual((yield* chat({ messages: messages("Be long.") })).scope, told.scope)
    })
  )

  it.effect("the cache scope is the client's name for it, for this user alone, on each way", () =>
    Effect.gen(function* () {
      const named = { prompt_cache_key: "holidays" }
      const { id, scope } = yield* respond(named)
      assert.strictEqual((yield* respond(named)).scope, scope)
      assert.strictEqual((yield* chat(named)).scope, scope)
      const compact = { model: "auto", input: "Well?", ...named }
      assert.strictEqual((yield* ask("/openai/v1/responses/compact", compact)).scope, scope)
      assert.notStrictEqual((yield* respond({ previous_response_id: id })).scope, scope)
      assert.notStrictEqual((yield* respond({ prompt_cache_key: "work" })).scope, scope)
      assert.notStrictEqual((yield* respond(named, "bob")).scope, scope)
    })
  )

  it.effect("the cache scope is nothing that /v1 lets a client name", () =>
    Effect.gen(function* () {
      const named = { input: "Well?", stream: false, prompt_cache_key: "holidays" }
      const { scope } = yield* ask("/v1/responses", named)
      assert.notStrictEqual((yield* ask("/v1/responses", named)).scope, scope)
    })
  )
})
