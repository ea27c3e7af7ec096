import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import OpenAI, { toFile } from "openai"
import type { FileId } from "../../src/domain/Ids.ts"
import { added } from "../audit/fixtures.ts"
import { type Member, someMember, someOrganization, someProject } from "../http/ProjectsFixture.ts"
import { someFile } from "../retrieval/fixtures.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf, type Reply } from "../support/Wire.ts"

const often = { pollIntervalMs: 20 }

const someClient = Effect.fnUntraced(function* ({ key }: Pick<Member, "key">) {
  const { url } = yield* TestApp
  return new OpenAI({ apiKey: key, baseURL: `${url}/openai/v1`, maxRetries: 0 })
})

/** A user of an organization of its own, and its client. */
const someOne = Effect.gen(function* () {
  const user = yield* someMember(yield* someOrganization)
  return { user, openai: yield* someClient(user) }
})

const send = Effect.fnUntraced(function* (
  { key }: Pick<Member, "key">,
  [method, path, body]: readonly [method: string, path: string, body?: unknown]
) {
  const { url } = yield* TestApp
  const stores = `${url}/openai/v1/vector_stores`
  return yield* call(`${stores}${path}`, { method, key, ...(body === undefined ? {} : { body }) })
})

const textFile = (name: string, text: string) => toFile(Buffer.from(text), name)

const outcomeOf = ({ status, text }: Reply): string =>
  status === 200 ? "200" : String(JSON.parse(text).error.code)

const names = (ids: Iterable<{ readonly id: string }>) => [...ids].map(({ id }) => id)

