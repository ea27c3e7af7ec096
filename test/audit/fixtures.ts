import { randomUUID } from "node:crypto"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Audit, type AuditFilter } from "../../src/audit/Audit.ts"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import * as KeyToken from "../../src/auth/KeyToken.ts"
import { Onboarding } from "../../src/auth/Onboarding.ts"
import type { AuditAction } from "../../src/domain/AuditEntry.ts"
import { Policy } from "../../src/plans/Policy.ts"
import { ProjectNotes } from "../../src/projects/ProjectNotes.ts"
import { Projects } from "../../src/projects/Projects.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { authLayer } from "../auth/AccountsFixture.ts"
import { projectsOver, someFile } from "../retrieval/fixtures.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { usageLayer } from "../usage/asking.ts"

/** Every service that records what it changes, over whatever database is below. */
export const recordingOver = Layer.mergeAll(
  authLayer(),
  usageLayer,
  Audit.layer,
  Layer.provideMerge(ProjectNotes.layer, projectsOver())
)

/** The same on one client whose statements can be made to fail. */
export const recordingLayer = Layer.provideMerge(recordingOver, TestDatabase.layerFailing)

/** An organization, its user with a key, and a project, each with a name of its own. */
export const someTenant = Effect.gen(function* () {
  const accounts = yield* Accounts
  const name = `tenant ${randomUUID()}`
  const email = `${randomUUID()}@example.com`
  const organization = yield* accounts.createOrganization(name, "gold")
  const user = yield* accounts.createUser(email, name)
  const key = yield* (yield* ApiKeys).create({ userId: user.id, name: "a key", expiresAt: null })
  const project = yield* (yield* Projects).create("a project", name)
  const file = yield* someFile(user.id, null, "notes.md")
  return { organization, user, key, project, file }
})
export type Tenant = Effect.Success<typeof someTenant>

type Services =
  | Accounts
  | ApiKeys
  | Onboarding
  | Projects
  | ProjectNotes
  | Policy
  | Usage
  | SqlClient.SqlClient
  | Effect.Services<typeof KeyToken.makeKey>

/** A change, and what is recorded of it, in order. */
export interface Change {
  readonly title: string
  readonly actions: ReadonlyArray<AuditAction>
  /** An action that must have been done before. */
  readonly first?: (tenant: Tenant) => Effect.Effect<unknown, unknown, Services>
  readonly run: (tenant: Tenant) => Effect.Effect<unknown, unknown, Services>
  /** True if a repetition changes something again, such as creating another key. */
  readonly repeats?: boolean
}

const addMember = ({ project, user }: Tenant, role: "owner" | "member") =>
  Effect.flatMap(Projects, (projects) => projects.addMember(project.id, user.email, role))

/** Runs an action on the tenant's project as an owner of it. */
const asOwner = <A, E>(
  { project, user }: Tenant,
  change: (
    members: Projects["Service"],
    membership: Effect.Success<ReturnType<Policy["Service"]["project"]>>
  ) => Effect.Effect<A, E>
) =>
  Effect.gen(function* () {
    const membership = yield* (yield* Policy).project(user.id, project.id)
    return yield* change(yield* Projects, membership)
  })

/** The same with what clients note of it. */
const noting = <A, E>(
  tenant: Tenant,
  change: (
    notes: ProjectNotes["Service"],
    membership: Effect.Success<ReturnType<Policy["Service"]["project"]>>
  ) => Effect.Effect<A, E>
) => Effect.flatMap(ProjectNotes, (notes) => asOwner(tenant, (_, membership) => change(notes, membership)))

const addOwned = (tenant: Tenant) => Effect.andThen(addMember(tenant, "owner"), addFile(tenant))

/** One more user of the tenant's organization, who is a member of its project. */
const addColleague = (tenant: Tenant) =>
  Effect.gen(function* () {
    yield* addMember(tenant, "owner")
    const email = `z${tenant.user.email}`
    yield* (yield* Accounts).createUser(email, tenant.organization.name)
    yield* asOwner(tenant, (members, membership) => members.addMember(membership, email))
  })

const colleagueOf = (tenant: Tenant) =>
  Effect.map(
    Effect.flatMap(Accounts, (accounts) => accounts.findUserByEmail(`z${tenant.user.email}`)),
    ({ id }) => id
  )

