import { randomBytes } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { pieceBytes } from "../../../src/files/blobs/PostgresBlobs.ts"
import { BlobStore } from "../../../src/files/BlobStore.ts"
import { SqlFaults } from "../../support/TestDatabase.ts"
import { until } from "../../support/until.ts"
import { Ground, postgresStore, read, streamOf } from "./Stores.ts"

const Sizes = Schema.Array(Schema.Struct({ position: Schema.Int, size: Schema.Int }))
const Flags = Schema.Array(Schema.Struct({ complete: Schema.Boolean }))

layer(postgresStore, { excludeTestServices: true })("PostgresBlobs", (it) => {
  it.effect("the PostgreSQL store keeps bytes in pieces of one size, the last excepted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* BlobStore
      const { key } = yield* store.put(streamOf(randomBytes(2 * pieceBytes + 7), 1_000))
      const rows = yield* sql`SELECT position, octet_length(data) AS size FROM file_blob_pieces
        WHERE key = ${key} ORDER BY position`
      assert.deepStrictEqual(yield* Schema.decodeUnknownEffect(Sizes)(rows), [
        { position: 0, size: pieceBytes },
        { position: 1, size: pieceBytes },
        { position: 2, size: 7 }
      ])
    })
  )

  it.effect("the PostgreSQL store reads only the pieces that a part needs", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const faults = yield* SqlFaults
      const store = yield* BlobStore
      const bytes = randomBytes(5 * pieceBytes)
      const { key } = yield* store.put(streamOf(bytes))
      // Nobody may miss what isn't needed.
      yield* sql`DELETE FROM file_blob_pieces WHERE key = ${key} AND position NOT IN (2, 3)`
      const range = { start: 2 * pieceBytes + 1, end: 3 * pieceBytes + 1 }
      yield* faults.off
      assert.deepStrictEqual(yield* read(store.get(key, range)), bytes.subarray(range.start, range.end))
      // The blob's row, and two pieces.
      assert.strictEqual((yield* faults.seen).statements, 3)
      const error = yield* Effect.flip(read(store.get(key)))
      assert.strictEqual(error._tag, "StorageFailed")
    })
  )

  it.effect("the PostgreSQL store reads no further ahead of its reader than a few pieces", () =>
    Effect.gen(function* () {
      const faults = yield* SqlFaults
      const store = yield* BlobStore
      const { key } = yield* store.put(streamOf(randomBytes(20 * pieceBytes)))
      yield* faults.off
      const head = yield* Deferred.make<void>()
      const reading = yield* store.get(key).pipe(
        Stream.runForEach(() => Effect.andThen(Deferred.succeed(head, undefined), Effect.never)),
        Effect.forkChild
      )
      yield* Deferred.await(head)
      // Whatever was asked for by then is answered before this.
      yield* store.put(streamOf(randomBytes(10)))
      yield* Fiber.interrupt(reading)
      assert.isBelow((yield* faults.seen).statements, 12)
    })
  )

  it.effect(
    "the PostgreSQL store shows nothing while bytes are coming in, and holds no connection meanwhile",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const store = yield* BlobStore
        const ground = yield* Ground
        const before = yield* ground.look
        // More at once than the pool has connections.
        const puts = yield* Effect.forEach(Array.from({ length: 12 }), () =>
          Effect.gen(function* () {
            const reached = yield* Deferred.make<void>()
            const go = yield* Deferred.make<void>()
            const waiting = Stream.unwrap(
              Effect.as(
                Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(go)),
                Stream.empty
              )
            )
            const put = yield* Effect.forkChild(
              store.put(Stream.concat(streamOf(randomBytes(pieceBytes + 1)), waiting))
            )
            yield* Deferred.await(reached)
            return { put, go }
          })
        )
        assert.deepStrictEqual(yield* ground.look, { blobs: before.blobs, leftovers: 12 })
        const rows = yield* sql`SELECT complete FROM file_blobs WHERE NOT complete`
        assert.strictEqual((yield* Schema.decodeUnknownEffect(Flags)(rows)).length, 12)
        for (const { go, put } of puts) {
          yield* Deferred.succeed(go, undefined)
          yield* Fiber.join(put)
        }
        assert.deepStrictEqual(yield* ground.look, { blobs: before.blobs + 12, leftovers: 0 })
      })
  )

  it.effect("the PostgreSQL store doesn't complete a blob of which the database lost a piece", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* BlobStore
      const ground = yield* Ground
      const before = yield* ground.look
      // It is written while the next one is taken.
      const isLost = Effect.map(
        sql`DELETE FROM file_blob_pieces WHERE position = 1
          AND key IN (SELECT key FROM file_blobs WHERE NOT complete) RETURNING key`,
        (rows) => rows.length > 0
      )
      const lose = Stream.unwrap(Effect.as(until(isLost), Stream.empty))
      const error = yield* Effect.flip(
        store.put(Stream.concat(streamOf(randomBytes(2 * pieceBytes + 1)), lose))
      )
      assert.strictEqual(error._tag, "StorageFailed")
      assert.match(String(error.cause), /lost/)
      assert.deepStrictEqual(yield* ground.look, before)
    })
  )

  it.effect("the PostgreSQL store doesn't complete a blob that the sweep took for a leftover", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore
      const ground = yield* Ground
      const before = yield* ground.look
      const sweep = Stream.unwrap(
        Effect.as(Effect.andThen(ground.age(2), store.sweepLeftovers("1 hour")), Stream.empty)
      )
      const error = yield* Effect.flip(store.put(Stream.concat(streamOf(randomBytes(10)), sweep)))
      assert.strictEqual(error._tag, "StorageFailed")
      assert.deepStrictEqual(yield* ground.look, before)
    })
  )

  it.effect("the PostgreSQL store removes what is longer than one statement takes", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* BlobStore
      const { key } = yield* store.put(streamOf(randomBytes(10)))
      yield* sql`INSERT INTO file_blob_pieces (key, position, data)
        SELECT ${key}, position, '\\x00' FROM generate_series(1, 600) AS position`
      yield* store.remove(key)
      const rows = yield* sql`SELECT 1 FROM file_blob_pieces WHERE key = ${key}`
      assert.isEmpty(rows)
    })
  )
})
