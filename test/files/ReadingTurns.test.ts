import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { FileId, UserId } from "../../src/domain/Ids.ts"
import { FileStore } from "../../src/files/FileStore.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { filesWith, incoming, ScriptedExtraction, someUser, until } from "./fixtures.ts"

/** A process that reads so many files at once, until the scope closes. */
const makeProcess = Effect.fnUntraced(function* (extractionsMax: number) {
  const services = yield* Layer.build(
    filesWith({ processWaitSeconds: 0, extractionsMax }).pipe(
      Layer.provide(TestDatabase.client({ connectionsMax: 4 }))
    )
  )
  const store = Context.get(services, FileStore)
  const extraction = Context.get(services, ScriptedExtraction)
  const upload = (user: UserId, filename: string, text = "hang") =>
    store.upload(user, incoming(text, { filename }))
  const statusIs = (user: UserId, id: FileId, status: string) =>
    until(Effect.map(store.get(user, id), (file) => file.status === status))
  const begun = (...names: ReadonlyArray<string>) =>
    until(Effect.map(extraction.begun, (seen) => seen.length >= names.length)).pipe(
      Effect.andThen(extraction.begun),
      Effect.map((seen) => assert.deepStrictEqual(seen, names))
    )
  /** Lets the readers go on, and leaves nothing to another test. */
  const finish = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* extraction.release
    yield* until(Effect.map(sql`SELECT FROM files WHERE status = 'uploaded'`, (rows) => rows.length === 0))
  })
  return { store, upload, statusIs, begun, finish }
})

layer(TestDatabase.layer, { excludeTestServices: true })("Files that wait to be read", (it) => {
  it.effect("files that wait to be read are read in turns of their users, and in order for each user", () =>
    Effect.gen(function* () {
      const { begun, finish, upload } = yield* makeProcess(1)
      const [alice, bob, carol] = [yield* someUser, yield* someUser, yield* someUser]
      yield* upload(alice, "alice 1")
      yield* begun("alice 1")
      yield* upload(alice, "alice 2")
      yield* upload(alice, "alice 3")
      yield* upload(bob, "bob 1")
      yield* upload(bob, "bob 2")
      yield* upload(carol, "carol 1")
      yield* finish
      yield* begun("alice 1", "bob 1", "carol 1", "alice 2", "bob 2", "alice 3")
    }).pipe(Effect.scoped)
  )

  it.effect("files that wait to be read leave one place to other users, however many one user has", () =>
    Effect.gen(function* () {
      const { begun, finish, statusIs, upload } = yield* makeProcess(2)
      const [alice, bob] = [yield* someUser, yield* someUser]
      for (const n of [1, 2, 3]) yield* upload(alice, `alice ${n}`)
      yield* begun("alice 1")
      const { id } = yield* upload(bob, "bob 1", "quick")
      yield* statusIs(bob, id, "processed")
      yield* begun("alice 1", "bob 1")
      yield* finish
      yield* begun("alice 1", "bob 1", "alice 2", "alice 3")
    }).pipe(Effect.scoped)
  )

  it.effect("files that wait to be read keep no short plain text waiting", () =>
    Effect.gen(function* () {
      const { begun, finish, store, upload } = yield* makeProcess(1)
      const [alice, bob] = [yield* someUser, yield* someUser]
      yield* upload(alice, "alice 1")
      yield* begun("alice 1")
      const { id, status } = yield* upload(bob, "bob.plain", "short")
      assert.strictEqual(status, "processed")
      const [text] = yield* store.beginnings(bob, [{ id, charactersMax: 10 }])
      assert.strictEqual(text?.text, "short")
      yield* finish
    }).pipe(Effect.scoped)
  )

  it.effect(
    "files that wait to be read wait for the reading of the one before them, though it was deleted meanwhile",
    () =>
      Effect.gen(function* () {
        const { begun, finish, store, upload } = yield* makeProcess(2)
        const [alice, bob] = [yield* someUser, yield* someUser]
        const first = yield* upload(alice, "alice 1")
        yield* begun("alice 1")
        yield* store.delete(alice, first.id)
        yield* upload(alice, "alice 2")
        yield* upload(bob, "bob 1")
        yield* begun("alice 1", "bob 1")
        yield* finish
        yield* begun("alice 1", "bob 1", "alice 2")
      }).pipe(Effect.scoped)
  )

  it.effect("files that wait to be read are found by the next process when nobody let them move up", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const alice = yield* someUser
      const id = yield* Effect.scoped(
        Effect.gen(function* () {
          const { begun, upload } = yield* makeProcess(1)
          const first = yield* upload(alice, "alice 1")
          yield* begun("alice 1")
          const { id } = yield* upload(alice, "alice 2")
          yield* sql`UPDATE files SET status = 'error' WHERE id = ${first.id}::uuid`
          return id
        })
      )
      const { finish, statusIs } = yield* makeProcess(1)
      yield* finish
      yield* statusIs(alice, id, "processed")
    }).pipe(Effect.scoped)
  )
})
