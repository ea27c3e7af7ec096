import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { AuditAction } from "../../src/domain/AuditEntry.ts"
import { added } from "../audit/fixtures.ts"
import { TestApp } from "../support/TestApp.ts"
import { declared, isSafe, send, someone, someTenant } from "./ConsoleFixture.ts"
import { expectations } from "./endpoints.ts"

/**
 * The actions recorded for the sample request of each endpoint that isn't GET, when an owner of the
 * installation sends it.
 */
const recorded: Readonly<Record<string, ReadonlyArray<AuditAction>>> = {
  "session.signOut": ["session.end"],
  "me.endSession": ["session.end"],
  "me.endSessions": ["session.end_all"],
  "me.changePassword": ["user.password"],
  "me.createKey": ["api_key.create"],
  "me.setKeyLimits": ["api_key.limits"],
  "me.revokeKey": ["api_key.revoke"],
  "accounts.createOrganization": ["organization.create"],
  "accounts.createUser": ["user.create"],
  "people.setRole": ["user.role"],
  "people.resetPassword": ["link.create"],
  "people.endSessions": ["session.end_all"],
  "people.unlink": ["identity.unlink"],
  "people.invite": ["link.create"],
  "people.revokeInvitation": ["link.revoke"],
  "data.deleteUser": ["project.member_role", "user.delete"],
  "data.renameOrganization": ["organization.rename"],
  "data.deleteOrganization": ["organization.delete"],
  "data.renameProject": ["project.rename"],
  "data.deleteProject": ["project.delete"],
  "ownProjects.create": ["project.create", "project.member_add"],
  "ownProjects.update": ["project.rename"],
  "ownProjects.delete": ["project.delete"],
  "ownProjects.addMember": ["project.member_add"],
  "ownProjects.updateMember": ["project.member_role"],
  "ownProjects.removeMember": ["project.member_remove"],
  "ownProjects.addFile": ["project.file_add"],
  "ownProjects.removeFile": ["project.file_remove"],
  "accounts.setKeyLimits": ["api_key.limits"],
  "accounts.revokeKey": ["api_key.revoke"],
  "files.upload": ["file.upload"],
  "files.delete": ["file.delete"],
  "projects.create": ["project.create"],
  "projects.addMember": ["project.member_add"],
  "projects.removeMember": ["project.member_remove"],
  "projects.addFile": ["project.file_add"],
  "projects.removeFile": ["project.file_remove"],
  "usage.setLimits": ["user.limits"],
  "policy.setPlan": ["organization.plan"],
  "policy.disableUser": ["user.disable"],
  "server.reload": ["setting.reload"]
}

/** Endpoints whose sample request changes nothing, or is refused. */
const unrecorded = new Set([
  "session.openLink",
  "session.useLink",
  "conversing.create",
  "accounts.createKey",
  "adminKeys.create",
  "adminKeys.revoke",
  "people.setUpLink",
  "accounts.rollKey",
  "data.deleteConversation",
  "projects.search",
  "ownProjects.search",
  // Changes of users to their own conversations and files aren't recorded.
  "conversations.create",
  "conversations.update",
  "conversations.delete",
  "conversations.discard",
  "answers.ask",
  "answers.cancel",
  "ownFiles.upload",
  "ownFiles.delete",
  "policy.enableUser",
  "server.explainModels"
])

/**
 * The one without a session, and the one whose entry depends on what was indexed meanwhile: other tests have
 * them.
 */
const elsewhere = new Set(["session.signIn", "projects.reindex"])

/** True for an endpoint of the user's own session, keys, conversations, files and projects. */
const isOwn = (name: string): boolean => /^(session|me|own\w+|conversations|answers)\./.test(name)

layer(TestApp.layer(), { excludeTestServices: true })("What is changed in the browser", (it) => {
  it.effect("every endpoint of the console that isn't GET has an expectation for the audit log", () =>
    Effect.sync(() => {
      const tested = [...Object.keys(recorded), ...unrecorded, ...elsewhere]
      const names = declared.filter((one) => !isSafe(one)).map(({ name }) => name)
      assert.deepStrictEqual(tested.toSorted(), names.toSorted())
    })
  )

  for (const endpoint of declared.filter((one) => !isSafe(one) && !elsewhere.has(one.name))) {
    const actions = recorded[endpoint.name] ?? []
    it.effect(`${endpoint.name} writes ${actions.join() || "nothing"} to the audit log, by the person`, () =>
      Effect.gen(function* () {
        const tenant = yield* someTenant
        const owner = yield* someone("owner", tenant)
        const target = isOwn(endpoint.name) ? owner.target : tenant
        const sample = expectations[endpoint.name]!.sample(target)
        const { entries, value } = yield* added(send(endpoint, sample, owner.headers))
        assert.deepStrictEqual(
          entries.map(({ action }) => action),
          actions,
          value.text
        )
        for (const entry of entries) {
          assert.deepInclude(entry, {
            actor: "person",
            actorId: owner.target.userId,
            actorEmail: owner.target.email,
            origin: "browser",
            address: "127.0.0.1"
          })
          assert.notInclude(JSON.stringify(entry), owner.secret)
          assert.notInclude(JSON.stringify(entry), owner.csrfToken)
        }
      })
    )
  }
})
