import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { AdminApi } from "../../src/admin/AdminApi.ts"
import { Sessions } from "../../src/auth/Sessions.ts"
import type { Conversations } from "../../src/conversations/Conversations.ts"
import type { AuditAction } from "../../src/domain/AuditEntry.ts"
import { ApiKeyId, ConversationId, LinkId, ProjectId } from "../../src/domain/Ids.ts"
import { added } from "../audit/fixtures.ts"
import { content, conversationOf } from "../conversations/fixtures.ts"
import { AdminServer, clientWith, modelServerKey } from "./AdminServer.ts"

const fileText = "the confidential text of a file"

type Client = Effect.Success<ReturnType<typeof clientWith>>

const send = (client: Client, email: string) => {
  const payload = Stream.make(new TextEncoder().encode(fileText))
  return client.files.upload({ query: { email, filename: "notes.md" }, payload })
}

/** An organization, its user with a key, a file and two projects, each with a name of its own. */
const someTenant = Effect.fnUntraced(function* (client: Client) {
  const [name, email] = [randomUUID(), `${randomUUID()}@example.com`]
  const organization = yield* client.accounts.createOrganization({ payload: { name, plan: "gold" } })
  const user = yield* client.accounts.createUser({ payload: { email, organization: name, with_key: true } })
  const project = yield* client.projects.create({ payload: { name: "a project", organization: name } })
  const empty = yield* client.projects.create({ payload: { name: "an empty one", organization: name } })
  const file = yield* send(client, email)
  return { organization, user, keyId: user.key_id!, secret: user.key!, project, empty, file }
})
type Tenant = Effect.Success<ReturnType<typeof someTenant>>

/** The services that a second client needs. */
type Asking = Effect.Services<ReturnType<typeof clientWith>>

type Request = (
  client: Client,
  tenant: Tenant
) => Effect.Effect<unknown, unknown, SqlClient.SqlClient | Sessions | Conversations | Asking>

/** A request that changes something, and what is recorded of it. */
interface Walk {
  readonly endpoint: string
  readonly actions: ReadonlyArray<AuditAction>
  /** A request that must have been made before. */
  readonly first?: Request
  readonly change: Request
  /** The same endpoint where there is nothing to change; without it, `change` once more. */
  readonly nothing?: Request
  /** The same endpoint with what it refuses. */
  readonly refused: Request
}

const nowhere = "00000000-0000-7000-8000-000000000000"
const noProject = { project_id: ProjectId.make(nowhere) }
const ofProject = ({ project }: Tenant) => ({ project_id: project.id })
const noUser = `${nowhere}@example.com`

const setRole =
  (role: "owner" | "member"): Request =>
  ({ projects }, tenant) =>
    projects.addMember({ params: ofProject(tenant), payload: { email: tenant.user.email, role } })

const addFile: Request = ({ projects }, tenant) =>
  projects.addFile({ params: ofProject(tenant), payload: { file_id: tenant.file.id } })

const disable: Request = ({ policy }, { user }) => policy.disableUser({ payload: { email: user.email } })

const signIn: Request = (_, { user }) =>
  Effect.flatMap(Sessions, (sessions) => sessions.start(user.id, { address: null, userAgent: null }, "link"))

const linkIdentity: Request = (_, { user }) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      INSERT INTO identities (issuer, subject, user_id, linked_at)
      VALUES ('https://login.example.com', ${user.id}, ${user.id}, now())`
  )

const becomeOwner: Request = (_, { user }) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE users SET role = 'owner' WHERE id = ${user.id}`)

const invited = ({ user }: Tenant) => `i${user.email}`

const invite: Request = ({ people }, tenant) =>
  people.invite({ payload: { email: invited(tenant), organization: tenant.organization.name } })

const converse: Request = (_, { user }) => conversationOf(user.id, [content("a confidential question")])

