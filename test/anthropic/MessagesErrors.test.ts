import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Stream } from "effect"
import { ModelFailure } from "../../src/domain/Errors.ts"
import { failure, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call } from "../support/Wire.ts"
import { hello, messagesErrorOf, post } from "./messagesCalls.ts"

const fails = (reason: Parameters<typeof failure>[0]) => Stream.fail(failure(reason))

layer(TestApp.layer({ http: { bodyBytesMax: 100_000, mediaBodyBytesMax: 100_000 } }), {
  excludeTestServices: true
})("An error of /anthropic/v1", (it) => {
  it.effect("an error is Anthropic's envelope whatever the reason, with the type of its status", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const key = { "x-api-key": alice.key }
      const base = `${url}/anthropic/v1`
      const messages = `${base}/messages`
      const cases = [
        [messages, { body: hello }, 401, "authentication_error"],
        [messages, { body: hello, headers: { "x-api-key": "sk-ant" } }, 401, "authentication_error"],
        [messages, { body: hello, headers: { authorization: "Basic x" } }, 401, "authentication_error"],
        [messages, { headers: key, body: "{" }, 400, "invalid_request_error"],
        [messages, { headers: key, body: {} }, 400, "invalid_request_error"],
        [messages, { headers: key, method: "GET" }, 405, "invalid_request_error"],
        [
          messages,
          { headers: { ...key, "content-type": "text/plain" }, body: "x" },
          415,
          "invalid_request_error"
        ],
        [
          messages,
          { headers: key, body: { ...hello, system: "x".repeat(100_001) } },
          413,
          "request_too_large"
        ],
        [`${base}/messages/batches`, { headers: key, body: {} }, 404, "not_found_error"],
        [`${url}/anthropic`, { headers: key }, 404, "not_found_error"],
        [`${base}/models/none`, { headers: key }, 404, "not_found_error"]
      ] as const
      for (const [to, options, status, type] of cases) {
        assert.strictEqual(messagesErrorOf(yield* call(to, options), status).type, type, to)
      }
    })
  )

  it.effect("an error names the field of the messages, and not what was made of it", () =>
    Effect.gen(function* () {
      const user = (...content: ReadonlyArray<unknown>) => [{ role: "user", content }]
      const use = { type: "tool_use", id: "a", name: "f", input: {} }
      const image = (source: object) => ({ type: "image", source })
      for (const [messages, words] of [
        [[], "`messages` must be a list with at least one message."],
        [
          [{ role: "robot", content: "x" }],
          "`messages[0]` must be a message whose role is user, assistant or system."
        ],
        [
          user({ type: "audio" }),
          "`messages[0].content[0]` must be a text, image, document, search_result or tool_result block."
        ],
        [user({ type: "text" }), "`messages[0].content[0].text` is missing."],
        [
          user({ type: "tool_result", tool_use_id: "b", content: "x" }),
          "`messages[0].content[0].tool_use_id` names no call"
        ],
        [
          [...user({ type: "text", text: "x" }), { role: "assistant", content: [use, use] }],
          "`messages[1].content[1].id` is that of another call"
        ],
        [
          user({ type: "text", text: "x" }, image({ type: "base64", media_type: "image/png", data: "eA==" })),
          "`messages[0].content[1].source` must be a PNG"
        ],
        [
          user({
            type: "document",
            context: "x",
            source: { type: "base64", media_type: "application/pdf", data: "?" }
          }),
          "`messages[0].content[0].source` must be base64"
        ],
        [user({ type: "text", text: "" }), "`messages` holds no message of the user."]
      ] as const) {
        const error = messagesErrorOf(yield* post({ ...hello, messages }), 400)
        assert.include(error.message, words)
      }
      for (const [body, words] of [
        [{ tools: [{ name: "a b", input_schema: {} }] }, "`tools[0].name` must be 1 to 128 letters"],
        [{ tools: [{ name: "a" }] }, "`tools[0].input_schema` is missing."],
        [
          { tool_choice: { type: "some" } },
          "`tool_choice` must be an object of the type auto, any, tool or none."
        ],
        [{ tool_choice: { type: "any" } }, "`tool_choice` demands a call"],
        [
          {
            tools: [{ type: "code_execution_20250825", name: "code_execution" }],
            tool_choice: { type: "tool", name: "code_execution" }
          },
          "`tool_choice.name` names a tool that this service doesn't have"
        ],
        [
          { thinking: { type: "deep" } },
          "`thinking` must be an object of the type enabled, adaptive or disabled."
        ],
        [{ temperature: 1.5 }, "`temperature` must be a number from 0 to 1"],
        [{ max_tokens: 0 }, "`max_tokens` must be a positive integer"]
      ] as const) {
        const error = messagesErrorOf(yield* post({ ...hello, ...body }), 400)
        assert.include(error.message, words)
      }
    })
  )

  it.effect("an error of an unknown model says where the names of models are", () =>
    Effect.gen(function* () {
      for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
        const { message, type } = messagesErrorOf(yield* post({ ...hello, model: "claude-opus" }, path), 404)
        assert.strictEqual(type, "not_found_error")
        assert.include(message, "GET /anthropic/v1/models")
        assert.include(message, "ANTHROPIC_MODEL")
      }
    })
  )

  it.effect("an error says `prompt is too long` of such a prompt, with its size where that is known", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const messages = [{ role: "user", content: "word ".repeat(15_000) }]
      const known = messagesErrorOf(yield* post({ ...hello, messages }), 400)
      assert.match(known.message, /^prompt is too long: \d+ tokens > \d+ maximum\. /)
      yield* model.next(
        fails("context_length"),
        fails("context_length"),
        fails("context_length"),
        fails("context_length")
      )
      const said = messagesErrorOf(yield* post(hello), 400)
      assert.match(said.message, /^prompt is too long\. /)
      yield* model.clear
    })
  )

  it.effect("an error distinguishes an overloaded model from one that failed", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const overloaded = new ModelFailure({ ...failure("server_error"), status: 529, isOverloaded: true })
      for (const [failed, status, type] of [
        [failure("rate_limited"), 529, "overloaded_error"],
        [overloaded, 529, "overloaded_error"],
        [failure("server_error"), 500, "api_error"]
      ] as const) {
        yield* model.next(Stream.fail(failed), Stream.fail(failed))
        const reply = yield* post({ ...hello, stream: true })
        assert.strictEqual(messagesErrorOf(reply, status).type, type)
        assert.isNotNull(reply.headers.get("retry-after"))
        yield* model.clear
      }
    })
  )

  it.effect("an error of the base URL of another interface names the way here", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      for (const path of ["/v1/messages", "/openai/v1/messages", "/messages"]) {
        const reply = yield* call(url + path, { key: alice.key, body: hello })
        assert.strictEqual(reply.status, 404)
        assert.include(reply.text, "POST /anthropic/v1/messages")
      }
      const { message } = messagesErrorOf(yield* post(hello, "/v1/v1/messages"), 404)
      assert.include(message, "ends with `/anthropic`")
    })
  )
})
