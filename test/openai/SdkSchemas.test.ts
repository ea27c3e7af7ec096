import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { says, ScriptedModel, scriptedUsage } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call } from "../support/Wire.ts"
import { literalSchemas } from "./literalSchemas.ts"
import { zodSchemas } from "./zodSchemas.ts"

const post = Effect.fnUntraced(function* (path: string, body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/openai/v1/${path}`, { key: alice.key, body })
})

const messages = [{ role: "user", content: "Who?" }]

/** The requests that demand a schema of the answer. */
const demanding = (schema: object) => [
  ...[true, false].map((strict) => ({
    path: "responses",
    body: { input: "Who?", text: { format: { type: "json_schema", name: "answer", schema, strict } } }
  })),
  ...[true, false].map((strict) => ({
    path: "chat/completions",
    body: {
      messages,
      response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict } }
    }
  }))
]

/** The requests whose function takes arguments of a schema. */
const offering = (schema: object) => {
  const named = { name: "note", description: "Notes it.", parameters: schema, strict: false }
  return [
    { path: "responses", body: { input: "Who?", tools: [{ type: "function", ...named }] } },
    { path: "chat/completions", body: { messages, tools: [{ type: "function", function: named }] } }
  ]
}

const calls = (args: string) =>
  Stream.fromIterable<ModelPart>([
    { type: "tool_call", call: { id: "m1", name: "note", arguments: args } },
    { type: "finish", reason: "tool_calls", usage: scriptedUsage }
  ])

/** The value as a string within JSON. */
const quoted = (value: unknown) => JSON.stringify(JSON.stringify(value))

layer(TestApp.layer(), { excludeTestServices: true })("schemas as libraries make them", (it) => {
  const all = [...zodSchemas, ...literalSchemas]

  it.effect.each(all)("$name: what fits is the answer, and nothing else is", ({ fits, other, schema }) =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.clear
      for (const { body, path } of demanding(schema)) {
        yield* model.next(says(JSON.stringify(fits)))
        const fitting = yield* post(path, body)
        assert.strictEqual(fitting.status, 200, fitting.text)
        assert.include(fitting.text, quoted(fits))
        const format = (yield* model.asked).at(-1)!.request.options?.format
        assert.deepStrictEqual(
          format?.type === "json_schema" ? JSON.stringify(format.schema) : null,
          JSON.stringify(schema),
          "the model has the schema as it was sent"
        )
        yield* model.next(says(JSON.stringify(other)), says(JSON.stringify(other)))
        const refused = yield* post(path, body)
        assert.strictEqual(refused.status, 500, refused.text)
        assert.include(refused.text, "output_mismatch")
      }
    })
  )

  it.effect.each(all)("$name: a function takes such arguments", ({ fits, schema }) =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.clear
      yield* model.change({ tools: true, contextWindow: 20_000 })
      for (const { body, path } of offering(schema)) {
        yield* model.next(calls(JSON.stringify(fits)))
        const reply = yield* post(path, body)
        assert.strictEqual(reply.status, 200, reply.text)
        assert.include(reply.text, quoted(fits))
        const { tools } = (yield* model.asked).at(-1)!.request
        assert.deepStrictEqual(
          tools.map(({ parameters }) => JSON.stringify(parameters)),
          [JSON.stringify(schema)]
        )
      }
    })
  )
})
