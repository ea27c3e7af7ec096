import { randomUUID } from "node:crypto"
import { assert, layer, vi } from "@effect/vitest"
import { Effect } from "effect"
import { Erasure } from "../../src/erasure/Erasure.ts"
import { added } from "../audit/fixtures.ts"
import { failText, readText, settled, someFile } from "../retrieval/fixtures.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf, type Reply } from "../support/Wire.ts"
import { type Member, someMember, someOrganization, someProject } from "./ProjectsFixture.ts"

type Shared = Effect.Success<typeof someProject>

interface Rule {
  readonly what: string
  readonly request: (shared: Shared, files: Files) => readonly [string, string, unknown?]
  /** The outcome for each: 200, or the code of the error. */
  readonly owner?: string
  readonly member?: string
}

interface Files {
  /**
   * Files of the project's owner and of its member, in the project. The last file is the caller's own,
   * outside of the project.
   */
  readonly ofOwner: string
  readonly ofMember: string
  readonly ownFile: string
}

const rules: ReadonlyArray<Rule> = [
  { what: "inspect it", request: ({ id }) => ["GET", `/${id}`] },
  {
    what: "rename it",
    request: ({ id }) => ["PATCH", `/${id}`, { name: `renamed ${randomUUID()}` }],
    member: "not_project_owner"
  },
  { what: "list its members", request: ({ id }) => ["GET", `/${id}/members`] },
  {
    what: "add a member",
    request: ({ id, stranger }) => ["POST", `/${id}/members`, { email: stranger.email }],
    member: "not_project_owner"
  },
  {
    what: "change the role of a member",
    request: ({ id, member }) => ["PATCH", `/${id}/members/${member.id}`, { role: "owner" }],
    member: "not_project_owner"
  },
  {
    what: "remove its owner",
    request: ({ id, owner }) => ["DELETE", `/${id}/members/${owner.id}`],
    owner: "last_project_owner",
    member: "not_project_owner"
  },
  {
    what: "remove a member, or leave",
    request: ({ id, member }) => ["DELETE", `/${id}/members/${member.id}`]
  },
  { what: "list its files", request: ({ id }) => ["GET", `/${id}/files`] },
  {
    what: "add a file of one's own",
    request: ({ id }, { ownFile }) => ["POST", `/${id}/files`, { file_id: ownFile }]
  },
  {
    what: "remove a file of its owner",
    request: ({ id }, { ofOwner }) => ["DELETE", `/${id}/files/${ofOwner}`],
    member: "not_project_owner"
  },
  {
    what: "remove a file of the member",
    request: ({ id }, { ofMember }) => ["DELETE", `/${id}/files/${ofMember}`]
  },
  {
    what: "read the text of a file of its owner",
    request: ({ id }, { ofOwner }) => ["GET", `/${id}/files/${ofOwner}/text`]
  },
  { what: "search it", request: ({ id }) => ["POST", `/${id}/search`, { query: "hotel" }] },
  { what: "delete it", request: ({ id }) => ["DELETE", `/${id}`], member: "not_project_owner" }
]

const outcomeOf = ({ status, text }: Reply): string =>
  status === 200 ? "200" : String(JSON.parse(text).error.code)

const filesOf = Effect.fnUntraced(function* ({ id, member, owner }: Shared, caller: Member) {
  const ofOwner = yield* someFile(owner.id, "A hotel may cost 190 euros.", "travel.md")
  const ofMember = yield* someFile(member.id, "Trains are first class.", "trains.md")
  yield* owner.addFile(id, ofOwner)
  yield* member.addFile(id, ofMember)
  return { ofOwner, ofMember, ownFile: yield* someFile(caller.id, "Own.", "own.md") }
})

const send = (member: Member, [method, path, body]: readonly [string, string, unknown?]) =>
  member.send(method, path, body)

