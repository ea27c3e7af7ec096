import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import { ItemList } from "../../src/api/openai/StoredItem.ts"
import { says, ScriptedModel, scriptedUsage, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { until } from "../support/until.ts"
import { call, errorOf, responseOf } from "../support/Wire.ts"

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ResponseResource))
const decodeList = Schema.decodeUnknownEffect(Schema.fromJsonString(ItemList))

const request = Effect.fnUntraced(function* (
  method: string,
  path: string,
  { body, user = "alice" }: { readonly body?: unknown; readonly user?: "alice" | "bob" } = {}
) {
  const app = yield* TestApp
  return yield* call(`${app.url}${path}`, {
    method,
    key: app[user].key,
    ...(body === undefined ? {} : { body })
  })
})

const answerTo = Effect.fnUntraced(function* (body: object, words: string) {
  const model = yield* ScriptedModel
  yield* model.next(says(words))
  return yield* decode((yield* request("POST", "/openai/v1/responses", { body })).text)
})

/** The messages of the last request to the model, as JSON. */
const lastPrompt = Effect.gen(function* () {
  const model = yield* ScriptedModel
  const { request: prompt } = (yield* model.asked).at(-1)!
  return JSON.stringify(prompt.messages)
})

const envelope = (status: number, reply: { readonly status: number; readonly text: string }) => {
  assert.strictEqual(reply.status, status, reply.text)
  const { error } = JSON.parse(reply.text) as { error: { code: string } }
  return error.code
}

