import { createHash } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Schema, Stream } from "effect"
import { FileId } from "../../src/domain/Ids.ts"
import type { PlanStorage } from "../../src/domain/Plan.ts"
import { cleanFilename, isPurpose } from "../../src/domain/StoredFile.ts"
import { FileStore } from "../../src/files/FileStore.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import {
  BlobFaults,
  bytesOf,
  contentOf,
  countsOf,
  filesWith,
  incoming,
  nobody,
  ScriptedExtraction,
  someUser,
  textOf,
  until,
  upload
} from "./fixtures.ts"

const statusIs = (user: Effect.Success<typeof someUser>, id: FileId, status: string) =>
  Effect.gen(function* () {
    const store = yield* FileStore
    return (yield* store.get(user, id)).status === status
  })

const pieces = Schema.Array(Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))))
const characters = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0x10_ffff })))

layer(Layer.provideMerge(filesWith(), TestDatabase.layer), { excludeTestServices: true })("A file", (it) => {
  it.effect("a file is stored and described as it was uploaded", () =>
    Effect.gen(function* () {
      const store = yield* FileStore
      const user = yield* someUser
      const file = yield* upload(user, "zebra", { filename: "z.txt", purpose: "user_data" })
      assert.deepInclude(file, {
        userId: user,
        filename: "z.txt",
        purpose: "user_data",
        bytes: 5,
        status: "processed",
        statusDetails: null
      })
      assert.strictEqual(
        Buffer.from(file.sha256).toString("hex"),
        createHash("sha256").update("zebra").digest("hex")
      )
      assert.deepStrictEqual(yield* store.get(user, file.id), file)
      assert.strictEqual(String(yield* contentOf(user, file.id)), "zebra")
      assert.strictEqual(yield* textOf(user, file.id), "zebra")
      assert.deepStrictEqual(yield* countsOf(user), { files: 1, bytes: 5, rows: 1, sum: 5, texts: 1 })
    })
  )

  it.effect.prop(
    "a file comes back with the same bytes, name and purpose, whatever they are",
    [pieces, characters, characters],
    ([bytes, name, use]) =>
      Effect.gen(function* () {
        const store = yield* FileStore
        const user = yield* someUser
        const pieces = bytes.map((piece) => Uint8Array.from(piece))
        const filename = cleanFilename(String.fromCodePoint(...name))
        const sent = String.fromCodePoint(...use)
        const purpose = isPurpose(sent) ? sent : "p"
        const file = yield* upload(user, pieces, { filename, purpose })
        assert.deepStrictEqual(yield* contentOf(user, file.id), Buffer.concat(pieces))
        const { files } = yield* store.list(user, { limit: 10, order: "desc" })
        assert.deepStrictEqual(
          files.map((found) => [found.filename, found.purpose, found.bytes]),
          [[filename, purpose, Buffer.concat(pieces).length]]
        )
      }),
    { arbitrary: { runs: 30 } }
  )

  it.effect("a file gives any part of its bytes", () =>
    Effect.gen(function* () {
      const store = yield* FileStore
      const user = yield* someUser
      const { id } = yield* upload(user, "0123456789")
      const part = yield* Effect.scoped(
        Effect.flatMap(store.content(user, id, { start: 3, end: 7 }), Stream.runCollect)
      )
      assert.strictEqual(String(Buffer.concat(part)), "3456")
    })
  )

  it.effect("a file that nobody can read says why, and gives no text", () =>
    Effect.gen(function* () {
      const store = yield* FileStore
      const user = yield* someUser
      const file = yield* upload(user, "unreadable")
      assert.deepStrictEqual([file.status, file.statusDetails], ["error", "Nobody can read this."])
      const [summary] = yield* store.summaries(user, [file.id])
      assert.deepInclude(summary, {
        status: "error",
        statusDetails: "Nobody can read this.",
        textBytes: null
      })
      assert.isUndefined(yield* textOf(user, file.id))
      assert.strictEqual(String(yield* contentOf(user, file.id)), "unreadable")
    })
  )

  it.effect("a file may hold characters that the database can't", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const { id } = yield* upload(user, "a\0b")
      assert.strictEqual(yield* textOf(user, id), "a\u{fffd}b")
    })
  )

  it.effect("a file gives no more of its text than is asked for, and says how long the text is", () =>
    Effect.gen(function* () {
      const store = yield* FileStore
      const user = yield* someUser
      const { id } = yield* upload(user, "aé中😀 and so on", { filename: "scripts.txt" })
      assert.deepStrictEqual(yield* store.summaries(user, [id, nobody(), id]), [
        {
          id,
          filename: "scripts.txt",
          status: "processed",
          statusDetails: null,
          textBytes: 20,
          truncated: false
        }
      ])
      assert.deepStrictEqual(yield* store.beginnings(user, [{ id, charactersMax: 4 }]), [
        { id, text: "aé中😀", bytes: 10 }
      ])
    })
  )

  it.effect("a file is gone with its bytes, its text and its share of the quota when it is deleted", () =>
    Effect.gen(function* () {
      const store = yield* FileStore
      const faults = yield* BlobFaults
      const user = yield* someUser
      const before = (yield* faults.keys).length
      const twin = yield* upload(user, "the same")
      const file = yield* upload(user, "the same")
      yield* store.delete(user, file.id)
      for (const operation of [
        store.get(user, file.id),
        store.delete(user, file.id),
        contentOf(user, file.id)
      ]) {
        assert.strictEqual(
          (yield* Effect.flip<unknown, { _tag: string }, FileStore>(operation))._tag,
          "FileNotFound"
        )
      }
      assert.isUndefined(yield* textOf(user, file.id))
      assert.deepStrictEqual(yield* store.summaries(user, [file.id]), [])
      assert.deepStrictEqual(yield* countsOf(user), { files: 1, bytes: 8, rows: 1, sum: 8, texts: 1 })
      assert.strictEqual((yield* faults.keys).length, before + 1)
      assert.strictEqual(String(yield* contentOf(user, twin.id)), "the same")
    })
  )

  it.effect("a file of another user is treated as missing", () =>
    Effect.gen(function* () {
      const store = yield* FileStore
      const [alice, bob] = [yield* someUser, yield* someUser]
      const { id } = yield* upload(alice, "mine")
      const asked = (fileId: FileId) => [
        store.get(bob, fileId),
        store.delete(bob, fileId),
        Effect.scoped(store.content(bob, fileId, { start: 0, end: 1 }))
      ]
      for (const [index, operation] of asked(id).entries()) {
        const error = yield* Effect.flip<unknown, { _tag: string }, never>(operation)
        const unknown = yield* Effect.flip<unknown, { _tag: string }, never>(asked(nobody())[index]!)
        assert.deepStrictEqual({ ...error }, { ...unknown })
        assert.strictEqual(error._tag, "FileNotFound")
      }
      assert.isUndefined(yield* textOf(bob, id))
      assert.deepStrictEqual(yield* store.summaries(bob, [id]), [])
      assert.deepStrictEqual(yield* store.list(bob, { limit: 10, order: "desc" }), {
        files: [],
        hasMore: false
      })
      assert.strictEqual((yield* store.get(alice, id)).status, "processed")
    })
  )

  it.effect("a file leaves nothing behind when its bytes, or what comes after them, are cut or fail", () =>
    Effect.gen(function* () {
      const store = yield* FileStore
      const faults = yield* BlobFaults
      const user = yield* someUser
      const before = yield* faults.keys
      const some = Stream.make(bytesOf("some"))
      const { about } = incoming("")
      assert.strictEqual(
        yield* Effect.flip(store.upload(user, { bytes: Stream.concat(some, Stream.fail("cut")), about })),
        "cut"
      )
      assert.strictEqual(
        yield* Effect.flip(store.upload(user, { bytes: some, about: Effect.fail("spoilt") })),
        "spoilt"
      )
      for (const stuck of [
        { bytes: Stream.concat(some, Stream.never), about },
        { bytes: some, about: Effect.never }
      ]) {
        const begun = yield* Deferred.make<void>()
        const tell = Stream.fromEffectDrain(Deferred.succeed(begun, undefined))
        const fiber = yield* Effect.forkChild(
          store.upload(user, { ...stuck, bytes: Stream.concat(tell, stuck.bytes) })
        )
        yield* Deferred.await(begun)
        yield* Fiber.interrupt(fiber)
      }
      assert.deepStrictEqual(yield* countsOf(user), { files: 0, bytes: 0, rows: 0, sum: 0, texts: 0 })
      assert.deepStrictEqual(yield* faults.keys, before)
    })
  )
})

