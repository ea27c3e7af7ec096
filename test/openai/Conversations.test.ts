import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Conversation } from "../../src/api/openai/ConversationsApi.ts"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import { ItemList, StoredItem } from "../../src/api/openai/StoredItem.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call } from "../support/Wire.ts"

const path = "/openai/v1/conversations"

const send = Effect.fnUntraced(function* (
  method: string,
  below: string,
  { body, user = "alice" }: { readonly body?: unknown; readonly user?: "alice" | "bob" } = {}
) {
  const app = yield* TestApp
  const key = app[user].key
  return yield* call(`${app.url}${below}`, { method, key, ...(body === undefined ? {} : { body }) })
})

const sent = <S extends Schema.Codec<unknown, unknown>>(schema: S) => {
  const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(schema))
  return Effect.fnUntraced(function* (method: string, below: string, body?: unknown) {
    const reply = yield* send(method, below, { body })
    assert.strictEqual(reply.status, 200, reply.text)
    return (yield* decode(reply.text)) as S["Type"]
  })
}
const conversation = sent(Conversation)
const list = sent(ItemList)
const item = sent(StoredItem)
const respond = Effect.fnUntraced(function* (body: object, words: string) {
  const model = yield* ScriptedModel
  yield* model.next(says(words))
  return yield* sent(ResponseResource)("POST", "/openai/v1/responses", body)
})

const refused = Effect.fnUntraced(function* (
  status: number,
  code: string,
  ...request: Parameters<typeof send>
) {
  const reply = yield* send(...request)
  assert.strictEqual(reply.status, status, reply.text)
  assert.strictEqual((JSON.parse(reply.text) as { error: { code: string } }).error.code, code)
})

const textsOf = ({ data }: ItemList) =>
  data.map((one) =>
    one.type === "message"
      ? one.content.map((part) => ("text" in part ? part.text : part.type)).join()
      : one.type
  )

const user = (content: string) => ({ type: "message", role: "user", content })

