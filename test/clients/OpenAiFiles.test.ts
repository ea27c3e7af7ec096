import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import OpenAI, { APIError, NotFoundError, toFile } from "openai"
import { filesOver, ScriptedExtraction } from "../files/fixtures.ts"
import { TestApp } from "../support/TestApp.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

const client = Effect.map(
  TestApp,
  ({ alice, url }) => new OpenAI({ apiKey: alice.key, baseURL: `${url}/v1`, maxRetries: 0 })
)

const app = TestApp.layerWith(TestDatabase.layer, filesOver, {
  files: { processWaitSeconds: 0, fileBytesMax: 1_000_000, filesPerUserMax: 12 }
})

const errorFrom = async (promise: PromiseLike<unknown>): Promise<APIError> => {
  try {
    await promise
  } catch (error) {
    if (error instanceof APIError) return error
    throw error
  }
  throw new Error("It succeeded.")
}

/** The official `openai` package, pointed at the service. */
layer(app, { excludeTestServices: true })("openai.files", (it) => {
  it.effect("openai.files uploads, inspects, downloads and deletes", () =>
    Effect.gen(function* () {
      const openai = yield* client
      yield* Effect.promise(async () => {
        const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 256))
        const made = await openai.files.create({
          file: await toFile(bytes, "zèbre.bin"),
          purpose: "user_data"
        })
        assert.deepInclude(made, {
          object: "file",
          bytes: 70_000,
          filename: "zèbre.bin",
          purpose: "user_data"
        })
        assert.deepInclude(await openai.files.retrieve(made.id), { id: made.id, filename: "zèbre.bin" })
        const content = await openai.files.content(made.id)
        assert.strictEqual(content.headers.get("content-type"), "application/octet-stream")
        assert.deepStrictEqual(Buffer.from(await content.arrayBuffer()), bytes)
        assert.deepStrictEqual(await openai.files.delete(made.id), {
          id: made.id,
          object: "file",
          deleted: true
        })
        assert.instanceOf(await errorFrom(openai.files.retrieve(made.id)), NotFoundError)
        assert.strictEqual((await errorFrom(openai.files.content(made.id))).code, "file_not_found")
      })
    })
  )

  it.effect("openai.files waits until the text is ready", () =>
    Effect.gen(function* () {
      const openai = yield* client
      const extraction = yield* ScriptedExtraction
      const { id, status } = yield* Effect.promise(async () =>
        openai.files.create({ file: await toFile(Buffer.from("hang"), "slow.txt"), purpose: "assistants" })
      )
      assert.strictEqual(status, "uploaded")
      const ready = yield* Effect.forkChild(
        Effect.promise(() => openai.files.waitForProcessing(id, { pollInterval: 20, maxWait: 20_000 }))
      )
      yield* extraction.release
      assert.deepInclude(yield* Fiber.join(ready), { id, status: "processed" })
      const unread = yield* Effect.promise(async () => {
        const file = await toFile(Buffer.from("unreadable"), "x.bin")
        const made = await openai.files.create({ file, purpose: "assistants" })
        return openai.files.waitForProcessing(made.id, { pollInterval: 20, maxWait: 20_000 })
      })
      assert.deepInclude(unread, { status: "error", status_details: "Nobody can read this." })
    })
  )

  it.effect("openai.files visits every file when it pages through a list, also while it deletes them", () =>
    Effect.gen(function* () {
      const openai = yield* client
      yield* Effect.promise(async () => {
        for await (const { id } of openai.files.list({ limit: 1 })) await openai.files.delete(id)
        const made: Array<string> = []
        for (let n = 0; n < 5; n++) {
          const purpose = n % 2 === 0 ? "assistants" : "batch"
          made.push((await openai.files.create({ file: await toFile(Buffer.from("x"), `${n}`), purpose })).id)
        }
        const seen = async (query: OpenAI.FileListParams) => {
          const ids: Array<string> = []
          for await (const { id } of openai.files.list(query)) ids.push(id)
          return ids
        }
        assert.deepStrictEqual(await seen({ limit: 2 }), made.toReversed())
        assert.deepStrictEqual(await seen({ limit: 2, order: "asc" }), made)
        assert.deepStrictEqual(await seen({ purpose: "batch" }), [made[3], made[1]])
        const page = await openai.files.list({ limit: 2 })
        assert.isTrue(page.hasNextPage())
        assert.deepStrictEqual(
          (await page.getNextPage()).data.map(({ id }) => id),
          [made[2], made[1]]
        )
        for await (const { id } of openai.files.list({ limit: 2 })) await openai.files.delete(id)
        assert.deepStrictEqual(await seen({}), [])
      })
    })
  )

  it.effect("openai.files understands refusals", () =>
    Effect.gen(function* () {
      const openai = yield* client
      yield* Effect.promise(async () => {
        const create = async (bytes: number) =>
          openai.files.create({ file: await toFile(Buffer.alloc(bytes), "x"), purpose: "assistants" })
        const large = await errorFrom(create(1_000_001))
        assert.deepStrictEqual([large.status, large.code, large.param], [413, "file_too_large", "file"])
        for (let n = 0; n < 12; n++) await create(1)
        const full = await errorFrom(create(1))
        assert.deepStrictEqual([full.status, full.code], [403, "file_count_quota_exceeded"])
      })
    })
  )
})