layer(TestApp.layer(), { excludeTestServices: true })("vector stores of a client", (it) => {
  it.effect("vector stores are created, changed, listed both ways, and deleted", () =>
    Effect.gen(function* () {
      const { openai } = yield* someOne
      yield* Effect.promise(async () => {
        const file = await openai.files.create({
          purpose: "assistants",
          file: await textFile("a.md", "Zebra.")
        })
        const made = await openai.vectorStores.create({
          name: "Animals",
          description: "All of them.",
          metadata: { team: "blue" },
          file_ids: [file.id, file.id]
        })
        assert.deepInclude(made, {
          object: "vector_store",
          name: "Animals",
          metadata: { team: "blue" }
        })
        assert.strictEqual(Reflect.get(made, "description"), "All of them.")
        assert.strictEqual(made.file_counts.total, 1)
        const unnamed = [await openai.vectorStores.create({}), await openai.vectorStores.create({})]
        assert.notStrictEqual(unnamed[0]!.name, unnamed[1]!.name)
        const changed = await openai.vectorStores.update(made.id, {
          name: "Beasts",
          metadata: { team: "red" }
        })
        assert.deepInclude(changed, { id: made.id, name: "Beasts", metadata: { team: "red" } })
        const kept = await openai.vectorStores.update(made.id, { name: null, metadata: null })
        assert.deepInclude(kept, { name: "Beasts", metadata: { team: "red" } })
        assert.deepStrictEqual(await openai.vectorStores.retrieve(made.id), kept)

        const all = [made.id, ...names(unnamed)]
        const page = (query: OpenAI.VectorStoreListParams) => openai.vectorStores.list(query)
        assert.deepStrictEqual(names((await page({})).data), all.toReversed())
        assert.deepStrictEqual(names((await page({ order: "asc", after: all[0]! })).data), all.slice(1))
        const before = await page({ order: "asc", before: all[2]!, limit: 1 })
        assert.deepStrictEqual([names(before.data), before.has_more], [[all[1]!], true])
        const first = await page({ before: all[0]! })
        assert.deepStrictEqual([names(first.data), first.has_more], [[all[2]!, all[1]!], false])

        const deleted = await openai.vectorStores.delete(made.id)
        assert.deepStrictEqual(deleted, { id: made.id, object: "vector_store.deleted", deleted: true })
        assert.deepStrictEqual(names((await page({ order: "asc" })).data), all.slice(1))
        assert.strictEqual((await openai.files.retrieve(file.id)).id, file.id)
      })
    })
  )

  it.effect("vector stores ignore how texts are cut and when stores end, and say so", () =>
    Effect.gen(function* () {
      const { user } = yield* someOne
      const ignored = {
        expires_after: { anchor: "last_active_at", days: 1 },
        chunking_strategy: { type: "auto" }
      }
      const made = yield* send(user, ["POST", "", { name: "a", ...ignored }])
      assert.strictEqual(made.headers.get("x-ignored-fields"), "expires_after, chunking_strategy")
      const { id } = JSON.parse(made.text)
      const { chunking_strategy } = ignored
      const fileId = yield* someFile(user.id, "Zebra.")
      const one = yield* send(user, ["POST", `/${id}/files`, { file_id: fileId, chunking_strategy }])
      assert.strictEqual(one.headers.get("x-ignored-fields"), "chunking_strategy")
      const files = [{ file_id: fileId, attributes: { a: 1 }, chunking_strategy }]
      const batch = yield* send(user, ["POST", `/${id}/file_batches`, { files }])
      assert.strictEqual(batch.headers.get("x-ignored-fields"), "files[0].chunking_strategy")
    })
  )

  it.effect("vector stores are not created where one of their files is missing, or their name is taken", () =>
    Effect.gen(function* () {
      const { user } = yield* someOne
      const { user: other } = yield* someOne
      const own = yield* someFile(user.id, "Zebra.")
      const file_ids = [own, yield* someFile(other.id, "Lion.")]
      const refused = errorOf(yield* send(user, ["POST", "", { name: "a", file_ids }]), 400)
      assert.deepStrictEqual([refused.code, refused.param], ["file_not_found", "file_ids[1]"])
      assert.strictEqual((yield* send(user, ["POST", "", { name: "a" }])).status, 200)
      const taken = errorOf(yield* send(user, ["POST", "", { name: "A" }]), 409)
      assert.deepStrictEqual([taken.code, taken.param], ["project_exists", "name"])
      assert.deepStrictEqual((yield* user.list()).data.length, 1)
    })
  )

  it.effect("vector stores have files that are added, found by their attributes, read, and removed", () =>
    Effect.gen(function* () {
      const { openai } = yield* someOne
      yield* Effect.promise(async () => {
        const { id } = await openai.vectorStores.create({ name: "a" })
        const { files } = openai.vectorStores
        const first = await files.uploadAndPoll(
          id,
          await textFile("first.md", "The zebra has stripes."),
          often
        )
        assert.deepInclude(first, {
          vector_store_id: id,
          status: "completed",
          attributes: {},
          last_error: null
        })
        const upload = await openai.files.create({
          purpose: "assistants",
          file: await textFile("second.md", "A zebra runs.")
        })
        const attributes = { year: 2_020, kind: "note", open: true }
        const second = await files.createAndPoll(id, { file_id: upload.id, attributes }, often)
        assert.deepStrictEqual([second.id, second.attributes], [upload.id, attributes])
        // Adding it again changes nothing but what is said.
        assert.deepStrictEqual((await files.create(id, { file_id: upload.id })).attributes, attributes)

        const found = await openai.vectorStores.search(id, {
          query: "zebra",
          filters: { type: "eq", key: "kind", value: "note" }
        })
        assert.deepStrictEqual(
          found.data.map((one) => [one.file_id, one.attributes]),
          [[second.id, attributes]]
        )
        const noted = await files.update(first.id, { vector_store_id: id, attributes: { kind: "note" } })
        assert.deepStrictEqual(noted.attributes, { kind: "note" })
        const both = await openai.vectorStores.search(id, {
          query: ["zebra", "stripes"],
          filters: { type: "eq", key: "kind", value: "note" }
        })
        assert.deepStrictEqual(
          both.data.map(({ file_id }) => file_id).toSorted(),
          [first.id, second.id].toSorted()
        )
        assert.deepStrictEqual(
          (await files.update(first.id, { vector_store_id: id, attributes: null })).attributes,
          {}
        )

        const content = await files.content(second.id, { vector_store_id: id })
        assert.deepStrictEqual(content.data, [{ type: "text", text: "A zebra runs." }])
        const removed = await files.delete(second.id, { vector_store_id: id })
        assert.deepStrictEqual(removed, { id: second.id, object: "vector_store.file.deleted", deleted: true })
        assert.deepStrictEqual(names((await files.list(id)).data), [first.id])
        assert.strictEqual((await openai.files.retrieve(second.id)).id, second.id)
      })
    })
  )

  it.effect("vector stores list their files page by page, both ways and by status", () =>
    Effect.gen(function* () {
      const { openai } = yield* someOne
      yield* Effect.promise(async () => {
        const { id } = await openai.vectorStores.create({})
        const { files } = openai.vectorStores
        const ids: Array<string> = []
        for (const name of ["a", "b", "c"]) {
          ids.push((await files.uploadAndPoll(id, await textFile(`${name}.md`, name), often)).id)
        }
        const garbage = await toFile(Buffer.from([0xff, 0xd8, 0xff, 0, 1, 2]), "d.docx")
        const failed = await files.uploadAndPoll(id, garbage, often)
        assert.deepInclude(failed, { status: "failed" })
        assert.isNotEmpty(failed.last_error?.message)
        ids.push(failed.id)
        const listed: Array<string> = []
        for await (const file of files.list(id, { limit: 3 })) listed.push(file.id)
        assert.deepStrictEqual(listed, ids.toReversed())
        const before = await files.list(id, { order: "asc", before: ids[3]!, limit: 2 })
        assert.deepStrictEqual([names(before.data), before.has_more], [ids.slice(1, 3), true])
        const states: ReadonlyArray<readonly [OpenAI.VectorStores.FileListParams["filter"], Array<string>]> =
          [
            ["completed", ids.slice(0, 3)],
            ["failed", ids.slice(3)],
            ["in_progress", []],
            ["cancelled", []]
          ]
        for (const [filter, expected] of states) {
          const some = await files.list(id, { order: "asc", ...(filter === undefined ? {} : { filter }) })
          assert.deepStrictEqual(names(some.data), expected, filter)
        }
        const { file_counts } = await openai.vectorStores.retrieve(id)
        assert.deepStrictEqual(file_counts, {
          in_progress: 0,
          completed: 3,
          failed: 1,
          cancelled: 0,
          total: 4
        })
      })
    })
  )

  it.effect("vector stores show a long text in pages", () =>
    Effect.gen(function* () {
      const { user } = yield* someOne
      const text = "0123456789".repeat(100_001)
      const fileId = yield* someFile(user.id, text)
      const { id } = yield* user.create()
      yield* user.addFile(id, fileId)
      const path = `/vs_${id}/files/file-${fileId}/content`
      const first = JSON.parse((yield* send(user, ["GET", path])).text)
      assert.deepInclude(first, { object: "vector_store.file_content.page", has_more: true })
      const rest = JSON.parse((yield* send(user, ["GET", `${path}?page=${first.next_page}`])).text)
      assert.deepInclude(rest, { has_more: false, next_page: null })
      const parts: ReadonlyArray<{ readonly text: string }> = [...first.data, ...rest.data]
      assert.isTrue(parts.map((part) => part.text).join("") === text)
      const beyond = JSON.parse((yield* send(user, ["GET", `${path}?page=${text.length + 1}`])).text)
      assert.deepInclude(beyond, { data: [], has_more: false, next_page: null })
      const refused = errorOf(yield* send(user, ["GET", `${path}?page=x`]), 400)
      assert.strictEqual(refused.param, "page")
    })
  )
})

