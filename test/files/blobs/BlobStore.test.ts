import { createHash, randomBytes } from "node:crypto"
import { assert, describe, layer } from "@effect/vitest"
import { Array as Arr, Deferred, Effect, Exit, Fiber, type Layer, Schema, Stream } from "effect"
import { pieceBytes as draftPieceBytes } from "../../../src/files/blobs/DraftFile.ts"
import { pieceBytes } from "../../../src/files/blobs/PostgresBlobs.ts"
import { BlobStore } from "../../../src/files/BlobStore.ts"
import {
  chunksOf,
  directoryStore,
  Ground,
  postgresStore,
  quickLimits,
  read,
  s3Store,
  streamOf
} from "./Stores.ts"

/** More than any of the scenarios takes, so that each of its steps fails in some attempt. */
const stepsMax = 60

const stores: ReadonlyArray<{
  readonly name: string
  readonly store: Layer.Layer<BlobStore | Ground>
  /** The size of the pieces that the store cuts; more than two pieces use all of its code. */
  readonly boundary: number
}> = [
  { name: "directory", store: directoryStore, boundary: draftPieceBytes },
  { name: "postgres", store: postgresStore, boundary: pieceBytes },
  { name: "s3", store: s3Store, boundary: quickLimits.partBytes }
]

class SourceBroke extends Schema.TaggedError<SourceBroke>()("SourceBroke", {}) {}

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex")
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")

const Bytes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })))
const Sizes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 })))
const Position = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 }))

const readsBack = Effect.fnUntraced(function* (
  bytes: Uint8Array,
  source: Stream.Stream<Uint8Array> = streamOf(bytes)
) {
  const store = yield* BlobStore
  const blob = yield* store.put(source)
  assert.strictEqual(blob.bytes, bytes.length)
  assert.strictEqual(hex(blob.sha256), sha256(bytes))
  assert.strictEqual(sha256(yield* read(store.get(blob.key))), sha256(bytes))
  return blob
})

const allOld = Effect.flatMap(BlobStore, (store) => Stream.runCollect(store.olderThan("1 hour")))

