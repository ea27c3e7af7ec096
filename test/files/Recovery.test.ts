import { assert, layer } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { FileId } from "../../src/domain/Ids.ts"
import { FileStore } from "../../src/files/FileStore.ts"
import type { Settings } from "../../src/settings/AppConfig.ts"
import { attemptsMax } from "../../src/sql/JobQueue.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { filesWith, incoming, ScriptedExtraction, someUser, textOf, until } from "./fixtures.ts"

const patient = { processWaitSeconds: 0, extractionsMax: 1 }

/** One more process on the database, which ends when its scope does. */
const process = (files: Partial<Settings["files"]> = patient) =>
  Layer.build(filesWith(files).pipe(Layer.provide(TestDatabase.client({ connectionsMax: 3 }))))

const settledAs = Effect.fnUntraced(function* (id: FileId, status: string) {
  const sql = yield* SqlClient.SqlClient
  yield* until(
    Effect.map(
      sql`SELECT 1 FROM files WHERE id = ${id}::uuid AND status = ${status}`,
      (rows) => rows.length === 1
    )
  )
})

/** A file whose text a process began to read when that process was killed, so and so many times. */
const abandoned = Effect.fnUntraced(function* (text: string, attempts: number) {
  const sql = yield* SqlClient.SqlClient
  const user = yield* someUser
  const scope = yield* Scope.make()
  const first = yield* Scope.provide(process(), scope)
  const store = Context.get(first, FileStore)
  const { id } = yield* store.upload(user, incoming(`hang ${text}`))
  yield* until(Effect.map(Context.get(first, ScriptedExtraction).begun, (begun) => begun.length === 1))
  yield* Scope.close(scope, Exit.void)
  // The end of a process that was killed gives nothing back; its lock runs out.
  yield* sql`UPDATE file_jobs SET attempts = ${attempts}, acquired_by = gen_random_uuid(), acquired_at = now() - interval '1 hour'
    WHERE id = ${id}`
  return { user, id }
})

layer(TestDatabase.layer, { excludeTestServices: true })("A text that was not finished", (it) => {
  it.effect("a text that was not finished is read by the next process when the first one ends in order", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const scope = yield* Scope.make()
      const first = yield* Scope.provide(process(), scope)
      const { id, status } = yield* Context.get(first, FileStore).upload(user, incoming("hang"))
      assert.strictEqual(status, "uploaded")
      yield* until(Effect.map(Context.get(first, ScriptedExtraction).begun, (begun) => begun.length === 1))
      yield* Scope.close(scope, Exit.void)
      const second = yield* process()
      yield* Context.get(second, ScriptedExtraction).release
      yield* settledAs(id, "processed")
      assert.strictEqual(yield* Effect.provide(textOf(user, id), second), "hang")
    }).pipe(Effect.scoped)
  )

  it.effect("a text that was not finished is read by the next process when the first one was killed", () =>
    Effect.gen(function* () {
      const { id, user } = yield* abandoned("once", 1)
      const second = yield* process()
      yield* Context.get(second, ScriptedExtraction).release
      yield* settledAs(id, "processed")
      assert.strictEqual(yield* Effect.provide(textOf(user, id), second), "hang once")
    }).pipe(Effect.scoped)
  )

  it.effect(
    "a text that was not finished makes the file unreadable when it has killed too many processes",
    () =>
      Effect.gen(function* () {
        const { id, user } = yield* abandoned("and kill", attemptsMax)
        const second = yield* process()
        yield* settledAs(id, "error")
        assert.deepStrictEqual(yield* Context.get(second, ScriptedExtraction).begun, [])
        const { statusDetails } = yield* Context.get(second, FileStore).get(user, id)
        assert.match(statusDetails ?? "", /several times/)
      }).pipe(Effect.scoped)
  )

  it.effect(
    "a text that was not finished is read again after the reader broke, and the others are not kept waiting",
    () =>
      Effect.gen(function* () {
        const user = yield* someUser
        const only = yield* process()
        const store = Context.get(only, FileStore)
        const broken = yield* store.upload(user, incoming("break", { filename: "broken" }))
        const fine = yield* store.upload(user, incoming("fine"))
        yield* settledAs(fine.id, "processed")
        const { begun } = Context.get(only, ScriptedExtraction)
        yield* until(Effect.map(begun, (names) => names.filter((name) => name === "broken").length >= 2))
        assert.strictEqual((yield* store.get(user, broken.id)).status, "uploaded")
        yield* store.delete(user, broken.id)
      }).pipe(Effect.scoped)
  )

  it.effect("a text that was not finished is read once, however many processes there are", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const processes = yield* Effect.forEach([1, 2, 3], () => process({ processWaitSeconds: 30 }))
      const names = Array.from({ length: 18 }, (_, index) => `${index}`)
      yield* Effect.forEach(
        names,
        (filename, index) =>
          Effect.gen(function* () {
            const store = Context.get(processes[index % 3]!, FileStore)
            const file = yield* store.upload(user, incoming("text", { filename }))
            assert.strictEqual(file.status, "processed")
          }),
        { concurrency: 6 }
      )
      const begun = yield* Effect.forEach(processes, (one) => Context.get(one, ScriptedExtraction).begun)
      assert.deepStrictEqual(begun.flat().toSorted(), names.toSorted())
    }).pipe(Effect.scoped)
  )
})
