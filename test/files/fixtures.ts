import { randomUUID } from "node:crypto"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { Context, Deferred, Effect, Layer, References, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { TextExtraction } from "../../src/documents/TextExtraction.ts"
import { ExtractionFailed, StorageFailed } from "../../src/domain/Errors.ts"
import { FileId, UserId } from "../../src/domain/Ids.ts"
import { BlobStore } from "../../src/files/BlobStore.ts"
import { FileStore } from "../../src/files/FileStore.ts"
import { FileTexts } from "../../src/files/FileTexts.ts"
import { StoreHealth } from "../../src/files/StoreHealth.ts"
import { AppConfig, type Settings } from "../../src/settings/AppConfig.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { testConfig } from "../support/TestConfig.ts"
export { until } from "../support/until.ts"

/**
 * An extraction whose texts are what the bytes say; some first words make it do something else. Files that
 * end in `.plain` need no reader.
 */
export class ScriptedExtraction extends Context.Service<
  ScriptedExtraction,
  {
    /** The files that were begun, by name, once their bytes are there. */
    readonly begun: Effect.Effect<ReadonlyArray<string>>
    /** Lets those that began with `hang` go on. */
    readonly release: Effect.Effect<void>
  }
>()("parley/test/ScriptedExtraction") {
  static readonly layer: Layer.Layer<ScriptedExtraction | TextExtraction> = Layer.effectContext(
    Effect.gen(function* () {
      const begun: Array<string> = []
      const released = yield* Deferred.make<void>()
      const extraction = TextExtraction.of({
        version: "scripted",
        unconfined: Effect.succeed([]),
        unsupported: ({ head }) =>
          Effect.succeed(
            Buffer.from(head).toString("latin1").startsWith("foreign")
              ? new ExtractionFailed({ reason: "unsupported", message: "Nobody can read this." })
              : null
          ),
        page: () => Effect.die(new Error("No test of files reads a page of the web")),
        plainText: ({ bytes, filename }) =>
          filename.endsWith(".plain")
            ? Effect.map(Stream.mkString(Stream.decodeText(bytes)), (text) => ({
                text,
                mediaType: "text/plain",
                truncated: false,
                pages: null
              }))
            : Effect.succeed(null),
        extract: Effect.fnUntraced(function* ({ bytes, filename }) {
          const text = yield* Stream.mkString(Stream.decodeText(bytes))
          begun.push(filename)
          if (text.startsWith("hang")) yield* Deferred.await(released)
          if (text.startsWith("break")) return yield* Effect.die(new Error("The test broke the reader"))
          if (text.startsWith("unreadable")) {
            return yield* new ExtractionFailed({ reason: "unsupported", message: "Nobody can read this." })
          }
          return { text, mediaType: "text/plain", truncated: false, pages: null }
        })
      })
      return Context.make(TextExtraction, extraction).pipe(
        Context.add(ScriptedExtraction, {
          begun: Effect.sync(() => [...begun]),
          release: Effect.asVoid(Deferred.succeed(released, undefined))
        })
      )
    })
  )
}

/**
 * Breaks the store at a chosen operation. Each put counts twice: at its first byte, and when all of it is
 * stored.
 */
export class BlobFaults extends Context.Service<
  BlobFaults,
  {
    /** Counts from one again, and fails the n-th operation. */
    readonly failOperation: (n: number) => Effect.Effect<void>
    readonly off: Effect.Effect<void>
    /** Operations since the last `failOperation` or `off`. */
    readonly seen: Effect.Effect<number>
    /** Every key that the store holds. */
    readonly keys: Effect.Effect<ReadonlyArray<string>, StorageFailed>
  }
>()("parley/test/BlobFaults") {
  static readonly layer: Layer.Layer<BlobFaults | BlobStore, never, BlobStore> = Layer.effectContext(
    Effect.gen(function* () {
      const blobs = yield* BlobStore
      let seen = 0
      let chosen = 0
      const step = (operation: StorageFailed["operation"]) =>
        Effect.suspend(() => {
          seen++
          const cause = new Error("The test broke the store")
          return seen === chosen ? Effect.fail(new StorageFailed({ operation, cause })) : Effect.void
        })
      const choose = (n: number) =>
        Effect.sync(() => {
          seen = 0
          chosen = n
        })
      const store = BlobStore.of({
        ...blobs,
        put: (bytes) =>
          blobs
            .put(Stream.concat(Stream.fromEffectDrain(step("put")), bytes))
            .pipe(
              Effect.tap(({ key }) => Effect.onError(step("put"), () => Effect.orDie(blobs.remove(key))))
            ),
        get: (key, range) => Stream.concat(Stream.fromEffectDrain(step("get")), blobs.get(key, range)),
        remove: (key) => Effect.andThen(step("remove"), blobs.remove(key))
      })
      return Context.make(BlobStore, store).pipe(
        Context.add(BlobFaults, {
          failOperation: choose,
          off: choose(0),
          seen: Effect.sync(() => seen),
          keys: Stream.runCollect(blobs.olderThan(0))
        })
      )
    })
  )
}

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-files-"))),
  (directory) => Effect.sync(() => removeDirectory(directory))
)

