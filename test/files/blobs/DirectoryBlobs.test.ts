import { randomBytes } from "node:crypto"
import { inspect } from "node:util"
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, FileSystem, Layer, Stream } from "effect"
import { BlobStore } from "../../../src/files/BlobStore.ts"
import { AppConfig } from "../../../src/settings/AppConfig.ts"
import { FileSystemFaults } from "./FileSystemFaults.ts"
import { directoryStore, Ground, read, streamOf } from "./Stores.ts"

const blobsBelow = Effect.fnUntraced(function* () {
  const fs = yield* FileSystem.FileSystem
  const { dataDir } = yield* AppConfig
  const root = `${dataDir}/files/blobs`
  return {
    root,
    fileOf: (key: string) => `${root}/${key.slice(0, 2)}/${key.slice(2, 4)}/${key}`,
    fs,
    dataDir
  }
})

layer(directoryStore, { excludeTestServices: true })("DirectoryBlobs", (it) => {
  it.effect("the directory store is for its owner alone", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore
      const { dataDir, fs } = yield* blobsBelow()
      yield* store.put(streamOf(randomBytes(100)))
      const root = `${dataDir}/files`
      for (const name of ["", ...(yield* fs.readDirectory(root, { recursive: true }))]) {
        const { mode, type } = yield* fs.stat(`${root}/${name}`)
        assert.strictEqual(mode & 0o777, type === "Directory" ? 0o700 : 0o600, name)
      }
    })
  )

  it.effect("the directory store keeps equal bytes once, under a name for each put", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore
      const { fileOf, fs } = yield* blobsBelow()
      const bytes = randomBytes(1_000)
      const one = yield* store.put(streamOf(bytes))
      const other = yield* store.put(streamOf(bytes))
      const different = yield* store.put(streamOf(randomBytes(1_000)))
      assert.notStrictEqual(one.key, other.key)
      const places = yield* Effect.forEach([one, other, different], ({ key }) => fs.stat(fileOf(key)))
      assert.deepStrictEqual(places[0]!.ino, places[1]!.ino)
      assert.notDeepEqual(places[0]!.ino, places[2]!.ino)
    })
  )

  it.effect("the directory store renews the time of bytes that another put stores too", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore
      const bytes = randomBytes(1_000)
      const { key: old } = yield* store.put(streamOf(bytes))
      yield* (yield* Ground).age(2)
      assert.include(yield* Stream.runCollect(store.olderThan("1 hour")), old)
      const { key: young } = yield* store.put(streamOf(bytes))
      const listed = yield* Stream.runCollect(store.olderThan("1 hour"))
      assert.notInclude(listed, young)
      assert.notInclude(listed, old)
    })
  )

  it.effect("the directory store doesn't take a truncated file for the same bytes", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore
      const { fileOf, fs } = yield* blobsBelow()
      const bytes = randomBytes(1_000)
      const { key: cut } = yield* store.put(streamOf(bytes))
      yield* fs.truncate(fileOf(cut), 10)
      const { key } = yield* store.put(streamOf(bytes))
      assert.deepStrictEqual(yield* read(store.get(key)), bytes)
      const error = yield* Effect.flip(read(store.get(cut, { start: 0, end: bytes.length })))
      assert.match(String(error.cause), /10 of 1000 bytes/)
    })
  )

  it.effect("the directory store works where the file system has no links", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore
      const faults = yield* FileSystemFaults
      const ground = yield* Ground
      const before = yield* ground.look
      const bytes = randomBytes(1_000)
      yield* faults.failAll("link", "EACCES")
      const one = yield* store.put(streamOf(bytes))
      const other = yield* store.put(streamOf(bytes))
      assert.isTrue((yield* faults.seen).failed)
      yield* faults.off
      assert.deepStrictEqual(yield* ground.look, { blobs: before.blobs + 2, leftovers: 0 })
      yield* store.remove(one.key)
      assert.deepStrictEqual(yield* read(store.get(other.key)), bytes)
    })
  )

  it.effect(
    "the directory store waits for the disk: for the bytes before they get their name, and for the name before it says so",
    () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const faults = yield* FileSystemFaults
        yield* faults.off
        yield* store.put(streamOf(randomBytes(1_000)))
        const { operations } = yield* faults.seen
        const steps = operations.filter((name) => ["writeAll", "sync", "rename", "link"].includes(name))
        assert.strictEqual(steps[0], "writeAll")
        assert.strictEqual(steps[1], "sync")
        assert.strictEqual(steps.at(-2), "rename")
        assert.strictEqual(steps.at(-1), "sync")
      })
  )

  it.effect("the directory store flushes a long file while it arrives, and fails when that fails", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore
      const faults = yield* FileSystemFaults
      const ground = yield* Ground
      const before = yield* ground.look
      const piece = randomBytes(1024 * 1024)
      const long = Stream.rechunk(Stream.fromIterable(Array.from({ length: 40 }, () => piece)), 1)
      yield* faults.off
      const { key } = yield* store.put(long)
      const { operations } = yield* faults.seen
      const first = operations.indexOf("sync")
      assert.isBelow(first, operations.lastIndexOf("writeAll"))
      assert.isAbove(operations.indexOf("sync", first + 1), operations.lastIndexOf("writeAll"))
      yield* store.remove(key)
      yield* faults.failOperation(first + 1, "EIO")
      assert.strictEqual((yield* Effect.flip(store.put(long)))._tag, "StorageFailed")
      yield* faults.off
      assert.deepStrictEqual(yield* ground.look, before)
    })
  )

  for (const code of ["ENOSPC", "EACCES", "EIO"] as const) {
    it.effect(`the directory store leaves nothing when every write fails (${code})`, () =>
      Effect.gen(function* () {
        const store = yield* BlobStore
        const faults = yield* FileSystemFaults
        const ground = yield* Ground
        const before = yield* ground.look
        for (const method of ["open", "writeAll", "sync", "rename"]) {
          yield* faults.failAll(method, code)
          const error = yield* Effect.flip(store.put(streamOf(randomBytes(600_000))))
          yield* faults.off
          assert.strictEqual(error._tag, "StorageFailed")
          assert.include(inspect(error.cause), code, method)
          assert.deepStrictEqual(yield* ground.look, before, method)
        }
      })
    )
  }

  it.effect("the directory store doesn't start where it can't write", () =>
    Effect.gen(function* () {
      const faults = yield* FileSystemFaults
      const start = Layer.build(Layer.fresh(BlobStore.layer)).pipe(Effect.scoped, Effect.exit)
      for (const method of ["makeDirectory", "open"]) {
        yield* faults.failAll(method, "EACCES")
        const exit = yield* start
        yield* faults.off
        assert.isTrue(Exit.isFailure(exit))
        assert.include(String(Exit.isFailure(exit) && exit.cause), "StorageFailed", method)
      }
      assert.isTrue(Exit.isSuccess(yield* start))
    })
  )
})
