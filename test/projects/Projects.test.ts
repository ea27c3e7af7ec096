import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { FileId, ProjectId } from "../../src/domain/Ids.ts"
import { Policy } from "../../src/plans/Policy.ts"
import { Projects } from "../../src/projects/Projects.ts"
import { Retrieval } from "../../src/retrieval/Retrieval.ts"
import {
  foundIn,
  projectsOver,
  settled,
  someFile,
  someOrganization,
  someUserOf
} from "../retrieval/fixtures.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

const shared = Layer.provideMerge(projectsOver(), TestDatabase.layer)

const someProject = Effect.gen(function* () {
  const projects = yield* Projects
  const { organization, user } = yield* someOrganization
  return { organization, user, project: yield* projects.create(`project of ${organization}`, organization) }
})

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ _tag }) => _tag)

layer(shared, { excludeTestServices: true })("Projects", (it) => {
  it.effect("projects have names that are told apart inside of an organization, whatever their case", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const { organization } = yield* someOrganization
      const { organization: other } = yield* someOrganization
      const name = `Böats ${organization}`
      const made = yield* projects.create(name, organization)
      assert.deepInclude(made, { name, organization, members: 0, files: 0 })
      assert.deepStrictEqual(yield* projects.get(made.id), made)
      assert.strictEqual(yield* tagOf(projects.create(name.toUpperCase(), organization)), "ProjectExists")
      assert.strictEqual(yield* tagOf(projects.create(name, "nobody's")), "OrganizationNotFound")
      const twin = yield* projects.create(name, other)
      const { data } = yield* projects.list({ name: name.toLowerCase() })
      assert.deepStrictEqual(data, [made, twin])
      const { data: later } = yield* projects.list({ name: null, after: made.id })
      assert.deepStrictEqual(later[0], twin)
    })
  )

  it.effect("projects have members of their organization, whose role can change", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const { organization, project, user } = yield* someProject
      const { user: stranger } = yield* someOrganization
      const colleague = yield* someUserOf(organization)
      const { id } = project
      yield* projects.addMember(id, user.email.toUpperCase(), "owner")
      yield* projects.addMember(id, colleague.email, "owner")
      const changed = yield* projects.addMember(id, colleague.email, "member")
      assert.deepInclude(changed, { userId: colleague.id, email: colleague.email, role: "member" })
      const { data, hasMore } = yield* projects.members(id)
      assert.isFalse(hasMore)
      assert.sameDeepMembers(
        data.map(({ email, role }) => [email, role]),
        [
          [user.email, "owner"],
          [colleague.email, "member"]
        ]
      )
      assert.strictEqual(
        yield* tagOf(projects.addMember(id, stranger.email, "member")),
        "UserOfOtherOrganization"
      )
      assert.strictEqual(yield* tagOf(projects.addMember(id, "nobody@example.com", "member")), "UserNotFound")
      assert.strictEqual((yield* projects.get(id)).members, 2)

      yield* projects.removeMember(id, colleague.email)
      assert.strictEqual(yield* tagOf(projects.removeMember(id, colleague.email)), "ProjectMemberNotFound")
      assert.strictEqual(yield* tagOf(projects.removeMember(id, "nobody@example.com")), "UserNotFound")
      assert.strictEqual((yield* projects.get(id)).members, 1)
    })
  )

  it.effect("projects keep an owner who may sign in, also when two owners go at once", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const sql = yield* SqlClient.SqlClient
      const { organization, project, user } = yield* someProject
      const colleague = yield* someUserOf(organization)
      const { id } = project
      const disable = (disabled: boolean) =>
        sql`UPDATE users SET disabled_at = CASE WHEN ${disabled} THEN now() END WHERE id = ${colleague.id}`
      const changes: ReadonlyArray<
        (member: typeof user) => Effect.Effect<unknown, { readonly _tag: string }>
      > = [
        ({ email }) => projects.addMember(id, email, "member"),
        ({ email }) => projects.removeMember(id, email)
      ]
      yield* projects.addMember(id, user.email, "owner")
      for (const change of changes) {
        yield* projects.addMember(id, colleague.email, "member")
        assert.strictEqual(yield* tagOf(change(user)), "LastProjectOwner")
        yield* projects.addMember(id, colleague.email, "owner")
        yield* disable(true)
        assert.strictEqual(yield* tagOf(change(user)), "LastProjectOwner")
        yield* change(colleague)
        yield* disable(false)
      }
      for (const change of changes) {
        for (const { email } of [user, colleague]) yield* projects.addMember(id, email, "owner")
        const exits = yield* Effect.all(
          [user, colleague].map((member) => Effect.exit(change(member))),
          { concurrency: 2 }
        )
        assert.lengthOf(exits.filter(Exit.isSuccess), 1)
        const { data } = yield* projects.members(id)
        assert.lengthOf(
          data.filter(({ role }) => role === "owner"),
          1
        )
      }
    })
  )

  it.effect("projects that don't exist are told from those that do", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const { user } = yield* someOrganization
      const nobody = ProjectId.make(randomUUID())
      const file = yield* someFile(user.id, "text")
      const attempts: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        projects.get(nobody),
        projects.members(nobody),
        projects.addMember(nobody, user.email, "member"),
        projects.removeMember(nobody, user.email),
        projects.fileOwner(nobody, null),
        projects.fileOwner(nobody, user.email),
        projects.files(nobody, { status: null }),
        projects.addFile(nobody, file),
        projects.removeFile(nobody, file),
        projects.reindex(nobody)
      ]
      for (const attempt of attempts) assert.strictEqual(yield* tagOf(attempt), "ProjectNotFound")
    })
  )

  it.effect("projects give the files that are uploaded for them to their first owner", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const { organization, project, user } = yield* someProject
      const { user: stranger } = yield* someOrganization
      const colleague = yield* someUserOf(organization)
      const ownerOf = (email: string | null) => projects.fileOwner(project.id, email)
      yield* projects.addMember(project.id, colleague.email, "member")
      assert.strictEqual(yield* tagOf(ownerOf(null)), "ProjectOwnerMissing")
      yield* projects.addMember(project.id, user.email, "owner")
      yield* projects.addMember(project.id, colleague.email, "owner")
      assert.strictEqual(yield* ownerOf(null), colleague.email)
      assert.strictEqual(yield* ownerOf(user.email), user.email)
      assert.strictEqual(yield* tagOf(ownerOf(stranger.email)), "UserOfOtherOrganization")
      assert.strictEqual(yield* tagOf(ownerOf("nobody@example.com")), "UserNotFound")
    })
  )

  it.effect("projects have files of their organization, each once", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const { project, user } = yield* someProject
      const { user: stranger } = yield* someOrganization
      const { id } = project
      const file = yield* someFile(user.id, "a zebra\nand a horse", "animals.txt")
      const added = yield* projects.addFile(id, file)
      assert.deepInclude(added, {
        fileId: file,
        filename: "animals.txt",
        owner: user.email,
        status: "pending"
      })
      yield* settled(id)
      const { data } = yield* projects.files(id, { status: null })
      assert.deepStrictEqual(data, [{ ...added, status: "indexed", chunks: 2 }])
      assert.deepStrictEqual(yield* projects.addFile(id, file), data[0])
      assert.deepStrictEqual((yield* projects.files(id, { status: "pending" })).data, [])
      assert.deepStrictEqual(yield* foundIn(id, "zebra"), ["animals.txt"])

      const foreign = yield* someFile(stranger.id, "text")
      assert.strictEqual(yield* tagOf(projects.addFile(id, foreign)), "UserOfOtherOrganization")
      assert.strictEqual(yield* tagOf(projects.addFile(id, FileId.make(randomUUID()))), "FileNotFound")
      assert.strictEqual((yield* projects.get(id)).files, 1)

      yield* projects.removeFile(id, file)
      assert.deepStrictEqual(yield* foundIn(id, "zebra"), [])
      assert.strictEqual(yield* tagOf(projects.removeFile(id, file)), "FileNotFound")
      yield* projects.addFile(id, file)
      yield* settled(id)
      assert.deepStrictEqual(yield* foundIn(id, "zebra"), ["animals.txt"])
    })
  )

  it.effect("projects share nothing, also where they have a file in common", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const { organization, project, user } = yield* someProject
      const twin = yield* projects.create("twin", organization)
      const file = yield* someFile(user.id, "a zebra", "animals.txt")
      yield* projects.addFile(project.id, file)
      yield* projects.addFile(twin.id, file)
      yield* Effect.forEach([project.id, twin.id], settled)
      yield* projects.removeFile(project.id, file)
      assert.deepStrictEqual(yield* foundIn(project.id, "zebra"), [])
      assert.deepStrictEqual(yield* foundIn(twin.id, "zebra"), ["animals.txt"])
    })
  )

  it.effect("projects lose a file at once when its owner deletes it", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const sql = yield* SqlClient.SqlClient
      const { project, user } = yield* someProject
      const file = yield* someFile(user.id, "a zebra")
      yield* projects.addFile(project.id, file)
      yield* settled(project.id)
      yield* sql`DELETE FROM files WHERE id = ${file}::uuid`
      assert.deepStrictEqual(yield* foundIn(project.id, "zebra"), [])
      assert.deepStrictEqual((yield* projects.files(project.id, { status: null })).data, [])
    })
  )

  it.effect("projects have more files than a page", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const sql = yield* SqlClient.SqlClient
      const { project, user } = yield* someProject
      yield* sql`WITH made AS (
          INSERT INTO files (id, user_id, filename, purpose, bytes, sha256, storage_key, status, created_at)
          SELECT gen_random_uuid(), ${user.id}::uuid, 'f' || n, 'p', 1, sha256('x'), 'page-' || n, 'uploaded', now()
          FROM generate_series(1, 201) AS n RETURNING id
        )
        INSERT INTO project_files (project_id, file_id, added_by)
        SELECT ${project.id}::uuid, id, ${user.id}::uuid FROM made`
      const first = yield* projects.files(project.id, { status: null })
      assert.isTrue(first.hasMore)
      const after = first.data.at(-1)!.fileId
      const second = yield* projects.files(project.id, { status: "pending", after })
      assert.isFalse(second.hasMore)
      assert.strictEqual(new Set([...first.data, ...second.data].map(({ filename }) => filename)).size, 201)
    })
  )

  it.effect("projects are searched by proof of membership, which only the policy creates", () =>
    Effect.gen(function* () {
      const policy = yield* Policy
      const retrieval = yield* Retrieval
      const { project, user } = yield* someProject
      const search = (claim: { readonly projectId: ProjectId; readonly userId: typeof user.id }) =>
        // @ts-expect-error: whoever forgets to ask the policy is told by the compiler.
        retrieval.search(claim, { text: "zebra", limit: 1 })
      assert.isFunction(search)
      assert.strictEqual(yield* tagOf(policy.project(user.id, project.id)), "NotProjectMember")
    })
  )
})

