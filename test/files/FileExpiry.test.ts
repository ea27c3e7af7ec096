import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { FileId } from "../../src/domain/Ids.ts"
import { FileStore } from "../../src/files/FileStore.ts"
import { deleteExpiredBatch } from "../../src/files/FileSweep.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { BlobFaults, countsOf, filesWith, incoming, someUser, upload } from "./fixtures.ts"

const hour = 3_600

const expire = Effect.fnUntraced(function* (id: FileId) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE files SET expires_at = now() - interval '1 second' WHERE id = ${id}::uuid`
})

const expiring = Effect.fnUntraced(function* (user: Effect.Success<typeof someUser>, text: string) {
  const store = yield* FileStore
  const { bytes } = incoming(text)
  const about = Effect.succeed({ filename: "a.txt", purpose: "assistants", expiresAfterSeconds: hour })
  return yield* store.upload(user, { bytes, about })
})

layer(Layer.provideMerge(filesWith(), TestDatabase.layer), { excludeTestServices: true })(
  "A file that was uploaded with an expiry",
  (it) => {
    it.effect(
      "a file that was uploaded with an expiry is there until it expires, and shows when that is",
      () =>
        Effect.gen(function* () {
          const store = yield* FileStore
          const user = yield* someUser
          const file = yield* expiring(user, "soon gone")
          assert.deepStrictEqual(file.expiresAt, DateTime.add(file.createdAt, { seconds: hour }))
          yield* deleteExpiredBatch
          assert.deepStrictEqual(yield* store.get(user, file.id), file)
          assert.isNull((yield* upload(user, "stays")).expiresAt)
        })
    )

    it.effect(
      "a file that was uploaded with an expiry is gone for every purpose when it expires, before anything sweeps it",
      () =>
        Effect.gen(function* () {
          const store = yield* FileStore
          const user = yield* someUser
          const { id } = yield* expiring(user, "gone")
          const stays = yield* upload(user, "stays")
          yield* expire(id)
          const missing = yield* Effect.all(
            [
              store.get(user, id),
              store.delete(user, id),
              Effect.scoped(store.content(user, id, { start: 0, end: 1 }))
            ].map((asked) => Effect.flip(Effect.asVoid(asked)))
          )
          assert.deepStrictEqual(
            missing.map(({ _tag }) => _tag),
            ["FileNotFound", "FileNotFound", "FileNotFound"]
          )
          const { files } = yield* store.list(user, { limit: 10, order: "desc" })
          assert.deepStrictEqual(
            files.map((file) => file.id),
            [stays.id]
          )
          assert.lengthOf(yield* store.summaries(user, [id]), 0)
          assert.lengthOf(yield* store.beginnings(user, [{ id, charactersMax: 10 }]), 0)
        })
    )

    it.effect(
      "a file that was uploaded with an expiry is swept with its text, its bytes and its share of the quota",
      () =>
        Effect.gen(function* () {
          const blobs = yield* BlobFaults
          const user = yield* someUser
          for (const text of ["one", "two"]) yield* expire((yield* expiring(user, text)).id)
          yield* upload(user, "stays")
          const before = (yield* blobs.keys).length
          assert.isAtLeast(yield* deleteExpiredBatch, 2)
          assert.deepStrictEqual(yield* countsOf(user), { files: 1, bytes: 5, rows: 1, sum: 5, texts: 1 })
          assert.isAtMost((yield* blobs.keys).length, before - 2)
          assert.strictEqual(yield* deleteExpiredBatch, 0)
        })
    )
  }
)
