import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ConversationId } from "../../src/domain/Ids.ts"
import { AdminServer, clientWith, run } from "../admin/AdminServer.ts"
import { added } from "../audit/fixtures.ts"
import { content, conversationOf } from "../conversations/fixtures.ts"
import type { Ran } from "../support/captured.ts"

const succeeded = (ran: Ran): string => {
  assert.strictEqual(ran.stderr, "")
  assert.strictEqual(ran.code, 0)
  return ran.stdout
}

const refused = (ran: Ran, message: RegExp) => {
  assert.strictEqual(ran.code, 1)
  assert.strictEqual(ran.stdout, "")
  assert.match(ran.stderr, message)
}

const MadeKey = Schema.fromJsonString(Schema.Struct({ id: Schema.String, key: Schema.String }))

/** An organization, and the address of a user in it who has a file. */
const someTenant = Effect.gen(function* () {
  const [name, email] = [randomUUID(), `${randomUUID()}@example.com`]
  const client = yield* clientWith()
  yield* client.accounts.createOrganization({ payload: { name } })
  const user = yield* client.accounts.createUser({ payload: { email, organization: name } })
  const payload = Stream.make(new TextEncoder().encode("a text"))
  yield* client.files.upload({ query: { email, filename: "notes.plain" }, payload })
  return { name, email, user }
})

