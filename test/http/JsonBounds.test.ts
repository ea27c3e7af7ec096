import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { jsonBounds } from "../../src/http/JsonScanner.ts"
import { openRaw } from "../support/RawClient.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"

/**
 * Every endpoint that answers a message, with the field that holds it, and the one that bounds the answer.
 */
const endpoints = [
  { path: "/v1/responses", input: { input: "Hi" }, max: "max_output_tokens", extra: { stream: false } },
  { path: "/openai/v1/responses", input: { input: "Hi" }, max: "max_output_tokens", extra: {} },
  {
    path: "/openai/v1/chat/completions",
    input: { messages: [{ role: "user", content: "Hi" }] },
    max: "max_completion_tokens",
    extra: { model: "auto" }
  }
]

/** A request whose body is given as text. */
const post = (url: string, key: string, text: string) =>
  Effect.promise(async () => {
    const response = await fetch(url, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: text
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  })

const fieldsOf = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 1]))

layer(TestApp.layer(), { excludeTestServices: true })("The body of a request", (it) => {
  for (const { extra, input, max, path } of endpoints) {
    it.effect(
      `${path} clamps a number beyond the range of numbers, and ignores unknown fields whatever they hold`,
      () =>
        Effect.gen(function* () {
          const { alice, url } = yield* TestApp
          const model = yield* ScriptedModel
          const known = JSON.stringify({ ...input, ...extra }).slice(0, -1)
          const unknown = '"other":1e400,"nested":{"a":[1e999,"\\u0000",{"__proto__":1}]}'
          for (const fields of [`"${max}":1e309`, unknown]) {
            yield* model.next(says("Hello"))
            const reply = yield* post(`${url}${path}`, alice.key, `${known},${fields}}`)
            assert.strictEqual(reply.status, 200, reply.text)
          }
        })
    )

    it.effect(`${path} refuses more fields than an object may have, and names the object`, () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const body = { ...input, ...extra, metadata: fieldsOf(jsonBounds.fieldsMax + 1) }
        const { message, param } = errorOf(yield* call(`${url}${path}`, { key: alice.key, body }), 400)
        assert.strictEqual(param, "metadata")
        assert.strictEqual(message, "`metadata` has more than 5000 fields. Send fewer, or a list.")
      })
    )
  }

  it.effect("a request body is refused while it is read, once it nests too deep", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const client = yield* openRaw(url)
      yield* client.send(
        "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n" +
          `authorization: Bearer ${alice.key}\r\ncontent-length: 2000000\r\n\r\n{"input":${"[".repeat(100)}`
      )
      // The rest is never sent.
      const seen = yield* client.read((text) => text.includes("nests deeper"))
      assert.include(seen, "400 Bad Request")
      assert.include(seen, "nests deeper than 64 levels")
    })
  )
})