const unreadable: Request = () =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE project_files SET status = 'error', job = NULL`)

const walks: ReadonlyArray<Walk> = [
  {
    endpoint: "accounts.createOrganization",
    actions: ["organization.create"],
    change: ({ accounts }, { user }) => accounts.createOrganization({ payload: { name: user.id } }),
    refused: ({ accounts }, { organization }) =>
      accounts.createOrganization({ payload: { name: organization.name } })
  },
  {
    endpoint: "accounts.createUser",
    actions: ["user.create"],
    change: ({ accounts }, { organization, user }) =>
      accounts.createUser({ payload: { email: `x${user.email}`, organization: organization.name } }),
    refused: ({ accounts }, { user }) =>
      accounts.createUser({ payload: { email: `y${user.email}`, organization: nowhere, with_key: true } })
  },
  {
    endpoint: "accounts.createUser",
    actions: ["user.create", "api_key.create"],
    change: ({ accounts }, { organization, user }) =>
      accounts.createUser({
        payload: { email: `z${user.email}`, organization: organization.name, with_key: true }
      }),
    refused: ({ accounts }, { organization, user }) =>
      accounts.createUser({ payload: { email: user.email, organization: organization.name, with_key: true } })
  },
  {
    endpoint: "accounts.createKey",
    actions: ["api_key.create"],
    change: ({ accounts }, { user }) =>
      accounts.createKey({ payload: { email: user.email, name: "laptop" } }),
    // Each call creates a key.
    nothing: () => Effect.void,
    refused: ({ accounts }) => accounts.createKey({ payload: { email: noUser, name: "laptop" } })
  },
  {
    endpoint: "accounts.revokeKey",
    actions: ["api_key.revoke"],
    change: ({ accounts }, { keyId }) => accounts.revokeKey({ params: { id: keyId } }),
    refused: ({ accounts }) => accounts.revokeKey({ params: { id: ApiKeyId.make(nowhere) } })
  },
  {
    endpoint: "accounts.rollKey",
    actions: ["api_key.roll"],
    change: ({ accounts }, { keyId }) =>
      accounts.rollKey({ params: { id: keyId }, payload: { grace_seconds: 0 } }),
    // The old key has expired.
    refused: ({ accounts }) => accounts.rollKey({ params: { id: ApiKeyId.make(nowhere) }, payload: {} })
  },
  {
    endpoint: "accounts.setKeyLimits",
    actions: ["api_key.limits"],
    change: ({ accounts }, { keyId }) =>
      accounts.setKeyLimits({ params: { id: keyId }, payload: { daily_tokens: 5 } }),
    refused: ({ accounts }) =>
      accounts.setKeyLimits({ params: { id: ApiKeyId.make(nowhere) }, payload: { daily_tokens: 5 } })
  },
  {
    endpoint: "server.reload",
    actions: ["setting.reload"],
    change: ({ server }) => server.reload(),
    // Each call is recorded.
    nothing: () => Effect.void,
    refused: () => Effect.flatMap(clientWith(Redacted.make("no admin key")), ({ server }) => server.reload())
  },
  {
    endpoint: "adminKeys.create",
    actions: ["admin_key.create"],
    change: ({ adminKeys }, { user }) => adminKeys.create({ payload: { name: user.id } }),
    refused: Effect.fnUntraced(function* ({ adminKeys }, { user }) {
      const sql = yield* SqlClient.SqlClient
      const name = user.email
      yield* sql`INSERT INTO admin_keys (id, name, hash, hint) VALUES (${user.id}, ${name}, ${Buffer.from(name)}, 'hint')`
      return yield* adminKeys.create({ payload: { name } })
    })
  },
  {
    endpoint: "adminKeys.revoke",
    actions: ["admin_key.revoke"],
    first: ({ adminKeys }, { user }) => adminKeys.create({ payload: { name: user.id } }),
    change: ({ adminKeys }, { user }) => adminKeys.revoke({ payload: { name: user.id } }),
    refused: ({ adminKeys }) => adminKeys.revoke({ payload: { name: nowhere } })
  },
  {
    endpoint: "people.setRole",
    actions: ["user.role"],
    change: ({ people }, { user }) =>
      people.setRole({ payload: { email: user.email, role: "organization_admin" } }),
    refused: ({ people }) => people.setRole({ payload: { email: noUser, role: "organization_admin" } })
  },
  {
    endpoint: "people.resetPassword",
    actions: ["link.create"],
    change: ({ people }, { user }) => people.resetPassword({ payload: { email: user.email } }),
    // Each call creates a link.
    nothing: () => Effect.void,
    refused: ({ people }) => people.resetPassword({ payload: { email: noUser } })
  },
  {
    endpoint: "people.endSessions",
    actions: ["session.end_all"],
    first: signIn,
    change: ({ people }, { user }) => people.endSessions({ payload: { email: user.email } }),
    refused: ({ people }) => people.endSessions({ payload: { email: noUser } })
  },
  {
    endpoint: "people.unlink",
    actions: ["identity.unlink"],
    first: linkIdentity,
    change: ({ people }, { user }) => people.unlink({ payload: { email: user.email } }),
    refused: ({ people }) => people.unlink({ payload: { email: noUser } })
  },
  {
    endpoint: "people.invite",
    actions: ["link.create"],
    change: invite,
    // Each call creates a link.
    nothing: () => Effect.void,
    refused: ({ people }, { organization, user }) =>
      people.invite({ payload: { email: user.email, organization: organization.name } })
  },
  {
    endpoint: "people.revokeInvitation",
    actions: ["link.revoke"],
    first: invite,
    change: Effect.fnUntraced(function* ({ people }, tenant) {
      const { data } = yield* people.listInvitations({ query: {} })
      const id = data.find(({ email }) => email === invited(tenant))?.id ?? LinkId.make(nowhere)
      return yield* people.revokeInvitation({ params: { id } })
    }),
    refused: ({ people }) => people.revokeInvitation({ params: { id: LinkId.make(nowhere) } })
  },
  {
    endpoint: "people.setUpLink",
    actions: ["link.create"],
    first: becomeOwner,
    change: ({ people }) => people.setUpLink(),
    // Each call creates a link.
    nothing: () => Effect.void,
    // There is no owner.
    refused: ({ people }) => people.setUpLink()
  },
  {
    endpoint: "data.deleteUser",
    actions: ["user.delete"],
    change: ({ data }, { user }) => data.deleteUser({ payload: { email: user.email, files: "erase" } }),
    // The user has a file.
    refused: ({ data }, { user }) => data.deleteUser({ payload: { email: user.email } })
  },
  {
    endpoint: "data.renameOrganization",
    actions: ["organization.rename"],
    change: ({ data }, { organization, user }) =>
      data.renameOrganization({ payload: { organization: organization.name, name: user.id } }),
    refused: ({ data }) => data.renameOrganization({ payload: { organization: nowhere, name: "x" } })
  },
  {
    endpoint: "data.deleteOrganization",
    actions: ["project.delete", "project.delete", "user.delete", "organization.delete"],
    change: ({ data }, { organization }) =>
      data.deleteOrganization({ payload: { organization: organization.name, with_contents: true } }),
    refused: ({ data }, { organization }) =>
      data.deleteOrganization({ payload: { organization: organization.name } })
  },
  {
    endpoint: "data.renameProject",
    actions: ["project.rename"],
    change: ({ data }, tenant) =>
      data.renameProject({ params: ofProject(tenant), payload: { name: "a renamed project" } }),
    refused: ({ data }, tenant) =>
      data.renameProject({ params: ofProject(tenant), payload: { name: "An Empty One" } })
  },
  {
    endpoint: "data.deleteProject",
    actions: ["project.delete"],
    change: ({ data }, tenant) => data.deleteProject({ params: ofProject(tenant) }),
    refused: ({ data }) => data.deleteProject({ params: noProject })
  },
  {
    endpoint: "data.deleteConversation",
    actions: ["conversation.delete"],
    first: converse,
    change: Effect.fnUntraced(function* ({ data }, { user }) {
      const query = { email: user.email }
      const listed = yield* data.listConversations({ query })
      const id = listed.data[0]?.id ?? ConversationId.make(nowhere)
      return yield* data.deleteConversation({ params: { conversation_id: id }, query })
    }),
    refused: ({ data }, { user }) =>
      data.deleteConversation({
        params: { conversation_id: ConversationId.make(nowhere) },
        query: { email: user.email }
      })
  },
  {
    endpoint: "files.upload",
    actions: ["file.upload"],
    change: (client, { user }) => send(client, user.email),
    // Each call stores a file.
    nothing: () => Effect.void,
    refused: (client) => send(client, noUser)
  },
  {
    endpoint: "files.delete",
    actions: ["file.delete"],
    change: ({ files }, { file, user }) =>
      files.delete({ params: { file_id: file.id }, query: { email: user.email } }),
    refused: ({ files }, { file }) => files.delete({ params: { file_id: file.id }, query: { email: noUser } })
  },
  {
    endpoint: "projects.create",
    actions: ["project.create"],
    change: ({ projects }, { organization }) =>
      projects.create({ payload: { name: "another project", organization: organization.name } }),
    refused: ({ projects }) => projects.create({ payload: { name: "a project", organization: nowhere } })
  },
  {
    endpoint: "projects.addMember",
    actions: ["project.member_add"],
    change: setRole("member"),
    refused: ({ projects }, tenant) =>
      projects.addMember({ params: ofProject(tenant), payload: { email: noUser } })
  },
  {
    endpoint: "projects.addMember",
    actions: ["project.member_role"],
    first: setRole("member"),
    change: setRole("owner"),
    refused: ({ projects }, { user }) =>
      projects.addMember({ params: noProject, payload: { email: user.email } })
  },
  {
    endpoint: "projects.removeMember",
    actions: ["project.member_remove"],
    first: setRole("member"),
    change: ({ projects }, tenant) =>
      projects.removeMember({ params: ofProject(tenant), query: { email: tenant.user.email } }),
    refused: ({ projects }, tenant) =>
      projects.removeMember({ params: ofProject(tenant), query: { email: noUser } })
  },
  {
    endpoint: "projects.addFile",
    actions: ["project.file_add"],
    change: addFile,
    refused: ({ projects }, { file }) =>
      projects.addFile({ params: noProject, payload: { file_id: file.id } })
  },
  {
    endpoint: "projects.removeFile",
    actions: ["project.file_remove"],
    first: addFile,
    change: ({ projects }, tenant) =>
      projects.removeFile({ params: { ...ofProject(tenant), file_id: tenant.file.id } }),
    refused: ({ projects }, { file }) => projects.removeFile({ params: { ...noProject, file_id: file.id } })
  },
  {
    endpoint: "projects.reindex",
    actions: ["project.reindex"],
    first: (client, tenant) => Effect.andThen(addFile(client, tenant), unreadable(client, tenant)),
    change: ({ projects }, tenant) => projects.reindex({ params: ofProject(tenant) }),
    nothing: ({ projects }, { empty }) => projects.reindex({ params: { project_id: empty.id } }),
    refused: ({ projects }) => projects.reindex({ params: noProject })
  },
  {
    endpoint: "usage.setLimits",
    actions: ["user.limits"],
    change: ({ usage }, { user }) => usage.setLimits({ payload: { email: user.email, daily: 5 } }),
    refused: ({ usage }) => usage.setLimits({ payload: { email: noUser, daily: 5 } })
  },
  {
    endpoint: "policy.setPlan",
    actions: ["organization.plan"],
    change: ({ policy }, { organization }) =>
      policy.setPlan({ payload: { organization: organization.name, plan: "silver" } }),
    refused: ({ policy }) => policy.setPlan({ payload: { organization: nowhere, plan: "silver" } })
  },
  {
    endpoint: "policy.disableUser",
    actions: ["user.disable"],
    change: disable,
    refused: ({ policy }) => policy.disableUser({ payload: { email: noUser } })
  },
  {
    endpoint: "policy.enableUser",
    actions: ["user.enable"],
    first: disable,
    change: ({ policy }, { user }) => policy.enableUser({ payload: { email: user.email } }),
    refused: ({ policy }) => policy.enableUser({ payload: { email: noUser } })
  }
]

/** Endpoints that aren't GET and yet change nothing. */
const readers: Readonly<Record<string, Request>> = {
  "projects.search": ({ projects }, tenant) =>
    projects.search({ params: ofProject(tenant), payload: { query: "a confidential query" } }),
  "server.explainModels": ({ server }) => server.explainModels({ payload: { text: "a confidential text" } })
}

const actionsOf = ({ entries }: { readonly entries: ReadonlyArray<{ readonly action: AuditAction }> }) =>
  entries.map(({ action }) => action)

/** The audit log and what belongs to it, as text. */
const dump = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT
    (SELECT json_agg(t) FROM audit_log t)::text AS entries,
    (SELECT json_agg(t) FROM audit_counters t)::text AS counters,
    (SELECT json_agg(t) FROM audit_installation t)::text AS installation`
  return JSON.stringify(rows)
})