layer(TestApp.layer({ projects: { ownedMax: 3 } }), { excludeTestServices: true })("/v1/projects", (it) => {
  it.effect("a project that a user creates has the user as its owner, and is listed for its members", () =>
    Effect.gen(function* () {
      const { id, member, owner, stranger } = yield* someProject
      const project = yield* owner.get(id)
      assert.deepInclude(project, { object: "project", role: "owner", members: 2, bytes: 0 })
      assert.deepStrictEqual(project.file_counts, { pending: 0, indexed: 0, failed: 0, total: 0 })
      assert.deepStrictEqual((yield* member.list()).data, [{ ...project, role: "member" }])
      assert.deepStrictEqual((yield* stranger.list()).data, [])
      const members = yield* member.members(id)
      assert.sameDeepMembers(
        members.data.map(({ email, role }) => [email, role]),
        [
          [owner.email, "owner"],
          [member.email, "member"]
        ]
      )
    })
  )

  it.effect("projects are listed in pages, the newest first, or the oldest", () =>
    Effect.gen(function* () {
      const user = yield* someMember(yield* someOrganization)
      const ids = [(yield* user.create()).id, (yield* user.create()).id, (yield* user.create()).id]
      const first = yield* user.list("?limit=2")
      assert.deepInclude(first, { has_more: true, first_id: ids[2]!, last_id: ids[1]! })
      const rest = yield* user.list(`?limit=2&after=${first.last_id}`)
      assert.deepStrictEqual([rest.data.map(({ id }) => id), rest.has_more], [[ids[0]], false])
      assert.deepStrictEqual(
        (yield* user.list("?order=asc")).data.map(({ id }) => id),
        ids
      )
      errorOf(yield* user.send("GET", "?limit=101"), 400)
    })
  )

  for (const { member: ofMember = "200", owner: ofOwner = "200", request, what } of rules) {
    it.effect(`only those who may can ${what}: owners get ${ofOwner}, members ${ofMember}`, () =>
      Effect.gen(function* () {
        const expected = {
          owner: ofOwner,
          member: ofMember,
          stranger: "not_project_member",
          foreigner: "not_project_member"
        } as const
        for (const who of ["owner", "member", "stranger", "foreigner"] as const) {
          const shared = yield* someProject
          const caller = shared[who]
          const reply = yield* send(caller, request(shared, yield* filesOf(shared, caller)))
          assert.strictEqual(outcomeOf(reply), expected[who], `${who}: ${reply.text}`)
        }
      })
    )
  }

  it.effect("a project that doesn't exist, or is deleted, is a 404 for everybody", () =>
    Effect.gen(function* () {
      const shared = yield* someProject
      const files = yield* filesOf(shared, shared.owner)
      assert.strictEqual((yield* shared.owner.send("DELETE", `/${shared.id}`)).status, 200)
      for (const { request } of rules) {
        for (const gone of [shared, { ...shared, id: randomUUID() as typeof shared.id }]) {
          const reply = yield* send(shared.owner, request(gone, files))
          assert.strictEqual(errorOf(reply, 404).code, "project_not_found")
        }
      }
      assert.deepStrictEqual((yield* shared.member.list()).data, [])
    })
  )

  it.effect("a name is unique in an organization, regardless of case", () =>
    Effect.gen(function* () {
      const { id, owner, stranger } = yield* someProject
      const other = yield* stranger.create("Travel")
      const taken = yield* owner.send("POST", "", { name: "TRAVEL" })
      assert.strictEqual(errorOf(taken, 409).code, "project_exists")
      const renamed = yield* owner.send("PATCH", `/${id}`, { name: "travel" })
      assert.strictEqual(errorOf(renamed, 409).code, "project_exists")
      assert.strictEqual((yield* stranger.get(other.id)).name, "Travel")
      const elsewhere = yield* someMember(yield* someOrganization)
      assert.strictEqual((yield* elsewhere.create("travel")).name, "travel")
      for (const name of ["", " x", "x".repeat(101), randomUUID(), 7]) {
        assert.strictEqual(errorOf(yield* owner.send("POST", "", { name }), 400).param, "name")
      }
    })
  )

  it.effect("a user may own only so many projects", () =>
    Effect.gen(function* () {
      const user = yield* someMember(yield* someOrganization)
      for (let count = 0; count < 2; count++) yield* user.create()
      const { id } = yield* user.create()
      const refused = yield* user.send("POST", "", { name: "one more" })
      assert.strictEqual(errorOf(refused, 403).code, "project_quota_exceeded")
      yield* user.send("DELETE", `/${id}`)
      yield* user.create()
    })
  )

  it.effect("concurrent requests of a user can't create more projects than one user may own", () =>
    Effect.gen(function* () {
      const user = yield* someMember(yield* someOrganization)
      const replies = yield* Effect.all(
        Array.from({ length: 6 }, () => user.send("POST", "", { name: `project ${randomUUID()}` })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(replies.filter(({ status }) => status === 200).length, 3)
    })
  )

  it.effect("a project keeps an owner, also when two owners demote each other at once", () =>
    Effect.gen(function* () {
      const { id, member, owner } = yield* someProject
      const demote = (by: Member, who: Member) =>
        by.send("PATCH", `/${id}/members/${who.id}`, { role: "member" })
      assert.deepInclude(errorOf(yield* demote(owner, owner), 409), {
        code: "last_project_owner",
        param: "user_id"
      })
      const again = yield* owner.send("POST", `/${id}/members`, { email: owner.email, role: "member" })
      assert.deepInclude(errorOf(again, 409), { code: "last_project_owner", param: "email" })
      assert.strictEqual((yield* owner.addMember(id, owner.email)).role, "owner")
      yield* owner.addMember(id, member.email, "owner")
      yield* Effect.all([demote(owner, member), demote(member, owner)], { concurrency: 2 })
      const { data } = yield* owner.members(id)
      assert.deepStrictEqual(data.map(({ role }) => role).toSorted(), ["member", "owner"])
    })
  )

  it.effect(
    "an owner who is one no longer at the deletion itself deletes neither project nor vector store",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestApp
        const erasure = yield* Erasure
        const { id, member, owner } = yield* someProject
        const { deleteProject } = erasure
        /** Changes the member as soon as a request of the member has come as far as the deletion. */
        const deleteAfter = (change: Effect.Effect<Reply>, path: string) => {
          vi.spyOn(erasure, "deleteProject").mockImplementationOnce((access) =>
            Effect.andThen(change, deleteProject(access))
          )
          return call(`${url}${path}${id}`, { method: "DELETE", key: member.key })
        }
        const demoted = owner.send("PATCH", `/${id}/members/${member.id}`, { role: "member" })
        const removed = owner.send("DELETE", `/${id}/members/${member.id}`)
        const refusals = [
          [demoted, "/v1/projects/", 403, "not_project_owner"],
          [removed, "/v1/projects/", 403, "not_project_member"],
          [demoted, "/openai/v1/vector_stores/vs_", 403, "not_project_owner"],
          [removed, "/openai/v1/vector_stores/vs_", 404, "project_not_found"]
        ] as const
        for (const [change, path, status, code] of refusals) {
          yield* owner.addMember(id, member.email, "owner")
          assert.strictEqual(errorOf(yield* deleteAfter(change, path), status).code, code)
          assert.strictEqual((yield* owner.get(id)).id, id)
        }
      })
  )

  it.effect("only users of the organization become members, and those who are none can't be changed", () =>
    Effect.gen(function* () {
      const { foreigner, id, owner, stranger } = yield* someProject
      for (const email of [foreigner.email, "nobody@example.com"]) {
        const refused = yield* owner.send("POST", `/${id}/members`, { email })
        assert.strictEqual(errorOf(refused, 404).code, "user_not_found")
      }
      for (const { id: userId } of [stranger, foreigner]) {
        const path = `/${id}/members/${userId}`
        for (const reply of [
          yield* owner.send("PATCH", path, { role: "owner" }),
          yield* owner.send("DELETE", path)
        ]) {
          assert.deepInclude(errorOf(reply, 404), { code: "project_member_not_found", param: "user_id" })
        }
      }
    })
  )

  it.effect("members add files of their own only", () =>
    Effect.gen(function* () {
      const shared = yield* someProject
      const { id, member, owner } = shared
      const { ofOwner } = yield* filesOf(shared, owner)
      const outside = yield* someFile(owner.id, "Outside.", "outside.md")
      for (const file of [outside, ofOwner, randomUUID()]) {
        const refused = yield* member.send("POST", `/${id}/files`, { file_id: file })
        assert.strictEqual(errorOf(refused, 404).code, "file_not_found")
      }
      const listed = yield* member.files(id)
      assert.sameDeepMembers(
        listed.data.map((file) => [file.filename, file.owner, file.own]),
        [
          ["travel.md", owner.email, false],
          ["trains.md", member.email, true]
        ]
      )
    })
  )

  it.effect(
    "every member reads the text of a file until the membership, the file or its place in the project ends",
    () =>
      Effect.gen(function* () {
        const shared = yield* someProject
        const { id, member, owner } = shared
        const { ofMember, ofOwner } = yield* filesOf(shared, owner)
        const part = yield* member.text(id, ofOwner, "?from=2&to=7")
        assert.deepInclude(part, {
          filename: "travel.md",
          from: 2,
          to: 7,
          text: "hotel",
          length: 27,
          pages: null
        })
        const own = yield* someFile(owner.id, "In no project.", "own.md")
        const missing = [own, randomUUID()]
        for (const file of missing) {
          assert.strictEqual(
            errorOf(yield* member.send("GET", `/${id}/files/${file}/text`), 404).code,
            "file_not_found"
          )
        }
        const { url } = yield* TestApp
        yield* Effect.promise(() =>
          fetch(`${url}/v1/files/${ofMember}`, {
            method: "DELETE",
            headers: { authorization: `Bearer ${member.key}` }
          })
        )
        const deleted = yield* owner.send("GET", `/${id}/files/${ofMember}/text`)
        assert.strictEqual(errorOf(deleted, 404).code, "file_not_found")
        yield* owner.send("DELETE", `/${id}/members/${member.id}`)
        const removed = yield* member.send("GET", `/${id}/files/${ofOwner}/text`)
        assert.strictEqual(errorOf(removed, 403).code, "not_project_member")
        yield* owner.send("DELETE", `/${id}/files/${ofOwner}`)
        const taken = yield* owner.send("GET", `/${id}/files/${ofOwner}/text`)
        assert.strictEqual(errorOf(taken, 404).code, "file_not_found")
      })
  )

  it.effect("a text that is still being read, or can't be, is an error that says so", () =>
    Effect.gen(function* () {
      const { id, owner } = yield* someProject
      const file = yield* someFile(owner.id, null, "scan.pdf")
      yield* owner.addFile(id, file)
      const early = yield* owner.send("GET", `/${id}/files/${file}/text`)
      assert.strictEqual(errorOf(early, 400).code, "file_not_ready")
      yield* failText(file, "It has pictures only.")
      const unreadable = errorOf(yield* owner.send("GET", `/${id}/files/${file}/text`), 400)
      assert.strictEqual(unreadable.code, "file_unreadable")
      assert.include(unreadable.message, "It has pictures only.")
      const late = yield* someFile(owner.id, null, "late.md")
      yield* owner.addFile(id, late)
      yield* readText(late, "Read.")
      assert.strictEqual((yield* owner.text(id, late)).text, "Read.")
    })
  )

  it.effect("a search says which words it found where, and why it found nothing", () =>
    Effect.gen(function* () {
      const { id, member, owner } = yield* someProject
      assert.strictEqual((yield* member.search(id, "hotel")).nothing, "no_files")
      const text = "# Travel\n\nA hotel may cost 190 euros per night.\n"
      const file = yield* someFile(owner.id, text, "travel.md")
      yield* owner.addFile(id, file)
      yield* settled(id)
      const found = yield* member.search(id, "What do hotels cost?")
      const [hit] = found.data
      assert.deepInclude(hit, { file_id: file, filename: "travel.md", page: null })
      assert.strictEqual(text.slice(hit!.start, hit!.end), hit!.text)
      assert.sameMembers(
        hit!.words.map(({ word }) => word),
        ["hotels", "cost", "hotels cost"]
      )
      assert.isTrue(hit!.words.every(({ score }) => score > 0))
      const part = yield* member.text(id, file, `?from=${hit!.start}&to=${hit!.end}`)
      assert.strictEqual(part.text, hit!.text)
      assert.isAbove(found.passages, 0)
      const nothing = yield* member.search(id, "lighthouses")
      assert.deepInclude(nothing, { nothing: "no_match", data: [] })
      for (const body of [{ query: " " }, { query: "x".repeat(10_001) }, { query: "x", limit: 51 }, {}]) {
        errorOf(yield* member.send("POST", `/${id}/search`, body), 400)
      }
    })
  )

  it.effect("what users change with their keys is in the audit log, by the person, with the origin api", () =>
    Effect.gen(function* () {
      const { id, member, owner, stranger } = yield* someProject
      const file = yield* someFile(owner.id, "Notes.", "notes.md")
      const requests = [
        ["POST", `/${id}/members`, { email: stranger.email }],
        ["PATCH", `/${id}/members/${stranger.id}`, { role: "owner" }],
        ["DELETE", `/${id}/members/${member.id}`],
        ["POST", `/${id}/files`, { file_id: file }],
        ["DELETE", `/${id}/files/${file}`],
        ["PATCH", `/${id}`, { name: `renamed ${randomUUID()}` }],
        ["DELETE", `/${id}`]
      ] as const
      const { entries } = yield* added(Effect.forEach(requests, (request) => send(owner, request)))
      assert.deepStrictEqual(entries.map(({ action }) => action).toSorted(), [
        "project.delete",
        "project.file_add",
        "project.file_remove",
        "project.member_add",
        "project.member_remove",
        "project.member_role",
        "project.rename"
      ])
      for (const entry of entries) {
        const { actor, actorEmail, actorId, address, origin } = entry
        assert.deepStrictEqual(
          { actor, actorEmail, actorId, address, origin },
          {
            actor: "person",
            actorEmail: owner.email,
            actorId: owner.id,
            address: "127.0.0.1",
            origin: "api"
          }
        )
      }
    })
  )
})
