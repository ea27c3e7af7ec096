import { pathToFileURL } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Ref, Stream } from "effect"
import { headBytes } from "../../src/documents/Kind.ts"
import { readInProcess, readerProgram } from "../../src/documents/ReaderProcess.ts"
import { TextExtraction } from "../../src/documents/TextExtraction.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { bundle } from "../support/ServiceProcess.ts"
import { testConfig } from "../support/TestConfig.ts"
import { until, untilValue } from "../support/until.ts"
import { makeDocx, wordParagraph } from "./OfficeFixture.ts"
import { makePdf } from "./PdfFixture.ts"
import { limits } from "./Reading.ts"

const extractionsMax = 2

const extractionLayer = TextExtraction.layer.pipe(
  Layer.provide(Layer.succeed(AppConfig, testConfig({ files: { extractionsMax, textBytesMax: 100_000 } })))
)

const fileOf = (text: string, filename: string, user = "alice") => ({
  user,
  bytes: Stream.make(Buffer.from(text)),
  size: text.length,
  filename
})

describe("TextExtraction", () => {
  it.live("TextExtraction detects the type by the bytes and the last extension of the name", () =>
    Effect.gen(function* () {
      const extraction = yield* TextExtraction
      const names: ReadonlyArray<readonly [name: string, mediaType: string]> = [
        ["a.b.MD", "text/markdown"],
        ["md", "text/plain"],
        ["a.--eval", "text/plain"],
        ["\u202egnp.md ", "text/plain"],
        ["", "text/plain"]
      ]
      for (const [name, mediaType] of names) {
        const read = yield* extraction.extract(fileOf("Text", name))
        assert.deepStrictEqual(read, { text: "Text", mediaType, truncated: false, pages: null }, name)
      }
    }).pipe(Effect.provide(extractionLayer))
  )

  it.live("TextExtraction reads a limited number of files at once, and then the others", () =>
    Effect.gen(function* () {
      const extraction = yield* TextExtraction
      const reading = yield* Ref.make(0)
      const gate = yield* Deferred.make<void>()
      const held = Stream.unwrap(
        Ref.update(reading, (count) => count + 1).pipe(
          Effect.andThen(Deferred.await(gate)),
          Effect.as(Stream.make(Buffer.from("held")))
        )
      )
      const fibers = yield* Effect.forEach([1, 2, 3, 4], (n) =>
        Effect.forkChild(extraction.extract({ user: `user ${n}`, bytes: held, size: 4, filename: "a.txt" }))
      )
      yield* untilValue(Ref.get(reading), (count) => count === extractionsMax)
      // One that is given up while it waits takes no place.
      yield* Fiber.interrupt(fibers[3]!)
      yield* Deferred.succeed(gate, undefined)
      for (const fiber of fibers.slice(0, 3)) assert.strictEqual((yield* Fiber.join(fiber)).text, "held")
      assert.strictEqual(yield* Ref.get(reading), 3)
    }).pipe(Effect.provide(extractionLayer))
  )

  it.live("TextExtraction limits the files of one user below the total, and users take turns", () =>
    Effect.gen(function* () {
      const extraction = yield* TextExtraction
      const begun: Array<string> = []
      const gate = yield* Deferred.make<void>()
      const held = (user: string) =>
        Effect.forkChild(
          extraction.extract({
            user,
            bytes: Stream.unwrap(
              Effect.sync(() => begun.push(user)).pipe(
                Effect.andThen(Deferred.await(gate)),
                Effect.as(Stream.make(Buffer.from("held")))
              )
            ),
            size: 4,
            filename: "a.txt"
          }),
          { startImmediately: true }
        )
      const fibers = yield* Effect.forEach(["alice", "alice", "alice", "bob", "bob", "carol"], held)
      yield* until(Effect.sync(() => begun.length === extractionsMax))
      assert.deepStrictEqual(begun, ["alice", "bob"])
      yield* Deferred.succeed(gate, undefined)
      for (const fiber of fibers) yield* Fiber.join(fiber)
      // Carol's first comes before the third of Alice, who has been asking for longer.
      assert.isBelow(begun.indexOf("carol"), begun.lastIndexOf("alice"))
    }).pipe(Effect.provide(extractionLayer))
  )

  it.live("TextExtraction reads short UTF-8 texts like the reader process, and leaves it all others", () =>
    Effect.gen(function* () {
      const extraction = yield* TextExtraction
      const texts: ReadonlyArray<readonly [content: string | Uint8Array, name: string]> = [
        ["Grüße\r\naus Köln", "a.md"],
        ["\uFEFFa,b\n1,2\n", "a.csv"],
        ["x".repeat(524_288), "a"],
        ["# Größe\n\n| a | b |\n|---|---|\n| 1 | 2 |\r\n".repeat(9_000), "long.md"]
      ]
      const plain = (content: string | Uint8Array, filename: string) =>
        extraction.plainText({
          bytes: Stream.make(Buffer.from(content)),
          size: Buffer.from(content).length,
          filename
        })
      for (const [content, name] of texts) {
        const bytes = Stream.make(Buffer.from(content))
        const read = yield* extraction.extract({ user: "alice", bytes, size: 1, filename: name })
        assert.deepStrictEqual(yield* plain(content, name), read, name)
      }
      const others: ReadonlyArray<readonly [content: string | Uint8Array, name: string]> = [
        ["x".repeat(524_289), "long.txt"],
        [Buffer.from("Gr\u00fc\u00dfe", "latin1"), "latin1.txt"],
        ["<html><p>Text", "page"],
        ["<p>Text", "page.html"],
        ["{\\rtf1 Text}", "a.rtf"],
        ["", "empty.txt"],
        [" \n", "blank.txt"],
        [makePdf([["Text"]]), "a.txt"]
      ]
      for (const [content, name] of others) assert.isNull(yield* plain(content, name), name)
    }).pipe(Effect.provide(extractionLayer))
  )

  it.live(
    "TextExtraction says by a file's beginning why it can't be read, as if it were read as a whole",
    () =>
      Effect.gen(function* () {
        const extraction = yield* TextExtraction
        const noText = Buffer.alloc(
          headBytes,
          Uint8Array.from({ length: 251 }, (_, at) => (at * 7) % 256)
        )
        const begin = (text: string | Buffer) =>
          Buffer.concat([Buffer.from(text), noText]).subarray(0, headBytes)
        const png = begin(Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"))
        for (const head of [noText, png]) {
          const bytes = Stream.make(head, noText)
          const whole = yield* Effect.flip(
            extraction.extract({ user: "alice", bytes, size: 2 * headBytes, filename: "a.txt" })
          )
          assert.deepStrictEqual(yield* extraction.unsupported({ user: "alice", head }), whole)
        }
        const others = [
          noText.subarray(1),
          Buffer.alloc(headBytes, "Text\n"),
          Buffer.from("Text\n".repeat(headBytes), "utf16le").subarray(0, headBytes),
          ...["%PDF-1.7", "PK\u0003\u0004", `${"x".repeat(1000)}%PDF-1.7`].map(begin)
        ]
        for (const head of others) assert.isNull(yield* extraction.unsupported({ user: "alice", head }))
      }).pipe(Effect.provide(extractionLayer))
  )

  it.live("TextExtraction skips a beginning when its reading would have to wait", () =>
    Effect.gen(function* () {
      const extraction = yield* TextExtraction
      const head = Buffer.alloc(
        headBytes,
        Uint8Array.from({ length: 251 }, (_, at) => (at * 7) % 256)
      )
      const begun = yield* Deferred.make<void>()
      const held = Stream.unwrap(Effect.as(Deferred.succeed(begun, undefined), Stream.never))
      yield* Effect.forkChild(extraction.extract({ user: "alice", bytes: held, size: 4, filename: "a.txt" }))
      yield* Deferred.await(begun)
      assert.isNull(yield* extraction.unsupported({ user: "alice", head }))
      assert.isNotNull(yield* extraction.unsupported({ user: "bob", head }))
    }).pipe(Effect.provide(extractionLayer))
  )

  it.live("TextExtraction reads a short page here and a long one in a process, with one result", () =>
    Effect.gen(function* () {
      const extraction = yield* TextExtraction
      const html = "<title>B\u00fccher</title><p>F\u00fcnf <a href='b'>B\u00fccher</a>"
      const page = { user: "alice", url: "https://x.example/a/", charset: "iso-8859-1", charactersMax: 1000 }
      for (const padding of ["", `<!--${"x".repeat(65_536)}-->`]) {
        const bytes = Buffer.from(padding + html, "latin1")
        assert.deepStrictEqual(yield* extraction.page({ ...page, bytes }), {
          title: "Bücher",
          text: "Fünf [Bücher](https://x.example/a/b)",
          truncated: false
        })
        const long = Buffer.from(padding + "<p>Text".repeat(1000))
        const cut = yield* extraction.page({ ...page, bytes: long })
        assert.isTrue(cut.truncated)
        assert.isAtMost(cut.text.length, 1000)
        const empty = Buffer.from(`${padding}<script>x</script>`)
        const error = yield* Effect.flip(extraction.page({ ...page, bytes: empty }))
        assert.deepInclude(error, { reason: "no_text", message: "The page has no text." })
      }
    }).pipe(Effect.provide(extractionLayer))
  )

  it.live("TextExtraction counts a user's long pages against the limit of that user", () =>
    Effect.gen(function* () {
      const extraction = yield* TextExtraction
      const gate = yield* Deferred.make<void>()
      const held = Stream.unwrap(Effect.as(Deferred.await(gate), Stream.make(Buffer.from("held"))))
      const file = yield* Effect.forkChild(
        extraction.extract({ user: "alice", bytes: held, size: 4, filename: "a.txt" }),
        { startImmediately: true }
      )
      const bytes = Buffer.from("<p>word ".repeat(10_000))
      const page = yield* Effect.forkChild(
        extraction.page({
          user: "alice",
          bytes,
          url: "https://x.example/",
          charset: null,
          charactersMax: 10
        }),
        { startImmediately: true }
      )
      assert.strictEqual((yield* extraction.extract(fileOf("x", "a", "bob"))).text, "x")
      assert.isUndefined(page.pollUnsafe())
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual((yield* Fiber.join(file)).text, "held")
      assert.isTrue((yield* Fiber.join(page)).truncated)
    }).pipe(Effect.provide(extractionLayer))
  )

  it.live("TextExtraction refuses files while too many wait, and accepts them again afterwards", () =>
    Effect.gen(function* () {
      const extraction = yield* TextExtraction
      const never = { user: "alice", bytes: Stream.never, size: 1, filename: "a" }
      const fibers = yield* Effect.forEach(Array.from({ length: 1000 + extractionsMax }), () =>
        Effect.forkChild(extraction.extract(never), { startImmediately: true })
      )
      const error = yield* Effect.flip(extraction.extract(fileOf("x", "a")))
      assert.strictEqual(error._tag, "ExtractionBusy")
      yield* Fiber.interruptAll(fibers)
      assert.strictEqual((yield* extraction.extract(fileOf("x", "a"))).text, "x")
    }).pipe(Effect.provide(extractionLayer))
  )
})

describe("the bundle", () => {
  it.live(
    "the bundle has a reader program beside it, which needs nothing else and reads every kind of document",
    () =>
      Effect.gen(function* () {
        const program = readerProgram(pathToFileURL(bundle).href)
        const documents = [
          makeDocx(wordParagraph("Words")),
          makePdf([["Words"]]),
          Buffer.from("<html><p>Words"),
          Buffer.from("Words")
        ]
        for (const bytes of documents) {
          const read = yield* readInProcess(program, limits, { bytes: Stream.make(bytes), extension: "" })
          assert.strictEqual(read.text, "Words")
        }
      }),
    180_000
  )
})
