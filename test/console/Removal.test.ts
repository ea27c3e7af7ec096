import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import type { UserId } from "../../src/domain/Ids.ts"
import { Projects } from "../../src/projects/Projects.ts"
import { failure, says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { until } from "../support/until.ts"
import { upload } from "../support/Uploads.ts"
import { call } from "../support/Wire.ts"
import { someUser } from "./OwnConversations.ts"

/** The tables with a row that has the words, in any of its columns. */
const tablesWith = Effect.fnUntraced(function* (words: string) {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ readonly name: string }>`SELECT tablename AS name FROM pg_tables
    WHERE schemaname = current_schema() ORDER BY 1`
  const found = yield* Effect.forEach(tables, ({ name }) =>
    Effect.map(
      sql`SELECT 1 FROM ${sql(name)} t WHERE strpos(t::text, ${words}) > 0
        OR strpos(t::text, encode(${words}::bytea, 'hex')) > 0 LIMIT 1`,
      (rows) => (rows.length > 0 ? [name] : [])
    )
  )
  return found.flat()
})

/** A user with a key, and with a file in a project. */
const someReader = Effect.fnUntraced(function* (text: string) {
  const user = yield* someUser
  const projects = yield* Projects
  const { email, organization, userId } = user.target
  const id = userId as UserId
  const created = yield* (yield* ApiKeys).create({ userId: id, name: "upload", expiresAt: null })
  const key = Redacted.value(created.key)
  const project = yield* projects.create(`project ${randomUUID()}`, organization)
  yield* projects.addMember(project.id, email, "member")
  const file = yield* upload({ id, email, key }, "notes.txt", text)
  yield* projects.addFile(project.id, file.id)
  yield* until(Effect.map(projects.files(project.id, { status: "indexed" }), ({ data }) => data.length === 1))
  return { ...user, key, projectId: project.id, fileId: file.id }
})

layer(TestApp.layer({ files: { store: "postgres" } }), { excludeTestServices: true })(
  "what is deleted",
  (it) => {
    it.effect("the deletion of a file removes its text, wherever answers were made from it", () =>
      Effect.gen(function* () {
        const words = "the zanzibar beacon blinks in mauve"
        const user = yield* someReader(`# Beacons\n\nKnow that ${words} every night.\n`)
        const model = yield* ScriptedModel
        const { url } = yield* TestApp
        const { id } = yield* user.create({ project_id: user.projectId })
        yield* model.next(says("Purple [1]."), says("Purple [2]."), says("Purple."), says("Purple."))
        const input = "Which color has the zanzibar beacon?"
        yield* user.ask(id, { input })
        yield* user.ask(id, {
          input: [
            { type: "input_text", text: "Sure?" },
            { type: "input_file", file_id: user.fileId }
          ]
        })
        const ofKey = { input, project_id: user.projectId, stream: false }
        assert.strictEqual((yield* call(`${url}/v1/responses`, { key: user.key, body: ofKey })).status, 200)
        const job = yield* call(`${url}/openai/v1/responses`, {
          key: user.key,
          headers: { "idempotency-key": randomUUID() },
          body: { input, tools: [{ type: "file_search", vector_store_ids: [`vs_${user.projectId}`] }] }
        })
        assert.strictEqual(job.status, 200, job.text)
        assert.include(JSON.stringify((yield* model.asked).map(({ request }) => request)), words)
        assert.isNotEmpty(yield* tablesWith(words))
        const deleted = yield* call(`${url}/v1/files/${user.fileId}`, { method: "DELETE", key: user.key })
        assert.strictEqual(deleted.status, 200)
        yield* until(Effect.map(tablesWith(words), ({ length }) => length === 0))
      })
    )

    it.effect("the deletion of a conversation removes its questions, answers and logs", () =>
      Effect.gen(function* () {
        const words = "where do the tinsel otters sleep"
        const user = yield* someReader("nothing")
        const model = yield* ScriptedModel
        const { url } = yield* TestApp
        const { id } = yield* user.create()
        const broken = Stream.fail(failure("refused"))
        yield* model.next(says(`You ask ${words}.`), says("Again."), broken, broken)
        yield* user.ask(id, { input: words })
        const job = yield* call(`${url}/openai/v1/responses`, {
          key: user.key,
          headers: { "idempotency-key": randomUUID() },
          body: { input: `again: ${words}`, conversation: `conv_${id}` }
        })
        assert.strictEqual(job.status, 200, job.text)
        yield* user.ask(id, { input: `and now: ${words}` })
        assert.include(yield* tablesWith(words), "conversations")
        assert.include(yield* tablesWith(words), "items")
        assert.include(yield* tablesWith(words), "response_jobs")
        assert.include(yield* tablesWith(words), "response_events")
        assert.strictEqual((yield* user.send("DELETE", `/conversations/${id}`)).status, 200)
        assert.deepStrictEqual(yield* tablesWith(words), [])
      })
    )
  }
)