layer(AdminServer.layer, { excludeTestServices: true })("parley for deletions", (it) => {
  it.effect("parley deletes nothing without --yes", () =>
    Effect.gen(function* () {
      const { email, name } = yield* someTenant
      const { entries } = yield* added(
        Effect.gen(function* () {
          refused(yield* run("user", "delete", email, "--files", "erase"), /can't be undone.*--yes/)
          refused(yield* run("org", "delete", name, "--with-contents"), /with its projects, its users.*--yes/)
          const id = randomUUID()
          refused(yield* run("conversation", "delete", email, id), new RegExp(`conversation ${id}.*--yes`))
        })
      )
      assert.isEmpty(entries)
    })
  )

  it.effect("parley deletes a user with the files, or hands these over, and says what was done", () =>
    Effect.gen(function* () {
      const first = yield* someTenant
      const second = `${randomUUID()}@example.com`
      const third = `${randomUUID()}@example.com`
      for (const email of [second, third]) {
        succeeded(yield* run("user", "create", email, "--org", first.name))
      }
      refused(yield* run("user", "delete", first.email, "--yes"), /has a file.*`files_to`/)
      const both = ["--files", "erase", "--files-to", second]
      refused(yield* run("user", "delete", first.email, ...both, "--yes"), /either `files` or `files_to`/)
      assert.match(
        succeeded(yield* run("user", "delete", first.email, "--files-to", second, "--yes")),
        /^Deleted user .*Erased: 0 conversations, 0 files\. 1 file handed over\.$/m
      )
      assert.match(
        succeeded(yield* run("user", "delete", second, "--files", "erase", "--yes")),
        /Erased: 0 conversations, 1 file\.$/m
      )
      // Without files nothing needs to be said about them.
      assert.include(succeeded(yield* run("user", "delete", third, "--yes", "--json")), `"email": "${third}"`)
      refused(yield* run("user", "delete", third, "--yes"), /user does not exist/)
    })
  )

  it.effect("parley renames organizations and projects, and deletes them", () =>
    Effect.gen(function* () {
      const { email, name } = yield* someTenant
      const [project, renamed] = [randomUUID(), `renamed ${randomUUID()}`]
      succeeded(yield* run("project", "create", `p${project}`, "--org", name))
      assert.include(succeeded(yield* run("org", "rename", name, renamed)), `is now ${renamed}.`)
      refused(yield* run("org", "rename", name, renamed), /organization does not exist/)
      assert.include(
        succeeded(yield* run("project", "rename", `p${project}`, `q${project}`)),
        `is now q${project}.`
      )
      assert.include(
        succeeded(yield* run("project", "delete", `q${project}`, "--yes")),
        "stay with their owners"
      )
      refused(yield* run("project", "delete", `q${project}`, "--yes"), /There is no project/)
      refused(yield* run("org", "delete", renamed, "--yes"), /users: 1, projects: 0/)
      assert.match(
        succeeded(yield* run("org", "delete", renamed, "--with-contents", "--yes")),
        /^Deleted organization renamed .* with 1 user and 0 projects\.$/m
      )
      assert.strictEqual((yield* Effect.flip((yield* Accounts).findUserByEmail(email)))._tag, "UserNotFound")
    })
  )

  it.effect("parley lists, shows and deletes conversations, and the audit log has that they were read", () =>
    Effect.gen(function* () {
      const { email, user } = yield* someTenant
      const turns = Array.from({ length: 52 }, (_, turn) => content(`question ${turn + 1}\nsecond line`))
      const id = yield* conversationOf(user.id, turns, "Answer in rhymes.")
      assert.match(succeeded(yield* run("conversation", "list", email)), new RegExp(`^${id} +52 +20`, "m"))
      const { entries, value } = yield* added(run("conversation", "show", email, id))
      assert.deepStrictEqual(
        entries.map(({ action, details, targetId, targetName }) => ({
          action,
          details,
          targetId,
          targetName
        })),
        [{ action: "conversation.read", details: { from: 0 }, targetId: id, targetName: email }]
      )
      const shown = succeeded(value)
      assert.include(shown, "System message: Answer in rhymes.")
      assert.match(
        shown,
        /^1\. 20.* UTC, test-model\n> question 1\n> second line\nre: question 1\nsecond line$/m
      )
      assert.include(shown, "There are more turns: --from 51")
      const rest = succeeded(yield* run("conversation", "show", email, id, "--from", "51"))
      assert.notInclude(rest, "question 50")
      assert.include(rest, "question 52")
      assert.notInclude(rest, "more turns")

      const stranger = yield* someTenant
      refused(yield* run("conversation", "show", stranger.email, id), /conversation does not exist/)
      refused(
        yield* run("conversation", "delete", stranger.email, id, "--yes"),
        /conversation does not exist/
      )
      assert.include(
        succeeded(yield* run("conversation", "delete", email, id, "--yes")),
        `Deleted conversation ${id}.`
      )
      const left = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Array(ConversationId)))
      assert.isEmpty(left(succeeded(yield* run("conversation", "list", email, "--json"))))
    })
  )

  it.effect("parley replaces a key, and lists the keys of an organization with their users", () =>
    Effect.gen(function* () {
      const { email, name } = yield* someTenant
      const colleague = `${randomUUID()}@example.com`
      succeeded(yield* run("user", "create", colleague, "--org", name, "--with-key"))
      const made = succeeded(yield* run("key", "create", email, "--name", "ci", "--json"))
      const { id, key } = Schema.decodeUnknownSync(MadeKey)(made)
      const { entries, value } = yield* added(run("key", "roll", id, "--grace", "7d"))
      assert.deepStrictEqual(
        entries.map(({ action, targetId }) => [action, targetId]),
        [["api_key.roll", id]]
      )
      const printed = succeeded(value)
      assert.match(printed, /^Created key "ci" of .*\. The old key is valid until 20\d\d-.* UTC\./m)
      assert.notInclude(printed, key)
      const listed = succeeded(yield* run("key", "list", "--org", name))
      assert.match(listed, new RegExp(`${email} +ci +…${key.slice(-4)} +active +20`))
      assert.match(listed, new RegExp(`${email} +ci +….... +active +-`))
      assert.include(listed, colleague)
      const both = yield* run("key", "list", email, "--org", name)
      assert.strictEqual(both.code, 2)
      assert.match(both.stderr, /Name a user by EMAIL, or an organization by --org/)
      succeeded(yield* run("key", "revoke", id))
      refused(yield* run("key", "roll", id), /was revoked or has expired/)
    })
  )
})
