import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { commandOf } from "../../src/confinement/NodeProgram.ts"
import { readInProcess, type ReaderLimits } from "../../src/documents/ReaderProcess.ts"
import { StorageFailed } from "../../src/domain/Errors.ts"
import { untilValue } from "../support/until.ts"
import { hostileProgram, limits, processesWith } from "./Reading.ts"

const mebibyte = 1024 * 1024

/** Has the hostile reader do something. The word behind the dash tells its process from others. */
const read = (
  behaviour: string,
  more: Partial<ReaderLimits> = {},
  bytes: Stream.Stream<Uint8Array, StorageFailed> = Stream.make(Buffer.from("x"))
) => {
  const word = `${behaviour}-${randomUUID()}`
  return {
    word,
    result: readInProcess(hostileProgram(), { ...limits, ...more }, { bytes, extension: word })
  }
}

/** Why reading fails; and afterwards its process is gone. */
const reasonOf = Effect.fnUntraced(function* (
  behaviour: string,
  more: Partial<ReaderLimits> = {},
  bytes?: Stream.Stream<Uint8Array, StorageFailed>
) {
  const { result, word } = read(behaviour, more, bytes)
  const error = yield* Effect.flip(result)
  assert.deepStrictEqual(yield* processesWith(word), [])
  return error._tag === "ExtractionFailed" ? error.reason : error._tag
})

const endless = Stream.forever(Stream.make(Buffer.alloc(mebibyte)))

describe("a reader's process", () => {
  it.live("a reader process is killed when it takes too long, in a loop or idle", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* reasonOf("loops", { seconds: 1 }), "too_long")
      assert.strictEqual(yield* reasonOf("waits", { seconds: 1 }), "too_long")
    })
  )

  it.live("a reader process is killed when it doesn't take its bytes, or when they never end", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* reasonOf("loops", { seconds: 1 }, endless), "too_long")
      assert.strictEqual(yield* reasonOf("counts", { seconds: 1 }, endless), "too_long")
    })
  )

  it.live("a reader process is killed when it takes too much memory, in V8's heap or beside it", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* reasonOf("buffers", { memoryBytes: 200 * mebibyte }), "too_large")
      // V8 itself gives up if the process may use more memory than V8's heap.
      assert.strictEqual(yield* reasonOf("heap", { memoryBytes: 400 * mebibyte }), "too_large")
    })
  )

  for (const behaviour of ["dies", "kills", "throws", "silent"]) {
    it.live(`a reader process has crashed when it ends without an answer: ${behaviour}`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* reasonOf(behaviour), "crashed")
      })
    )
  }

  const wrongAnswers = [
    "garbage",
    "huge head",
    "no JSON",
    "unknown status",
    "long message",
    "odd message",
    "failed with text",
    "less text",
    "more text",
    "broken text",
    "NUL text",
    "blank text",
    "wild pages",
    "falling pages",
    "too long"
  ]
  for (const behaviour of wrongAnswers) {
    it.live(`a reader process has crashed when its answer is malformed: ${behaviour}`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* reasonOf(behaviour, { textBytesMax: 1999 }), "crashed")
      })
    )
  }

  it.live("a reader process is killed when its answer never ends", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* reasonOf("floods", { textBytesMax: mebibyte }), "crashed")
    })
  )

  it.live("a reader process is killed when its caller is interrupted", () =>
    Effect.gen(function* () {
      const { result, word } = read("loops")
      const fiber = yield* Effect.forkChild(result)
      yield* untilValue(processesWith(word), ({ length }) => length === 1)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* processesWith(word), [])
    })
  )

  it.live("a reader process is killed when the storage fails, which is reported as such", () =>
    Effect.gen(function* () {
      const broken = Stream.concat(
        Stream.make(Buffer.alloc(1000)),
        Stream.fail(new StorageFailed({ operation: "get", cause: new Error("away") }))
      )
      assert.strictEqual(yield* reasonOf("counts", {}, broken), "StorageFailed")
    })
  )

  it.live("a reader process receives every byte, or as many as it reads", () =>
    Effect.gen(function* () {
      const pieces = Stream.fromIterable(Array.from({ length: 20 }, () => Buffer.alloc(mebibyte + 1)))
      assert.strictEqual((yield* read("counts", {}, pieces).result).text, String(20 * (mebibyte + 1)))
      assert.strictEqual((yield* read("early", {}, endless).result).text, "early")
    })
  )

  it.live("a reader process is killed when it doesn't exit after its answer, which counts", () =>
    Effect.gen(function* () {
      const { result, word } = read("lingers", { seconds: 600 })
      assert.strictEqual((yield* result).text, "read")
      assert.deepStrictEqual(yield* processesWith(word), [])
    })
  )

  it.live("a reader process can't read files or start processes, and has no environment", () =>
    Effect.gen(function* () {
      const { text } = yield* read("tries").result
      const [list, write, spawned, thread, code, environment] = text.split("\n")
      assert.strictEqual(list, "ERR_ACCESS_DENIED")
      assert.strictEqual(write, "ERR_ACCESS_DENIED")
      assert.strictEqual(spawned, "ERR_ACCESS_DENIED")
      assert.strictEqual(thread, "ERR_ACCESS_DENIED")
      assert.include(code, "Code generation from strings disallowed")
      assert.notInclude(environment, "PATH")
    })
  )

  it.live("a reader process is ended by the kernel when it uses too much processor time", () =>
    Effect.gen(function* () {
      // Nobody would end it otherwise: this stands for a service that was killed itself.
      const { args, file } = commandFor("loops")
      const signal = yield* Effect.promise(
        () =>
          new Promise((resolve) => {
            execFile(file, args, (error) => resolve(error?.signal ?? error?.code))
          })
      )
      assert.oneOf(signal, ["SIGKILL", "SIGXCPU"])
    })
  )
})

const commandFor = (behaviour: string) =>
  commandOf(hostileProgram(), { heapBytes: 150 * mebibyte, cpuSeconds: 1, niceness: 0 }, [behaviour])
