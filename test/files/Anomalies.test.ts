import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { UserId } from "../../src/domain/Ids.ts"
import { FileStore } from "../../src/files/FileStore.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { BlobFaults, contentOf, countsOf, filesWith, someUser, until, upload } from "./fixtures.ts"

/**
 * An upload, with the reading of its text, sends no more statements than this; nor does it use the store more
 * often.
 */
const statementsMax = 14
const operationsMax = 5

/** Checks the invariants after any failure: each listed file has its bytes, and the count is right. */
const assertWhole = Effect.fnUntraced(function* (user: UserId, name: string) {
  const store = yield* FileStore
  const { files } = yield* store.list(user, { limit: 100, order: "desc" })
  for (const file of files) {
    assert.strictEqual(String(yield* contentOf(user, file.id)), `content of ${file.filename}`, name)
  }
  const { bytes, files: counted, rows, sum } = yield* countsOf(user)
  assert.deepStrictEqual([counted, bytes], [rows, sum], `${name}: the count is that of the rows`)
  assert.strictEqual(rows, files.length)
  return files
})

/**
 * No text is forgotten: each file ends as processed. A job that was taken while the answer got lost stays
 * locked a while.
 */
const allRead = (user: UserId) =>
  until(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE file_jobs SET acquired_at = now() - interval '1 hour' WHERE acquired_at < now() - interval '1 second'`
      return (
        (yield* sql`SELECT 1 FROM files WHERE user_id = ${user}::uuid AND status <> 'processed'`).length === 0
      )
    })
  )

const settings = { store: "directory", processWaitSeconds: 0, extractionsMax: 1 } as const

layer(filesWith(settings).pipe(Layer.provideMerge(TestDatabase.layerFailing)), { excludeTestServices: true })(
  "When the n-th SQL statement fails",
  (it) => {
    for (const when of ["before", "after"] as const) {
      it.effect(
        `${when} it was done, an upload and a deletion are whole or nothing`,
        () =>
          Effect.gen(function* () {
            const store = yield* FileStore
            const faults = yield* SqlFaults
            const blobs = yield* BlobFaults
            const user = yield* someUser
            let struck = 0
            for (let n = 1; n <= statementsMax; n++) {
              const name = `statement ${n}, ${when}`
              yield* faults.failStatement(n, when)
              const result = yield* Effect.result(upload(user, `content of ${name}`, { filename: name }))
              if (result._tag === "Failure")
                assert.strictEqual(result.failure._tag, "DatabaseUnavailable", name)
              if ((yield* faults.seen).failed) struck++
              yield* faults.off
              const files = yield* assertWhole(user, name)
              const isListed = files.some(({ filename }) => filename === name)
              if (result._tag === "Success") assert.isTrue(isListed, name)
              else assert.isFalse(isListed, name)
              yield* allRead(user)
            }
            assert.isAbove(struck, 4)
            for (let n = 1; n <= 4; n++) {
              const { files } = yield* store.list(user, { limit: 1, order: "desc" })
              const before = (yield* blobs.keys).length
              yield* faults.failStatement(n, when)
              const result = yield* Effect.result(store.delete(user, files[0]!.id))
              yield* faults.off
              yield* assertWhole(user, `deletion, statement ${n}, ${when}`)
              if (result._tag === "Success")
                assert.oneOf((yield* blobs.keys).length, n === 4 ? [before - 1, before] : [before - 1])
            }
          }),
        120_000
      )
    }

    it.effect(
      "an upload fails with the reason while the database is away, and the sweep finds what it wrote",
      () =>
        Effect.gen(function* () {
          const faults = yield* SqlFaults
          const user = yield* someUser
          yield* faults.outage
          const error = yield* Effect.flip(upload(user, "content of nothing", { filename: "nothing" }))
          assert.strictEqual(error._tag, "DatabaseUnavailable")
          yield* faults.off
          assert.deepStrictEqual(yield* assertWhole(user, "outage"), [])
        })
    )
  }
)

layer(
  filesWith({ store: "directory", processWaitSeconds: 30 }).pipe(Layer.provideMerge(TestDatabase.layer)),
  {
    excludeTestServices: true
  }
)("When the n-th operation of the store fails", (it) => {
  it.effect(
    "an upload is whole or nothing, and no text is lost",
    () =>
      Effect.gen(function* () {
        const faults = yield* BlobFaults
        const user = yield* someUser
        let refused = 0
        for (let n = 1; n <= operationsMax; n++) {
          const name = `operation ${n}`
          const before = (yield* faults.keys).length
          yield* faults.failOperation(n)
          const result = yield* Effect.result(upload(user, `content of ${name}`, { filename: name }))
          yield* faults.off
          if (result._tag === "Failure") {
            refused++
            assert.strictEqual(result.failure._tag, "StorageFailed", name)
            assert.strictEqual((yield* faults.keys).length, before, `${name}: nothing is left`)
          }
          yield* assertWhole(user, name)
          yield* allRead(user)
        }
        assert.strictEqual(refused, 2)
      }),
    120_000
  )

  it.effect("a download says so before it begins, and a deletion holds all the same", () =>
    Effect.gen(function* () {
      const store = yield* FileStore
      const faults = yield* BlobFaults
      const user = yield* someUser
      const { id } = yield* upload(user, "content")
      yield* faults.failOperation(1)
      const error = yield* Effect.flip(Effect.scoped(store.content(user, id, { start: 0, end: 7 })))
      assert.deepInclude(error, { _tag: "StorageFailed", operation: "get" })
      yield* faults.failOperation(1)
      yield* store.delete(user, id)
      yield* faults.off
      assert.strictEqual((yield* Effect.flip(store.get(user, id)))._tag, "FileNotFound")
      assert.deepInclude(yield* countsOf(user), { files: 0, bytes: 0, rows: 0 })
    })
  )
})