layer(AdminServer.layer, { excludeTestServices: true })("The audit log", (it) => {
  it.effect("the audit log is tested with every endpoint of the operator that isn't GET", () =>
    Effect.sync(() => {
      const endpoints = Object.entries(AdminApi.groups).flatMap(([group, { endpoints }]) =>
        Object.entries(endpoints)
          .filter(([, { method }]) => method !== "GET")
          .map(([name]) => `${group}.${name}`)
      )
      const tested = new Set([...walks.map(({ endpoint }) => endpoint), ...Object.keys(readers)])
      assert.deepStrictEqual([...tested].toSorted(), endpoints.toSorted())
    })
  )

  for (const { actions, change, endpoint, first, nothing = change, refused } of walks) {
    it.effect(`the audit log has ${actions.join(" and ")} for a change by ${endpoint}, and no more`, () =>
      Effect.gen(function* () {
        const client = yield* clientWith()
        const tenant = yield* someTenant(client)
        const failed = yield* added(Effect.exit(refused(client, tenant)))
        assert.strictEqual(failed.value._tag, "Failure")
        assert.deepStrictEqual(actionsOf(failed), [])
        if (first !== undefined) yield* first(client, tenant)

        const changed = yield* added(change(client, tenant))
        assert.deepStrictEqual(actionsOf(changed), actions)
        for (const entry of changed.entries) {
          assert.deepInclude(entry, { actor: "operator", origin: "api", address: "127.0.0.1" })
          assert.isTrue(
            entry.organizationId === tenant.organization.id ||
              entry.action === "organization.create" ||
              ["admin_key", "setting"].includes(entry.targetType)
          )
          assert.isNotNull(entry.targetId)
        }
        const repeated = yield* added(Effect.exit(nothing(client, tenant)))
        assert.deepStrictEqual(actionsOf(repeated), [])
      })
    )
  }

  for (const [endpoint, request] of Object.entries(readers)) {
    it.effect(`the audit log has nothing for ${endpoint}`, () =>
      Effect.gen(function* () {
        const client = yield* clientWith()
        const tenant = yield* someTenant(client)
        assert.deepStrictEqual(actionsOf(yield* added(request(client, tenant))), [])
      })
    )
  }

  it.effect("the audit log holds no key, no hash of one, no text of a file and no query", () =>
    Effect.gen(function* () {
      const client = yield* clientWith()
      const { key } = yield* AdminServer
      const tenant = yield* someTenant(client)
      const { accounts } = client
      const made = yield* accounts.createKey({ payload: { email: tenant.user.email, name: "laptop" } })
      for (const { change, first } of walks) {
        if (first !== undefined) yield* Effect.exit(first(client, tenant))
        yield* Effect.exit(change(client, tenant))
      }
      for (const request of Object.values(readers)) yield* Effect.exit(request(client, tenant))

      const sql = yield* SqlClient.SqlClient
      const hashes = yield* sql<{
        readonly hash: Uint8Array
      }>`SELECT hash FROM api_keys UNION ALL SELECT hash FROM admin_keys`
      assert.isAbove(hashes.length, 10)
      const text = yield* dump
      assert.include(text, tenant.user.email)
      const secrets = [
        Redacted.value(key),
        tenant.secret,
        made.key,
        modelServerKey,
        fileText,
        "a confidential query",
        "a confidential text",
        "a confidential question",
        ...hashes.flatMap(({ hash }) => [
          Buffer.from(hash).toString("hex"),
          Buffer.from(hash).toString("base64")
        ])
      ]
      for (const secret of secrets) {
        assert.notInclude(text, secret)
        // A part of it is no better.
        assert.notInclude(text, secret.slice(0, 16))
      }
    })
  )
})
