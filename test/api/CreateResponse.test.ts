import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { CreateResponse } from "../../src/api/CreateResponse.ts"
import { fieldProblem } from "../../src/api/FieldProblem.ts"

const decode = Schema.decodeUnknownEffect(CreateResponse)
/** Decodes a body as the endpoint does. */
const decodeJson = Schema.decodeUnknownEffect(Schema.toCodecJson(CreateResponse))
const problemOf = (body: unknown) => decode(body).pipe(Effect.flip, Effect.map(fieldProblem))

const uuid = "019845e1-682f-4b02-a706-3b2422d13aec"
const secret = "the-rejected-value"
const message = (content: unknown) => ({ input: [{ role: "user", content }] })

describe("CreateResponse", () => {
  it.effect.each([
    { body: {}, param: "input" },
    { body: { input: null }, param: "input" },
    { body: { input: 7 }, param: "input" },
    { body: { input: { secret } }, param: "input" },
    { body: { input: "" }, param: "input" },
    { body: { input: [] }, param: "input" },
    { body: { input: [secret] }, param: "input[0]" },
    { body: { input: [{}] }, param: "input[0].content" },
    { body: { input: [{ role: "user" }] }, param: "input[0].content" },
    { body: { input: [{ type: secret }] }, param: "input[0].content" },
    { body: { input: [{ role: 7, content: "a" }] }, param: "input[0].role" },
    { body: { input: [{ role: "user", content: 7 }] }, param: "input[0].content" },
    { body: message([7]), param: "input[0].content[0]" },
    { body: message([{}]), param: "input[0].content[0]" },
    { body: message([{ type: secret, text: "a" }]), param: "input[0].content[0]" },
    { body: message([{ type: "input_image", image_url: secret }]), param: "input[0].content[0]" },
    { body: message([{ type: "input_text" }]), param: "input[0].content[0].text" },
    { body: message([{ type: "input_text", text: 7 }]), param: "input[0].content[0].text" },
    {
      body: message([
        { type: "input_text", text: "a" },
        { type: "input_text", text: null }
      ]),
      param: "input[0].content[1].text"
    },
    { body: message([{ type: "input_file" }]), param: "input[0].content[0].file_id" },
    { body: message([{ type: "input_file", file_id: secret }]), param: "input[0].content[0].file_id" },
    { body: { input: [{ type: "item_reference", id: secret }] }, param: "input[0].id" },
    { body: { input: [{ type: "item_reference" }] }, param: "input[0].id" },
    { body: { input: "a", max_output_tokens: 0 }, param: "max_output_tokens" },
    { body: { input: "a", max_output_tokens: -1 }, param: "max_output_tokens" },
    { body: { input: "a", max_output_tokens: 1.5 }, param: "max_output_tokens" },
    { body: { input: "a", max_output_tokens: "10" }, param: "max_output_tokens" },
    { body: { input: "a", instructions: 7 }, param: "instructions" },
    { body: { input: "a", instructions: [secret] }, param: "instructions" },
    { body: { input: "a", model: 7 }, param: "model" },
    { body: { input: "a", stream: "yes" }, param: "stream" },
    { body: { input: "a", conversation_id: secret }, param: "conversation_id" },
    { body: { input: "a", conversation_id: 7 }, param: "conversation_id" },
    { body: { input: "a", project_id: secret }, param: "project_id" },
    { body: { input: "a", conversation: secret }, param: "conversation" },
    { body: { input: "a", conversation: { id: secret } }, param: "conversation.id" },
    { body: { input: "a", previous_response_id: secret }, param: "previous_response_id" },
    { body: { input: `a\0${secret}` }, param: "input" },
    { body: { input: "a", instructions: "\0" }, param: "instructions" },
    { body: message("a\ud800"), param: "input[0].content" },
    { body: message([{ type: "input_text", text: "\udc00" }]), param: "input[0].content[0].text" },
    {
      body: message(Array.from({ length: 501 }, () => ({ type: "input_file", file_id: uuid }))),
      param: "input"
    },
    { body: { input: Array.from({ length: 10_001 }, () => ({ content: "a" })) }, param: "input" },
    { body: { input: [{ type: 7, content: "a" }] }, param: "input[0].type" },
    { body: { input: [{ type: "mcp_call", output: `a\0${secret}` }] }, param: "input[0].output" },
    { body: { input: [{ type: "mcp_call", name: "a\ud800" }] }, param: "input[0].name" },
    {
      body: { input: [{ content: "a" }, { type: "function_call_output", output: [{ text: "\0" }] }] },
      param: "input[1].output"
    },
    {
      body: { input: [{ type: "function_call", arguments: { [`\0${secret}`]: 1 } }] },
      param: "input[0].arguments"
    },
    { body: { input: [{ type: "reasoning", summary: "\0", content: "a" }] }, param: "input[0].summary" },
    { body: { input: [{ type: "file_search_call", results: [["\0"]] }] }, param: "input[0].results" },
    { body: { input: "a", max_output_tokens: -Infinity }, param: "max_output_tokens" },
    { body: { input: "a", max_output_tokens: "Infinity" }, param: "max_output_tokens" },
    { body: "text", param: "" },
    { body: null, param: "" },
    { body: [], param: "" }
  ])("CreateResponse names the field at fault: $param (%#)", ({ body, param }) =>
    Effect.gen(function* () {
      const problem = yield* problemOf(body)
      assert.strictEqual(problem.param, param)
      assert.include(problem.message, param === "" ? "The request body" : `\`${param}\``)
      assert.notInclude(problem.message, secret)
      assert.isBelow(problem.message.length, 300)
    })
  )

  it.effect.each([
    { input: "a" },
    {
      input: "a",
      model: "gpt-4o",
      stream: null,
      instructions: null,
      conversation_id: null,
      max_output_tokens: null
    },
    {
      input: "a",
      tools: [],
      include: [],
      text: {},
      store: true,
      temperature: 2,
      metadata: { a: "b" },
      reasoning: {}
    },
    { input: [{ content: "a" }] },
    { input: [{ role: null, type: null, content: [{ type: "input_text", text: "a", extra: 1 }] }] },
    { input: [{ role: "whoever", type: "message", content: "a" }] },
    {
      input: [
        { role: "assistant", id: "msg_1", content: [{ type: "output_text", text: "a", annotations: [] }] }
      ]
    },
    {
      input: [
        { type: "item_reference", id: uuid },
        { type: "reasoning", id: "rs_1", summary: [], content: [{ type: "x" }] }
      ]
    },
    { input: [{ type: "function_call_output", call_id: "c", output: [{ type: "y" }] }] },
    { input: "a", conversation: uuid, previous_response_id: uuid.toUpperCase() },
    { input: "a", conversation: { id: uuid, metadata: {} } },
    { input: "a", max_output_tokens: Number.MAX_SAFE_INTEGER }
  ])("CreateResponse accepts what clients send (%#)", (body) => Effect.asVoid(decode(body)))

  it.effect.each([
    [2 ** 53 + 2, "beyond what numbers count one by one"],
    [Infinity, "what JSON.parse makes of 1e400"]
  ] as const)("CreateResponse accepts a max_output_tokens beyond that of any model: %s, %s", ([tokens]) =>
    Effect.gen(function* () {
      const { max_output_tokens } = yield* decodeJson({ input: "a", max_output_tokens: tokens })
      assert.strictEqual(max_output_tokens, Number.MAX_SAFE_INTEGER)
    })
  )

  it.effect.each([
    [{ model: 7 }, "`model` must be a string or null."],
    [{ stream: "yes" }, "`stream` must be true, false or null."],
    [{ instructions: [] }, "`instructions` must be a string or null."],
    [{ conversation_id: 7 }, "`conversation_id` must be a UUID or null."],
    [{ project_id: "x" }, "`project_id` must be a UUID."],
    [{ previous_response_id: {} }, "`previous_response_id` must be a UUID or null."],
    [
      { conversation: 7 },
      "`conversation` must be the id of a conversation or an object with its id or null."
    ],
    [{ max_output_tokens: "1" }, "`max_output_tokens` must be a positive integer or null."],
    [{ max_output_tokens: 1.5 }, "`max_output_tokens` must be a positive integer."],
    [{ input: [{ content: "a", role: 7 }] }, "`input[0].role` must be a string or null."],
    [{ input: [{ content: "a", type: 7 }] }, "`input[0].type` must be a string or null."],
    [{ input: 7 }, "`input` must be a string or a list of items."]
  ] as const)("CreateResponse says what is allowed: %j", ([fields, sentence]) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* problemOf({ input: "a", ...fields })).message, sentence)
    })
  )

  it.effect("CreateResponse never only says that a value is not valid, whatever its type", () =>
    Effect.gen(function* () {
      const values = [7, "x", true, [], {}, null, [7], "\0"]
      for (const name of Object.keys(CreateResponse.fields)) {
        for (const value of values) {
          const result = yield* Effect.result(decodeJson({ input: "a", [name]: value }))
          if (result._tag === "Success") continue
          assert.match(
            fieldProblem(result.failure).message,
            / (must be .+|is missing)\.$/,
            `${name} = ${value}`
          )
        }
      }
    })
  )
})