layer(TestApp.layer(), { excludeTestServices: true })("batches of files", (it) => {
  it.effect("batches of files are added, waited for and listed by the client", () =>
    Effect.gen(function* () {
      const { openai } = yield* someOne
      yield* Effect.promise(async () => {
        const { id } = await openai.vectorStores.create({})
        const { fileBatches, files } = openai.vectorStores
        const some = await Promise.all(["a", "b"].map((name) => textFile(`${name}.md`, `The zebra ${name}.`)))
        const batch = await fileBatches.uploadAndPoll(id, { files: some }, often)
        assert.deepInclude(batch, {
          object: "vector_store.files_batch",
          vector_store_id: id,
          status: "completed"
        })
        assert.match(batch.id, /^vsfb_/)
        assert.deepStrictEqual(batch.file_counts, {
          in_progress: 0,
          completed: 2,
          failed: 0,
          cancelled: 0,
          total: 2
        })
        const listed = await fileBatches.listFiles(batch.id, { vector_store_id: id, filter: "completed" })
        assert.deepStrictEqual(names(listed.data), names((await files.list(id)).data))
        const [one, other] = names(listed.data)
        const noted = await fileBatches.createAndPoll(
          id,
          {
            files: [{ file_id: one!, attributes: { kind: "a" } }, { file_id: other! }],
            attributes: { kind: "b" }
          },
          often
        )
        const shown = await fileBatches.listFiles(noted.id, { vector_store_id: id })
        assert.deepStrictEqual(
          shown.data.map(({ attributes }) => attributes),
          [{ kind: "a" }, { kind: "b" }]
        )
        await files.delete(one!, { vector_store_id: id })
        const after = await fileBatches.retrieve(batch.id, { vector_store_id: id })
        assert.deepInclude(after.file_counts, { completed: 1, cancelled: 1, total: 2 })
        const cancelled = await fileBatches.cancel(batch.id, { vector_store_id: id })
        assert.strictEqual(cancelled.status, "completed")
      })
    })
  )

  it.effect("a cancelled batch removes the files that it added and that can't be found yet", () =>
    Effect.gen(function* () {
      const { openai, user } = yield* someOne
      const waiting = [yield* someFile(user.id, null), yield* someFile(user.id, null)]
      const [before, added] = waiting.map((id) => `file-${id}`)
      yield* Effect.promise(async () => {
        const { id } = await openai.vectorStores.create({ file_ids: [before!] })
        const ready = await openai.files.create({
          purpose: "assistants",
          file: await textFile("a.md", "Zebra.")
        })
        await openai.vectorStores.files.createAndPoll(id, { file_id: ready.id }, often)
        const { fileBatches, files } = openai.vectorStores
        const batch = await fileBatches.create(id, { file_ids: [before!, added!, ready.id] })
        assert.deepStrictEqual([batch.status, batch.file_counts.in_progress], ["in_progress", 2])
        const waits = await fileBatches.retrieve(batch.id, { vector_store_id: id }).asResponse()
        assert.strictEqual(waits.headers.get("openai-poll-after-ms"), "500")
        const cancelled = await fileBatches.cancel(batch.id, { vector_store_id: id })
        assert.strictEqual(cancelled.status, "cancelled")
        assert.deepStrictEqual(cancelled.file_counts, {
          in_progress: 1,
          completed: 1,
          failed: 0,
          cancelled: 1,
          total: 3
        })
        assert.sameMembers(names((await files.list(id)).data), [before!, ready.id])
        assert.strictEqual((await openai.files.retrieve(added!)).id, added)
      })
    })
  )

  it.effect(
    "batches of files are forgotten after 30 days, or behind a thousand newer ones, and their files stay",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { user } = yield* someOne
        const { id } = yield* user.create()
        const fileId = yield* someFile(user.id, "Zebra.")
        const addOne = Effect.map(
          send(user, ["POST", `/${id}/file_batches`, { file_ids: [fileId] }]),
          (reply) => String(JSON.parse(reply.text).id)
        )
        const isKnown = (batch: string) =>
          Effect.map(send(user, ["GET", `/${id}/file_batches/${batch}`]), ({ status }) => status === 200)
        const old = yield* addOne
        yield* sql`UPDATE file_batches SET created_at = now() - interval '31 days' WHERE project_id = ${id}::uuid`
        const first = yield* addOne
        assert.deepStrictEqual([yield* isKnown(old), yield* isKnown(first)], [false, true])
        yield* sql`INSERT INTO file_batches (id, project_id)
        SELECT gen_random_uuid(), ${id}::uuid FROM generate_series(1, 998)`
        const second = yield* addOne
        assert.deepStrictEqual([yield* isKnown(first), yield* isKnown(second)], [true, true])
        const third = yield* addOne
        assert.deepStrictEqual([yield* isKnown(first), yield* isKnown(third)], [false, true])
        assert.lengthOf((yield* user.files(id)).data, 1)
      })
  )

  it.effect("batches of files are added wholly or not at all", () =>
    Effect.gen(function* () {
      const { user } = yield* someOne
      const { id } = yield* user.create()
      const own = yield* someFile(user.id, "Zebra.")
      const { user: other } = yield* someOne
      const foreign = yield* someFile(other.id, "Lion.")
      const batches: ReadonlyArray<readonly [string, object]> = [
        ["file_ids[1]", { file_ids: [own, foreign] }],
        ["files[1].file_id", { files: [{ file_id: own }, { file_id: foreign }] }]
      ]
      for (const [param, body] of batches) {
        const refused = errorOf(yield* send(user, ["POST", `/${id}/file_batches`, body]), 400)
        assert.deepStrictEqual([refused.code, refused.param], ["file_not_found", param])
      }
      assert.deepStrictEqual((yield* user.files(id)).data, [])
      const unknown = yield* send(user, ["GET", `/${id}/file_batches/vsfb_${randomUUID()}`])
      assert.strictEqual(errorOf(unknown, 404).code, "file_batch_not_found")
    })
  )
})

