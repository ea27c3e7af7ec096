import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../src/auth/Accounts.ts"
import { Conversations } from "../../src/conversations/Conversations.ts"
import { Erasure } from "../../src/erasure/Erasure.ts"
import { FileStore } from "../../src/files/FileStore.ts"
import { Projects } from "../../src/projects/Projects.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { added } from "../audit/fixtures.ts"
import { tagOf } from "../auth/AccountsFixture.ts"
import { addTurn, content } from "../conversations/fixtures.ts"
import { contentOf, countsOf, upload } from "../files/fixtures.ts"
import { SqlFaults } from "../support/TestDatabase.ts"
import { newResponse, spending } from "../usage/asking.ts"
import { erasureLayer, letItSettle, someone, someTenant, tablesWith, textOf } from "./fixtures.ts"

/** More statements than one deletion has. */
const statementsMax = 60
/** Users that are set up at once. */
const usersAtOnce = 4

const becomeOwner = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE users SET role = 'owner' WHERE id = ${id}`
})

layer(erasureLayer, { excludeTestServices: true })("Deleting", (it) => {
  it.effect("a user leaves the address in the audit log only, and after a day the id as well", () =>
    Effect.gen(function* () {
      const erasure = yield* Erasure
      const sql = yield* SqlClient.SqlClient
      const { key, user } = yield* someTenant
      assert.isAbove((yield* tablesWith(user.id)).length, 12)
      const deleted = yield* erasure.deleteUser(user.email, "erase")
      assert.deepStrictEqual(deleted.erased, { conversations: 1, files: 1, filesHandedOver: 0 })
      assert.deepStrictEqual(yield* tablesWith(user.email), ["audit_log"])
      assert.deepStrictEqual(
        yield* sql`SELECT revoked_at IS NOT NULL AS revoked, name FROM api_keys WHERE id = ${key.id}`,
        [{ revoked: true, name: "" }]
      )

      yield* erasure.sweep
      assert.deepStrictEqual(yield* tablesWith(user.id), ["api_keys", "audit_log", "users"])
      yield* letItSettle
      yield* erasure.sweep
      assert.deepStrictEqual(yield* tablesWith(user.id), ["audit_log"])
    })
  )

  it.effect("a user keeps what was spent, without user and key", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { organization, user } = yield* someTenant
      yield* (yield* Erasure).deleteUser(user.email, "erase")
      const rows = yield* sql`
        SELECT user_id, key_id, input_tokens FROM usage_records WHERE organization_id = ${organization.id}`
      assert.deepStrictEqual(rows, [{ userId: null, keyId: null, inputTokens: 7 }])
      const today = new Date().toISOString().slice(0, 10)
      const report = yield* (yield* Usage).report({
        userId: null,
        organizationId: organization.id,
        keyId: null,
        by: "key",
        prices: [],
        since: today,
        until: today
      })
      assert.strictEqual(report.total.inputTokens, 7)
      assert.deepStrictEqual(
        report.lines.map(({ key, label }) => ({ key, label })),
        [{ key: null, label: "deleted" }]
      )
    })
  )

  it.effect("a user frees the address for another user, who has nothing of the first", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const { organization, user } = yield* someTenant
      yield* (yield* Erasure).deleteUser(user.email, "erase")
      assert.strictEqual(yield* tagOf(accounts.findUserByEmail(user.email)), "UserNotFound")
      const again = yield* accounts.createUser(user.email.toUpperCase(), organization.name)
      assert.notStrictEqual(again.id, user.id)
      assert.deepInclude(again, { hasPassword: false, identities: 0 })
      assert.isEmpty((yield* (yield* Conversations).listOf(again.id)).data)
      const listed = yield* accounts.listUsers()
      assert.isFalse(listed.data.some(({ id }) => id === user.id))
    })
  )

  it.effect("a user with files needs a word about them, and changes nothing without one", () =>
    Effect.gen(function* () {
      const { user } = yield* someTenant
      const { entries, value } = yield* added(tagOf((yield* Erasure).deleteUser(user.email, null)))
      assert.strictEqual(value, "UserHasFiles")
      assert.isEmpty(entries)
      assert.deepStrictEqual(yield* (yield* Accounts).findUserByEmail(user.email), {
        ...user,
        hasPassword: true,
        identities: 1,
        lastSignInAt: (yield* (yield* Accounts).findUserByEmail(user.email)).lastSignInAt
      })
    })
  )

  it.effect("a user hands files over to another one, with their bytes, places in projects and counts", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const { file, organization, project, user } = yield* someTenant
      const heir = yield* someone(organization.name)
      yield* upload(user.id, "a second file", { filename: "second.plain" })
      const { entries, value } = yield* added(
        (yield* Erasure).deleteUser(user.email, { to: heir.user.email.toUpperCase() })
      )
      assert.deepStrictEqual(value.erased, { conversations: 1, files: 0, filesHandedOver: 2 })
      assert.deepStrictEqual(
        entries.map(({ action, details }) => ({ action, details })),
        [{ action: "user.delete", details: { role: "member", files_to: heir.user.email } }]
      )
      assert.strictEqual((yield* contentOf(heir.user.id, file.id)).toString(), textOf(user))
      const counts = yield* countsOf(heir.user.id)
      assert.deepInclude(counts, { files: 3, rows: 3 })
      assert.strictEqual(counts.bytes, counts.sum)
      const { data } = yield* projects.files(project.id, { status: null })
      assert.deepInclude(data[0], { fileId: file.id, owner: heir.user.email })
      assert.isEmpty((yield* projects.members(project.id)).data)
    })
  )

  it.effect("the only owner of a project needs an heir, who becomes its owner", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const erasure = yield* Erasure
      const projects = yield* Projects
      const { file, organization, project, user } = yield* someTenant
      const [heir, disabled] = [yield* someone(organization.name), yield* someone(organization.name)]
      yield* projects.addMember(project.id, user.email, "owner")
      yield* projects.addMember(project.id, disabled.user.email, "owner")
      yield* accounts.setDisabled(disabled.user.email, true)
      assert.deepStrictEqual(yield* erasure.holdings(user.email), {
        files: 1,
        projects: [{ id: project.id, name: project.name, files: 1, isOnlyOwner: true }]
      })
      const refused = yield* Effect.flip(erasure.deleteUser(user.email, null))
      assert.deepInclude(refused, { _tag: "UserHasFiles", files: 1 })
      const { entries, value } = yield* added(Effect.flip(erasure.deleteUser(user.email, "erase")))
      assert.deepInclude(value, { _tag: "ProjectsLoseOwner", projects: [project.name] })
      assert.isEmpty(entries)
      assert.strictEqual((yield* countsOf(user.id)).files, 1)

      yield* erasure.deleteUser(user.email, { to: heir.user.email })
      const { data } = yield* projects.members(project.id)
      assert.deepStrictEqual(
        data.map(({ email, role }) => ({ email, role })).filter(({ email }) => email !== disabled.user.email),
        [{ email: heir.user.email, role: "owner" }]
      )
      assert.deepInclude((yield* projects.files(project.id, { status: null })).data[0], {
        fileId: file.id,
        owner: heir.user.email
      })
    })
  )

  it.effect("two owners of a project at once leaves one of them", () =>
    Effect.gen(function* () {
      const erasure = yield* Erasure
      const projects = yield* Projects
      const { organization, project, user } = yield* someTenant
      const other = yield* someone(organization.name)
      for (const { email } of [user, other.user]) yield* projects.addMember(project.id, email, "owner")
      const tags = yield* Effect.all(
        [user, other.user].map(({ email }) => tagOf(erasure.deleteUser(email, "erase"))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(tags.filter((tag) => tag === "ProjectsLoseOwner").length, 1)
    })
  )

  it.effect("a user refuses to hand files over to who can't have them", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const { organization, user } = yield* someTenant
      const stranger = yield* someTenant
      const disabled = yield* someone(organization.name)
      yield* accounts.setDisabled(disabled.user.email, true)
      for (const to of [user.email, stranger.user.email, disabled.user.email, "nobody@example.com"]) {
        const { entries, value } = yield* added(tagOf((yield* Erasure).deleteUser(user.email, { to })))
        assert.strictEqual(value, "FilesHeirUnsuitable", to)
        assert.isEmpty(entries)
      }
      assert.strictEqual((yield* countsOf(user.id)).files, 1)
    })
  )

  it.effect("a user fails the turn that is open, and what the request spent is kept without the user", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const conversations = yield* Conversations
      const erasure = yield* Erasure
      const { caller, conversation, user } = yield* someTenant
      const failed = yield* Effect.gen(function* () {
        const open = yield* conversations.open(user.id, conversation)
        yield* erasure.deleteUser(user.email, "erase")
        return yield* tagOf(conversations.commit(open, content("too late")))
      }).pipe(Effect.scoped)
      assert.strictEqual(failed, "TurnLeaseLost")
      const late = newResponse()
      yield* (yield* Usage).record(spending(caller, late, 3))
      // A request that was admitted before begins a conversation after.
      yield* Effect.scoped(Effect.flatMap(conversations.create(user.id), ({ stored }) => stored))
      yield* letItSettle
      yield* erasure.sweep
      assert.deepStrictEqual(yield* tablesWith(user.id), ["audit_log"])
      const rows = yield* sql`SELECT user_id, input_tokens FROM usage_records WHERE response_id = ${late}`
      assert.deepStrictEqual(rows, [{ userId: null, inputTokens: 3 }])
    })
  )

  it.effect("a user is completed by the next sweep when a process ends in between", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const { organization, user } = yield* someTenant
      const heir = yield* someone(organization.name)
      yield* accounts.deleteUser(user.email, heir.user.email, () => Effect.void)
      assert.strictEqual((yield* countsOf(user.id)).rows, 1)
      yield* (yield* Erasure).sweep
      assert.strictEqual((yield* countsOf(user.id)).rows, 0)
      assert.strictEqual((yield* countsOf(heir.user.id)).rows, 2)
      assert.isEmpty((yield* (yield* Conversations).listOf(user.id)).data)
    })
  )

  it.effect("a user happens once, whichever statement fails", () =>
    Effect.gen(function* () {
      const faults = yield* SqlFaults
      const erasure = yield* Erasure
      const remove = (email: string) => erasure.deleteUser(email, "erase")
      const { organization, user: first } = yield* someTenant
      yield* faults.off
      yield* remove(first.email)
      const { statements } = yield* faults.seen
      assert.isBelow(statements, statementsMax)
      const some = yield* Effect.all(
        Array.from({ length: statements + 1 }, () => someone(organization.name)),
        { concurrency: usersAtOnce }
      )
      const emails = [first.email]
      const reached: Array<boolean> = []
      for (const [index, { user }] of some.entries()) {
        const n = index + 1
        const { entries } = yield* added(
          Effect.gen(function* () {
            yield* faults.failStatement(n, n % 2 === 0 ? "after" : "before")
            const exit = yield* Effect.exit(remove(user.email))
            reached.push((yield* faults.seen).failed)
            yield* faults.off
            if (Exit.isFailure(exit)) yield* Effect.exit(remove(user.email))
          })
        )
        const actions = entries.filter(({ targetId }) => targetId === user.id).map(({ action }) => action)
        assert.deepStrictEqual(actions, ["user.delete"], `statement ${n}`)
        emails.push(user.email)
      }
      assert.isTrue(reached[0])
      // The statements were all of one deletion.
      assert.isFalse(reached.at(-1))
      yield* erasure.sweep
      assert.deepStrictEqual(yield* tablesWith(...emails), ["audit_log"])
    })
  )

  it.effect("the last owner is refused, also together with the organization", () =>
    Effect.gen(function* () {
      const erasure = yield* Erasure
      const sql = yield* SqlClient.SqlClient
      const { organization, user } = yield* someTenant
      yield* sql`UPDATE users SET role = 'member'`
      yield* becomeOwner(user.id)
      const { entries, value } = yield* added(
        Effect.all([
          tagOf(erasure.deleteUser(user.email, "erase")),
          tagOf(erasure.deleteOrganization(organization.name, true))
        ])
      )
      assert.deepStrictEqual(value, ["LastOwner", "LastOwner"])
      assert.isEmpty(entries)
      yield* becomeOwner((yield* someTenant).user.id)
      assert.strictEqual(yield* tagOf(erasure.deleteOrganization(organization.name, true)), "done")
    })
  )

  it.effect("an organization needs its contents to be named, and frees its name", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const erasure = yield* Erasure
      const { organization, project, user } = yield* someTenant
      const colleague = yield* someone(organization.name)
      const { entries, value } = yield* added(tagOf(erasure.deleteOrganization(organization.name, false)))
      assert.strictEqual(value, "OrganizationNotEmpty")
      assert.isEmpty(entries)
      const before = yield* accounts.counts
      const deleted = yield* erasure.deleteOrganization(organization.name, true)
      assert.deepInclude(deleted, { users: 2, projects: 2 })
      assert.strictEqual((yield* accounts.counts).organizations, before.organizations - 1)
      assert.strictEqual(yield* tagOf(accounts.findOrganization(organization.name)), "OrganizationNotFound")
      assert.deepStrictEqual(
        yield* tablesWith(organization.name, project.name, user.email, colleague.user.email),
        ["audit_log"]
      )
      const again = yield* accounts.createOrganization(organization.name, "gold")
      assert.notStrictEqual(again.id, organization.id)
      yield* letItSettle
      yield* erasure.sweep
      // The usage stays with the id of the organization, which names nobody.
      assert.deepStrictEqual(yield* tablesWith(organization.id), ["audit_log", "usage_records"])
    })
  )

  it.effect("a project leaves the files with their owners, and nothing of its index", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const store = yield* FileStore
      const { file, organization, project, user } = yield* someTenant
      yield* (yield* Erasure).deleteProject(project.id)
      assert.strictEqual((yield* store.get(user.id, file.id)).id, file.id)
      const attempts: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        projects.get(project.id),
        projects.addMember(project.id, user.email, "member"),
        projects.addFile(project.id, file.id),
        projects.rename(project.id, "another name"),
        projects.delete(project.id)
      ]
      for (const attempt of attempts) {
        assert.strictEqual(yield* tagOf(attempt), "ProjectNotFound")
      }
      assert.strictEqual((yield* projects.create(project.name, organization.name)).name, project.name)
      // The queue knows jobs that ended by their ids, for an hour.
      const tables = yield* tablesWith(project.id)
      assert.deepStrictEqual(
        tables.filter((table) => table !== "index_jobs"),
        ["audit_log"]
      )
    })
  )

  it.effect("one conversation leaves the others", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const { conversation, user } = yield* someTenant
      const other = yield* someTenant
      yield* addTurn(user.id, conversation, content("once more"))
      assert.strictEqual(
        yield* tagOf(conversations.deleteOf(other.user, conversation)),
        "ConversationNotFound"
      )
      const read = yield* conversations.readOf(user, conversation, 1)
      assert.deepStrictEqual(
        read.turns.map(({ position }) => position),
        [1, 2]
      )
      yield* conversations.deleteOf(user, conversation)
      assert.isEmpty((yield* conversations.listOf(user.id)).data)
      assert.strictEqual((yield* conversations.listOf(other.user.id)).data.length, 1)
    })
  )
})

layer(erasureLayer, { excludeTestServices: true })("Renaming", (it) => {
  it.effect("renaming keeps what an organization has, and refuses a name that is taken", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const { organization, user } = yield* someTenant
      const other = yield* someTenant
      const name = randomUUID()
      const refused = accounts.renameOrganization(organization.name, other.organization.name)
      assert.strictEqual(yield* tagOf(refused), "OrganizationExists")
      const { entries } = yield* added(accounts.renameOrganization(organization.name, name))
      assert.deepStrictEqual(
        entries.map(({ action, details, targetName }) => ({ action, details, targetName })),
        [
          {
            action: "organization.rename",
            details: { name: { old: organization.name, new: name } },
            targetName: name
          }
        ]
      )
      assert.strictEqual((yield* accounts.findUserByEmail(user.email)).organization, name)
      assert.isEmpty((yield* added(accounts.renameOrganization(name, name))).entries)
    })
  )

  it.effect(
    "renaming keeps a project, in another case too, and refuses a name that is taken in the organization",
    () =>
      Effect.gen(function* () {
        const projects = yield* Projects
        const { organization, project } = yield* someTenant
        const other = yield* projects.create("other", organization.name)
        assert.strictEqual(yield* tagOf(projects.rename(project.id, "OTHER")), "ProjectExists")
        assert.deepInclude(yield* projects.rename(other.id, "Other"), { id: other.id, name: "Other" })
        assert.deepInclude(yield* projects.rename(project.id, "new"), { members: 1, files: 1 })
      })
  )
})