const waiting = filesWith({ processWaitSeconds: 0, extractionsMax: 1 })

layer(Layer.provideMerge(waiting, TestDatabase.layer), { excludeTestServices: true })(
  "A file whose text takes long",
  (it) => {
    it.effect("a file has its status at once when its beginning tells that nobody can read it", () =>
      Effect.gen(function* () {
        const extraction = yield* ScriptedExtraction
        const user = yield* someUser
        const content = [bytesOf("fore"), bytesOf("ign".padEnd(100_000)), bytesOf("end")]
        const file = yield* upload(user, content, { filename: "foreign" })
        assert.deepStrictEqual([file.status, file.statusDetails], ["error", "Nobody can read this."])
        assert.deepStrictEqual(yield* contentOf(user, file.id), Buffer.concat(content))
        // Shorter than the beginning that tells.
        const short = yield* upload(user, "foreign", { filename: "short" })
        yield* until(statusIs(user, short.id, "processed"))
        const begun = yield* extraction.begun
        assert.deepStrictEqual([begun.includes("foreign"), begun.includes("short")], [false, true])
      })
    )

    it.effect("a file is `uploaded` at first, and `processed` when the text is there", () =>
      Effect.gen(function* () {
        const store = yield* FileStore
        const extraction = yield* ScriptedExtraction
        const user = yield* someUser
        const gone = yield* upload(user, "hang: to be deleted", { filename: "gone" })
        yield* until(Effect.map(extraction.begun, (begun) => begun.includes("gone")))
        const kept = yield* upload(user, "hang on")
        assert.strictEqual(kept.status, "uploaded")
        assert.strictEqual((yield* store.summaries(user, [kept.id]))[0]?.status, "uploaded")
        yield* store.delete(user, gone.id)
        yield* extraction.release
        yield* until(statusIs(user, kept.id, "processed"))
        assert.strictEqual(yield* textOf(user, kept.id), "hang on")
        assert.deepStrictEqual(yield* countsOf(user), { files: 1, bytes: 7, rows: 1, sum: 7, texts: 1 })
      })
    )
  }
)

