import { randomBytes, randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { ResponseJobs } from "../../src/conversations/ResponseJobs.ts"
import { ApiKeyId, ResponseId, UserId } from "../../src/domain/Ids.ts"
import { UserExport } from "../../src/erasure/UserExport.ts"
import { says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { until, untilValue } from "../support/until.ts"
import { call, errorOf } from "../support/Wire.ts"
import { decodeResponse, responsesAt, show } from "./jobCalls.ts"

/** A PNG of so many bytes. */
const png = (bytes: number) =>
  Buffer.concat([
    Buffer.from("89504e470d0a1a0a0000000d494844520000000100000001", "hex"),
    Buffer.from("08060000001f15c48900100000", "hex"),
    Buffer.from("IDAT"),
    randomBytes(bytes)
  ]).toString("base64")

const question = (image: string, more: object = {}) => ({
  input: [
    {
      role: "user",
      content: [
        { type: "input_text", text: "What is it?" },
        { type: "input_image", image_url: `data:image/png;base64,${image}` }
      ]
    }
  ],
  instructions: "Be brief.",
  ...more
})

const bodyBytesMax = 1_000_000

/** The images of each request that the model got. */
const imagesAsked = Effect.gen(function* () {
  const { asked } = yield* ScriptedModel
  return (yield* asked).map(({ request }) =>
    request.messages.flatMap((one) => (one.role === "user" ? (one.images ?? []) : [])).map(({ data }) => data)
  )
})

const post = Effect.fnUntraced(function* (body: object, idempotencyKey?: string) {
  const { alice, url } = yield* TestApp
  const headers = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }
  const reply = yield* call(responsesAt(url), { key: alice.key, body, headers })
  assert.strictEqual(reply.status, 200, reply.text)
  return decodeResponse(reply.text)
})

const shown = Effect.fnUntraced(function* (id: string) {
  const { alice, url } = yield* TestApp
  return yield* show(url, id, alice.key)
})

layer(TestApp.layer({ http: { bodiesBytesMax: bodyBytesMax, userBodyBytesMax: bodyBytesMax } }), {
  excludeTestServices: true
})("A long request of a job", (it) => {
  it.effect("a long job runs with its image, and is repeated in its response without it", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ vision: true, contextWindow: 200_000 })
      yield* model.next(says("A dot."))
      const image = png(200_000)
      const before = (yield* imagesAsked).length
      const { id } = yield* post(question(image, { background: true, metadata: { a: "b" } }))
      const end = yield* untilValue(shown(id), ({ status }) => status === "completed")
      assert.strictEqual(end.output_text, "A dot.")
      assert.deepStrictEqual((yield* imagesAsked).slice(before), [[image]])
    })
  )

  it.effect("a long job is shown with its fields while it waits for room, and begins then", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ vision: true, contextWindow: 200_000 })
      const gate = yield* Deferred.make<void>()
      const held = Stream.unwrap(Effect.as(Deferred.await(gate), says("first")))
      yield* model.next(Stream.concat(Stream.make(text("The ")), held), says("second"))
      const before = (yield* imagesAsked).length
      const first = yield* post(question(png(450_000), { background: true }))
      yield* until(Effect.map(imagesAsked, ({ length }) => length === before + 1))
      const image = png(450_000)
      const second = yield* post(question(image, { background: true, metadata: { a: "b" } }))
      yield* untilValue(shown(second.id), ({ status }) => status === "in_progress")
      const waiting = yield* shown(second.id)
      assert.strictEqual(waiting.instructions, "Be brief.")
      assert.deepStrictEqual(waiting.metadata, { a: "b" })
      assert.strictEqual((yield* imagesAsked).length, before + 1)
      yield* Deferred.succeed(gate, undefined)
      yield* untilValue(shown(first.id), ({ status }) => status === "completed")
      yield* untilValue(shown(second.id), ({ status }) => status === "completed")
      assert.deepStrictEqual((yield* imagesAsked).at(-1), [image])
    })
  )

  it.effect("a long job with an Idempotency-Key is made once, and no other request may have the key", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.change({ vision: true, contextWindow: 200_000 })
      yield* model.next(says("A dot."))
      const image = png(450_000)
      const before = (yield* imagesAsked).length
      const one = yield* post(question(image), "a key")
      const again = yield* post(question(image), "a key")
      assert.strictEqual(again.id, one.id)
      assert.strictEqual(again.output_text, "A dot.")
      assert.strictEqual((yield* imagesAsked).length, before + 1)
      const other = yield* call(responsesAt(url), {
        key: alice.key,
        body: question(png(450_000)),
        headers: { "idempotency-key": "a key" }
      })
      assert.strictEqual(errorOf(other, 422).code, "idempotency_key_reused")
    })
  )

  it.effect("a long job is read without its whole request", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const jobs = yield* ResponseJobs
      const sql = yield* SqlClient.SqlClient
      const request = { instructions: "Be brief.", input: "x".repeat(100_000), messages: [] }
      for (const [kind, seen] of [
        ["profile", { ...request, input: "(long)" }],
        ["chat", {}],
        ["embeddings", {}]
      ] as const) {
        const { job } = yield* jobs.submit({
          responseId: ResponseId.make(randomUUID()),
          userId: UserId.make(alice.id),
          apiKeyId: ApiKeyId.make(randomUUID()),
          background: false,
          asked: { kind, request },
          key: null
        })
        assert.deepStrictEqual(job.request, seen)
        assert.deepStrictEqual(yield* jobs.wholeRequest(job), request)
        // Whatever reads the column now would find this.
        yield* sql`UPDATE response_jobs SET request = '"read"' WHERE response_id = ${job.responseId}::uuid`
        const found = yield* jobs.find(job.userId, job.responseId)
        assert.deepStrictEqual([found?.request, found?.requestBytes], [seen, JSON.stringify(request).length])
        yield* jobs.delete(job.userId, job.responseId)
      }
    })
  )

  it.effect("a long job that an earlier version inserted is read whole", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const jobs = yield* ResponseJobs
      const sql = yield* SqlClient.SqlClient
      const id = ResponseId.make(randomUUID())
      const request = { input: "x".repeat(100_000) }
      yield* sql`INSERT INTO response_jobs (response_id, user_id, api_key_id, background, status, request, ended_at)
        VALUES (${id}::uuid, ${alice.id}::uuid, ${randomUUID()}::uuid, true, 'failed', ${JSON.stringify(request)}::json, now())`
      const found = yield* jobs.find(UserId.make(alice.id), id)
      assert.deepStrictEqual([found?.request, found?.requestBytes], [request, JSON.stringify(request).length])
    })
  )

  it.effect("a long job is whole in the export of its user", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.change({ vision: true, contextWindow: 200_000 })
      yield* model.next(says("A dot."))
      const image = png(100_000)
      const { id } = yield* post(question(image, { background: true }))
      yield* untilValue(shown(id), ({ status }) => status === "completed")
      const { archive } = yield* (yield* UserExport).export(alice.email)
      const bytes = Buffer.concat(yield* Stream.runCollect(archive))
      assert.isTrue(bytes.includes(image))
    })
  )
})
