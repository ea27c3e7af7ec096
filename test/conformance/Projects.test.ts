import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Redacted } from "effect"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import type { ProjectId } from "../../src/domain/Ids.ts"
import { Policy } from "../../src/plans/Policy.ts"
import { Projects } from "../../src/projects/Projects.ts"
import { Retrieval } from "../../src/retrieval/Retrieval.ts"
import { readText, settled, someFile } from "../retrieval/fixtures.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp, type TestUser } from "../support/TestApp.ts"
import { call, errorOf, responseOf } from "../support/Wire.ts"

/** A colleague of Alice's. */
const colleague = Effect.fnUntraced(function* (name: string) {
  const accounts = yield* Accounts
  const keys = yield* ApiKeys
  const email = `${name}@example.test`
  const { id } = yield* accounts.createUser(email, "alice's")
  const expiresAt = DateTime.add(yield* DateTime.now, { hours: 1 })
  const { key } = yield* keys.create({ userId: id, name: "test", expiresAt })
  return { id, email, key: Redacted.value(key) } satisfies TestUser
})

const ask = Effect.fnUntraced(function* ({ key }: TestUser, project_id: string, stream = false) {
  const { url } = yield* TestApp
  return yield* call(`${url}/v1/responses`, { key, body: { input: "Hi", project_id, stream } })
})

/**
 * The outcome of a user's request: the same in both deliveries, and an error before any stream and any
 * model.
 */
const outcome = Effect.fnUntraced(function* (user: TestUser, projectId: string) {
  const json = yield* ask(user, projectId)
  if (json.status === 200) {
    responseOf(json)
    return "answered"
  }
  const error = errorOf(json, json.status)
  assert.deepStrictEqual(errorOf(yield* ask(user, projectId, true), json.status), error)
  assert.strictEqual(error.param, "project_id")
  return `${json.status} ${error.type} ${error.code}`
})

const answered = Effect.fnUntraced(function* (user: TestUser, projectId: string) {
  const model = yield* ScriptedModel
  yield* model.next(says("Fine."))
  assert.strictEqual(yield* outcome(user, projectId), "answered")
})

const refused = "403 permission_error not_project_member"
const unknown = "404 not_found_error project_not_found"

/** The names of the files that the search finds for a member, or the reason why it finds none. */
const found = Effect.fnUntraced(function* ({ id }: TestUser, projectId: ProjectId, text: string) {
  const policy = yield* Policy
  const retrieval = yield* Retrieval
  const { hits, nothing } = yield* retrieval.search(yield* policy.project(id, projectId), { text, limit: 5 })
  return nothing ?? hits.map(({ filename }) => filename)
})

/** Specification: POST /v1/responses, rule 3; Authentication, rule 6. */
layer(TestApp.layer(), { excludeTestServices: true })("A request that names a project", (it) => {
  it.effect("a project is for its members only, whatever their role, from that moment on", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* TestApp
      const projects = yield* Projects
      const member = yield* colleague("member")
      const outsider = yield* colleague("outsider")
      const { id } = yield* projects.create("one", "alice's")
      for (const user of [alice, bob, member, outsider]) {
        assert.strictEqual(yield* outcome(user, id), refused)
      }
      yield* projects.addMember(id, alice.email, "owner")
      yield* projects.addMember(id, member.email, "member")
      yield* answered(alice, id)
      yield* answered(member, id.toUpperCase())
      assert.strictEqual(yield* outcome(outsider, id), refused)
      assert.strictEqual(yield* outcome(bob, id), refused)

      yield* projects.removeMember(id, member.email)
      assert.strictEqual(yield* outcome(member, id), refused)
      yield* answered(alice, id)
      yield* projects.addMember(id, member.email, "member")
      yield* answered(member, id)
    })
  )

  it.effect("a project that doesn't exist is reported, also beside one that does", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const projects = yield* Projects
      const { id } = yield* projects.create("two", "alice's")
      yield* projects.addMember(id, alice.email, "member")
      for (const nobody of [randomUUID(), "00000000-0000-0000-0000-000000000000"]) {
        assert.strictEqual(yield* outcome(alice, nobody), unknown)
      }
      const { id: other } = yield* projects.create("three", "alice's")
      assert.strictEqual(yield* outcome(alice, other), refused)
      yield* answered(alice, id)
    })
  )

  it.effect("a project is checked before anything else of the request is looked up", () =>
    Effect.gen(function* () {
      const { alice, bob, url } = yield* TestApp
      const projects = yield* Projects
      const { id } = yield* projects.create("four", "alice's")
      const body = {
        project_id: id,
        conversation_id: randomUUID(),
        input: [{ content: [{ type: "input_file", file_id: randomUUID() }] }]
      }
      assert.strictEqual(
        errorOf(yield* call(`${url}/v1/responses`, { key: bob.key, body }), 403).code,
        "not_project_member"
      )
      const missing = { ...body, project_id: randomUUID() }
      const reply = yield* call(`${url}/v1/responses`, { key: alice.key, body: missing })
      assert.strictEqual(errorOf(reply, 404).code, "project_not_found")
    })
  )

  it.effect("a project finds nothing of a file from the moment of its deletion", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const projects = yield* Projects
      const { id } = yield* projects.create("five", "alice's")
      yield* projects.addMember(id, alice.email, "owner")
      assert.strictEqual(yield* found(alice, id, "zebra"), "no_files")
      const kept = yield* someFile(alice.id, "A horse runs.", "horse.txt")
      const file = yield* someFile(alice.id, null, "zebra.txt")
      yield* projects.addFile(id, kept)
      yield* projects.addFile(id, file)
      yield* readText(file, "A zebra runs.")
      yield* settled(id)
      assert.deepStrictEqual(yield* found(alice, id, "zebra"), ["zebra.txt"])
      const gone = yield* call(`${url}/v1/files/${file}`, { key: alice.key, method: "DELETE" })
      assert.strictEqual(gone.status, 200)
      assert.strictEqual(yield* found(alice, id, "zebra"), "no_match")
      assert.deepStrictEqual(yield* found(alice, id, "horse"), ["horse.txt"])
      yield* projects.removeFile(id, kept)
      assert.strictEqual(yield* found(alice, id, "horse"), "no_files")
      yield* answered(alice, id)
    })
  )
})