const limits = { fileBytesMax: 10, filesPerUserMax: 5, bytesPerUserMax: 25, uploadsPerUserMax: 3 }

layer(Layer.provideMerge(filesWith(limits), TestDatabase.layer), { excludeTestServices: true })(
  "The limits",
  (it) => {
    it.effect("the limits hold a file to its bytes, exactly, and to the rest of the quota", () =>
      Effect.gen(function* () {
        const user = yield* someUser
        const faults = yield* BlobFaults
        yield* upload(user, "x".repeat(9))
        yield* upload(user, "x".repeat(10))
        const before = (yield* faults.keys).length
        for (const pieces of [["x".repeat(11)], ["x".repeat(10), "y"]]) {
          const error = yield* Effect.flip(upload(user, pieces.map(bytesOf)))
          assert.deepInclude(error, { _tag: "FileTooLarge", bytesMax: 10 })
        }
        const full = yield* Effect.flip(upload(user, "x".repeat(7)))
        assert.deepInclude(full, { _tag: "FileQuotaExceeded", quota: "bytes", max: 25 })
        yield* upload(user, "x".repeat(6))
        assert.strictEqual((yield* Effect.flip(upload(user, "x")))._tag, "FileQuotaExceeded")
        yield* upload(user, "")
        assert.deepInclude(yield* countsOf(user), { files: 4, bytes: 25, rows: 4, sum: 25 })
        assert.strictEqual((yield* faults.keys).length, before + 2)
      })
    )

    it.effect("the limits are the plan's where it has any, wider or narrower, and say so", () =>
      Effect.gen(function* () {
        const store = yield* FileStore
        const faults = yield* BlobFaults
        const uploadBy = (
          user: Effect.Success<typeof someUser>,
          text: string,
          bounds: Partial<PlanStorage>
        ) => store.upload(user, incoming(text), { plan: "free", files: null, bytes: null, ...bounds })
        const [few, small, many] = [yield* someUser, yield* someUser, yield* someUser]
        yield* uploadBy(few, "x", { files: 1 })
        yield* uploadBy(small, "12345", { bytes: 8 })
        yield* Effect.forEach([1, 2, 3], () => uploadBy(many, "x".repeat(10), { bytes: 30 }))
        const before = (yield* faults.keys).length
        const second = yield* Effect.flip(uploadBy(few, "y", { files: 1 }))
        assert.deepInclude(second, { _tag: "PlanForbids", plan: "free", param: "" })
        assert.strictEqual(
          second.message,
          "The plan `free` of your organization leaves you 1 file, and you have as many. Delete some, or ask the operator to move " +
            "your organization to another plan (`parley org set-plan`)."
        )
        const large = yield* Effect.flip(uploadBy(small, "6789", { bytes: 8 }))
        assert.match(
          large.message,
          /^The plan `free` of your organization leaves you 8 bytes for all your files/
        )
        yield* uploadBy(small, "678", { bytes: 8 })
        assert.strictEqual((yield* Effect.flip(uploadBy(few, "y", { files: 0 })))._tag, "PlanForbids")
        // The rest is the settings', with their own words.
        assert.strictEqual((yield* Effect.flip(uploadBy(many, "x", { files: 9 })))._tag, "FileQuotaExceeded")
        assert.strictEqual((yield* faults.keys).length, before + 1)
        assert.deepInclude(yield* countsOf(many), { files: 3, bytes: 30, rows: 3, sum: 30 })
      })
    )

    it.effect("the limits of a plan hold exactly, however many uploads there are at once", () =>
      Effect.gen(function* () {
        const store = yield* FileStore
        const faults = yield* BlobFaults
        const user = yield* someUser
        const before = (yield* faults.keys).length
        const results = yield* Effect.forEach(
          Array.from({ length: 12 }),
          () =>
            store
              .upload(user, incoming("12345"), { plan: "free", files: 2, bytes: null })
              .pipe(Effect.retry({ while: ({ _tag }) => _tag === "TooManyUploads" }), Effect.result),
          { concurrency: 12 }
        )
        const tags = results.map((result) => (result._tag === "Success" ? "kept" : result.failure._tag))
        assert.strictEqual(tags.filter((tag) => tag === "kept").length, 2)
        assert.strictEqual(tags.filter((tag) => tag === "PlanForbids").length, 10)
        assert.deepInclude(yield* countsOf(user), { files: 2, bytes: 10, rows: 2, sum: 10 })
        assert.strictEqual((yield* faults.keys).length, before + 2)
      })
    )

    it.effect("the limits count exactly, however many uploads and deletions there are at once", () =>
      Effect.gen(function* () {
        const store = yield* FileStore
        const faults = yield* BlobFaults
        const user = yield* someUser
        const before = (yield* faults.keys).length
        for (let round = 0; round < 4; round++) {
          const results = yield* Effect.forEach(
            Array.from({ length: 12 }),
            () =>
              Effect.result(
                Effect.retry(upload(user, "12345"), { while: ({ _tag }) => _tag === "TooManyUploads" })
              ),
            { concurrency: 12 }
          )
          const kept = results.flatMap((result) => (result._tag === "Success" ? [result.success] : []))
          assert.lengthOf(kept, round === 0 ? 5 : 2)
          for (const result of results) {
            if (result._tag === "Failure") assert.strictEqual(result.failure._tag, "FileQuotaExceeded")
          }
          assert.deepInclude(yield* countsOf(user), { files: 5, bytes: 25, rows: 5, sum: 25 })
          const { files } = yield* store.list(user, { limit: 2, order: "asc" })
          yield* Effect.forEach([...files, ...files], ({ id }) => Effect.ignore(store.delete(user, id)), {
            concurrency: 4
          })
          assert.deepInclude(yield* countsOf(user), { files: 3, bytes: 15, rows: 3, sum: 15 })
        }
        assert.strictEqual((yield* faults.keys).length, before + 3)
      })
    )

    it.effect("the limits let a user have some uploads under way, and nobody wait for another user's", () =>
      Effect.gen(function* () {
        const store = yield* FileStore
        const [alice, bob] = [yield* someUser, yield* someUser]
        const begun = yield* Effect.forEach([1, 2, 3], () => Deferred.make<void>())
        const go = yield* Deferred.make<void>()
        const fibers = yield* Effect.forEach(begun, (deferred) =>
          Effect.forkChild(
            store.upload(alice, {
              ...incoming("x"),
              about: Effect.andThen(
                Effect.andThen(Deferred.succeed(deferred, undefined), Deferred.await(go)),
                incoming("").about
              )
            })
          )
        )
        yield* Effect.forEach(begun, Deferred.await)
        const error = yield* Effect.flip(upload(alice, "x"))
        assert.deepInclude(error, { _tag: "TooManyUploads", uploadsMax: 3 })
        yield* upload(bob, "x")
        yield* Deferred.succeed(go, undefined)
        yield* Effect.forEach(fibers, Fiber.join)
        yield* upload(alice, "x")
        assert.deepInclude(yield* countsOf(alice), { files: 4, rows: 4 })
      })
    )
  }
)