layer(TestApp.layer(), { excludeTestServices: true })("stored responses of /openai/v1", (it) => {
  it.effect("tokens written to a provider's cache are shown with every response, and none on /v1", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const usage = { ...scriptedUsage, cachedInputTokens: 3, cacheWriteInputTokens: 4 }
      const answer = Stream.make(text("Yes."), { type: "finish", reason: "stop", usage } as const)
      yield* model.next(answer, answer, answer, answer, answer)
      const post = (path: string, body: object) => request("POST", path, { body })
      const answered = yield* post("/openai/v1/responses", { input: "Well?" })
      const { id } = yield* decode(answered.text)
      const messages = [{ role: "user", content: "Well?" }]
      for (const { status, text: body } of [
        answered,
        yield* post("/openai/v1/responses", { input: "Well?", stream: true }),
        yield* post("/openai/v1/chat/completions", { messages }),
        yield* request("GET", `/openai/v1/responses/${id}`)
      ]) {
        assert.strictEqual(status, 200, body)
        assert.include(body, `"cached_tokens":3,"cache_write_tokens":4`)
      }
      const own = yield* post("/v1/responses", { input: "Well?", stream: false })
      for (const { status, text: body } of [
        own,
        yield* post("/v1/responses", { input: "Well?", stream: true }),
        yield* request("GET", `/v1/conversations/${responseOf(own).conversation_id}`)
      ]) {
        assert.strictEqual(status, 200, body)
        assert.include(
          body,
          `"usage":{"input_tokens":11,"input_tokens_details":{"cached_tokens":3},"output_tokens":7,` +
            `"output_tokens_details":{"reasoning_tokens":0},"total_tokens":18}`
        )
      }
    })
  )

  it.effect(
    "a call is shown with the same fields everywhere, and without the round that it was made in",
    () =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        yield* model.change({ tools: true, contextWindow: 20_000 })
        const asking = Stream.make(
          { type: "tool_call", call: { id: "1", name: "weather", arguments: "{}" } } as const,
          { type: "finish", reason: "tool_calls", usage: scriptedUsage } as const
        )
        yield* model.next(asking, asking, says("Sun."))
        const tools = [{ type: "function", name: "weather", parameters: { type: "object" } }]
        const post = (body: object) => request("POST", "/openai/v1/responses", { body: { tools, ...body } })
        const streamed = yield* post({ input: "Weather?", stream: true })
        const answered = yield* post({ input: "Weather?" })
        const { conversation, id, output } = yield* decode(answered.text)
        const item = output.at(-1)
        assert(item?.type === "function_call")
        const next = yield* post({
          previous_response_id: id,
          input: [{ type: "function_call_output", call_id: item.call_id, output: "sun" }]
        })
        const replayed = yield* decode(next.text)
        const shown = [
          yield* request("GET", `/openai/v1/responses/${id}`),
          yield* request("GET", `/openai/v1/responses/${replayed.id}/input_items`),
          yield* request("GET", `/openai/v1/conversations/${conversation?.id}/items`),
          yield* request("GET", `/v1/conversations/${conversation?.id.replace("conv_", "")}`)
        ]
        for (const { status, text: body } of [streamed, answered, next, ...shown]) {
          assert.strictEqual(status, 200, body)
          assert.notInclude(body, '"round"')
        }
        assert.isAbove(shown.filter(({ text: body }) => body.includes(item.call_id)).length, 2)
      })
  )

  it.effect("a response is shown as it was answered, with what it repeats of its request", () =>
    Effect.gen(function* () {
      const answered = yield* answerTo(
        {
          input: "Hi",
          instructions: "Be brief.",
          metadata: { a: "b" },
          temperature: 0.5,
          max_output_tokens: 100
        },
        "Hello"
      )
      const path = `/openai/v1/responses/${answered.id}`
      const shown = yield* request("GET", path)
      assert.strictEqual(shown.status, 200, shown.text)
      assert.deepStrictEqual(yield* decode(shown.text), answered)
      const bare = yield* request("GET", path.replace("resp_", ""))
      assert.strictEqual(bare.text, shown.text)
      assert.strictEqual(envelope(404, yield* request("GET", path, { user: "bob" })), "response_not_found")
    })
  )

  it.effect("a response of the other interface is shown too", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"))
      const body = { input: "Hi", stream: false }
      const answered = responseOf(yield* request("POST", "/v1/responses", { body }))
      const shown = yield* decode((yield* request("GET", `/openai/v1/responses/${answered.id}`)).text)
      assert.strictEqual(shown.output_text, "Hello")
      assert.strictEqual(shown.usage?.total_tokens, answered.usage?.total_tokens)
    })
  )

  it.effect("a response that isn't stored isn't found", () =>
    Effect.gen(function* () {
      const { id } = yield* answerTo({ input: "Hi", store: false }, "Hello")
      assert.strictEqual(
        envelope(404, yield* request("GET", `/openai/v1/responses/${id}`)),
        "response_not_found"
      )
    })
  )

  it.effect("a deleted response isn't found and can't be continued, and the ones after it can", () =>
    Effect.gen(function* () {
      const first = yield* answerTo({ input: "one" }, "eins")
      const second = yield* answerTo({ input: "two", previous_response_id: first.id }, "zwei")
      const path = `/openai/v1/responses/${first.id}`
      assert.strictEqual(envelope(404, yield* request("DELETE", path, { user: "bob" })), "response_not_found")
      const deleted = yield* request("DELETE", path)
      assert.deepStrictEqual(JSON.parse(deleted.text), { id: first.id, object: "response", deleted: true })
      assert.strictEqual(envelope(404, yield* request("GET", path)), "response_not_found")
      assert.strictEqual(envelope(404, yield* request("DELETE", path)), "response_not_found")
      const body = { input: "again", previous_response_id: first.id }
      assert.strictEqual(
        errorOf(yield* request("POST", "/openai/v1/responses", { body }), 404).code,
        "previous_response_not_found"
      )
      yield* answerTo({ input: "three", previous_response_id: second.id }, "drei")
      assert.include(yield* lastPrompt, "eins")
    })
  )

  it.effect("what a response was asked is listed in pages, newest first", () =>
    Effect.gen(function* () {
      const input = ["a", "b", "c"].map((content) => ({ role: "user", content }))
      const { id } = yield* answerTo({ input }, "Hello")
      const list = Effect.fnUntraced(function* (query: string) {
        return yield* decodeList(
          (yield* request("GET", `/openai/v1/responses/${id}/input_items${query}`)).text
        )
      })
      const textsOf = ({ data }: ItemList) =>
        data.map((item) => (item.type === "message" ? JSON.stringify(item.content) : item.type))
      const all = yield* list("")
      assert.deepStrictEqual(
        textsOf(all),
        ["c", "b", "a"].map((one) => JSON.stringify([{ type: "input_text", text: one }]))
      )
      const first = yield* list("?order=asc&limit=2")
      assert.isTrue(first.has_more)
      const second = yield* list(`?order=asc&limit=2&after=${first.last_id}`)
      assert.deepStrictEqual([...first.data, ...second.data], all.data.toReversed())
      assert.isFalse(second.has_more)
      const wrong = yield* request("GET", `/openai/v1/responses/${id}/input_items?limit=101`)
      assert.strictEqual(envelope(400, wrong), "invalid_request")
    })
  )

  it.effect("an older response is continued in a conversation of its own", () =>
    Effect.gen(function* () {
      const first = yield* answerTo({ input: "one" }, "eins")
      const second = yield* answerTo({ input: "two", previous_response_id: first.id }, "zwei")
      const branch = yield* answerTo({ input: "other", previous_response_id: first.id }, "anders")
      assert.strictEqual(second.conversation?.id, first.conversation?.id)
      assert.notStrictEqual(branch.conversation?.id, first.conversation?.id)
      assert.include(yield* lastPrompt, "eins")
      assert.notInclude(yield* lastPrompt, "zwei")
      const next = yield* answerTo({ input: "more", previous_response_id: branch.id }, "mehr")
      assert.strictEqual(next.conversation?.id, branch.conversation?.id)
      const prompt = yield* lastPrompt
      assert.include(prompt, "eins")
      assert.include(prompt, "anders")
      assert.notInclude(prompt, "zwei")
      yield* answerTo({ input: "end", previous_response_id: second.id }, "ende")
      assert.notInclude(yield* lastPrompt, "anders")
    })
  )

  it.effect(
    "an item that the history of a branch has is not repeated, and one of a later turn is taken in",
    () =>
      Effect.gen(function* () {
        const first = yield* answerTo({ input: "one" }, "eins-eins")
        const second = yield* answerTo({ input: "two", previous_response_id: first.id }, "zwei-zwei")
        const branch = yield* answerTo({ input: "other", previous_response_id: first.id }, "anders")
        const times = (words: string) => Effect.map(lastPrompt, (prompt) => prompt.split(words).length - 1)
        const referring = (id: string | undefined, previous: string) =>
          answerTo(
            {
              input: [
                { type: "item_reference", id },
                { role: "user", content: "?" }
              ],
              previous_response_id: previous
            },
            "ok"
          )
        // The branch has a copy of the item, and so has the conversation that it left.
        const next = yield* referring(first.output[0]?.id, branch.id)
        assert.strictEqual(yield* times("eins-eins"), 1)
        yield* referring(first.output[0]?.id, next.id)
        assert.strictEqual(yield* times("eins-eins"), 1)
        yield* referring(first.output[0]?.id, second.id)
        assert.strictEqual(yield* times("eins-eins"), 1)
        // The turn of this item comes after the response that is continued.
        yield* referring(second.output[0]?.id, first.id)
        assert.deepStrictEqual([yield* times("eins-eins"), yield* times("zwei-zwei")], [1, 1])
      })
  )

  it.effect("a header names the fields of a query that a list doesn't have", () =>
    Effect.gen(function* () {
      const { id } = yield* answerTo({ input: "one" }, "eins")
      const named = (below: string) =>
        Effect.map(request("GET", `/openai/v1/${below}`), ({ headers, status }) => {
          assert.strictEqual(status, 200)
          return headers.get("x-ignored-fields")
        })
      assert.isNull(yield* named(`responses/${id}/input_items?limit=1&order=asc`))
      const asked = `responses/${id}/input_items?include[]=message.input_image.image_url&limit=1&before=x`
      assert.strictEqual(yield* named(asked), "include, before")
      assert.strictEqual(yield* named("models?limit=3"), "limit")
      assert.strictEqual(yield* named("vector_stores?limit=1&wishes=2"), "wishes")
    })
  )

  it.effect("no header names a conversation of a response that isn't stored, unless it is there", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const named = Effect.fnUntraced(function* (body: object) {
        yield* model.next(says("ok"))
        const reply = yield* request("POST", "/openai/v1/responses", { body: { input: "Hi", ...body } })
        assert.strictEqual(reply.status, 200, reply.text)
        return reply.headers.get("x-conversation-id")
      })
      const first = yield* answerTo({ input: "one" }, "eins")
      assert.isNull(yield* named({ store: false }))
      assert.isNull(yield* named({ store: false, stream: true }))
      const id = first.conversation?.id
      assert.strictEqual(yield* named({ store: false, previous_response_id: first.id }), id)
      assert.strictEqual(yield* named({ conversation: id }), id)
    })
  )

  it.effect("two requests that continue one response at once are both answered", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const first = yield* answerTo({ input: "one" }, "eins")
      const before = (yield* model.asked).length
      yield* model.next(Stream.concat(Stream.make(text("slow")), Stream.never))
      const body = { input: "two", previous_response_id: first.id }
      const slow = yield* Effect.forkChild(request("POST", "/openai/v1/responses", { body }))
      yield* until(Effect.map(model.asked, (asked) => asked.length > before))
      const branch = yield* answerTo(body, "zwei")
      assert.notStrictEqual(branch.conversation?.id, first.conversation?.id)
      yield* Fiber.interrupt(slow)
    })
  )
})
