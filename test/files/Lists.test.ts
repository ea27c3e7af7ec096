import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema } from "effect"
import type { FileId, UserId } from "../../src/domain/Ids.ts"
import { FileStore } from "../../src/files/FileStore.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { filesWith, someUser, upload } from "./fixtures.ts"

const uploads = Effect.fnUntraced(function* (user: UserId, count: number, purpose = "assistants") {
  const ids: Array<FileId> = []
  for (let n = 0; n < count; n++) ids.push((yield* upload(user, `${n}`, { purpose })).id)
  return ids
})

const idle = () => Effect.void

/** Every id on the pages of a list, in their order; `between` runs after each page. */
const walk = Effect.fnUntraced(function* <E, R>(
  user: UserId,
  query: { readonly limit: number; readonly order: "asc" | "desc"; readonly purpose?: string },
  between: (page: ReadonlyArray<FileId>) => Effect.Effect<unknown, E, R>
) {
  const store = yield* FileStore
  const seen: Array<FileId> = []
  while (true) {
    const last = seen.at(-1)
    const page = yield* store.list(user, last === undefined ? query : { ...query, after: last })
    const ids = page.files.map(({ id }) => id)
    assert.isAtMost(ids.length, query.limit)
    seen.push(...ids)
    yield* between(ids)
    if (!page.hasMore) return seen
  }
})

const settings = filesWith({ processWaitSeconds: 0, uploadsPerUserMax: 100 })

layer(Layer.provideMerge(settings, TestDatabase.layer), { excludeTestServices: true })("A list", (it) => {
  it.effect("a list of files has the newest file first, or last, in pages of any size", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      yield* uploads(yield* someUser, 2)
      const ids = yield* uploads(user, 7)
      for (const limit of [1, 2, 3, 6, 7, 8]) {
        assert.deepStrictEqual(yield* walk(user, { limit, order: "asc" }, idle), ids)
        assert.deepStrictEqual(yield* walk(user, { limit, order: "desc" }, idle), ids.toReversed())
      }
    })
  )

  it.effect("a list of files may be of one purpose", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const [first] = yield* uploads(user, 1, "batch")
      yield* uploads(user, 2)
      const [second] = yield* uploads(user, 1, "batch")
      assert.deepStrictEqual(yield* walk(user, { limit: 1, order: "desc", purpose: "batch" }, idle), [
        second,
        first
      ])
      assert.deepStrictEqual(yield* walk(user, { limit: 1, order: "desc", purpose: "none" }, idle), [])
    })
  )

  it.effect("a list of files goes on after a file that was deleted meanwhile", () =>
    Effect.gen(function* () {
      const store = yield* FileStore
      const user = yield* someUser
      const ids = yield* uploads(user, 5)
      const seen = yield* walk(user, { limit: 2, order: "desc" }, (page) =>
        Effect.forEach(page, (id) => store.delete(user, id))
      )
      assert.deepStrictEqual(seen, ids.toReversed())
    })
  )

  it.effect.prop(
    "a list of files visits each file exactly once while others are uploaded and deleted",
    [Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })), Schema.Literals(["asc", "desc"])],
    ([limit, order]) =>
      Effect.gen(function* () {
        const store = yield* FileStore
        const user = yield* someUser
        const doomed = yield* uploads(user, 2)
        const ids = yield* uploads(user, 6)
        const busy = yield* Effect.forkChild(
          Effect.forEach(
            [1, 2, 3, 4],
            () => Effect.andThen(uploads(user, 1), Effect.ignore(store.delete(user, doomed.pop()!))),
            { concurrency: 2 }
          )
        )
        const seen = yield* walk(user, { limit, order }, () =>
          uploads(user, 1).pipe(Effect.when(Effect.succeed(limit > 2)))
        )
        yield* Fiber.join(busy)
        assert.deepStrictEqual(
          seen.filter((id) => ids.includes(id)),
          order === "asc" ? ids : ids.toReversed()
        )
        assert.strictEqual(new Set(seen).size, seen.length)
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 6 } }
  )
})