const addFile = ({ file, project }: Tenant) =>
  Effect.flatMap(Projects, (projects) => projects.addFile(project.id, file))

const setDisabled = ({ user }: Tenant, isDisabled: boolean) =>
  Effect.flatMap(Accounts, (accounts) => accounts.setDisabled(user.email, isDisabled))

/** Every change that an operator can make, and those that the service makes at its start. */
export const changes: ReadonlyArray<Change> = [
  {
    title: "creating an organization",
    actions: ["organization.create"],
    run: ({ user }) => Effect.flatMap(Accounts, (accounts) => accounts.createOrganization(user.id, "default"))
  },
  {
    title: "changing a plan",
    actions: ["organization.plan"],
    run: ({ organization }) =>
      Effect.flatMap(Accounts, (accounts) => accounts.setPlan(organization.name, "silver"))
  },
  {
    title: "creating a user",
    actions: ["user.create"],
    run: ({ organization, user }) =>
      Effect.flatMap(Accounts, (accounts) => accounts.createUser(`x${user.email}`, organization.name))
  },
  {
    title: "creating a user with a key",
    actions: ["user.create", "api_key.create"],
    run: ({ organization, user }) =>
      Effect.flatMap(Onboarding, (onboarding) => onboarding.userWithKey(`y${user.email}`, organization.name))
  },
  {
    title: "disabling a user",
    actions: ["user.disable"],
    run: (tenant) => setDisabled(tenant, true)
  },
  {
    title: "enabling a user",
    actions: ["user.enable"],
    first: (tenant) => setDisabled(tenant, true),
    run: (tenant) => setDisabled(tenant, false)
  },
  {
    title: "creating a key",
    actions: ["api_key.create"],
    run: ({ user }) =>
      Effect.flatMap(ApiKeys, (keys) =>
        keys.create({ userId: user.id, name: "another key", expiresAt: null })
      ),
    repeats: true
  },
  {
    title: "adopting a key",
    actions: ["api_key.adopt"],
    first: ({ user }) =>
      Effect.flatMap(Onboarding, (onboarding) =>
        // The organization of the first user.
        Effect.flatMap(KeyToken.makeKey, (key) => onboarding.adoptKey(user.email, key))
      ),
    run: ({ user }) =>
      Effect.flatMap(Onboarding, (onboarding) =>
        Effect.flatMap(KeyToken.makeKey, (key) => onboarding.adoptKey(user.email, key))
      ),
    repeats: true
  },
  {
    title: "revoking a key",
    actions: ["api_key.revoke"],
    run: ({ key }) => Effect.flatMap(ApiKeys, (keys) => keys.revoke(key.id))
  },
  {
    title: "setting limits",
    actions: ["user.limits"],
    run: ({ user }) => Effect.flatMap(Usage, (usage) => usage.setLimits(user.id, { daily: 5, monthly: null }))
  },
  {
    title: "withdrawing a limit",
    actions: ["user.limits"],
    first: ({ user }) => Effect.flatMap(Usage, (usage) => usage.setLimits(user.id, { daily: 5 })),
    run: ({ user }) => Effect.flatMap(Usage, (usage) => usage.setLimits(user.id, { daily: "default" }))
  },
  {
    title: "setting limits of a key",
    actions: ["api_key.limits"],
    run: ({ key }) =>
      Effect.flatMap(ApiKeys, (keys) => keys.setLimits(key.id, { dailyTokens: 5, requestsPerMinute: 60 }))
  },
  {
    title: "withdrawing a limit of a key",
    actions: ["api_key.limits"],
    first: ({ key }) => Effect.flatMap(ApiKeys, (keys) => keys.setLimits(key.id, { monthlyTokens: 5 })),
    run: ({ key }) => Effect.flatMap(ApiKeys, (keys) => keys.setLimits(key.id, { monthlyTokens: null }))
  },
  {
    title: "creating a project",
    actions: ["project.create"],
    run: ({ organization }) =>
      Effect.flatMap(Projects, (projects) => projects.create("another project", organization.name))
  },
  {
    title: "adding a member",
    actions: ["project.member_add"],
    run: (tenant) => addMember(tenant, "member")
  },
  {
    title: "changing the role of a member",
    actions: ["project.member_role"],
    first: (tenant) => addMember(tenant, "member"),
    run: (tenant) => addMember(tenant, "owner")
  },
  {
    title: "removing a member",
    actions: ["project.member_remove"],
    first: (tenant) => addMember(tenant, "member"),
    run: ({ project, user }) =>
      Effect.flatMap(Projects, (projects) => projects.removeMember(project.id, user.email))
  },
  {
    title: "creating a project of one's own",
    actions: ["project.create", "project.member_add"],
    run: ({ user }) => Effect.flatMap(Projects, (projects) => projects.createOwn(user.id, "an own project"))
  },
  {
    title: "changing the role of a member as an owner",
    actions: ["project.member_role"],
    first: addColleague,
    run: (tenant) =>
      Effect.flatMap(colleagueOf(tenant), (id) =>
        asOwner(tenant, (members, membership) => members.setRole(membership, id, "owner"))
      )
  },
  {
    title: "removing a member as an owner",
    actions: ["project.member_remove"],
    first: addColleague,
    run: (tenant) =>
      Effect.flatMap(colleagueOf(tenant), (id) =>
        asOwner(tenant, (members, membership) => members.removeMemberById(membership, id))
      )
  },
  {
    title: "adding a file as a member",
    actions: ["project.file_add"],
    first: (tenant) => addMember(tenant, "member"),
    run: (tenant) => asOwner(tenant, (members, membership) => members.addFile(membership, tenant.file))
  },
  { title: "adding a file", actions: ["project.file_add"], run: addFile },
  {
    title: "removing a file",
    actions: ["project.file_remove"],
    first: addFile,
    run: ({ file, project }) => Effect.flatMap(Projects, (projects) => projects.removeFile(project.id, file))
  },
  {
    title: "noting something of a project",
    actions: ["project.note"],
    first: (tenant) => addMember(tenant, "owner"),
    run: (tenant) => noting(tenant, (notes, membership) => notes.update(membership, { metadata: { a: "b" } }))
  },
  {
    title: "noting something of a file",
    actions: ["project.file_note"],
    first: addOwned,
    run: (tenant) =>
      noting(tenant, (notes, membership) => notes.noteFile(membership, tenant.file, { year: 2_020 }))
  },
  {
    title: "adding files together",
    actions: ["project.file_add"],
    first: (tenant) => addMember(tenant, "owner"),
    run: (tenant) =>
      noting(tenant, (notes, membership) =>
        notes.addBatch(membership, [
          { fileId: tenant.file, attributes: { year: 2_020 }, param: "file_ids[0]" }
        ])
      )
  },
  {
    title: "indexing a project again",
    actions: ["project.reindex"],
    first: (tenant) =>
      Effect.andThen(
        addFile(tenant),
        // Marks the file as one whose text could not be read.
        Effect.flatMap(
          SqlClient.SqlClient,
          (sql) => sql`UPDATE project_files SET status = 'error' WHERE file_id = ${tenant.file}::uuid`
        )
      ),
    run: ({ project }) => Effect.flatMap(Projects, (projects) => projects.reindex(project.id))
  }
]