layer(TestApp.layer(), { excludeTestServices: true })("conversations of /openai/v1", (it) => {
  it.effect("a conversation begins with its items, and answers continue it", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const body = {
        metadata: { topic: "a" },
        items: [
          { role: "developer", content: "Be brief." },
          user("My name is Ada."),
          { role: "assistant", content: "Noted." }
        ]
      }
      const { created_at, ...created } = yield* conversation("POST", path, body)
      assert.isAbove(created_at, 1_700_000_000)
      assert.match(created.id, /^conv_/)
      assert.deepStrictEqual(created.metadata, { topic: "a" })
      yield* respond({ input: "Who am I?", conversation: created.id }, "Ada")
      const prompt = JSON.stringify((yield* model.asked).at(-1)!.request)
      for (const words of ["Be brief.", "My name is Ada.", "Noted.", "Who am I?"])
        assert.include(prompt, words)
      assert.deepStrictEqual(textsOf(yield* list("GET", `${path}/${created.id}/items?order=asc`)), [
        "My name is Ada.",
        "Noted.",
        "Who am I?",
        "Ada"
      ])
    })
  )

  it.effect("items are listed in pages, in both orders", () =>
    Effect.gen(function* () {
      const { id } = yield* conversation("POST", path, { items: ["a", "b", "c"].map(user) })
      yield* respond({ input: "d", conversation: id }, "e")
      yield* list("POST", `${path}/${id}/items`, { items: ["f", "g"].map(user) })
      const expected = ["a", "b", "c", "d", "e", "f", "g"]
      for (const order of ["asc", "desc"]) {
        const found: Array<string> = []
        let after = ""
        while (true) {
          const page = yield* list("GET", `${path}/${id}/items?limit=2&order=${order}${after}`)
          found.push(...textsOf(page))
          after = `&after=${page.last_id}`
          if (!page.has_more) break
        }
        assert.deepStrictEqual(found, order === "asc" ? expected : expected.toReversed())
      }
    })
  )

  it.effect("added items are the context of later answers, and deleted ones are not", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const { id } = yield* conversation("POST", path, {})
      const added = yield* list("POST", `${path}/${id}/items`, { items: [user("apples"), user("pears")] })
      assert.deepStrictEqual(textsOf(added), ["apples", "pears"])
      const first = added.first_id ?? ""
      assert.deepStrictEqual(yield* item("GET", `${path}/${id}/items/${first}`), added.data[0])
      const kept = yield* conversation("DELETE", `${path}/${id}/items/${first}`)
      assert.strictEqual(kept.id, id)
      yield* refused(404, "item_not_found", "GET", `${path}/${id}/items/${first}`)
      yield* refused(404, "item_not_found", "DELETE", `${path}/${id}/items/${first}`)
      yield* respond({ input: "plums", conversation: id }, "yes")
      const prompt = JSON.stringify((yield* model.asked).at(-1)!.request)
      assert.include(prompt, "pears")
      assert.notInclude(prompt, "apples")
    })
  )

  it.effect("a result of a function may follow its call, and no other", () =>
    Effect.gen(function* () {
      const items = [
        user("weather?"),
        { type: "function_call", call_id: "call_1", name: "weather", arguments: "{}" }
      ]
      const { id } = yield* conversation("POST", path, { items })
      const result = (call_id: string) => ({
        items: [{ type: "function_call_output", call_id, output: "rain" }]
      })
      const added = yield* list("POST", `${path}/${id}/items`, result("call_1"))
      assert.strictEqual(added.data[0]?.type, "function_call_output")
      yield* refused(400, "invalid_request", "POST", `${path}/${id}/items`, { body: result("call_2") })
    })
  )

  it.effect("metadata are replaced, and a deleted conversation has gone with its responses", () =>
    Effect.gen(function* () {
      const { id } = yield* conversation("POST", path, { metadata: { a: "1" } })
      const changed = yield* conversation("POST", `${path}/${id}`, { metadata: { b: "2" } })
      assert.deepStrictEqual(changed.metadata, { b: "2" })
      assert.deepStrictEqual(yield* conversation("GET", `${path}/${id}`), changed)
      const answered = yield* respond({ input: "Hi", conversation: id }, "Hello")
      const deleted = yield* send("DELETE", `${path}/${id}`)
      assert.deepStrictEqual(JSON.parse(deleted.text), { id, object: "conversation.deleted", deleted: true })
      yield* refused(404, "conversation_not_found", "GET", `${path}/${id}`)
      yield* refused(404, "response_not_found", "GET", `/openai/v1/responses/${answered.id}`)
    })
  )

  it.effect("a conversation is its user's only", () =>
    Effect.gen(function* () {
      const { id } = yield* conversation("POST", path, { items: [user("secret")] })
      const { first_id: first } = yield* list("GET", `${path}/${id}/items`)
      for (const [method, below, body] of [
        ["GET", "", undefined],
        ["POST", "", { metadata: {} }],
        ["DELETE", "", undefined],
        ["GET", "/items", undefined],
        ["POST", "/items", { items: [user("mine")] }],
        ["GET", `/items/${first}`, undefined],
        ["DELETE", `/items/${first}`, undefined]
      ] as const) {
        yield* refused(404, "conversation_not_found", method, `${path}/${id}${below}`, { user: "bob", body })
      }
    })
  )

  it.effect("a request adds at most 20 items, and none of the role system later", () =>
    Effect.gen(function* () {
      const { id } = yield* conversation("POST", path, {})
      const many = Array.from({ length: 21 }, () => user("x"))
      yield* refused(400, "invalid_request", "POST", path, { body: { items: many } })
      yield* refused(400, "invalid_request", "POST", `${path}/${id}/items`, { body: { items: many } })
      const late = [{ role: "system", content: "Be long." }]
      yield* refused(400, "invalid_request", "POST", `${path}/${id}/items`, { body: { items: late } })
    })
  )
})
