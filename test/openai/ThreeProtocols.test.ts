import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import { TestApp } from "../support/TestApp.ts"
import { call } from "../support/Wire.ts"
import { framesIn } from "./frames.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"
import { app, protocols, Servers } from "./ProtocolServers.ts"

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ResponseResource))

const post = Effect.fnUntraced(function* (body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/openai/v1/responses`, { key: alice.key, body })
})

const answer = Effect.fnUntraced(function* (body: object) {
  const reply = yield* post(body)
  assert.strictEqual(reply.status, 200, reply.text)
  return yield* decode(reply.text)
})

const weather = {
  type: "function",
  name: "weather",
  description: "The weather of a city",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false
  },
  strict: true
}

const person = {
  type: "json_schema",
  name: "person",
  schema: {
    type: "object",
    properties: { name: { type: "string" } },
    required: ["name"],
    additionalProperties: false
  },
  strict: true
}

/** All values of the fields with one of these names, wherever they are. */
const valuesOf = (json: unknown, names: ReadonlyArray<string>): ReadonlyArray<unknown> =>
  typeof json !== "object" || json === null
    ? []
    : Object.entries(json).flatMap(([name, value]: [string, unknown]) => [
        ...(names.includes(name) ? [value] : []),
        ...valuesOf(value, names)
      ])

layer(app, { excludeTestServices: true })("through each protocol of model servers", (it) => {
  it.effect.each(protocols)("%s: a function is called, and its result continues the answer", (protocol) =>
    Effect.gen(function* () {
      const server = (yield* Servers)[protocol]
      const model = `model-${protocol}`
      const called = { id: "call_of_model", name: "weather", arguments: '{"city":"Rome"}' }
      yield* server.script({ deltas: ["Let me ask."], calls: [called, called], finish: "tool_calls" })
      const reply = yield* post({ model, input: "Weather in Rome?", tools: [weather], stream: true })
      const { whole } = assertProfileGrammar(framesIn(reply.text))
      const calls = (whole?.output ?? []).flatMap((item) => (item.type === "function_call" ? [item] : []))
      assert.deepStrictEqual(
        calls.map(({ arguments: args, name }) => [name, args]),
        [
          ["weather", '{"city":"Rome"}'],
          ["weather", '{"city":"Rome"}']
        ]
      )
      assert.include(JSON.stringify(server.requests.at(-1)?.body["tools"]), '"weather"')

      yield* server.script({ deltas: ["Sunny."] })
      const next = yield* answer({
        model,
        tools: [weather],
        previous_response_id: whole?.id,
        input: calls.map(({ call_id }, n) => ({
          type: "function_call_output",
          call_id,
          output: `sun number ${n}`
        }))
      })
      assert.strictEqual(next.output_text, "Sunny.")
      const sent = server.requests.at(-1)?.body
      const text = JSON.stringify(sent)
      for (const part of ["Weather in Rome?", "Let me ask.", "sun number 0", "sun number 1"]) {
        assert.include(text, part)
      }
      const results = valuesOf(sent, ["tool_call_id", "tool_use_id"])
      const callIds = results.length > 0 ? results : [...new Set(valuesOf(sent, ["call_id"]))]
      assert.strictEqual(new Set(callIds).size, 2)
      for (const id of callIds)
        assert.isAtLeast(text.split(JSON.stringify(id)).length, 3, "a call and its result")
    })
  )

  it.effect.each(protocols)("%s: an answer that doesn't match its schema is written again", (protocol) =>
    Effect.gen(function* () {
      const server = (yield* Servers)[protocol]
      yield* server.script({ deltas: ["It is ", "Ada."] }, { deltas: ['```json\n{"name":', '"Ada"}\n```'] })
      const before = server.requests.length
      const given = { model: `model-${protocol}`, input: "Who?", text: { format: person } }
      const response = yield* answer(given)
      assert.strictEqual(response.output_text, '{"name":"Ada"}')
      assert.strictEqual(response.usage?.output_tokens, 14)
      const [first, second] = server.requests.slice(before).map(({ body }) => JSON.stringify(body))
      assert.include(first, "additionalProperties", "the model knows the schema")
      assert.include(second, "It is Ada.")
      assert.include(second, "It is not valid JSON.")

      yield* server.script({ deltas: ['{"name":7}'] }, { deltas: ["{}"] })
      const failed = yield* post(given)
      assert.strictEqual(failed.status, 500)
      assert.include(failed.text, "must have required property 'name'")
      assert.include(failed.text, "output_mismatch")

      yield* server.script({ deltas: ['{"name":"A'], finish: "length" })
      assert.deepInclude(yield* answer(given), {
        status: "incomplete",
        incomplete_details: { reason: "max_output_tokens" }
      })
    })
  )

  const chat = Effect.fnUntraced(function* (body: object) {
    const { alice, url } = yield* TestApp
    const messages = [{ role: "user", content: "Hello" }]
    return yield* call(`${url}/openai/v1/chat/completions`, { key: alice.key, body: { messages, ...body } })
  })

  it.effect("a request asks only models whose servers take an option, and names one that none takes", () =>
    Effect.gen(function* () {
      const servers = yield* Servers
      const before = servers["openai-chat"].requests.length
      const reply = yield* chat({ seed: 7, stop: ["END"], presence_penalty: 1 })
      assert.strictEqual(reply.status, 200, reply.text)
      assert.deepInclude(servers["openai-chat"].requests[before]?.body, {
        seed: 7,
        stop: ["END"],
        presence_penalty: 1
      })

      for (const [protocol, param, fields] of [
        ["openai-responses", "stop", { stop: "END" }],
        ["openai-responses", "seed", { seed: 1 }],
        ["openai-responses", "frequency_penalty", { frequency_penalty: 1 }],
        ["anthropic", "temperature", { temperature: 1.5 }],
        ["anthropic", "seed", { seed: 1 }]
      ] as const) {
        const refused = yield* chat({ model: `model-${protocol}`, ...fields })
        assert.strictEqual(refused.status, 400, refused.text)
        assert.include(refused.text, `"param":"${param}"`)
      }
      const taken = yield* chat({ model: "model-anthropic", temperature: 0.5, stop: ["END"], seed: null })
      assert.strictEqual(taken.status, 200, taken.text)
    })
  )

  it.effect.each(protocols)("%s: names the option that a server refuses", (protocol) =>
    Effect.gen(function* () {
      const server = (yield* Servers)[protocol]
      yield* server.script({
        status: 400,
        errorBody:
          '{"error":{"message":"Unsupported parameter: \'temperature\' is not supported with this model."}}'
      })
      const refused = yield* chat({ model: `model-${protocol}`, temperature: 0.5 })
      assert.strictEqual(refused.status, 400, refused.text)
      assert.include(refused.text, '"param":"temperature"')
    })
  )
})