/** Everything of the tables that the changes are about, as one text. */
export const everything = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT
    (SELECT json_agg(t ORDER BY t.id) FROM organizations t)::text AS organizations,
    (SELECT json_agg(t ORDER BY t.id) FROM users t)::text AS users,
    (SELECT json_agg(t ORDER BY t.id) FROM api_keys t)::text AS keys,
    (SELECT json_agg(t ORDER BY t.user_id, t.span) FROM token_limits t)::text AS limits,
    (SELECT json_agg(t ORDER BY t.id) FROM projects t)::text AS projects,
    (SELECT json_agg(t ORDER BY t.project_id, t.user_id) FROM project_members t)::text AS members,
    (SELECT json_agg(t ORDER BY t.project_id, t.file_id) FROM project_files t)::text AS files`
  return JSON.stringify(rows)
})

/** The entries that match, oldest first. */
export const entries = Effect.fnUntraced(function* (filter: AuditFilter = {}) {
  const { data } = yield* (yield* Audit).list(filter)
  return data.toReversed()
})

/** Runs an effect, and returns the entries that it added. */
export const added = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const before = new Set((yield* entries()).map(({ id }) => id))
  const value = yield* effect
  return { value, entries: (yield* entries()).filter(({ id }) => !before.has(id)) }
})
