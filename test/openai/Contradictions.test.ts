import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"

const responses = "/openai/v1/responses"

const post = Effect.fnUntraced(function* (path: string, body: unknown) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}${path}`, { key: alice.key, body })
})

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ResponseResource))

const uuid = "019aa1b2-0000-7000-8000-000000000000"
const file = { type: "input_file", file_data: "aGVsbG8=", filename: "a.txt" }
const called = (id: string) => ({ type: "function_call", call_id: id, name: "f", arguments: "{}" })
const result = (id: string) => ({ type: "function_call_output", call_id: id, output: "1" })
const user = (content: unknown) => ({ role: "user", content })

interface Refused {
  readonly what: string
  readonly path?: string
  readonly body: object
  readonly param: string
  readonly status?: number
  readonly says: ReadonlyArray<string>
}

const refusals: ReadonlyArray<Refused> = [
  {
    what: "a conversation beside a previous response",
    body: { input: "Hi", conversation: `conv_${uuid}`, previous_response_id: `resp_${uuid}` },
    param: "conversation",
    says: ["`conversation`", "`previous_response_id`"]
  },
  ...["system", "developer", "assistant"].map((role) => ({
    what: `a document in a message of the role ${role}`,
    body: { input: [user("Hi"), { role, content: [{ type: "input_text", text: "Read." }, file] }] },
    param: "input[1].content[1]",
    says: [`role ${role}`, "role user"]
  })),
  {
    what: "an uploaded file in instructions",
    body: {
      input: [user("Hi"), { role: "system", content: [{ type: "input_file", file_id: `file-${uuid}` }] }]
    },
    param: "input[1].content[0]",
    says: ["role user"]
  },
  {
    what: "a document at an address in an item of a conversation",
    path: "/openai/v1/conversations",
    body: {
      items: [{ role: "developer", content: [{ type: "input_file", file_url: "https://example.com/a.txt" }] }]
    },
    param: "items[0].content[0]",
    says: ["role user"]
  },
  {
    what: "a document in instructions that are to be summarized",
    path: `${responses}/compact`,
    body: { model: "auto", input: [{ role: "system", content: [file] }] },
    param: "input[0].content[0]",
    says: ["role user"]
  },
  {
    what: "an item of an unknown type, even with a role",
    body: { input: [{ type: "program", role: "user", content: "Hi", call_id: "c" }] },
    param: "input[0].type",
    says: ["program", "message, item_reference, compaction, function_call, function_call_output"]
  },
  {
    what: "an unknown item of a conversation",
    path: "/openai/v1/conversations",
    body: { items: [{ type: "program", id: "x" }] },
    param: "items[0].type",
    says: ["program", "function_call_output"]
  },
  {
    what: "a part of an unknown type",
    body: { input: [user([{ type: "input_audio", data: "x" }])] },
    param: "input[0].content[0].type",
    says: ["input_audio", "input_text, input_image, input_file, output_text, refusal"]
  },
  {
    what: "a choice of a custom tool that there isn't",
    body: { input: "Hi", tool_choice: { type: "custom", name: "f" } },
    param: "tool_choice",
    says: ["names nothing that may be called"]
  },
  {
    what: "a choice of a tool of the service that isn't available",
    body: { input: "Hi", tools: [{ type: "web_search" }], tool_choice: { type: "web_search" } },
    param: "tool_choice",
    says: ["isn't available to you"]
  },
  {
    what: "a choice of a tool that the service doesn't run",
    body: { input: "Hi", tools: [{ type: "image_generation" }], tool_choice: { type: "image_generation" } },
    param: "tool_choice",
    says: ["image_generation", "doesn't run"]
  },
  {
    what: "a demanded call of nothing but tools that the service doesn't run",
    body: {
      input: "Hi",
      tools: [{ type: "code_interpreter", container: { type: "auto" } }],
      tool_choice: "required"
    },
    param: "tool_choice",
    says: ["code_interpreter", "doesn't run"]
  },
  {
    what: "a choice of a custom tool in a chat that has none",
    path: "/openai/v1/chat/completions",
    body: { messages: [user("Hi")], tool_choice: { type: "custom", custom: { name: "f" } } },
    param: "tool_choice",
    says: ["names nothing that may be called"]
  },
  {
    what: "two calls with one id in one round",
    body: { input: [user("Hi"), called("c"), called("c"), result("c")] },
    param: "input[2].call_id",
    says: ["another call"]
  },
  {
    what: "two calls with one id in one message of a chat",
    path: "/openai/v1/chat/completions",
    body: {
      messages: [
        user("Hi"),
        {
          role: "assistant",
          tool_calls: ["c", "c"].map((id) => ({
            id,
            type: "function",
            function: { name: "f", arguments: "{}" }
          }))
        },
        { role: "tool", tool_call_id: "c", content: "1" }
      ]
    },
    param: "messages[1].tool_calls[1].id",
    says: ["another call"]
  },
  {
    what: "a call id that is too long, wherever it stands",
    body: { input: [user("Hi"), called("c".repeat(257))] },
    param: "input[1].call_id",
    says: ["at most 256 characters"]
  },
  {
    what: "a data URL as the address of a document",
    body: { input: [user([{ type: "input_file", file_url: "data:text/plain;base64,aGVsbG8=" }])] },
    param: "input[0].content[0].file_url",
    says: ["`file_data`"]
  },
  {
    what: "a project that doesn't exist",
    body: { input: "Hi", tools: [{ type: "web_search" }, { type: "file_search", vector_store_ids: [uuid] }] },
    status: 404,
    param: "tools[1].vector_store_ids[0]",
    says: ["does not exist"]
  },
  {
    what: "what is no word where one of a few is asked for",
    body: { input: "Hi", truncation: 1 },
    param: "truncation",
    says: ["must be auto, disabled or null."]
  },
  {
    what: "what is neither true nor false",
    body: { input: "Hi", parallel_tool_calls: "no" },
    param: "parallel_tool_calls",
    says: ["must be true, false or null."]
  },
  {
    what: "a reference to an item that has content too",
    body: { input: [{ id: `msg_${uuid}`, content: "Hi" }] },
    param: "input[0].role",
    says: ["missing"]
  }
]

layer(TestApp.layer(), { excludeTestServices: true })("requests that contradict themselves", (it) => {
  for (const { body, param, path = responses, says: words, status = 400, what } of refusals) {
    it.effect(`${what} is refused, and named`, () =>
      Effect.gen(function* () {
        const error = errorOf(yield* post(path, body), status)
        assert.strictEqual(error.param, param)
        for (const one of words) assert.include(error.message, one)
      })
    )
  }

  it.effect("a call id may come again in a later round", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Fine."))
      const input = [user("Hi"), called("c"), result("c"), called("c"), result("c"), user("And?")]
      const reply = yield* post(responses, { input })
      assert.strictEqual(reply.status, 200, reply.text)
    })
  )

  it.effect("an item with nothing but an id refers to a stored item", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Blue."), says("Still blue."))
      const first = yield* decode((yield* post(responses, { input: "Name a color." })).text)
      const id = first.output[0]?.id
      const reply = yield* post(responses, { input: [{ id }, user("Again?")] })
      assert.strictEqual(reply.status, 200, reply.text)
      const { messages } = (yield* model.asked).at(-1)!.request
      assert.include(JSON.stringify(messages), "Blue.")
    })
  )
})