describe.each(stores)("BlobStore: $name", ({ boundary, store: tested }) => {
  layer(tested, { excludeTestServices: true })((it) => {
    it.effect.prop(
      "a store of bytes gives back any bytes, however they came in",
      [Bytes, Sizes],
      ([values, sizes]) => {
        const bytes = Uint8Array.from(values)
        return readsBack(bytes, Stream.fromIterable(chunksOf(bytes, sizes)))
      }
    )

    it.effect("a store of bytes gives back bytes about the size of its pieces", () =>
      Effect.forEach(
        [0, 1, boundary - 1, boundary, boundary + 1, 2 * boundary - 1, 2 * boundary, 2 * boundary + 1],
        (size) => readsBack(randomBytes(size))
      )
    )

    it.effect("a store of bytes takes one large chunk as it takes many small ones", () =>
      Effect.gen(function* () {
        const bytes = randomBytes(2 * boundary + 3)
        yield* readsBack(bytes, Stream.make(bytes))
        const small = randomBytes(5_000)
        yield* readsBack(small, streamOf(small, 1))
      })
    )

    it.effect("a store of bytes gives back parts, across its pieces too", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const bytes = randomBytes(2 * boundary + 1_000)
        const { key } = yield* store.put(streamOf(bytes))
        const ends = [
          0,
          1,
          boundary - 1,
          boundary,
          boundary + 1,
          2 * boundary,
          bytes.length - 1,
          bytes.length
        ]
        for (const start of ends) {
          for (const end of ends.filter((end) => end >= start)) {
            const part = yield* read(store.get(key, { start, end }))
            assert.strictEqual(sha256(part), sha256(bytes.subarray(start, end)), `${start} to ${end}`)
          }
        }
      })
    )

    it.effect.prop("a store of bytes returns any part of a blob", [Position, Position], ([one, other]) =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const [start, end] = one < other ? [one, other] : [other, one]
        const bytes = randomBytes(1_000)
        const { key } = yield* store.put(streamOf(bytes, 100))
        assert.deepStrictEqual(yield* read(store.get(key, { start, end })), bytes.subarray(start, end))
      })
    )

    it.effect("a store of bytes fails when a part goes beyond the end", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const { key } = yield* store.put(streamOf(randomBytes(100)))
        for (const range of [
          { start: 50, end: 101 },
          { start: 100, end: 101 },
          { start: 200, end: 300 }
        ]) {
          const error = yield* Effect.flip(read(store.get(key, range)))
          assert.strictEqual(error._tag, "StorageFailed")
        }
      })
    )

    it.effect("a store of bytes keeps equal and different bytes that are put at once apart", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const contents = [randomBytes(3_000), randomBytes(boundary + 1)]
        const before = yield* (yield* Ground).look
        const blobs = yield* Effect.forEach(
          Arr.makeBy(12, (n) => contents[n % 2]!),
          (bytes) => readsBack(bytes),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(new Set(blobs.map(({ key }) => key)).size, 12)
        assert.deepStrictEqual(yield* (yield* Ground).look, { blobs: before.blobs + 12, leftovers: 0 })
        // Whichever of the equal ones goes, the others stay.
        yield* Effect.forEach(blobs.slice(0, 10), ({ key }) => store.remove(key), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(yield* (yield* Ground).look, { blobs: before.blobs + 2, leftovers: 0 })
        for (const { key, sha256: expected } of blobs.slice(10)) {
          assert.strictEqual(sha256(yield* read(store.get(key))), hex(expected))
        }
      })
    )

    it.effect("a store of bytes keeps bytes while equal ones come and go", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const bytes = randomBytes(2_000)
        const rounds = Effect.gen(function* () {
          for (let round = 0; round < 10; round++) {
            const { key } = yield* store.put(streamOf(bytes))
            assert.strictEqual((yield* read(store.get(key))).length, bytes.length)
            yield* store.remove(key)
          }
        })
        yield* Effect.all([rounds, rounds, rounds], { concurrency: "unbounded" })
      })
    )

    it.effect("a store of bytes leaves nothing of a source that breaks, and hands its error on", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const before = yield* (yield* Ground).look
        for (const size of [0, 1, boundary, 2 * boundary + 1]) {
          const source = Stream.concat(streamOf(randomBytes(size)), Stream.fail(new SourceBroke()))
          assert.strictEqual((yield* Effect.flip(store.put(source)))._tag, "SourceBroke")
          const dying = Stream.concat(streamOf(randomBytes(size)), Stream.die("a defect"))
          assert.isTrue(Exit.hasDies(yield* Effect.exit(store.put(dying))))
          assert.deepStrictEqual(yield* (yield* Ground).look, before)
        }
      })
    )

    it.effect("a store of bytes leaves nothing of a source that is interrupted", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const before = yield* (yield* Ground).look
        for (const size of [0, 1, boundary, 2 * boundary + 1]) {
          const reached = yield* Deferred.make<void>()
          const source = Stream.concat(
            streamOf(randomBytes(size)),
            Stream.unwrap(Effect.as(Deferred.succeed(reached, undefined), Stream.never))
          )
          const put = yield* Effect.forkChild(store.put(source))
          yield* Deferred.await(reached)
          yield* Fiber.interrupt(put)
          assert.deepStrictEqual(yield* (yield* Ground).look, before)
        }
      })
    )

    it.effect("a store of bytes stops reading when its reader goes", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const bytes = randomBytes(2 * boundary)
        const { key } = yield* store.put(streamOf(bytes))
        const head = yield* Stream.runHead(store.get(key))
        assert.strictEqual(head._tag, "Some")
        assert.strictEqual(sha256(yield* read(store.get(key))), sha256(bytes))
      })
    )

    it.effect("a store of bytes removes bytes for good, and succeeds where there are none", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const { key } = yield* store.put(streamOf(randomBytes(boundary + 1)))
        yield* store.remove(key)
        yield* store.remove(key)
        const error = yield* Effect.flip(read(store.get(key)))
        assert.strictEqual(error._tag, "StorageFailed")
        assert.strictEqual(error.operation, "get")
      })
    )

    it.effect("a store of bytes has no bytes under a key that it never gave", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const { key } = yield* store.put(streamOf(randomBytes(10)))
        const before = yield* (yield* Ground).look
        const foreign = [
          "",
          "..",
          "../identity",
          `../${key}`,
          `${key}/..`,
          key.toUpperCase(),
          `${key}\0`,
          "a b?c#d%2e"
        ]
        const unknown = key.replace(/.{12}$/, "0123456789ab")
        for (const other of [...foreign, unknown]) {
          assert.strictEqual((yield* Effect.flip(read(store.get(other))))._tag, "StorageFailed", other)
          yield* store.remove(other)
        }
        assert.deepStrictEqual(yield* (yield* Ground).look, before)
      })
    )

    it.effect("a store of bytes lists what is old, however much there is of it", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const ground = yield* Ground
        const old = yield* Effect.forEach(Arr.range(1, 30), () => store.put(streamOf(randomBytes(20))))
        yield* ground.age(2)
        const fresh = yield* store.put(streamOf(randomBytes(20)))
        const listed = yield* allOld
        assert.includeMembers(
          [...listed],
          old.map(({ key }) => key)
        )
        assert.notInclude(listed, fresh.key)
        assert.strictEqual(new Set(listed).size, listed.length)
        assert.isEmpty(yield* Stream.runCollect(store.olderThan("3 hours")))
        yield* Effect.forEach(listed, store.remove)
        assert.isEmpty(yield* allOld)
        assert.strictEqual((yield* read(store.get(fresh.key))).length, 20)
      })
    )

    it.effect("a store of bytes lists what is in the trash and since when, and keeps its bytes", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const keys: Array<string> = []
        for (const _ of Arr.range(1, 30)) keys.push((yield* store.put(streamOf(randomBytes(20)))).key)
        const [outside, ...inside] = keys
        yield* Effect.forEach(inside, store.trash.add)
        const listed = yield* Stream.runCollect(store.trash.list)
        assert.sameMembers(
          listed.map(({ key }) => key),
          inside
        )
        for (const { since } of listed) assert.isAtMost(Math.abs(Date.now() - since), 60_000)
        for (const key of [outside!, inside[0]!]) {
          assert.isTrue(yield* store.has(key))
          assert.strictEqual((yield* read(store.get(key))).length, 20)
        }
        yield* Effect.forEach(inside, store.trash.take)
        yield* store.trash.take(outside!)
        assert.isEmpty(yield* Stream.runCollect(store.trash.list))
        yield* Effect.forEach(keys, store.remove)
        assert.isFalse(yield* store.has(outside!))
        for (const foreign of ["", "..", "../identity", `../blobs/${outside!}`]) {
          yield* store.trash.add(foreign)
          yield* store.trash.take(foreign)
          assert.isFalse(yield* store.has(foreign), foreign)
        }
        assert.isEmpty(yield* Stream.runCollect(store.trash.list))
      })
    )

    it.effect("a store of bytes checks itself by storing bytes, and leaves none", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const ground = yield* Ground
        const before = yield* ground.look
        yield* store.check
        for (const { failStep, name } of ground.faults) {
          yield* failStep(1)
          const exit = yield* Effect.exit(store.check)
          yield* ground.off
          if (Exit.isFailure(exit)) assert.include(String(exit.cause), "StorageFailed", name)
          assert.deepStrictEqual(yield* ground.look, before, name)
        }
      })
    )

    it.effect("a store of bytes sweeps what broken puts have left, once it is old", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const ground = yield* Ground
        const { key } = yield* store.put(streamOf(randomBytes(20)))
        for (const _ of Arr.range(1, 5)) yield* ground.leaveHalf
        const before = yield* ground.look
        assert.strictEqual(before.leftovers, 5)
        yield* store.sweepLeftovers("1 hour")
        assert.deepStrictEqual(yield* ground.look, before)
        yield* ground.age(2)
        assert.notInclude(yield* allOld, "half")
        yield* ground.leaveHalf
        yield* store.sweepLeftovers("1 hour")
        assert.deepStrictEqual(yield* ground.look, { ...before, leftovers: 1 })
        yield* store.sweepLeftovers(0)
        assert.deepStrictEqual(yield* ground.look, { ...before, leftovers: 0 })
        assert.strictEqual((yield* read(store.get(key))).length, 20)
      })
    )

    for (const [what, size] of [
      ["small", 10],
      ["large", 2 * boundary + 1]
    ] as const) {
      it.effect(`a store of bytes is there whole or not at all when any step of a ${what} put fails`, () =>
        Effect.gen(function* () {
          const store = yield* BlobStore
          const ground = yield* Ground
          const bytes = randomBytes(size)
          for (const { failStep, name } of ground.faults) {
            let failures = 0
            for (let n = 1; n <= stepsMax; n++) {
              const before = yield* ground.look
              yield* failStep(n)
              const exit = yield* Effect.exit(store.put(streamOf(bytes)))
              const failed = yield* ground.failed
              yield* ground.off
              if (!failed) break
              failures++
              if (Exit.isSuccess(exit)) {
                assert.strictEqual(
                  sha256(yield* read(store.get(exit.value.key))),
                  sha256(bytes),
                  `${name} ${n}`
                )
                yield* store.remove(exit.value.key)
                yield* store.sweepLeftovers(0)
              } else assert.match(String(exit.cause), /StorageFailed|DatabaseUnavailable/, `${name} ${n}`)
              assert.deepStrictEqual(yield* ground.look, before, `${name} ${n}`)
              assert.isBelow(n, stepsMax)
            }
            assert.isAbove(failures, 0)
          }
        })
      )
    }

    it.effect("a store of bytes gives all or fails when any step of a get fails", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const ground = yield* Ground
        const bytes = randomBytes(2 * boundary + 1)
        const { key } = yield* store.put(streamOf(bytes))
        for (const { failStep, name } of ground.faults) {
          for (let n = 1; n <= stepsMax; n++) {
            yield* failStep(n)
            const exit = yield* Effect.exit(read(store.get(key, { start: 1, end: bytes.length })))
            const failed = yield* ground.failed
            yield* ground.off
            if (!failed) break
            if (Exit.isSuccess(exit))
              assert.strictEqual(sha256(exit.value), sha256(bytes.subarray(1)), `${name} ${n}`)
            else assert.include(String(exit.cause), "StorageFailed", `${name} ${n}`)
            assert.isBelow(n, stepsMax)
          }
        }
      })
    )

    it.effect("a store of bytes removes what a failed removal has left at the next one", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const ground = yield* Ground
        for (const { failStep, name } of ground.faults) {
          for (let n = 1; n <= stepsMax; n++) {
            const before = yield* ground.look
            const { key } = yield* store.put(streamOf(randomBytes(10)))
            yield* failStep(n)
            const exit = yield* Effect.exit(store.remove(key))
            const failed = yield* ground.failed
            yield* ground.off
            if (Exit.isFailure(exit)) assert.include(String(exit.cause), "StorageFailed", `${name} ${n}`)
            yield* store.remove(key)
            assert.deepStrictEqual(yield* ground.look, before, `${name} ${n}`)
            if (!failed) break
            assert.isBelow(n, stepsMax)
          }
        }
      })
    )
  })
})