layer(shared, { excludeTestServices: true })("Membership", (it) => {
  it.effect("membership is what the tables say at the moment of the question", () =>
    Effect.gen(function* () {
      const policy = yield* Policy
      const projects = yield* Projects
      const { organization, project, user } = yield* someProject
      const { user: stranger } = yield* someOrganization
      const colleague = yield* someUserOf(organization)
      const ask = ({ id }: typeof user) => policy.project(id, project.id)
      for (const nobody of [user, colleague, stranger]) {
        assert.strictEqual(yield* tagOf(ask(nobody)), "NotProjectMember")
      }
      yield* projects.addMember(project.id, user.email, "owner")
      yield* projects.addMember(project.id, colleague.email, "member")
      for (const member of [user, colleague]) {
        assert.deepStrictEqual({ ...(yield* ask(member)) }, { projectId: project.id, userId: member.id })
      }
      yield* projects.removeMember(project.id, colleague.email)
      assert.strictEqual(yield* tagOf(ask(colleague)), "NotProjectMember")
      const nowhere = ProjectId.make(randomUUID())
      assert.strictEqual(yield* tagOf(policy.project(user.id, nowhere)), "ProjectNotFound")
      assert.strictEqual(yield* tagOf(policy.projectOfOperator(nowhere)), "ProjectNotFound")
      assert.strictEqual((yield* policy.projectOfOperator(project.id)).projectId, project.id)
    })
  )
})