interface Files {
  readonly ofOwner: FileId
  readonly ofMember: FileId
  readonly ownFile: FileId
  /** With a file of the owner that is still to be read. */
  readonly batch: string
}

type Request = readonly [string, string, unknown?]

/** Who may do what: members get 200 unless it says else, and owners always. */
const rules: ReadonlyArray<readonly [what: string, (files: Files) => Request, member?: string]> = [
  ["inspect it", () => ["GET", ""]],
  ["change it", () => ["POST", "", { metadata: { a: "b" } }], "not_project_owner"],
  ["delete it", () => ["DELETE", ""], "not_project_owner"],
  ["search it", () => ["POST", "/search", { query: "hotel" }]],
  ["list its files", () => ["GET", "/files"]],
  ["add a file of one's own", ({ ownFile }) => ["POST", "/files", { file_id: ownFile }]],
  ["add files of one's own", ({ ownFile }) => ["POST", "/file_batches", { file_ids: [ownFile] }]],
  ["inspect a file of its owner", ({ ofOwner }) => ["GET", `/files/${ofOwner}`]],
  ["read a file of its owner", ({ ofOwner }) => ["GET", `/files/${ofOwner}/content`]],
  [
    "note something of a file of its owner",
    ({ ofOwner }) => ["POST", `/files/${ofOwner}`, { attributes: { a: 1 } }],
    "not_project_owner"
  ],
  [
    "note something of a file of the member",
    ({ ofMember }) => ["POST", `/files/${ofMember}`, { attributes: { a: 1 } }]
  ],
  ["take out a file of its owner", ({ ofOwner }) => ["DELETE", `/files/${ofOwner}`], "not_project_owner"],
  ["take out a file of the member", ({ ofMember }) => ["DELETE", `/files/${ofMember}`]],
  ["inspect a batch", ({ batch }) => ["GET", `/file_batches/${batch}`]],
  ["list the files of a batch", ({ batch }) => ["GET", `/file_batches/${batch}/files`]],
  ["cancel the owner's batch", ({ batch }) => ["POST", `/file_batches/${batch}/cancel`], "not_project_owner"]
]

