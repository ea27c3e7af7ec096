import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Router } from "../../src/routing/Router.ts"
import { TestApp } from "../support/TestApp.ts"
import { untilValue } from "../support/until.ts"
import { call } from "../support/Wire.ts"
import { connect } from "./connection.ts"
import { decodeResponse, show } from "./jobCalls.ts"
import { app, protocols, Servers } from "./ProtocolServers.ts"

const parameters = { type: "object", oneOf: [{ type: "object" }] }
const schema = { type: "object", properties: { name: { type: "string" } } }

/**
 * Parts of one user's request, in the fields of both interfaces, and the words of the server that refuses
 * them.
 */
const refusals = [
  {
    says: "Invalid schema for function 'pick': oneOf is not supported in tools at the top level",
    response: { tools: [{ type: "web_search" }, { type: "function", name: "pick", parameters }] },
    responseParam: "tools[1].parameters",
    chat: { tools: [{ type: "function", function: { name: "pick", parameters } }] },
    chatParam: "tools[0].function.parameters"
  },
  {
    says: "Unsupported value: 'minimal' is not supported with this model (reasoning effort).",
    response: { reasoning: { effort: "minimal" } },
    responseParam: "reasoning.effort",
    chat: { reasoning_effort: "minimal" },
    chatParam: "reasoning_effort"
  },
  {
    says: "Invalid schema for response_format 'person': In context=(), 'additionalProperties' is required to be supplied and to be false.",
    response: { text: { format: { type: "json_schema", name: "person", schema, strict: true } } },
    responseParam: "text.format.schema",
    chat: {
      response_format: { type: "json_schema", json_schema: { name: "person", schema, strict: true } }
    },
    chatParam: "response_format.json_schema.schema"
  },
  {
    says: "tool_choice specified is incompatible with thinking enabled",
    response: {
      tools: [{ type: "function", name: "pick", parameters: schema }],
      tool_choice: { type: "function", name: "pick" }
    },
    responseParam: "tool_choice",
    chat: {
      tools: [{ type: "function", function: { name: "pick", parameters: schema } }],
      tool_choice: "required"
    },
    chatParam: "tool_choice"
  }
] as const

const cases = protocols.flatMap((protocol) =>
  refusals.map((refusal) => [protocol, refusal.responseParam, refusal] as const)
)

layer(app, { excludeTestServices: true })("what a server refuses of one user's request", (it) => {
  it.effect.each(cases)(
    "%s: is named to that user on each way, and changes nothing for another (%s)",
    ([protocol, , refusal]) =>
      Effect.gen(function* () {
        const { alice, bob, url } = yield* TestApp
        const router = yield* Router
        const server = (yield* Servers)[protocol]
        const model = `model-${protocol}`
        const responses = `${url}/openai/v1/responses`
        const chats = `${url}/openai/v1/chat/completions`
        const messages = [{ role: "user", content: "Hello" }]

        /** The parts of the other user's request that reach the server. */
        const bobSends = Effect.gen(function* () {
          const before = server.requests.length
          for (const body of [
            { tools: [{ type: "function", name: "pick", parameters: schema }] },
            { reasoning: { effort: "high" }, text: { verbosity: "low" } }
          ]) {
            const reply = yield* call(responses, {
              key: bob.key,
              body: { model, input: "Hello", store: false, ...body }
            })
            assert.strictEqual(reply.status, 200, reply.text)
          }
          return server.requests.slice(before).map(({ body }) => body)
        })
        const before = yield* bobSends

        const errorBody = JSON.stringify({ error: { message: `${refusal.says} (sk-abcdefghijklmnop)` } })
        yield* server.usually(() => ({ status: 400, errorBody }))
        const sentence = `${refusal.says} ([redacted])`
        const asked = { model, input: "Hello", ...refusal.response }
        const named = (text: string, param: string) => {
          assert.include(text, `"param":${JSON.stringify(param)}`)
          assert.include(text, JSON.stringify(`\`${param}\``).slice(1, -1))
          assert.include(text, JSON.stringify(sentence).slice(1, -1))
        }

        const response = yield* call(responses, { key: alice.key, body: asked })
        assert.strictEqual(response.status, 400, response.text)
        named(response.text, refusal.responseParam)
        const chat = yield* call(chats, { key: alice.key, body: { model, messages, ...refusal.chat } })
        assert.strictEqual(chat.status, 400, chat.text)
        named(chat.text, refusal.chatParam)
        const socket = yield* connect(url, alice.key)
        socket.send({ type: "response.create", ...asked })
        named((yield* socket.last(1)).join(), refusal.responseParam)
        const queued = yield* call(responses, { key: alice.key, body: { ...asked, background: true } })
        assert.strictEqual(queued.status, 200, queued.text)
        const failed = yield* untilValue(
          show(url, decodeResponse(queued.text).id, alice.key),
          ({ status }) => status === "failed"
        )
        assert.include(failed.error?.message, sentence)

        yield* server.usually(() => ({}))
        assert.deepStrictEqual(yield* bobSends, before)
        const health = yield* router.modelHealth
        assert.deepStrictEqual(
          health.flatMap(({ learned }) => learned),
          []
        )
      }).pipe(Effect.scoped)
  )
})
