import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf, eventsOf, responseOf } from "../support/Wire.ts"

const post = Effect.fnUntraced(function* (body: unknown, headers: Record<string, string> = {}) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/v1/responses`, { key: alice.key, body, headers })
})

const refused = (body: unknown) => Effect.map(post(body), (reply) => errorOf(reply, 400))

const item = (content: unknown) => ({ input: [{ role: "user", content }] })

/**
 * Wire contract, section 1: what is refused names the field and the remedy, what is ignored is named in a
 * header.
 */
layer(TestApp.layer(), { excludeTestServices: true })("A mistake in the body", (it) => {
  it.effect.each([
    { body: '{"input": secret}', place: "line 1, column 11, a value is expected" },
    {
      body: '{"input": "a",\n  "stream": false,\n}',
      place: "line 3, column 1, a field's name in double quotes"
    },
    { body: '{"input": "a" "stream": false}', place: "line 1, column 15, a comma" },
    { body: "{'input': 'secret'}", place: "line 1, column 2, a field's name in double quotes" },
    { body: '{"input": "secret\n"}', place: "line 1, column 18, a character that a string may hold" },
    { body: '{"input": "secret', place: "line 1, column 18, the end of a string" },
    { body: '{"input": ["a"', place: "line 1, column 15, a comma or the closing bracket" },
    { body: '{"input": 01}', place: "line 1, column 11, a value" },
    { body: "{}}", place: "line 1, column 3, the end of the body" }
  ])("a mistake in the JSON is reported with its place, and without the text: $place", ({ body, place }) =>
    Effect.gen(function* () {
      const { code, message, param } = yield* refused(body)
      assert.deepStrictEqual([code, param], ["invalid_request", ""])
      assert.include(message, `not valid JSON: at ${place}`)
      assert.notInclude(message, "secret")
    })
  )

  it.effect.each([
    { type: "custom_tool_call", entry: { type: "custom_tool_call", name: "secret", input: "secret" } },
    { type: "mcp_list_tools", entry: { type: "mcp_list_tools", tools: [] } },
    { type: "compaction", entry: { type: "compaction", content: null } }
  ])("a wrong type of an item is named, and so are the supported ones: $type", ({ entry, type }) =>
    Effect.gen(function* () {
      const error = yield* refused({ input: [{ role: "user", content: "Hi" }, entry] })
      assert.strictEqual(error.param, "input[1].type")
      assert.include(error.message, `\`${type}\`, which is not supported`)
      assert.include(error.message, "message, item_reference, mcp_call")
      assert.notInclude(error.message, "secret")
    })
  )

  it.effect.each([
    { part: { type: "text", text: "secret" }, remedy: "use input_text" },
    { part: { type: "refusal", refusal: "secret" }, remedy: "replay it as output_text" },
    { part: { type: "input_image", image_url: "secret" }, remedy: "images are not supported" },
    { part: { type: "computer_screenshot" }, remedy: "not supported. Parts are input_text" }
  ])("a wrong type of a part is named with the remedy: $part.type", ({ part, remedy }) =>
    Effect.gen(function* () {
      const error = yield* refused(item([{ type: "input_text", text: "a" }, part]))
      assert.strictEqual(error.param, "input[0].content[1]")
      assert.include(error.message, `\`${part.type}\``)
      assert.include(error.message, remedy)
      assert.notInclude(error.message, "secret")
    })
  )

  it.effect("a type that is not a plain word is not named", () =>
    Effect.gen(function* () {
      for (const type of ["<script>", "a b", "x".repeat(65), "é"]) {
        assert.notInclude((yield* refused(item([{ type }]))).message, type)
        assert.notInclude((yield* refused({ input: [{ type }] })).message, type)
      }
    })
  )

  it.effect("an inline file is refused with the way to upload it", () =>
    Effect.gen(function* () {
      const error = yield* refused(item([{ type: "input_file", filename: "a.pdf", file_data: "secret" }]))
      assert.strictEqual(error.param, "input[0].content[0].file_id")
      assert.match(error.message, /`file_data` is not supported: upload the file with POST \/v1\/files/)
    })
  )

  it.effect.each(["messages", "prompt", "imput"])("a body with `%s` is pointed to `input`", (name) =>
    Effect.gen(function* () {
      const error = yield* refused({ [name]: [{ role: "user", content: "secret" }] })
      assert.strictEqual(error.param, "input")
      assert.include(error.message, `Send what is in \`${name}\` as \`input\``)
    })
  )

  it.effect("an ignored field is named in a header, with the field that may have been meant", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("ok"), says("ok"), says("ok"))
      const body = {
        input: "Hi",
        conversaton_id: "019845e1-682f-4b02-a706-3b2422d13aec",
        maxOutputTokens: 5,
        tools: [],
        prompt: null,
        ["bad name\r\n"]: 1,
        ["__proto__x"]: 1
      }
      const json = yield* post({ ...body, stream: false })
      const named = "conversaton_id, maxOutputTokens, tools, prompt, ?, __proto__x"
      const hints = "conversaton_id=conversation_id, maxOutputTokens=max_output_tokens"
      assert.isNull(responseOf(json).max_output_tokens)
      assert.strictEqual(json.headers.get("x-ignored-fields"), named)
      assert.strictEqual(json.headers.get("x-field-hints"), hints)
      const streamed = yield* post({ ...body, stream: true })
      eventsOf(streamed.text)
      assert.strictEqual(streamed.headers.get("x-ignored-fields"), named)
      const plain = yield* post({ input: "Hi", stream: false, model: "x", store: true })
      assert.isNull(plain.headers.get("x-ignored-fields"))
      assert.isNull(plain.headers.get("x-field-hints"))
    })
  )

  it.effect.each([
    [{ text: { format: { type: "json_object" }, verbosity: "low" } }, "text.format, text.verbosity"],
    [{ text: { format: { type: "text" }, verbosity: "low" } }, "text.verbosity"],
    [{ text: { format: { type: "text" }, verbosity: null } }, "text"],
    [{ tools: [{ type: "function" }], text: { format: { type: "json_schema" } } }, "tools, text.format"],
    [{ reasoning: { effort: "low", ["bad\r\nname"]: 1 } }, "reasoning.effort, reasoning.?"],
    [{ text: "plain", metadata: { secret: "word" } }, "text, metadata"]
  ] as const)("an ignored field within an object is named with it: %j", ([fields, named]) =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("ok"))
      const reply = yield* post({ input: "Hi", stream: false, ...fields })
      assert.strictEqual(responseOf(reply).status, "completed")
      assert.strictEqual(reply.headers.get("x-ignored-fields"), named)
    })
  )

  it.effect("a thousand ignored fields make no long header, and no prototype", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("ok"))
      const many = Array.from({ length: 1000 }, (_, index) => `"${"x".repeat(60)}${index}":1`).join(",")
      const reply = yield* post(`{"input":"Hi","stream":false,"__proto__":{"store":false},${many}}`)
      assert.isTrue(responseOf(reply).store)
      const named = reply.headers.get("x-ignored-fields") ?? ""
      assert.isBelow(named.length, 1_200)
      assert.match(named, /^__proto__, x{60}0, .*, \+985 more$/)
      yield* model.next(says("ok"))
      const nested = yield* post(`{"input":"Hi","stream":false,"text":{${many}}}`)
      responseOf(nested)
      const inner = nested.headers.get("x-ignored-fields") ?? ""
      assert.isBelow(inner.length, 1_300)
      assert.match(inner, /^text\.x{60}0, .*, \+984 more$/)
    })
  )
})
