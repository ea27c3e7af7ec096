import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import OpenAI from "openai"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import type { ProjectId } from "../../src/domain/Ids.ts"
import { Projects } from "../../src/projects/Projects.ts"
import { addFile } from "../retrieval/SearchFixture.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(ResponseResource))
const question = "How long is the warranty of the pump?"

/** A project of alice's, with texts that can be found, each under its name and with the attribute `year`. */
const project = Effect.fnUntraced(function* (files: Readonly<Record<string, readonly [string, number]>>) {
  const { alice } = yield* TestApp
  const projects = yield* Projects
  const sql = yield* SqlClient.SqlClient
  const { id } = yield* projects.create(crypto.randomUUID(), "alice's")
  yield* projects.addMember(id, alice.email, "member")
  for (const [name, [text, year]] of Object.entries(files)) {
    const { fileId } = yield* addFile({ projectId: id, user: alice.id }, text, name)
    yield* sql`UPDATE project_files SET attributes = ${JSON.stringify({ year, section: "law" })}::jsonb
      WHERE project_id = ${id}::uuid AND file_id = ${fileId}::uuid`
  }
  return id
})

const respond = Effect.fnUntraced(function* (body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/openai/v1/responses`, { key: alice.key, body: { input: question, ...body } })
})

const ask = Effect.fnUntraced(function* (tool: object) {
  const model = yield* ScriptedModel
  yield* model.change({ contextWindow: 20_000 })
  yield* model.next(says("Five years."))
  const reply = yield* respond({
    tools: [{ type: "file_search", ...tool }],
    include: ["file_search_call.results"]
  })
  assert.strictEqual(reply.status, 200, reply.text)
  const response = decode(reply.text)
  const [search] = response.output
  const results = search?.type === "file_search_call" ? (search.results ?? []) : assert.fail(reply.text)
  return { reply, response, results, names: results.map(({ filename }) => filename) }
})

const stores = (...ids: ReadonlyArray<ProjectId>) => ({ vector_store_ids: ids.map((id) => `vs_${id}`) })

const old = ["The warranty of the pump lasts five years.", 1_990] as const
const young = ["The pump is blue, and so is the wall behind it.", 2_020] as const
const other = ["The garden is green.", 2_020] as const

layer(TestApp.layer(), { excludeTestServices: true })("The tool file_search with vector stores", (it) => {
  it.effect("file_search ranks the passages of several stores together, and shows their attributes", () =>
    Effect.gen(function* () {
      const first = yield* project({ "young.md": young })
      const second = yield* project({ "old.md": old, "other.md": other })
      const { names, response, results } = yield* ask({
        ...stores(first, second, first),
        max_num_results: 5
      })
      assert.deepStrictEqual(names, ["old.md", "young.md"])
      const [best, next] = results
      assert.isTrue(best!.score > next!.score && best!.score < 1 && next!.score > 0, JSON.stringify(results))
      assert.include(best!.text, "five years")
      assert.match(best!.file_id, /^file-/)
      assert.deepInclude(best!.attributes, { year: 1_990, section: "law", number: 1, start: 0 })
      const [tool] = response.tools
      assert.deepInclude(tool, { type: "file_search", max_num_results: 5, ...stores(first, second, first) })
      // A search without a maximum shows every result that has room.
      assert.deepStrictEqual((yield* ask(stores(second, first))).names.toSorted(), [
        "old.md",
        "other.md",
        "young.md"
      ])
    })
  )

  it.effect("file_search returns as many results as requested, of the files that a filter leaves", () =>
    Effect.gen(function* () {
      const id = yield* project({ "young.md": young, "old.md": old, "other.md": other })
      const is = (year: number) => ({ filters: { type: "eq", key: "year", value: year } })
      assert.deepStrictEqual((yield* ask({ ...stores(id), max_num_results: 1 })).names, ["old.md"])
      const filtered = { ...stores(id), max_num_results: 1, ...is(2_020) }
      assert.deepStrictEqual((yield* ask(filtered)).names, ["young.md"])
      const wide = yield* ask({ ...stores(id), ...is(2_020) })
      assert.deepStrictEqual(wide.names.toSorted(), ["other.md", "young.md"])
      assert.deepStrictEqual((yield* ask({ ...stores(id), ...is(1) })).names, [])
      const nested = {
        type: "or",
        filters: [
          { type: "and", filters: [{ type: "lt", key: "year", value: 2_000 }] },
          { type: "in", key: "year", value: ["2020"] }
        ]
      }
      assert.deepStrictEqual((yield* ask({ ...stores(id), filters: nested })).names, ["old.md"])
    })
  )

  it.effect("file_search leaves out results below the least score, and names the ignored ranker", () =>
    Effect.gen(function* () {
      const id = yield* project({ "old.md": old, "young.md": young, "other.md": other })
      const { results } = yield* ask({ ...stores(id), max_num_results: 50 })
      const between = (results[0]!.score + results[1]!.score) / 2
      const ranking_options = { score_threshold: between, ranker: "default-2024-11-15" }
      const { names, reply } = yield* ask({ ...stores(id), ranking_options })
      assert.deepStrictEqual(names, ["old.md"])
      assert.strictEqual(reply.headers.get("x-ignored-fields"), "tools[0].ranking_options.ranker")
    })
  )

  it.effect("file_search keeps neither passages nor attributes with a response", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const { response } = yield* ask(stores(yield* project({ "old.md": old })))
      const stored = yield* call(`${url}/openai/v1/responses/${response.id}`, { key: alice.key })
      const [search] = decode(stored.text).output
      const [result] = search?.type === "file_search_call" ? (search.results ?? []) : []
      assert.strictEqual(result?.text, "")
      assert.deepStrictEqual(Object.keys(result?.attributes ?? {}).toSorted(), ["end", "number", "start"])
    })
  )

  it.effect("file_search calls a store missing that the caller can't read, and names it", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const own = yield* project({})
      const { id: foreign } = yield* projects.create(crypto.randomUUID(), "bob's")
      for (const id of [foreign, "019845e1-682f-7b02-a706-3b2422d13aff"]) {
        const tools = [
          { type: "web_search" },
          { type: "file_search", vector_store_ids: [`vs_${own}`, `vs_${id}`] }
        ]
        const { code, param } = errorOf(yield* respond({ tools }), 404)
        assert.deepStrictEqual([code, param], ["project_not_found", "tools[1].vector_store_ids[1]"])
      }
    })
  )

  const id = "vs_019845e1-682f-7b02-a706-3b2422d13aff"
  const some = { vector_store_ids: [id] }
  const is = { type: "eq", key: "a", value: 1 }
  const deep = (levels: number): object =>
    levels === 1 ? is : { type: "and", filters: [is, deep(levels - 1)] }
  const refused: ReadonlyArray<readonly [param: string, tool: object]> = [
    ["vector_store_ids", { vector_store_ids: [] }],
    ["vector_store_ids", { vector_store_ids: Array.from({ length: 9 }, () => id) }],
    ["vector_store_ids[1]", { vector_store_ids: [id, "vs_1"] }],
    ["max_num_results", { ...some, max_num_results: 0 }],
    ["max_num_results", { ...some, max_num_results: 51 }],
    ["ranking_options.score_threshold", { ...some, ranking_options: { score_threshold: 1.1 } }],
    ["filters", { ...some, filters: { type: "like", key: "a", value: "b" } }],
    ["filters.value", { ...some, filters: { type: "in", key: "a", value: 1 } }],
    ["filters.value", { ...some, filters: { type: "eq", key: "a", value: [1] } }],
    ["filters.value", { ...some, filters: { type: "gt", key: "a", value: true } }],
    ["filters.value", { ...some, filters: { type: "eq", key: "a", value: "b".repeat(513) } }],
    ["filters.key", { ...some, filters: { type: "eq", key: "", value: 1 } }],
    ["filters.filters", { ...some, filters: { type: "and", filters: [] } }],
    ["filters.filters[1].value", { ...some, filters: { type: "or", filters: [is, { ...is, value: null }] } }],
    ["filters", { ...some, filters: deep(6) }],
    [
      "filters",
      {
        ...some,
        filters: {
          type: "or",
          filters: [{ type: "and", filters: Array.from({ length: 64 }, () => is) }, is]
        }
      }
    ]
  ]
  it.effect.each(refused)("file_search refuses %s of a tool, and names it (%#)", ([field, tool]) =>
    Effect.gen(function* () {
      const reply = yield* respond({ tools: [{ type: "file_search", ...tool }] })
      const { message, param } = errorOf(reply, 400)
      assert.strictEqual(param, `tools[0].${field}`, message)
      assert.include(message, "must be")
    })
  )

  it.effect("file_search is used by the client of OpenAI", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      const [one, two] = [yield* project({ "young.md": young }), yield* project({ "old.md": old })]
      yield* model.change({ contextWindow: 20_000 })
      yield* model.next(says("Five years."))
      const openai = new OpenAI({ apiKey: alice.key, baseURL: `${url}/openai/v1`, maxRetries: 0 })
      const response = yield* Effect.promise(() =>
        openai.responses.create({
          model: "auto",
          input: question,
          include: ["file_search_call.results"],
          tools: [
            {
              type: "file_search",
              vector_store_ids: [`vs_${one}`, `vs_${two}`],
              max_num_results: 3,
              filters: { type: "gte", key: "year", value: 2_000 },
              ranking_options: { ranker: "auto", score_threshold: 0.1 }
            }
          ]
        })
      )
      const [search] = response.output
      const results = search?.type === "file_search_call" ? (search.results ?? []) : []
      assert.deepStrictEqual(
        results.map(({ filename }) => filename),
        ["young.md"]
      )
    })
  )
})