/** Settings with a data directory of their own. */
export const filesConfig = (files: Partial<Settings["files"]> = {}) =>
  Layer.effect(
    AppConfig,
    Effect.map(temporaryDirectory, (dataDir) => testConfig({ dataDir, files }))
  )

/** Files with a scripted extraction and a store that can be broken, over whatever database is below. */
export const filesOver = Layer.mergeAll(
  Layer.fresh(FileStore.layer),
  Layer.fresh(StoreHealth.layer),
  FileTexts.layer
).pipe(
  Layer.provideMerge(Layer.fresh(ScriptedExtraction.layer)),
  Layer.provideMerge(Layer.provide(BlobFaults.layer, Layer.fresh(BlobStore.layer))),
  Layer.provide([NodeServices.layer, NodeCrypto.layer]),
  // The tests provoke what would be logged.
  Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "None")),
  Layer.orDie
)

export const filesWith = (files: Partial<Settings["files"]> = {}) =>
  Layer.provideMerge(filesOver, filesConfig({ store: "postgres", ...files }))

export const someUser = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const organization = randomUUID()
  const user = UserId.make(randomUUID())
  yield* sql`INSERT INTO organizations (id, name) VALUES (${organization}::uuid, ${organization})`
  yield* sql`INSERT INTO users (id, organization_id, email) VALUES (${user}::uuid, ${organization}::uuid, ${user})`
  return user
})

export const nobody = () => FileId.make(randomUUID())

const utf8 = new TextEncoder()

export const bytesOf = (text: string): Uint8Array => utf8.encode(text)

/** An upload of a text, or of bytes in pieces. */
export const incoming = (
  content: string | ReadonlyArray<Uint8Array>,
  about: { readonly filename?: string; readonly purpose?: string } = {}
) => ({
  bytes: Stream.fromIterable(typeof content === "string" ? [bytesOf(content)] : content),
  about: Effect.succeed({
    filename: about.filename ?? "file.txt",
    purpose: about.purpose ?? "assistants"
  })
})

export const upload = Effect.fnUntraced(function* (
  user: UserId,
  content: string | ReadonlyArray<Uint8Array>,
  about: { readonly filename?: string; readonly purpose?: string } = {}
) {
  const store = yield* FileStore
  return yield* store.upload(user, incoming(content, about))
})

/** All bytes of a file. */
export const contentOf = Effect.fnUntraced(function* (user: UserId, id: FileId) {
  const store = yield* FileStore
  const { bytes } = yield* store.get(user, id)
  const stream = yield* store.content(user, id, { start: 0, end: bytes })
  return Buffer.concat(yield* Stream.runCollect(stream))
}, Effect.scoped)

/** The beginning of a file's text; nothing where it has none. */
export const textOf = Effect.fnUntraced(function* (user: UserId, id: FileId, charactersMax = 1_000) {
  const store = yield* FileStore
  const [begun] = yield* store.beginnings(user, [{ id, charactersMax }])
  return begun?.text
})

/** The user's counters and the sums of the user's rows. */
export const countsOf = Effect.fnUntraced(function* (user: UserId) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ files: number; bytes: number; rows: number; sum: number; texts: number }>`
    SELECT coalesce((SELECT files FROM file_usage WHERE user_id = ${user}::uuid), 0) AS files,
      coalesce((SELECT bytes FROM file_usage WHERE user_id = ${user}::uuid), 0)::float8 AS bytes,
      count(*)::int AS rows, coalesce(sum(bytes), 0)::float8 AS sum,
      (SELECT count(*)::int FROM file_texts JOIN files ON files.id = file_id WHERE user_id = ${user}::uuid) AS texts
    FROM files WHERE user_id = ${user}::uuid`
  return row!
})