layer(TestApp.layer(), { excludeTestServices: true })("the rights to vector stores", (it) => {
  it.effect.each(rules)("only those who may can %s", ([what, request, ofMember = "200"]) =>
    Effect.gen(function* () {
      const shared = yield* someProject
      const { id, member, owner } = shared
      const ofOwner = yield* someFile(owner.id, "A hotel may cost 190 euros.")
      const ofTheMember = yield* someFile(member.id, "Trains are first class.")
      yield* owner.addFile(id, ofOwner)
      yield* member.addFile(id, ofTheMember)
      const unread = yield* someFile(owner.id, null)
      const made = yield* send(owner, ["POST", `/${id}/file_batches`, { file_ids: [unread] }])
      const batch = String(JSON.parse(made.text).id)
      const expected = {
        stranger: "project_not_found",
        member: ofMember,
        // The member's request has already made the change if members may make it.
        ...(ofMember === "200" ? {} : { owner: "200" })
      } as const
      for (const [who, outcome] of Object.entries(expected)) {
        const caller = who === "stranger" ? shared.stranger : who === "member" ? member : owner
        const ownFile = yield* someFile(caller.id, "Own.")
        const [method, path, body] = request({ ofOwner, ofMember: ofTheMember, ownFile, batch })
        const reply = yield* send(caller, [method, `/vs_${id}${path}`, body])
        assert.strictEqual(outcomeOf(reply), outcome, `${what}, ${who}: ${reply.text}`)
        if (reply.status >= 400) assert.strictEqual(errorOf(reply, reply.status).param, "vector_store_id")
      }
    })
  )

  it.effect("every change is recorded as the caller's", () =>
    Effect.gen(function* () {
      const { openai, user } = yield* someOne
      const fileId = yield* someFile(user.id, null)
      const { entries } = yield* added(
        Effect.promise(async () => {
          const { id } = await openai.vectorStores.create({ name: "a", file_ids: [fileId] })
          await openai.vectorStores.update(id, { name: "b", metadata: { a: "b" } })
          await openai.vectorStores.files.update(fileId, { vector_store_id: id, attributes: { a: 1 } })
          await openai.vectorStores.files.delete(fileId, { vector_store_id: id })
          const batch = await openai.vectorStores.fileBatches.create(id, { file_ids: [fileId] })
          await openai.vectorStores.fileBatches.cancel(batch.id, { vector_store_id: id })
          await openai.vectorStores.delete(id)
        })
      )
      assert.deepStrictEqual(
        entries.map(({ action }) => action),
        [
          "project.create",
          "project.member_add",
          "project.file_add",
          "project.rename",
          "project.note",
          "project.file_note",
          "project.file_remove",
          "project.file_add",
          "project.file_remove",
          "project.delete"
        ]
      )
      assert.isTrue(entries.every(({ actorId, origin }) => actorId === user.id && origin === "api"))
    })
  )
})

