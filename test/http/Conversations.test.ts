import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ConversationDetail, ConversationList, ConversationObject } from "../../src/api/ConversationObject.ts"
import { decoded, type SomeUser, someUser } from "../console/OwnConversations.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"

/** Asks in a conversation, through the interface that keeps nothing in between. */
const ask = Effect.fnUntraced(function* (
  user: SomeUser,
  body: { readonly input: string; readonly conversation_id?: string },
  answer: string
) {
  yield* (yield* ScriptedModel).next(says(answer))
  const reply = yield* user.send("POST", "/responses", { ...body, stream: false })
  assert.strictEqual(reply.status, 200, reply.text)
  return reply.headers.get("x-conversation-id")!
})

const idsOf = ({ data }: ConversationList) => data.map(({ id }) => id)

layer(TestApp.layer(), { excludeTestServices: true })("conversations of a user", (it) => {
  it.effect(
    "a created conversation is listed with its title, and one of a request without a conversation isn't",
    () =>
      Effect.gen(function* () {
        const user = yield* someUser
        const created = yield* user.create({ title: "Holidays", instructions: "Be brief." })
        assert.deepInclude(created, { title: "Holidays", hidden: false, turn_count: 0, project_id: null })
        const hidden = yield* ask(user, { input: "Hello out there" }, "Hello.")
        assert.deepStrictEqual(idsOf(yield* user.list()), [created.id])
        const ofRequests = yield* user.list("?hidden=true")
        assert.deepStrictEqual(idsOf(ofRequests), [hidden])
        assert.deepInclude(ofRequests.data[0], { title: "Hello out there", hidden: true, turn_count: 1 })
      })
  )

  it.effect("the last used one is first, and pages follow each other without a gap", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const ids: Array<string> = []
      for (const title of ["a", "b", "c", "d", "e"]) ids.push((yield* user.create({ title })).id)
      yield* ask(user, { input: "Hello", conversation_id: ids[1]! }, "Hello.")
      const [a, b, c, d, e] = ids
      const first = yield* user.list("?limit=2")
      assert.deepStrictEqual(idsOf(first), [b, e])
      assert.deepInclude({ ...first }, { has_more: true, first_id: b!, last_id: e! } as never)
      const second = yield* user.list(`?limit=3&after=${first.last_id}`)
      assert.deepStrictEqual(idsOf(second), [d, c, a])
      assert.isFalse(second.has_more)
      const unknown = errorOf(yield* user.send("GET", `/conversations?after=${randomUUID()}`), 400)
      assert.deepInclude(unknown, { code: "invalid_request", param: "after" })
      assert.strictEqual(errorOf(yield* user.send("GET", "/conversations?limit=1000"), 400).param, "limit")
    })
  )

  it.effect("a conversation is read from its newest turns backwards", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const { id } = yield* user.create({ instructions: "Be brief." })
      for (const words of ["one", "two", "three"]) {
        yield* ask(user, { input: `Question ${words}`, conversation_id: id }, `Answer ${words}`)
      }
      const newest = yield* user.get(id, "?limit=2")
      assert.deepInclude(newest, {
        instructions: "Be brief.",
        title: "Question one",
        unanswered: [],
        running: null
      })
      assert.strictEqual(newest.turns.data.length, 2)
      assert.isTrue(newest.turns.has_more)
      const [second, third] = newest.turns.data
      assert.include(JSON.stringify(second!.input), "Question two")
      assert.include(JSON.stringify(third!.output), "Answer three")
      assert.isAbove(third!.usage!.total_tokens, 0)
      const oldest = yield* user.get(id, `?before=${newest.turns.first_id}`)
      assert.strictEqual(oldest.turns.data.length, 1)
      assert.include(JSON.stringify(oldest.turns.data[0]), "Question one")
      assert.isFalse(oldest.turns.has_more)
      const unknown = yield* user.send("GET", `/conversations/${id}?before=${randomUUID()}`)
      assert.strictEqual(errorOf(unknown, 400).param, "before")
    })
  )

  it.effect(
    "a new title or project is no use of it, and null takes the first message as the title again",
    () =>
      Effect.gen(function* () {
        const user = yield* someUser
        const first = yield* user.create()
        yield* ask(user, { input: "A question of mine", conversation_id: first.id }, "Yes.")
        const second = yield* user.create({ title: "later" })
        const renamed = yield* user.update(first.id, { title: "Renamed" })
        assert.deepInclude(renamed, { title: "Renamed", turn_count: 1 })
        assert.deepStrictEqual(idsOf(yield* user.list()), [second.id, first.id])
        assert.strictEqual((yield* user.update(first.id, { title: null })).title, "A question of mine")
        for (const title of ["", "  ", "x".repeat(201), "two\nlines", "a\u202eb", 5]) {
          assert.strictEqual(
            errorOf(yield* user.send("PATCH", `/conversations/${first.id}`, { title }), 400).param,
            "title"
          )
        }
      })
  )

  it.effect("a project is given only by a member of it, and lists its conversations", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const { tenant } = user
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* user.create({ title: "of the project" })
      yield* user.create({ title: "of none" })
      const give = { project_id: tenant.projectId }
      assert.strictEqual(
        errorOf(yield* user.send("PATCH", `/conversations/${id}`, give), 403).code,
        "not_project_member"
      )
      assert.strictEqual(
        errorOf(yield* user.send("POST", "/conversations", give), 403).code,
        "not_project_member"
      )
      yield* sql`INSERT INTO project_members (project_id, user_id, role) VALUES (${tenant.projectId}, ${user.target.userId}, 'member')`
      assert.strictEqual((yield* user.update(id, give)).project_id, tenant.projectId)
      assert.deepStrictEqual(idsOf(yield* user.list(`?project_id=${tenant.projectId}`)), [id])
      yield* sql`UPDATE projects SET deleted_at = now() WHERE id = ${tenant.projectId}`
      assert.isNull((yield* user.get(id)).project_id)
      yield* (yield* ScriptedModel).next(says("Yes."))
      const answered = yield* user.ask(id, { input: "Without the project?" })
      assert.strictEqual(answered.status, 200, answered.text)
      yield* sql`DELETE FROM projects WHERE id = ${tenant.projectId}`
      assert.isNull((yield* user.get(id)).project_id)
    })
  )

  it.effect("a search finds all words in a title or in one message, whatever their case", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const titled = yield* user.create({ title: "Quarterly Report" })
      const asked = yield* user.create({ title: "b" })
      yield* ask(
        user,
        { input: 'Where is the "report" of 100%_x?', conversation_id: asked.id },
        "In the archive, ÄÖ."
      )
      yield* user.create({ title: "c" })
      const found = yield* user.list("?search=REPORT")
      assert.deepStrictEqual(idsOf(found), [asked.id, titled.id])
      assert.include(found.data[0]!.match!.text, "report")
      assert.isNull(found.data[1]!.match)
      const search = (text: string) => Effect.map(user.list(`?search=${encodeURIComponent(text)}`), idsOf)
      assert.deepStrictEqual(yield* search("quarterly report"), [titled.id])
      assert.deepStrictEqual(yield* search('"report" 100%_X'), [asked.id])
      assert.deepStrictEqual(yield* search("äö archive"), [asked.id])
      // These words are in two messages of one conversation, or only in the form of the stored items.
      for (const words of ["report archive", "%", "input_text", "role"]) {
        assert.deepStrictEqual(yield* search(words), words === "%" ? [asked.id] : [], words)
      }
    })
  )

  it.effect("a deleted conversation is gone, and nobody finds another user's", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const stranger = yield* someUser
      const { id } = yield* user.create({ title: "mine" })
      for (const [method, body] of [["GET"], ["PATCH", { title: "stolen" }], ["DELETE"]] as const) {
        const refused = errorOf(yield* stranger.send(method, `/conversations/${id}`, body), 404)
        assert.strictEqual(refused.code, "conversation_not_found")
      }
      const after = yield* stranger.send("GET", `/conversations?after=${id}`)
      assert.strictEqual(errorOf(after, 400).param, "after")
      errorOf(yield* stranger.send("DELETE", `/conversations/${id}/unanswered/${randomUUID()}`), 404)
      assert.strictEqual((yield* user.get(id)).title, "mine")
      const deleted = yield* user.send("DELETE", `/conversations/${id}`)
      assert.deepStrictEqual(JSON.parse(deleted.text), { id, object: "conversation", deleted: true })
      errorOf(yield* user.send("GET", `/conversations/${id}`), 404)
    })
  )

  it.effect("a key opens the same conversations under /v1", () =>
    Effect.gen(function* () {
      const { alice, bob, url } = yield* TestApp
      yield* (yield* ScriptedModel).next(says("Hello."))
      const asked = yield* call(`${url}/v1/responses`, {
        key: alice.key,
        body: { input: "Hello", stream: false }
      })
      const id = asked.headers.get("x-conversation-id")!
      const path = `${url}/v1/conversations`
      const hidden = yield* call(`${path}?hidden=true`, { key: alice.key })
      assert.deepStrictEqual(idsOf(yield* decoded(ConversationList, hidden.text)), [id])
      const read = yield* decoded(ConversationDetail, (yield* call(`${path}/${id}`, { key: alice.key })).text)
      assert.strictEqual(read.turns.data.length, 1)
      const renamed = yield* call(`${path}/${id}`, {
        method: "PATCH",
        key: alice.key,
        body: { title: "Renamed" }
      })
      assert.strictEqual((yield* decoded(ConversationObject, renamed.text)).title, "Renamed")
      errorOf(yield* call(`${path}/${id}`, { method: "DELETE", key: bob.key }), 404)
      assert.strictEqual((yield* call(`${path}/${id}`, { method: "DELETE", key: alice.key })).status, 200)
      errorOf(yield* call(`${path}/${id}`, { key: alice.key }), 404)
      errorOf(yield* call(path, {}), 401)
    })
  )
})
