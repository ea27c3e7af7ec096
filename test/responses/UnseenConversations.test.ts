import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { failure, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { until } from "../support/until.ts"
import { call, eventsOf } from "../support/Wire.ts"

const post = Effect.fnUntraced(function* (path: string, body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}${path}`, { key: alice.key, body })
})

const ids = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ id: string }>`SELECT id FROM conversations`
  return new Set(rows.map(({ id }) => id))
})

/** Half an answer. */
const broken = Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("server_error")))

const cases = [
  { what: "no model knows the name", path: "/openai/v1/responses", body: { input: "Hi", model: "nobody" } },
  { what: "the input is too long", path: "/v1/responses", body: { input: "word ".repeat(200_000) } },
  { what: "the answer fails", path: "/v1/responses", body: { input: "Hi", stream: false } },
  { what: "the answer fails", path: "/openai/v1/responses", body: { input: "Hi" } },
  {
    what: "the answer of a chat fails",
    path: "/openai/v1/chat/completions",
    body: { messages: [{ role: "user", content: "Hi" }], store: true }
  }
]

layer(TestApp.layer(), { excludeTestServices: true })("a request whose turn is never stored", (it) => {
  for (const { body, path, what } of cases) {
    it.effect(`a request leaves no conversation that its client never saw: ${what}, on ${path}`, () =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        const before = yield* ids
        if (what.includes("fails")) yield* model.next(broken)
        const reply = yield* post(path, body)
        assert.isAtLeast(reply.status, 400, reply.text)
        yield* until(Effect.map(ids, (after) => [...after].every((id) => before.has(id))))
      })
    )
  }

  it.effect("a request leaves the conversation that its events named", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* (yield* ScriptedModel).next(broken)
      const [created] = eventsOf((yield* post("/v1/responses", { input: "Hi", stream: true })).text)
      const id = created?.type === "response.created" ? created.response.conversation_id : ""
      yield* until(
        Effect.map(
          sql`SELECT 1 FROM conversations WHERE id = ${id} AND lease_until IS NULL`,
          (rows) => rows.length === 1
        )
      )
    })
  )
})
