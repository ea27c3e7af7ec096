import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { CreateResponse } from "../../src/api/CreateResponse.ts"
import { fieldProblem } from "../../src/api/FieldProblem.ts"

const decode = Schema.decodeUnknownEffect(CreateResponse)
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
    { body: "text", param: "" },
    { body: null, param: "" },
    { body: [], param: "" }
  ])("names the field at fault: $param (%#)", ({ body, param }) =>
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
  ])("takes what clients send (%#)", (body) => Effect.asVoid(decode(body)))
})