layer(TestApp.layer(), { excludeTestServices: true })("what clients send of vector stores", (it) => {
  const id = "019845e1-682f-7b02-a706-3b2422d13aff"
  const many = Array.from({ length: 501 }, () => id)
  const pairs = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`key ${at}`, at]))
  const attributes: ReadonlyArray<readonly [string, unknown]> = [
    ["attributes", pairs(17)],
    ["attributes", { ["k".repeat(65)]: 1 }],
    ["attributes.a", { a: "x".repeat(513) }],
    ["attributes.a", { a: null }],
    ["attributes.a", { a: [1] }],
    ["attributes", "a"]
  ]
  const refused: ReadonlyArray<readonly [param: string, path: string, body: unknown]> = [
    ["name", "", { name: " a" }],
    ["name", "", { name: "x".repeat(101) }],
    ["description", "", { description: "x".repeat(513) }],
    ["metadata", "", { metadata: { a: "x".repeat(513) } }],
    ["file_ids", "", { file_ids: many }],
    ["file_ids[0]", "", { file_ids: ["a"] }],
    ["name", `/${id}`, { name: 7 }],
    ["file_id", `/${id}/files`, {}],
    ["attributes", `/${id}/files/${id}`, {}],
    ["file_ids", `/${id}/file_batches`, { file_ids: many }],
    ["files", `/${id}/file_batches`, { files: many.map((file_id) => ({ file_id })) }],
    ["files[0].file_id", `/${id}/file_batches`, { files: [{}] }],
    ["files[0].attributes.a", `/${id}/file_batches`, { files: [{ file_id: id, attributes: { a: null } }] }],
    ["", `/${id}/file_batches`, {}],
    ["", `/${id}/file_batches`, { file_ids: [] }],
    ["", `/${id}/file_batches`, { file_ids: [id], files: [{ file_id: id }] }],
    ...attributes.map(
      ([param, value]) => [param, `/${id}/files`, { file_id: id, attributes: value }] as const
    ),
    ...attributes.map(([param, value]) => [param, `/${id}/files/${id}`, { attributes: value }] as const)
  ]
  it.effect.each(refused)("a wrong request to a vector store is refused for %s (%#)", ([param, path, body]) =>
    Effect.gen(function* () {
      const { user } = yield* someOne
      const error = errorOf(yield* send(user, ["POST", path, body]), 400)
      assert.strictEqual(error.param ?? "", param, error.message)
    })
  )

  it.effect("a wrong query of a list is refused, and so is a key that isn't honored", () =>
    Effect.gen(function* () {
      const { user } = yield* someOne
      const { id: own } = yield* user.create()
      for (const [param, query] of [
        ["limit", "limit=101"],
        ["order", "order=up"],
        ["before", "before=a"],
        ["filter", "filter=done"]
      ] as const) {
        const error = errorOf(yield* send(user, ["GET", `/vs_${own}/files?${query}`]), 400)
        assert.strictEqual(error.param, param)
      }
      const { url } = yield* TestApp
      const keyed = yield* call(`${url}/openai/v1/vector_stores`, {
        key: user.key,
        headers: { "idempotency-key": "a" },
        body: { name: "a" }
      })
      assert.strictEqual(errorOf(keyed, 400).param, "Idempotency-Key")
    })
  )
})
