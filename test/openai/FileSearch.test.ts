import { createOpenAI as createOpenAi4 } from "@ai-sdk/openai"
import { assert, layer } from "@effect/vitest"
import * as ai7 from "ai"
import * as ai5 from "ai-5"
import * as ai6 from "ai-6"
import { createOpenAI as createOpenAi2 } from "ai-sdk-openai-2"
import { createOpenAI as createOpenAi3 } from "ai-sdk-openai-3"
import { Effect, Schema } from "effect"
import OpenAi4 from "openai-4"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import { Projects } from "../../src/projects/Projects.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { untilValue } from "../support/until.ts"
import { upload } from "../support/Uploads.ts"
import { call, errorOf } from "../support/Wire.ts"
import { framesIn } from "./frames.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(ResponseResource))
const question = "How long is the warranty of the pump?"
const answer = "Five years [1]."

/** A project of alice's with one file that can be found. */
const project = Effect.gen(function* () {
  const { alice } = yield* TestApp
  const projects = yield* Projects
  const { id } = yield* projects.create(crypto.randomUUID(), "alice's")
  yield* projects.addMember(id, alice.email, "member")
  const file = yield* upload(alice, "pumps.md", "# Pumps\n\nThe warranty of the pump lasts five years.\n")
  yield* projects.addFile(id, file.id)
  yield* untilValue(projects.files(id, { status: "indexed" }), ({ data }) => data.length === 1)
  return { id, fileId: `file-${file.id}` }
})

const post = Effect.fnUntraced(function* (body: object) {
  const { alice, url } = yield* TestApp
  const reply = yield* call(`${url}/openai/v1/responses`, {
    key: alice.key,
    body: { input: question, ...body }
  })
  assert.strictEqual(reply.status, 200, reply.text)
  return reply.text
})

layer(TestApp.layer(), { excludeTestServices: true })("The tool file_search", (it) => {
  it.effect("file_search searches the project that it names, and shows its results on request", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const { fileId, id } = yield* project
      yield* model.change({ contextWindow: 20_000 })
      yield* model.next(says(answer), says(answer))
      const tools = [{ type: "file_search", vector_store_ids: [`vs_${id}`] }]
      const brief = decode(yield* post({ tools }))
      const [search, message] = brief.output
      assert.deepInclude(search, { type: "file_search_call", queries: [question], results: null })
      const cited = { type: "file_citation" as const, file_id: fileId, filename: "pumps.md", index: 11 }
      const [part] = message?.type === "message" ? message.content : []
      assert.deepStrictEqual(part?.type === "output_text" && part.annotations, [cited])

      const include = ["file_search_call.results"]
      const events = framesIn(yield* post({ tools, include, stream: true }))
      const { items } = assertProfileGrammar(events)
      const [found] = items
      assert.strictEqual(found?.type === "file_search_call" ? found.results?.[0]?.file_id : null, fileId)
      const annotations = events.flatMap((event) =>
        event.type === "response.output_text.annotation.added" ? [event.annotation] : []
      )
      assert.deepStrictEqual(annotations, [cited])
    })
  )

  it.effect("file_search shows nothing of projects of which the caller is no member", () =>
    Effect.gen(function* () {
      const { bob, url } = yield* TestApp
      const { id } = yield* project
      const tools = [{ type: "file_search", vector_store_ids: [id] }]
      const reply = yield* call(`${url}/openai/v1/responses`, { key: bob.key, body: { input: "Hi", tools } })
      assert.strictEqual(errorOf(reply, 404).code, "project_not_found")
    })
  )

  it.effect("file_search is used by openai 4", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      const { id } = yield* project
      yield* model.change({ contextWindow: 20_000 })
      yield* model.next(says(answer))
      const openai = new OpenAi4({ apiKey: alice.key, baseURL: `${url}/openai/v1`, maxRetries: 0 })
      const response = yield* Effect.promise(() =>
        openai.responses.create({
          model: "auto",
          input: question,
          tools: [{ type: "file_search", vector_store_ids: [`vs_${id}`] }]
        })
      )
      assert.deepStrictEqual(
        response.output.map(({ type }) => type),
        ["file_search_call", "message"]
      )
    })
  )

  const majors = [
    ["ai 5", ai5 as unknown as typeof ai7, createOpenAi2 as unknown as typeof createOpenAi4],
    ["ai 6", ai6 as unknown as typeof ai7, createOpenAi3 as unknown as typeof createOpenAi4],
    ["ai 7", ai7, createOpenAi4]
  ] as const
  for (const [name, ai, createOpenAi] of majors) {
    it.effect(`file_search is used by ${name}, whole and streamed`, () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const model = yield* ScriptedModel
        const { id } = yield* project
        yield* model.change({ contextWindow: 20_000 })
        yield* model.next(says(answer), says(answer))
        const openai = createOpenAi({ apiKey: alice.key, baseURL: `${url}/openai/v1` })
        const request = {
          model: openai.responses("auto"),
          prompt: question,
          tools: { file_search: openai.tools.fileSearch({ vectorStoreIds: [`vs_${id}`] }) }
        }
        const seen = yield* Effect.promise(async () => {
          const whole = await ai.generateText(request)
          const streamed = ai.streamText(request)
          let said = ""
          for await (const piece of streamed.textStream) said += piece
          const sources = await streamed.sources
          return [whole.text, said, whole.sources.length, sources.length]
        })
        assert.deepStrictEqual(seen, [answer, answer, 1, 1])
      })
    )
  }
})
