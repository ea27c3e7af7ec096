import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI from "openai"
import type { ProjectId } from "../../src/domain/Ids.ts"
import { Projects } from "../../src/projects/Projects.ts"
import { addFile } from "../retrieval/SearchFixture.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"

/** A project of Alice. */
const someProject = Effect.fnUntraced(function* (name: string) {
  const { alice } = yield* TestApp
  const projects = yield* Projects
  const { id } = yield* projects.create(name, "alice's")
  yield* projects.addMember(id, alice.email, "member")
  return id
})

const client = Effect.map(
  TestApp,
  ({ alice, url }) => new OpenAI({ apiKey: alice.key, baseURL: `${url}/openai/v1`, maxRetries: 0 })
)

const search = Effect.fnUntraced(function* (id: ProjectId, body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/openai/v1/vector_stores/vs_${id}/search`, { key: alice.key, body })
})

layer(TestApp.layer(), { excludeTestServices: true })("/openai/v1/vector_stores", (it) => {
  it.effect("the vector stores are the caller's projects, listed page by page, and shown", () =>
    Effect.gen(function* () {
      const openai = yield* client
      const ids: Array<string> = []
      for (const name of ["a", "b", "c"]) ids.push(`vs_${yield* someProject(name)}`)
      const listed = yield* Effect.promise(async () => {
        const found: Array<string> = []
        for await (const store of openai.vectorStores.list({ limit: 2 })) found.push(store.id)
        return found
      })
      assert.deepStrictEqual(listed, ids.toReversed())
      const first = yield* Effect.promise(() => openai.vectorStores.list({ limit: 1, order: "asc" }))
      assert.deepStrictEqual([first.data[0]?.id, first.has_more], [ids[0]!, true])
      const one = yield* Effect.promise(() => openai.vectorStores.retrieve(ids[1]!))
      assert.deepStrictEqual([one.name, one.object, one.status], ["b", "vector_store", "completed"])
    })
  )

  it.effect("the vector stores search the files of a project", () =>
    Effect.gen(function* () {
      const openai = yield* client
      const { alice } = yield* TestApp
      const id = yield* someProject("searched")
      const corpus = { projectId: id, user: alice.id }
      const { fileId } = yield* addFile(corpus, "The zebra has stripes.", "animals.md")
      yield* addFile(corpus, "The lion has a mane and no stripes.", "lions.md")
      const shown = yield* Effect.promise(() => openai.vectorStores.retrieve(`vs_${id}`))
      assert.deepStrictEqual([shown.file_counts.completed, shown.file_counts.total], [2, 2])
      const { data } = yield* Effect.promise(() =>
        openai.vectorStores.search(`vs_${id}`, { query: "zebra stripes", max_num_results: 3 })
      )
      assert.strictEqual(data[0]?.file_id, `file-${fileId}`)
      assert.strictEqual(data[0]?.filename, "animals.md")
      assert.include(data[0]?.content[0]?.text, "zebra")
      assert.isAbove(data[0]?.score ?? 0, 0)
      const both = yield* search(id, { query: ["zebra", "lion"], max_num_results: 1 })
      assert.strictEqual(JSON.parse(both.text).data.length, 1)
      const none = yield* search(id, { query: "stripes", ranking_options: { score_threshold: 1 } })
      assert.deepStrictEqual(JSON.parse(none.text).data, [])
    })
  )

  it.effect(
    "the vector stores of others are refused as missing ones, and nothing is shown without a key",
    () =>
      Effect.gen(function* () {
        const { bob, url } = yield* TestApp
        const id = yield* someProject("closed")
        const stores = `${url}/openai/v1/vector_stores`
        const list = yield* call(stores, { key: bob.key })
        assert.deepStrictEqual(JSON.parse(list.text).data, [])
        const body = { query: "zebra" }
        const missing = "019845e1-682f-4b02-a706-3b2422d13aff"
        for (const options of [{ key: bob.key }, { key: bob.key, body }]) {
          const refusalOf = (store: string) =>
            Effect.map(call(`${stores}/vs_${store}${"body" in options ? "/search" : ""}`, options), (reply) =>
              errorOf(reply, 404)
            )
          const refused = yield* refusalOf(id)
          assert.strictEqual(refused.code, "project_not_found")
          assert.deepStrictEqual(refused, yield* refusalOf(missing))
        }
        errorOf(yield* call(stores, {}), 401)
        errorOf(yield* call(`${stores}/vs_${id}/search`, { body }), 401)
      })
  )

  it.effect("the vector stores accept hints without an effect, and name them", () =>
    Effect.gen(function* () {
      const id = yield* someProject("hinted")
      const reply = yield* search(id, {
        query: "a",
        rewrite_query: true,
        ranking_options: { ranker: "default-2024-11-15" },
        foo: 1
      })
      assert.strictEqual(reply.status, 200, reply.text)
      assert.strictEqual(reply.headers.get("x-ignored-fields"), "foo, ranking_options.ranker, rewrite_query")
    })
  )

  const refused: ReadonlyArray<readonly [field: string, body: object]> = [
    ["query", {}],
    ["query", { query: "" }],
    ["max_num_results", { query: "a", max_num_results: 51 }],
    ["filters", { query: "a", filters: { type: "like", key: "a", value: "b" } }],
    ["filters.value", { query: "a", filters: { type: "in", key: "a", value: "b" } }],
    ["rewrite_query", { query: "a", rewrite_query: "yes" }],
    ["ranking_options.score_threshold", { query: "a", ranking_options: { score_threshold: 2 } }]
  ]
  for (const [field, body] of refused) {
    it.effect(`the vector stores refuse to search for ${JSON.stringify(body)} and name ${field}`, () =>
      Effect.gen(function* () {
        const id = yield* someProject(`refused ${JSON.stringify(body)}`)
        const { message, param } = errorOf(yield* search(id, body), 400)
        assert.isTrue(param?.startsWith(field), `${param}: ${message}`)
      })
    )
  }
})
